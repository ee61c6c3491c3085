//! Model answers. It has neither key nor network: requests leave through credproxy, and replies are parsed
//! here and nowhere else. It serves the gate alone.

mod error;
mod money;

use crate::content::MEDIA_BOUND;
use crate::ids::CallId;
use crate::service::service;
use crate::tool::{ARGS_BOUND, ToolList};
use crate::{Blob, List, Name, Text};
pub use error::{BLIND, ModelError, SET_ASIDE_S};
pub use money::{BudgetInfo, GroupBy, Payer, Per, UsageRow};
use serde::{Deserialize, Serialize};

/// A model's name: `provider/model`; or, without a slash, a task that is routed: `default`, `fast`, `thinking`, `coding`.
pub type ModelName = Text<128>;
/// The tasks that can be routed; the configuration says which of them exist.
pub const TASKS: [&str; 4] = ["default", "fast", "thinking", "coding"];
/// The provider of the models that answer by fixed rules.
pub const OFFLINE: &str = "offline";
/// The provider of those that replay a script.
pub const SCRIPTED: &str = "scripted";
/// Providers whose models run in this host: nothing leaves for them, and no other has their names.
pub const BUILT_IN: [&str; 2] = [OFFLINE, SCRIPTED];
/// Bytes of one message's text.
pub const MESSAGE_BOUND: usize = 1024 * 1024 + 4096;
/// Messages in one request.
pub const MESSAGES: usize = 1024;
/// Bytes of all text in one request.
pub const REQUEST_BOUND: usize = 4 * 1024 * 1024;
/// Blocks of reasoning with one message.
pub const THOUGHTS: usize = 16;
/// Bytes of the text of a block of reasoning, and of its seal.
pub const THOUGHT_BOUND: usize = 256 * 1024;
/// Bytes of all blocks of reasoning of one message; a reply with more has none.
pub const THOUGHTS_BOUND: usize = 512 * 1024;
/// Bytes of a model's reasoning in one turn that are returned to it; the oldest is dropped first.
pub const HANDED_BACK: usize = 1 << 20;

/// The speaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The host.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

/// A tool call as it stands in a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The host's id.
    pub id: CallId,
    /// The tool.
    pub tool: Name,
    /// Its arguments, JSON.
    pub args: Text<ARGS_BOUND>,
}

/// A block of a model's reasoning as its provider gave it. It goes back to that provider, unchanged and in its place,
/// with the message that it came with: some refuse the results of a message's calls without it. Nobody here reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thought {
    /// The model, by its provider's name of it; empty if unknown.
    pub by: Text<128>,
    /// The text; empty if the provider shows none of it.
    pub text: Text<THOUGHT_BOUND>,
    /// The opaque value by which the provider recognises the thought; all there is of a hidden one.
    pub seal: Text<THOUGHT_BOUND>,
    /// The provider gives it out encrypted.
    pub hidden: bool,
    /// The message's text stands before it.
    pub spoken: bool,
    /// Calls of the message that stand before it.
    pub calls: u16,
}

impl Thought {
    /// Bytes of it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text.len() + self.seal.len()
    }
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The speaker.
    pub role: Role,
    /// The text; for a tool, its output.
    pub text: Text<MESSAGE_BOUND>,
    /// Calls that an assistant asks for.
    pub calls: List<Asked, 32>,
    /// The call that a tool answers.
    pub answers: Option<CallId>,
    /// An assistant's thoughts, where its provider wants them back.
    pub thoughts: List<Thought, THOUGHTS>,
}

impl Message {
    /// A message of text alone; text over the bound is cut.
    #[must_use]
    pub fn text(role: Role, text: &str) -> Self {
        Self {
            role,
            text: Text::clip(text),
            calls: List::default(),
            answers: None,
            thoughts: List::default(),
        }
    }
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// An answer.
    #[default]
    Answer,
    /// The names of the tools that a turn will need, as a JSON array of strings; scripted models answer it from a
    /// `plan` line of their own and never from a reply.
    Plan,
}

/// An image in a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Index of the message that shows it.
    pub message: u16,
    /// Its media type, such as `image/png`.
    pub media: Text<128>,
    /// The image; nothing is fetched from an address.
    pub bytes: Blob<MEDIA_BOUND>,
}

/// The use of tools that a request asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Choice {
    /// As the model sees fit.
    #[default]
    Auto,
    /// None.
    Never,
    /// At least one.
    Some,
    /// This one.
    This(Name),
}

