//! Scanner judges text. It stores nothing and calls no other process.

use crate::service::service;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// Bytes of text in one request.
pub const SCAN_BOUND: usize = 1024 * 1024;

/// A point at which text passes from one party to another. Each is scanned, and the findings are judged by the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Crossing {
    /// From a person or a platform.
    ChannelInput,
    /// From a person of the host's own, identified by the kernel or by a key, at a terminal or an API of their own.
    /// Attacks in it are flagged and never blocked: a person may tell their own assistant anything.
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
    /// Text of a turn that is shown or written beside its answer: events, the record, logs.
    Record,
}

/// The direction of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Towards a model.
    Input,
    /// Towards a person, a store or the world.
    Output,
}

impl Crossing {
    /// The direction of text at this point.
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

/// The attempts of a conversation so far. Scanner stores nothing: the holder of the conversation holds this
/// value and replaces it with the one that the verdict returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// Messages of the person.
    pub turns: u32,
    /// Attempts to obtain the prompt or secrets.
    pub extraction: u16,
    /// Attempts to override the host's instructions.
    pub overriding: u16,
}

/// The text's place, and how it is scanned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The point at which the text passes.
    pub crossing: Crossing,
    /// The strictness.
    pub profile: Profile,
    /// The canary that must not occur in it, plain or transformed.
    pub canary: Option<Name>,
    /// The conversation so far.
    pub conversation: Conversation,
}

impl Subject {
    /// Text at this point, by the strictest profile, with no canary and no earlier messages.
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

/// The kind of a threat: ch4p's five, and other content that must not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreatKind {
    /// An attempt to obtain the prompt or the instructions of the model.
    Extraction,
    /// An attempt to give the model instructions.
    Injection,
    /// An attempt to have the model play another role.
    RoleManipulation,
    /// An attempt to talk the model out of its rules.
    Jailbreak,
    /// An attempt to carry data away.
    Exfiltration,
    /// A key or a password.
    Secret,
    /// Personal data.
    Personal,
}

/// The severity of a threat.
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
    /// The kind.
    pub kind: ThreatKind,
    /// The severity.
    pub severity: Severity,
}

/// A place in the text in which something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// The decision about text.
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
    /// The decision.
    pub judgement: Judgement,
    /// Combined evidence, in thousandths.
    pub score: u16,
    /// The rules that matched, at most 32.
    pub rules: List<Name, 32>,
    /// The canary was found, plain or transformed.
    pub canary_leaked: bool,
    /// The class that its content shows: personal data is sensitive, keys are secret.
    pub class: crate::label::Class,
    /// The text with secrets cut out, if any were found.
    pub redacted: Option<Text<SCAN_BOUND>>,
    /// The threats that were found, the worst first.
    pub threats: List<Threat, 16>,
    /// The places, as far as they are known in the text as it was given.
    pub spans: List<Span, 64>,
    /// The text has a secret that the host itself holds.
    pub held_secret: bool,
    /// The conversation after this text.
    pub conversation: Conversation,
}

/// The part of a stream that can go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// The text that may go on, with secrets cut out.
    pub text: Text<SCAN_BOUND>,
    /// The number of bytes of the pending text that it stands for.
    pub consumed: u32,
    /// The canary was found: nothing may go on, now or later.
    pub canary_leaked: bool,
    /// The number of secrets that were cut out.
    pub redactions: u16,
}

service! {
    /// The scanner.
    pub trait Scanner {
        /// Judges a whole text.
        [idempotent, 2064, 10]
        async fn scan(subject: Subject, text: Text<SCAN_BOUND>) -> Verdict;
        /// Takes all of a stream's text that has not gone on yet and returns the part that can go on, so that
        /// no finding split over two pieces is missed. With `last`, all of it is decided.
        [idempotent, 2064, 10]
        async fn hold_back(pending: Text<SCAN_BOUND>, last: bool, canary: Option<Name>) -> Release;
    }
}
