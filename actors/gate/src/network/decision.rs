//! The decision on a jail's requests to one place: policy under the labels of now, the agent's own list, and a person where policy
//! asks. It is durable on the record before the first request goes out.

use crate::network::question::{self, Asking};
use crate::network::session::{By, Outbound, Place};
use crate::state::context::GateContext;
use ipc_proto::Text;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::label::Label;
use ipc_proto::runner_gate::NetworkError;
use policy::{Call, Decision, Verdict};

/// The tool that stands for a jail's network in the policies.
pub(super) const TOOL: &str = "network";

/// Shows an event to the followers of the turn.
pub(super) type Show = std::rc::Rc<dyn Fn(ipc_proto::router::TurnEvent)>;

/// Decides, and waits for a person where one is asked.
pub(super) async fn decide(
    gate: &GateContext,
    outbound: &Outbound,
    place: &Place,
    label: &Label,
    show: &Show,
) -> Result<(), NetworkError> {
    let verdict = judge(gate, outbound, place, label);
    if let By::Browser(_) = outbound.by {
        return of_page(gate, outbound, place, label, &verdict).await;
    }
    if let (By::Server(instance), false) = (&outbound.by, place.listed) {
        record(gate, outbound, place, label, (Result3::Blocked, "not in the server's list")).await?;
        let next = format!("the owner adds it to `network` in [mcp.{}]", instance.terms.server);
        return Err(refused(place, "the server's list has no such place", &next));
    }
    match verdict.decision {
        Decision::Deny => {
            record(gate, outbound, place, label, (Result3::Blocked, "policy")).await?;
            Err(refused(place, &verdict.reason, "use another host, or ask the person to fetch it"))
        }
        Decision::Allow => record(gate, outbound, place, label, (Result3::Success, "policy")).await,
        // The list has answered, but for data that its label keeps from leaving, and for what is the owner's alone to permit.
        Decision::Ask if place.listed && !verdict.declassifies && !verdict.owner_only => {
            record(gate, outbound, place, label, (Result3::Success, "in the agent's list")).await
        }
        Decision::Ask => {
            // The call that told a server was judged by what leaves with it, and a person was asked then.
            let By::Turn { turn, session, asks_nobody, .. } = outbound.by else {
                return record(gate, outbound, place, label, (Result3::Success, "in the server's list"))
                    .await;
            };
            if asks_nobody {
                record(gate, outbound, place, label, (Result3::Blocked, "nobody to ask")).await?;
                let rule =
                    "a person would be asked, and this is the message of a job, before which nobody sits";
                let next = "have the owner list it for the agent, or add the job with --ask wait";
                return Err(refused(place, rule, next));
            }
            question::ask(gate, Asking { outbound, turn, session }, place, &verdict, show).await
        }
    }
}

/// Decides on what a page loads or sends; nobody is asked. A page sends to a site only after a call that acts on a page of that site
/// was permitted. After something personal was typed no site answers but those.
async fn of_page(
    gate: &GateContext,
    outbound: &Outbound,
    place: &Place,
    label: &Label,
    verdict: &Verdict,
) -> Result<(), NetworkError> {
    let blocked = match verdict.decision {
        Decision::Deny => Some(verdict.reason.as_str()),
        _ if place.listed => None,
        _ if place.service.is_some() => {
            Some("no call typed the placeholder of the secret on a page of this site")
        }
        _ if !place.reads => Some("nothing on a page of this site was used, so its pages send nothing to it"),
        Decision::Ask if verdict.declassifies || verdict.owner_only => Some(verdict.reason.as_str()),
        Decision::Ask | Decision::Allow => None,
    };
    match blocked {
        None => record(gate, outbound, place, label, (Result3::Success, "a page of the browser")).await,
        Some(why) => {
            record(gate, outbound, place, label, (Result3::Blocked, "a page of the browser")).await?;
            Err(refused(place, why, "use the page as it is, or ask the person"))
        }
    }
}

/// Policy's verdict now.
pub(super) fn judge(gate: &GateContext, outbound: &Outbound, place: &Place, label: &Label) -> Verdict {
    let (mut facts, arguments) = (outbound.facts.clone(), place.arguments());
    facts.label = label.clone();
    if let (By::Browser(_), true) = (&outbound.by, place.listed) {
        facts.web.allow.push(place.origin.host.to_string());
    }
    policy::decide(&gate.engine(), &gate.catalogue(), &facts, &Call { tool: TOOL, args: &arguments })
}

/// Puts a decision on the record.
///
/// # Errors
/// Audit is away: nothing goes out.
pub(super) async fn record(
    gate: &GateContext,
    outbound: &Outbound,
    place: &Place,
    label: &Label,
    (result, reason): (Result3, &str),
) -> Result<(), NetworkError> {
    let event = Event::new(Action::NetworkDecided, result).about(&place.subject());
    let mut event = outbound.mark(event).because(reason);
    event.label = Some(label.clone());
    gate.record(event).await.map(drop).map_err(|_| away(place, "audit"))
}

/// The refusal of a place.
pub(super) fn refused(place: &Place, rule: &str, next: &str) -> NetworkError {
    NetworkError::Refused { host: Text::clip(&place.host()), rule: Text::clip(rule), next: Text::clip(next) }
}

/// A process that every request needs is not there.
pub(super) fn away(place: &Place, process: &str) -> NetworkError {
    let rule = format!("{process} is held or away, and nothing leaves without it");
    refused(place, &rule, &format!("if it is held: agentctl release {process}"))
}
