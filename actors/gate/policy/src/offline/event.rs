//! The lines of `policy simulate`. Unknown fields are refused: a misspelt `relevant_args` must not pass as none.

use ipc_proto::capability::{Capability, Effect};
use ipc_proto::config::{Autonomy, WebReach};
use ipc_proto::label::{Class, Label, Trust};
use serde::Deserialize;
use serde_json::{Map, Value};

/// One line.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Event {
    /// Declares a tool.
    Tool(Tool),
    /// Opens a session.
    Session {
        id: String,
        #[serde(default)]
        profile: Option<String>,
        #[serde(default)]
        autonomy: Autonomy,
        #[serde(default)]
        agent: String,
        #[serde(default)]
        user: String,
        #[serde(default)]
        contacts: Vec<String>,
        #[serde(default)]
        web: Option<WebReach>,
        #[serde(default)]
        attached: bool,
        #[serde(default)]
        unattended: bool,
    },
    /// Adds a text of its user.
    User { session: String, text: String },
    /// Sets its plan.
    Plan { session: String, tools: Vec<String> },
    /// Adds content.
    Content(Content),
    /// Decides on a call.
    Call {
        session: String,
        id: Value,
        tool: String,
        #[serde(default)]
        args: Map<String, Value>,
    },
}

/// A tool: a capability, and its parts that matter most spelt beside it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    pub(super) name: String,
    #[serde(default)]
    capability: Capability,
    #[serde(default)]
    effect: Option<Effect>,
    #[serde(default, alias = "relevantArgs")]
    relevant_args: Option<Vec<String>>,
    #[serde(default, alias = "recordArgs")]
    record_args: Option<Vec<String>>,
}

impl Tool {
    /// The capability with what is spelt beside it.
    pub(super) fn capability(self) -> Capability {
        let mut whole = self.capability;
        whole.effect = self.effect.unwrap_or(whole.effect);
        whole.relevant_args = self.relevant_args.unwrap_or(whole.relevant_args);
        whole.record_args = self.record_args.unwrap_or(whole.record_args);
        whole
    }
}

/// Content with its source.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Content {
    /// The session whose context it entered; a call that is explained has only one.
    #[serde(default)]
    pub(super) session: String,
    #[serde(default)]
    pub(super) source: String,
    #[serde(default)]
    trust: Seed,
    #[serde(default)]
    class: Class,
    pub(super) text: String,
}

impl Content {
    pub(super) fn label(&self) -> Label {
        let source = if self.source.is_empty() { "content" } else { &self.source };
        Label::of(self.trust.into(), self.class, source)
    }

    /// The tool whose output it is, if its source says so.
    pub(super) fn tool(&self) -> Option<&str> {
        self.source.strip_prefix("tool:")
    }
}

/// Trust, by our names and by the seeds'.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Seed {
    System,
    User,
    Verified,
    #[default]
    #[serde(alias = "external")]
    Untrusted,
}

impl From<Seed> for Trust {
    fn from(seed: Seed) -> Self {
        match seed {
            Seed::System => Self::System,
            Seed::User => Self::User,
            Seed::Verified => Self::Verified,
            Seed::Untrusted => Self::Untrusted,
        }
    }
}
