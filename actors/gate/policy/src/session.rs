//! The facts of a session when a call is judged. Whatever enters its context goes through the methods here, in the live gate as
//! in `policy simulate`: labels only rise, and only trusted text vouches.

use crate::Catalogue;
use ipc_proto::config::{Autonomy, WebReach};
use ipc_proto::label::{Class, Label, Trust};
use provenance::{Taint, Trusted};
use std::collections::BTreeSet;
use std::str::FromStr;

/// The built-in policies that an agent is held to, the strictest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// Asks before anything that was read could act.
    #[default]
    Paranoid,
    /// Asks where neither the plan nor the user's words cover a call.
    Standard,
    /// Asks where something cannot be taken back.
    PowerUser,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 3] = [Self::Paranoid, Self::Standard, Self::PowerUser];

    /// Its name, as it stands in configuration and policy.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paranoid => "paranoid",
            Self::Standard => "standard",
            Self::PowerUser => "power-user",
        }
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|profile| profile.name() == name);
        found.ok_or_else(|| "no such profile; there are: paranoid, standard, power-user".to_owned())
    }
}

/// A session, as a decision sees it.
#[derive(Clone, Default)]
pub struct Session {
    /// The profile of its agent.
    pub profile: Profile,
    /// The autonomy of agents.
    pub autonomy: Autonomy,
    /// Its id: a name for policies, nothing else follows from it.
    pub id: String,
    /// Its agent.
    pub agent: String,
    /// The name of its user.
    pub user: String,
    /// The join of everything in its context.
    pub label: Label,
    /// The texts that vouch.
    pub trusted: Trusted,
    /// The tools named before anything untrusted was read; `None` where no plan was asked for, which counts as the
    /// empty one.
    pub plan: Option<BTreeSet<String>>,
    /// The share of its context that is untrusted.
    pub taint: Taint,
    /// Scopes that a person trusts for the session.
    pub grants: BTreeSet<[u8; 32]>,
    /// `[web]` of the configuration.
    pub web: WebReach,
    /// Its workspace is a directory of a person's own, not a folder that the host made for it.
    pub attached: bool,
    /// Its message is a job's: nobody sits before the turn.
    pub unattended: bool,
    /// The text that must never leave the prompt; empty for none.
    pub canary: String,
}

impl Session {
    /// A session whose context is still empty.
    #[must_use]
    pub fn new(id: &str, profile: Profile) -> Self {
        Self { profile, id: id.to_owned(), label: Label::bottom(), ..Self::default() }
    }

    /// The session's own user said this: it vouches.
    pub fn user(&mut self, text: &str) {
        self.trusted.add(text);
        self.content(&Label::of(Trust::User, Class::Internal, "user"), text);
    }

    /// Something of the owner's: settings, a prompt, a contact that was confirmed. It vouches.
    pub fn setting(&mut self, text: &str) {
        self.trusted.add(text);
    }

    /// Anything else that entered the context. It vouches for nothing, however far it is trusted.
    pub fn content(&mut self, label: &Label, text: &str) {
        self.label = self.label.join(label);
        self.taint.add(text, label.trust == Trust::Untrusted);
    }

    /// An image that entered the context: content of so many tokens.
    pub fn image(&mut self, label: &Label, tokens: u32) {
        self.label = self.label.join(label);
        self.taint.add_tokens(tokens.into(), label.trust == Trust::Untrusted);
    }

    /// The output of a tool: content; and where the tool's output is the owner's own records, these vouch for the arguments that
    /// other tools let them vouch for.
    pub fn output(&mut self, catalogue: &Catalogue, tool: &str, label: &Label, text: &str) {
        if catalogue.get(tool).is_some_and(|capability| capability.labels.owner_records) {
            self.trusted.add_record(text);
        }
        self.content(label, text);
    }

    /// The tools that will be needed, named from trusted texts alone.
    pub fn plan(&mut self, tools: impl IntoIterator<Item = String>) {
        self.plan = Some(tools.into_iter().collect());
    }
}
