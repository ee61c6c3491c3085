//! Policy's verdict on a call, and the room on the disk that an effect needs.

use crate::decision::refusal::Refusal;
use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use ipc_proto::Text;
use ipc_proto::capability::Effect;
use ipc_proto::label::Class;
use manifest::command::Room;
use policy::{Call, Verdict};
use serde_json::{Map, Value};

/// Checks the room on the disk. While it is low only tools that read begin. Effects that have begun use the reserve.
pub(crate) fn has_room(gate: &GateContext, tool: &str) -> Result<(), Refusal> {
    let Room { low, free_mib, kept_mib } = gate.disk();
    let reads = gate.catalogue.get(tool).is_some_and(|capability| capability.effect == Effect::Read);
    if low && !reads { Err(Refusal::NoRoom { free_mib, kept_mib }) } else { Ok(()) }
}

/// Policy's verdict on a call whose arguments show this class. The class counts for the arguments alone: a key that a model makes
/// up is no secret of its context.
pub(crate) fn by_policy(
    gate: &GateContext,
    context: &mut TurnContext,
    tool: &str,
    args: &Map<String, Value>,
    found: Class,
) -> Verdict {
    let engine = gate.engine();
    let class = context.session.label.class;
    context.session.label.class = class.max(found);
    let verdict = policy::decide(&engine, &gate.catalogue, &context.session, &Call { tool, args });
    context.session.label.class = class;
    verdict
}

pub(crate) fn policy_refusal(verdict: &Verdict) -> Refusal {
    let policies: Vec<&str> = verdict.why.policies.iter().map(Text::as_str).collect();
    Refusal::Policy { reason: verdict.reason.clone(), policies: policies.join(", ") }
}