/// The amount of reasoning before an answer, where its provider can be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Think {
    /// The model's own default.
    #[default]
    ByItself,
    /// Not at all.
    Never,
    /// As much as the model chooses.
    AsFit,
    /// A budget of this many tokens of the answer.
    Tokens(u32),
}

/// A request to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The model.
    pub model: ModelName,
    /// The purpose.
    pub purpose: Purpose,
    /// The conversation.
    pub messages: List<Message, MESSAGES>,
    /// The tools it may ask for.
    pub tools: ToolList,
    /// Most tokens of the answer.
    pub max_output: u32,
    /// Temperature in thousandths.
    pub temperature: Option<u16>,
    /// Nucleus in thousandths.
    pub top_p: Option<u16>,
    /// Texts at which the answer ends.
    pub stop: List<Text<256>, 8>,
    /// The use of tools that is asked for.
    pub choice: Choice,
    /// Images of the conversation, in order of their messages.
    pub images: List<Image, IMAGES>,
    /// How much it is to think first.
    pub think: Think,
    /// The account that pays.
    pub payer: Payer,
}

impl Request {
    /// A request for an answer to a conversation, with no tools and nothing asked of how it is answered.
    #[must_use]
    pub fn new(model: ModelName, messages: List<Message, MESSAGES>, payer: Payer) -> Self {
        Self {
            model,
            purpose: Purpose::Answer,
            messages,
            tools: ToolList::default(),
            max_output: 0,
            temperature: None,
            top_p: None,
            stop: List::default(),
            choice: Choice::Auto,
            images: List::default(),
            think: Think::ByItself,
            payer,
        }
    }
}

/// Images in one request; all of them and the text fit in [`REQUEST_BOUND`].
pub const IMAGES: usize = 16;
/// Tokens of an image: about the number that the larger providers count for the largest image that they accept.
pub const IMAGE_TOKENS: u32 = 1600;

/// An answer that is coming.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StreamId(pub u64);

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was complete.
    Stop,
    /// It asks for tools.
    ToolUse,
    /// It ran into the bound of its output.
    MaxTokens,
    /// It reached this one of the request's `stop`, by its index, where the provider reports which.
    StoppedAt(u8),
}

/// Tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Read.
    pub input: u32,
    /// Written.
    pub output: u32,
    /// Tokens read from the provider's cache, as a part of those read.
    pub cache_read: u32,
    /// Tokens written to the provider's cache, as a part of those read.
    pub cache_write: u32,
    /// The provider did not count: these are an estimate, in whole or in part.
    pub estimated: bool,
    /// The provider's own count where it is impossible; the others are then the nearest possible values.
    pub claimed: Option<Claim>,
    /// The cost of these tokens, millionths of a US dollar; 0 where none is known.
    #[serde(default)]
    pub cost_micros: u64,
}

/// Tokens as a provider reports them, plausible or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Read.
    pub input: u32,
    /// Written.
    pub output: u32,
    /// Tokens read from the provider's cache, as a part of those read.
    pub cache_read: u32,
    /// Tokens written to the provider's cache, as a part of those read.
    pub cache_write: u32,
}

/// A piece of an answer. Arguments of a call come in fragments; they mean nothing before `CallEnd`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// Text of the answer.
    Text(Text<16384>),
    /// Text of the model's reasoning.
    Reasoning(Text<16384>),
    /// A fragment of a block of reasoning that its provider wants back: of its text, or of its `seal`. Its text was
    /// sent as `Reasoning` before.
    Thought {
        /// The fragment is of the thought's seal rather than its text.
        seal: bool,
        /// The fragment.
        part: Text<16384>,
    },
    /// A block of reasoning is whole. Its fields are those of a [`Thought`].
    ThoughtEnd {
        /// The model.
        by: Text<128>,
        /// The provider gives it out encrypted.
        hidden: bool,
        /// Text of the answer stands before it.
        spoken: bool,
        /// Calls of the answer that stand before it.
        calls: u16,
    },
    /// A call of this tool begins; `index` tells calls of one answer apart.
    CallStart {
        /// The call's index in the answer.
        index: u16,
        /// The tool.
        tool: Name,
    },
    /// A fragment of a call's arguments.
    CallDelta {
        /// The call's index in the answer.
        index: u16,
        /// The fragment.
        args: Text<16384>,
    },
    /// A call's arguments are whole.
    CallEnd {
        /// The call's index in the answer.
        index: u16,
    },
    /// Another model answers than was asked for, or than answered so far; discard the text so far.
    Failover {
        /// The model that failed.
        from: ModelName,
        /// Its error.
        why: ModelError,
        /// The model that answers now.
        to: ModelName,
    },
    /// Tokens so far.
    Usage(Usage),
    /// A budget that only warns is used up; the answer comes all the same.
    OverBudget {
        /// The budget's subject.
        per: Per,
    },
    /// The end.
    Done(Finish),
    /// The end, by an error.
    Failed(ModelError),
}

