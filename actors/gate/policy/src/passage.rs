//! The host's own uses of content: the enforcement points of the flow rules that are no calls. The others (memory write, egress,
//! tool chain) are calls, and go through [`crate::decide`].

use crate::context::Asked;
use crate::decide::judge;
use crate::{Decision, Engine, Session};
use ipc_proto::Name;
use ipc_proto::label::Label;

/// Where content passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passage {
    /// Into a request to a model.
    Prompt,
    /// From a tool into the context.
    Output,
    /// Into a log or the record.
    Log,
}

impl Passage {
    const fn action(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Output => "output",
            Self::Log => "log",
        }
    }
}

/// Checks that content with this label may pass. No person is asked here.
///
/// # Errors
/// The policies that keep it.
pub fn passes(engine: &Engine, session: &Session, passage: Passage, label: &Label) -> Result<(), Vec<Name>> {
    let asked = Asked { session: Some(session), label, action: passage.action(), tool: "", facts: None };
    let judged = judge(engine, &asked, false, false);
    if judged.decision == Decision::Allow {
        return Ok(());
    }
    Err(judged.policies.iter().map(|policy| Name::clip(policy.as_ref())).collect())
}
