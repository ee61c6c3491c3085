//! Calls of the owner's services by credproxy: only to the configured address, with a secret that this process never sees. The
//! reply is a stranger's text.

use crate::effects::outcome::{Effect, disconnected, failed, unknown};
use crate::services::{self, reads, text, verb};
use crate::state::blocked_on;
use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use ipc_proto::Fault;
use ipc_proto::credproxy::{self, CredError, Head};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::scanner::Crossing;
use ipc_proto::tool::{Outcome, ToolCall};
use kit::Pull;
use serde_json::{Map, Value};
use std::fmt::Write;

/// Calls a service. The call was permitted before; the service's configuration is checked again.
pub(crate) async fn call(
    gate: &GateContext,
    context: &TurnContext,
    call: &ToolCall,
    args: &Map<String, Value>,
) -> Effect {
    let (services, agent) = (&gate.settings.services, &context.turn.agent);
    let request = match services::request(services, agent, &call.tool, args, Some(call)) {
        Ok(request) => request,
        Err(why) => return failed(&why),
    };
    let reads = reads(request.verb);
    let asked = gate.credproxy.call(&credproxy::method::request, |credproxy, rpc| {
        let request = request.clone();
        async move { credproxy.request(rpc, request).await }
    });
    let mut head = match blocked_on::during("credproxy", asked).await {
        Ok(Ok(head)) => head,
        Ok(Err(error)) => return refused(error, reads),
        Err(fault) => return disconnected("credproxy", fault, reads),
    };
    let execution = gate.catalogue().get(&call.tool).map(|capability| capability.execution.max_output_size);
    let bound = execution.and_then(|bound| usize::try_from(bound).ok()).unwrap_or_default();
    let body = blocked_on::during("credproxy", read(Pull::of(&gate.credproxy, &mut head), bound)).await;
    from_stranger(show(&head, &body), text(args, "service"))
}

/// The outcome of a call that took longer than its tool may.
pub(crate) fn timed_out(args: &Value) -> Effect {
    let method = args.get("method").and_then(Value::as_str).unwrap_or_default();
    disconnected("credproxy", Fault::Deadline, reads(verb(method)))
}

/// The part of a body that was read.
struct Body {
    bytes: Vec<u8>,
    /// It was longer than the bound.
    cut: bool,
    /// The connection ended in the middle.
    broken: bool,
}

/// Reads a body up to `bound` bytes.
async fn read(mut pull: Pull, bound: usize) -> Body {
    let mut body = Body { bytes: Vec::new(), cut: false, broken: false };
    loop {
        let Ok(Ok(chunk)) = pull.next().await else { return Body { broken: true, ..body } };
        body.bytes.extend(&*chunk.bytes);
        if body.bytes.len() > bound {
            body.bytes.truncate(bound);
            return Body { cut: true, ..body };
        }
        if chunk.last {
            return body;
        }
    }
}

/// The outcome where credproxy refused the call, or the service did not answer: then the outcome of a write is unknown.
fn refused(error: CredError, reads: bool) -> Effect {
    if reads || error.never_left() { failed(&error.to_string()) } else { unknown() }
}

/// Output with the label of a service's text.
fn from_stranger(output: String, service: &str) -> Effect {
    let source = format!("service:{service}");
    Effect {
        outcome: Outcome::Success,
        output,
        label: Some(Label::of(Trust::Untrusted, Class::Internal, &source)),
        crossing: Crossing::Web,
        source: Some(source),
    }
}

fn show(head: &Head, body: &Body) -> String {
    let mut out = head.status.to_string();
    for header in head.headers.iter().filter(|header| SHOWN.contains(&header.name.as_str())) {
        let _ = write!(out, "\n{}: {}", header.name, header.value);
    }
    let end = match (body.cut, body.broken) {
        (true, _) => "\n[... more followed and was not read]",
        (_, true) => "\n[... the reply broke off]",
        _ => "",
    };
    format!("{out}\n\n{}{end}", String::from_utf8_lossy(&body.bytes))
}

/// Headers of a reply that the model sees.
const SHOWN: [&str; 3] = ["content-type", "location", "retry-after"];

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::credproxy::{Chunk, Header, Reply};
    use ipc_proto::{List, Name, Text};
    use serde_json::json;

    #[test]
    fn a_call_that_may_have_taken_effect_is_unknown_and_others_failed() {
        for (effect, outcome) in [
            (disconnected("credproxy", Fault::PeerRestarted, true), Outcome::Error),
            (disconnected("credproxy", Fault::PeerRestarted, false), Outcome::Unknown),
            (disconnected("credproxy", Fault::Unreachable, false), Outcome::Error),
            (refused(CredError::Stalled, false), Outcome::Unknown),
            (refused(CredError::Upstream, false), Outcome::Unknown),
            (refused(CredError::Upstream, true), Outcome::Error),
            (refused(CredError::Unsent, false), Outcome::Error),
            (refused(CredError::Compressed, false), Outcome::Unknown),
            (refused(CredError::NotBound, false), Outcome::Error),
            (timed_out(&json!({"method": "POST"})), Outcome::Unknown),
            (timed_out(&json!({})), Outcome::Error),
        ] {
            assert_eq!(effect.outcome, outcome);
        }
    }

    #[test]
    fn what_a_service_says_is_untrusted_named_after_it_and_cut_at_the_bound() {
        let head = Head {
            reply: Reply(1),
            status: 200,
            retry_after: None,
            headers: List::clip([
                Header { name: Name::clip("content-type"), value: Text::clip("application/json") },
                Header { name: Name::clip("request-id"), value: Text::clip("1") },
            ]),
            first: Chunk::default(),
        };
        let body = Body { bytes: b"\xff{}".to_vec(), cut: true, broken: false };
        let effect = from_stranger(show(&head, &body), "mail");
        assert_eq!(
            effect.output,
            "200\ncontent-type: application/json\n\n\u{fffd}{}\n[... more followed and was not read]"
        );
        let label = effect.label.unwrap();
        assert_eq!(label.trust, Trust::Untrusted);
        assert_eq!(label.sources.first().map(Name::as_str), Some("service:mail"));
    }
}
