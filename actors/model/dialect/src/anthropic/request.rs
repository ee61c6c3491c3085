//! A conversation as the messages API has it: turns of the person and of the model by themselves, each of blocks. Results
//! of calls are blocks of the person's next turn, and the host's words stand apart.

use crate::conversation::{Entry, arguments, base64, choice, entries, most, number, schema, stops, tools};
use crate::wire::Conversation;
use ipc_proto::model::{Choice, Image, Message, Request, Role, Think, Thought};
use ipc_proto::tool::ToolSpec;
use serde::Serialize;
use serde_json::{Value, json};

/// The provider takes no higher temperature.
const HOTTEST: f64 = 1.0;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Turn<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop_sequences: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Value>,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: Role,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Block<'a> {
    #[serde(flatten)]
    what: What<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Cache>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum What<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: Source<'a>,
    },
    Thinking {
        thinking: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: String,
        name: &'a str,
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        content: &'a str,
    },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: String,
}

#[derive(Serialize)]
struct Cache {
    r#type: &'static str,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: Value,
}

/// The body of the request.
pub(super) fn body(conversation: &Conversation<'_>) -> serde_json::Result<Vec<u8>> {
    let &Conversation { model, known, request, .. } = conversation;
    let tools = tools(request, known);
    let (mut system, mut messages) = turns(model, request);
    if !tools.is_empty() {
        mark(&mut system, &mut messages);
    }
    let temperature =
        number(request.temperature).filter(|_| known.sampling).map(|degree| degree.min(HOTTEST));
    serde_json::to_vec(&Body {
        model,
        max_tokens: most(request, known),
        system,
        messages,
        stream: true,
        temperature,
        // The provider refuses a request with both.
        top_p: number(request.top_p).filter(|_| known.sampling && temperature.is_none()),
        stop_sequences: stops(request),
        tools: tools.iter().map(described).collect(),
        tool_choice: if tools.is_empty() { None } else { chosen(choice(request, known)) },
        thinking: thinking(request.think),
    })
}

fn thinking(think: Think) -> Option<Value> {
    match think {
        Think::ByItself => None,
        Think::Never => Some(json!({ "type": "disabled" })),
        Think::AsFit => Some(json!({ "type": "adaptive" })),
        Think::Tokens(tokens) => Some(json!({ "type": "enabled", "budget_tokens": tokens })),
    }
}

/// The system messages, and the turns: consecutive messages of one side are one turn.
fn turns<'a>(model: &str, request: &'a Request) -> (Vec<Block<'a>>, Vec<Turn<'a>>) {
    let (mut system, mut turns) = (Vec::new(), Vec::<Turn<'_>>::new());
    for entry in entries(request) {
        let (role, blocks) = match entry {
            Entry::Shown(images) => (Role::User, images.into_iter().map(image).collect()),
            Entry::Message(message, images) => (message.role, blocks(model, message, &images)),
        };
        if role == Role::System {
            system.extend(blocks);
            continue;
        }
        match turns.last_mut().filter(|turn| turn.role == side(role)) {
            Some(turn) => turn.content.extend(blocks),
            None if blocks.is_empty() => {}
            None => turns.push(Turn { role: side(role), content: blocks }),
        }
    }
    (system, turns)
}

const fn side(role: Role) -> Role {
    match role {
        Role::Assistant => Role::Assistant,
        Role::System | Role::User | Role::Tool => Role::User,
    }
}

/// A message's blocks. A text of nothing but blanks is an error to the provider, so there is none.
fn blocks<'a>(model: &str, message: &'a Message, images: &[&'a Image]) -> Vec<Block<'a>> {
    if let (Role::Tool, Some(id)) = (message.role, message.answers) {
        return vec![block(What::ToolResult { tool_use_id: id.to_string(), content: &message.text })];
    }
    let text = Some(message.text.as_str()).filter(|text| !text.trim().is_empty());
    let thoughts = |spoken: bool, calls: usize| {
        let here =
            move |it: &&Thought| (it.spoken || it.calls > 0) == spoken && usize::from(it.calls) == calls;
        message
            .thoughts
            .iter()
            .filter(move |it| it.by.is_empty() || it.by.as_str() == model)
            .filter(here)
            .map(thought)
    };
    let mut blocks: Vec<Block<'_>> = images.iter().copied().map(image).collect();
    if text.is_some() || !message.calls.is_empty() {
        blocks.extend(thoughts(false, 0));
    }
    blocks.extend(text.map(|text| block(What::Text { text })));
    for (before, call) in message.calls.iter().enumerate() {
        blocks.extend(thoughts(true, before));
        let (id, name, input) = (call.id.to_string(), &call.tool, arguments(&call.args));
        blocks.push(block(What::ToolUse { id, name, input }));
    }
    blocks
}

/// A block of reasoning as the provider gave it. Only the provider can read it, and it takes none at the end of a turn.
fn thought(thought: &Thought) -> Block<'_> {
    block(if thought.hidden {
        What::RedactedThinking { data: &thought.seal }
    } else {
        What::Thinking { thinking: &thought.text, signature: &thought.seal }
    })
}

const fn block(what: What<'_>) -> Block<'_> {
    Block { what, cache_control: None }
}

fn image(image: &Image) -> Block<'_> {
    block(What::Image { source: Source { r#type: "base64", media_type: &image.media, data: base64(image) } })
}

/// Marks the parts that the provider is to cache for the next request: the system messages with the tools, and the
/// conversation so far. Only where there are tools, for there each call is followed by another request that begins the
/// same; elsewhere the cache would cost more than it saves.
fn mark<'a>(system: &mut [Block<'a>], messages: &mut [Turn<'a>]) {
    let last = messages.last_mut().and_then(|turn| turn.content.last_mut());
    for block in system.last_mut().into_iter().chain(last) {
        block.cache_control = Some(Cache { r#type: "ephemeral" });
    }
}

fn described(tool: &ToolSpec) -> Tool<'_> {
    Tool { name: &tool.name, description: &tool.description, input_schema: schema(tool) }
}

fn chosen(choice: &Choice) -> Option<Value> {
    match choice {
        Choice::Auto => None,
        Choice::Never => Some(json!({ "type": "none" })),
        Choice::Some => Some(json!({ "type": "any" })),
        Choice::This(name) => Some(json!({ "type": "tool", "name": name.as_str() })),
    }
}