/// The facts about a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Its name.
    pub name: ModelName,
    /// Tokens it can take in.
    pub context: u32,
    /// Tokens it can give out.
    pub output: u32,
    /// True if it can ask for tools.
    pub tools: bool,
    /// True if it can see images.
    pub vision: bool,
    /// True if it embeds texts rather than answers.
    pub embeds: bool,
    /// True if its prices are known; if not, they stand as 0 here.
    pub priced: bool,
    /// Price of a million tokens read, millionths of a US dollar.
    pub input_micros: u64,
    /// Price of a million tokens written, millionths of a US dollar.
    pub output_micros: u64,
}

/// Texts to embed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Embedding {
    /// By which model.
    pub model: ModelName,
    /// The texts.
    pub texts: List<Text<32768>, 64>,
    /// Most numbers in a vector, where the model can give fewer.
    pub dimensions: Option<u16>,
    /// The account that pays.
    pub payer: Payer,
}

/// Their vectors, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Embedded {
    /// One vector a text, all of one length.
    pub vectors: List<List<f32, 4096>, 64>,
    /// Tokens read.
    pub usage: Usage,
    /// A budget that is used up, and only warns.
    pub over: Option<Per>,
}

service! {
    /// Models.
    pub trait Model {
        /// Prepares an answer: money for it is reserved, durably. No provider is asked before the first `next`.
        [once, 8192, 20]
        async fn start(request: Request) -> Result<StreamId, ModelError>;
        /// The next pieces, at most `credit`; waits up to 20 s for the first, and may come back empty.
        [once + wait, 1024, 30]
        async fn next(stream: StreamId, credit: u16) -> Result<List<Piece, 64>, ModelError>;
        /// Ends an answer; its upstream connection is closed.
        [idempotent, 4, 5]
        async fn cancel(stream: StreamId) -> ();
        /// The models that can be used.
        [idempotent, 256, 10]
        async fn models() -> List<ModelInfo, 256>;
        /// Vectors of these texts, or the reason why there are none; answered within `patience_ms` where that is less than
        /// the host's own time.
        [once, 2304, 130]
        async fn embed(request: Embedding, patience_ms: Option<u32>) -> Result<Embedded, ModelError>;
        /// An estimate of the tokens that a request would read.
        [idempotent, 8192, 20]
        async fn count(request: Request) -> Result<u32, ModelError>;
        /// Usage since `since_ms`, the most expensive first.
        [idempotent, 256, 20]
        async fn usage(by: GroupBy, since_ms: u64) -> Result<List<UsageRow, 256>, ModelError>;
        /// Every budget and how it stands.
        [idempotent, 64, 20]
        async fn budgets() -> Result<List<BudgetInfo, 64>, ModelError>;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_of_an_error_that_passes_say_after_how_many_seconds() {
        let budget = |again_s| ModelError::Budget { per: Per::Day, again_s };
        for (error, seconds) in [
            (ModelError::RateLimited { retry_after_s: 17 }, Some(17)),
            (budget(86_400), Some(86_400)),
            (budget(SET_ASIDE_S), Some(SET_ASIDE_S)),
            (budget(0), None),
            (ModelError::CoolingDown { again_s: 30 }, Some(30)),
            (ModelError::Server { status: 503 }, None),
            (ModelError::TooLong { context: 8 }, None),
            (ModelError::Timeout, None),
        ] {
            assert_eq!(ModelError::again_in(&error.to_string()), seconds, "{error}");
            let for_money = matches!(error, ModelError::Budget { .. });
            assert_eq!(ModelError::is_for_money(&error.to_string()), for_money, "{error}");
        }
        assert_eq!(ModelError::again_in("it took 5 s"), None);
        let words = budget(12_000).to_string();
        assert!(words.contains("resets at 00:00 UTC, in 3 h 20 min"), "{words}");
    }
}
