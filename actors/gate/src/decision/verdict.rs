//! Policy's verdict on a call, and the room on the disk that an effect needs.

use crate::decision::refusal::Refusal;
use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use address::Unfit;
use ipc_proto::Text;
use ipc_proto::label::Class;
use manifest::command::Room;
use policy::{Call, Decision, Verdict};
use serde_json::{Map, Value};

/// Checks the room on the disk. While it is low only tools that read begin. Effects that have begun use the reserve.
pub(crate) fn has_room(gate: &GateContext, tool: &str) -> Result<(), Refusal> {
    let Room { low, free_mib, kept_mib } = gate.disk();
    if low && !gate.catalogue().only_reads(tool) {
        Err(Refusal::NoRoom { free_mib, kept_mib })
    } else {
        Ok(())
    }
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
    let mut verdict = policy::decide(&engine, &gate.catalogue(), &context.session, &Call { tool, args });
    context.session.label.class = class;
    if let Some(terms) = context.turn.delegated.as_ref().filter(|_| verdict.decision == Decision::Ask) {
        let chain: Vec<&str> = terms.chain.iter().map(Text::as_str).collect();
        verdict.reason =
            format!("{}; {} does it for {}", verdict.reason, context.turn.agent, chain.join(", for "));
    }
    verdict
}

pub(crate) fn policy_refusal(verdict: &Verdict) -> Refusal {
    let policies: Vec<&str> = verdict.why.policies.iter().map(Text::as_str).collect();
    let remedy = remedy(&verdict.reason, verdict.target.as_deref());
    Refusal::Policy { reason: verdict.reason.clone(), policies: policies.join(", "), remedy }
}

/// The way on after a refusal by policy. A host that is on no list is permitted by one command of the owner's.
fn remedy(reason: &str, address: Option<&str>) -> String {
    let host = address.and_then(|address| address::parse(address).ok()).map(|target| target.host.to_string());
    match host {
        Some(host) if reason.contains(Unfit::NotListed.phrase()) => {
            format!("the owner permits it with: agentctl web allow {host}")
        }
        Some(_)
            if reason.contains(Unfit::LocalName.phrase()) || reason.contains(Unfit::NotPublic.phrase()) =>
        {
            "the owner permits a private host in [web] private_hosts".to_owned()
        }
        _ => "use another way, or ask the person to name what is meant (agentctl policy explain ID says why)"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P5-69.
    #[test]
    fn a_refused_host_comes_with_the_command_that_permits_it() {
        let listed = remedy(Unfit::NotListed.phrase(), Some("https://docs.example.com/a?b"));
        assert_eq!(listed, "the owner permits it with: agentctl web allow docs.example.com");
        let inside = remedy(Unfit::NotPublic.phrase(), Some("http://10.0.0.1/"));
        assert!(inside.contains("private_hosts") && !inside.contains("web allow"), "{inside}");
        for other in [remedy("secrets never leave the host", Some("https://a.example/")), remedy("no", None)]
        {
            assert!(other.contains("agentctl policy explain") && !other.contains("web allow"), "{other}");
        }
    }
}
