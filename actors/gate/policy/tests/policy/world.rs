//! A session with one tool, built up by a test as it needs it.

use ipc_proto::capability::{Capability, Effect};
use ipc_proto::label::{Class, Label, Trust};
use policy::{Call, Catalogue, Decision, Engine, Profile, Session, Verdict, decide};
use serde_json::Value;

/// The engine and catalogue that a test decides by.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) catalogue: Catalogue,
    pub(crate) session: Session,
}

/// Words that say nothing about any call; long enough that a short untrusted text is a small share of the context.
pub(crate) const SMALL_TALK: &str =
    "Good morning. I hope that you are well today, since there is a great deal for us to do.";

impl World {
    pub(crate) fn new(profile: Profile) -> Self {
        let mut session = Session::new("s", profile);
        session.user(SMALL_TALK);
        Self { engine: Engine::built_in().unwrap(), catalogue: Catalogue::built_in().unwrap(), session }
    }

    /// With this tool, called `tool`.
    pub(crate) fn tool(mut self, capability: Capability) -> Self {
        self.catalogue.declare("tool", capability).unwrap();
        self
    }

    /// With the owner's own policy file.
    pub(crate) fn policy(mut self, text: &str) -> Self {
        self.engine = Engine::with(&[("own", text)]).unwrap();
        self
    }

    pub(crate) fn said(mut self, text: &str) -> Self {
        self.session.user(text);
        self
    }

    pub(crate) fn planned(mut self, tools: &[&str]) -> Self {
        self.session.plan(tools.iter().map(|tool| (*tool).to_owned()));
        self
    }

    /// With a short text of this label in the context: less than a tenth of it.
    pub(crate) fn read(mut self, trust: Trust, class: Class) -> Self {
        self.session.content(&Label::of(trust, class, "elsewhere"), "ok");
        self
    }

    pub(crate) fn untrusted(self) -> Self {
        self.read(Trust::Untrusted, Class::Internal)
    }

    /// With so much untrusted text that it is most of the context.
    pub(crate) fn flooded(mut self) -> Self {
        let label = Label::of(Trust::Untrusted, Class::Internal, "elsewhere");
        self.session.content(&label, &"so it goes on and on ".repeat(1000));
        self
    }

    pub(crate) fn verdict(&self, tool: &str, args: Value) -> Verdict {
        let args = args.as_object().unwrap().clone();
        decide(&self.engine, &self.catalogue, &self.session, &Call { tool, args: &args })
    }

    pub(crate) fn decide(&self, tool: &str, args: Value) -> Decision {
        self.verdict(tool, args).decision
    }
}

/// A capability that does this, judged by its argument `to`.
pub(crate) fn does(effect: Effect) -> Capability {
    Capability { effect, relevant_args: vec!["to".to_owned()], ..Capability::default() }
}

/// The names of the policies that determined a verdict.
pub(crate) fn policies(verdict: &Verdict) -> Vec<&str> {
    verdict.why.policies.iter().map(|policy| policy.as_str()).collect()
}
