//! Scanner judges text. It keeps nothing and calls nobody.

use crate::service::service;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// Bytes of text in one request.
pub const SCAN_BOUND: usize = 1024 * 1024;

/// Where text crosses from one hand to another. Each is scanned; what is found is judged by where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Crossing {
    /// From a person or a platform.
    ChannelInput,
    /// From a person of the host's own, whom the kernel or a key of theirs names, at a terminal or an API of their own. They
    /// may say to their assistant what they like: it is flagged and never blocked.
    OwnWords,
    /// From a tool to a model.
    ToolOutput,
    /// From the web to a model.
    Web,
    /// Into memory.
    MemoryWrite,
    /// Out of memory to a model.
    MemoryRecall,
    /// The arguments of a tool call.
    Arguments,
    /// A model's answer while it streams.
    ModelStream,
    /// A whole answer to a person.
    Answer,
    /// What is shown or written of a turn beside its answer: events, the record, logs.
    Record,
}

/// Which way text is going.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Towards a model.
    Input,
    /// Towards a person, a store or the world.
    Output,
}

impl Crossing {
    /// Which way text goes there.
    #[must_use]
    pub const fn direction(self) -> Direction {
        match self {
            Self::ChannelInput | Self::OwnWords | Self::ToolOutput | Self::Web | Self::MemoryRecall => {
                Direction::Input
            }
            Self::MemoryWrite | Self::Arguments | Self::ModelStream | Self::Answer | Self::Record => {
                Direction::Output
            }
        }
    }
}

/// How strict a verdict is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The strictest.
    #[default]
    Paranoid,
    /// In between.
    Standard,
    /// The most lenient.
    PowerUser,
}

/// What a conversation has tried so far. Scanner keeps nothing: whoever holds the conversation holds this, and
/// stores what the verdict gives back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// Messages of the person.
    pub turns: u32,
    /// Attempts to get at the prompt or at secrets.
    pub extraction: u16,
    /// Attempts to override what the host says.
    pub overriding: u16,
}

/// What is scanned, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Where the text crosses.
    pub crossing: Crossing,
    /// How strictly.
    pub profile: Profile,
    /// What must not be in it, plain or transformed.
    pub canary: Option<Name>,
    /// What came before.
    pub conversation: Conversation,
}

impl Subject {
    /// At this crossing, by the strictest profile, with no canary and nothing before.
    #[must_use]
    pub fn at(crossing: Crossing) -> Self {
        Self { crossing, profile: Profile::default(), canary: None, conversation: Conversation::default() }
    }

    /// The same with a canary.
    #[must_use]
    pub fn hiding(mut self, canary: &str) -> Self {
        self.canary = Some(Name::clip(canary));
        self
    }

    /// The same by this profile.
    #[must_use]
    pub const fn by(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }
}

/// What kind of threat was found: ch4p's five, and what besides must not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreatKind {
    /// Somebody wants the prompt or what the model was told.
    Extraction,
    /// Somebody gives the model instructions.
    Injection,
    /// Somebody plays another role.
    RoleManipulation,
    /// Somebody talks the model out of its rules.
    Jailbreak,
    /// Data is to be carried away.
    Exfiltration,
    /// A key or a password.
    Secret,
    /// Personal data.
    Personal,
}

/// How bad a threat is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Low,
    /// Worth a look.
    Medium,
    /// Likely an attack.
    High,
    /// An attack.
    Critical,
}

/// A threat that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threat {
    /// What kind.
    pub kind: ThreatKind,
    /// How bad.
    pub severity: Severity,
}

/// Where in the text something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// What is to be done with text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Judgement {
    /// Nothing found.
    Pass,
    /// Something found that does not stop it.
    Flag,
    /// It must not go on as it is.
    Block,
}

/// A verdict on text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// What is to be done.
    pub judgement: Judgement,
    /// Combined evidence, in thousandths.
    pub score: u16,
    /// Which rules hit, at most 32.
    pub rules: List<Name, 32>,
    /// The canary was found, plain or transformed.
    pub canary_leaked: bool,
    /// The class that its content shows: personal data is sensitive, keys are secret.
    pub class: crate::label::Class,
    /// The text with secrets cut out, if any were found.
    pub redacted: Option<Text<SCAN_BOUND>>,
    /// What was found, the worst first.
    pub threats: List<Threat, 16>,
    /// Where, as far as it can be said in the text as it was given.
    pub spans: List<Span, 64>,
    /// A secret that the host itself holds is in it.
    pub held_secret: bool,
    /// The conversation after this text.
    pub conversation: Conversation,
}

/// How much of a stream can go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// What can go on, with secrets cut out.
    pub text: Text<SCAN_BOUND>,
    /// How many bytes of the pending text that stands for.
    pub consumed: u32,
    /// The canary was found: nothing may go on, and what follows neither.
    pub canary_leaked: bool,
    /// Secrets cut out.
    pub redactions: u16,
}

service! {
    /// The scanner.
    pub trait Scanner {
        /// Judges a whole text.
        [idempotent, 2064, 10]
        async fn scan(subject: Subject, text: Text<SCAN_BOUND>) -> Verdict;
        /// Given all of a stream's text that has not gone on yet, says how much can, so that nothing split over
        /// two pieces slips by. With `last`, all of it is decided.
        [idempotent, 2064, 10]
        async fn hold_back(pending: Text<SCAN_BOUND>, last: bool, canary: Option<Name>) -> Release;
    }
}
