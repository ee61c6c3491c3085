//! The decision on a tool call, in order: the agent's list of tools, schema, quotas, the scanner's findings in the arguments,
//! label and policy. A call that no rule permits is refused. The decision is durable on the record before anybody is told of it.

use crate::decision::record::{alert, alert_repeated, event};
use crate::decision::refusal::Refusal;
use crate::decision::verdict::{by_policy, has_room, policy_refusal};
use crate::decision::{page, question};
use crate::inspection::scan;
use crate::jobs;
use crate::services;
use crate::state::context::GateContext;
use crate::state::mcp::is_foreign;
use crate::turn::context::TurnContext;
use crate::turn::pending_reply::DecidedCall;
use ipc_proto::approval::Question;
use ipc_proto::audit::{Action, Result3};
use ipc_proto::ids::ApprovalId;
use ipc_proto::router::{CallVerdict, Released, Why};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::Crossing;
use ipc_proto::tool::ToolCall;
use ipc_proto::{Name, Text};
use policy::Decision;
use serde_json::{Map, Value};

/// The verdict on a call before it is recorded.
struct Judged {
    verdict: CallVerdict,
    refusal: Option<Refusal>,
    why: Why,
    question: Option<Question>,
    granted: bool,
}

/// Decides on a call and puts the decision on the record.
pub(crate) async fn decide(
    gate: &GateContext,
    context: &mut TurnContext,
    mut call: ToolCall,
) -> Result<DecidedCall, GateError> {
    let times = context.calls.count(&call);
    let rules = by_rules(context, &call, times).and_then(|mut args| {
        page::complete(gate, context, &mut call, &mut args).map_err(Refusal::Page)?;
        services::fits(&gate.settings.services, &context.turn.agent, &call.tool, &args)
            .map_err(Refusal::Schema)?;
        has_room(gate, &call.tool).map(|()| args)
    });
    let rules = match rules {
        Ok(mut args) => {
            jobs::complete(gate, context, &mut call, &mut args).await.map(|()| args).map_err(Refusal::Job)
        }
        Err(refusal) => Err(refusal),
    };
    let judged = match rules {
        Err(refusal) => refused(gate, context, refusal),
        Ok(args) => judge(gate, context, &call, &args).await?,
    };
    let record = record(gate, context, &call, &judged).await?;
    let outcome = match &judged.verdict {
        // A success raises its alert once it has happened.
        CallVerdict::Run => None,
        CallVerdict::Refused(_) => Some("blocked"),
        CallVerdict::Asking(_) => Some("asked"),
    };
    match (outcome, &judged.refusal) {
        (Some(outcome), Some(refusal)) if refusal.is_ordinary() => {
            alert_repeated(gate, context, &call.tool, outcome).await?;
        }
        (Some(outcome), _) => alert(gate, context, &call.tool, outcome).await?,
        (None, _) => {}
    }
    let released = Released { call, verdict: judged.verdict, record, why: judged.why };
    Ok(DecidedCall { released, question: judged.question })
}

/// Checks the rules that need no scanner. `times` is how often the turn has requested this call, this time included.
fn by_rules(context: &TurnContext, call: &ToolCall, times: u32) -> Result<Map<String, Value>, Refusal> {
    let (agent, limits) = (&context.agent, &context.agent.limits);
    let tool = call.tool.to_string();
    if !agent.tools.contains(&tool) && context.hidden.contains(&tool) {
        return Err(Refusal::NotFound { tool });
    }
    if !agent.tools.contains(&tool) {
        let agent_name = context.turn.agent.to_string();
        return Err(Refusal::NotListed { agent: agent_name, tool, valid: agent.tools.join(", ") });
    }
    // A server checks the arguments of its tools by itself.
    let args =
        if is_foreign(&tool) { toolset::parse_args(&call.args) } else { toolset::check(&tool, &call.args) };
    let args = args.map_err(Refusal::Schema)?;
    if context.calls.asked() > limits.tool_calls {
        return Err(Refusal::TooMany(limits.tool_calls));
    }
    let failures = context.calls.failures(&tool);
    if failures >= limits.tool_failures {
        return Err(Refusal::Failing { tool, times: failures });
    }
    if times > limits.same_call {
        return Err(Refusal::Same { tool, times: limits.same_call });
    }
    match args {
        Value::Object(args) => Ok(args),
        _ => Err(Refusal::Schema("the arguments are not an object".to_owned())),
    }
}

/// Asks the scanner and policy.
async fn judge(
    gate: &GateContext,
    context: &mut TurnContext,
    call: &ToolCall,
    args: &Map<String, Value>,
) -> Result<Judged, GateError> {
    let found = scan::scan(gate, context, Crossing::Arguments, &call.args).await?;
    if found.canary_leaked {
        return Ok(refused(gate, context, Refusal::Canary));
    }
    if found.held_secret {
        return Ok(refused(gate, context, Refusal::HeldSecret));
    }
    let verdict = by_policy(gate, context, &call.tool, args, found.class);
    let mut why = verdict.why.clone();
    let granted = context.session.grants.contains(&verdict.scope);
    let (ruling, refusal, question) = match verdict.decision {
        Decision::Allow => (CallVerdict::Run, None, None),
        Decision::Deny => {
            let refusal = policy_refusal(&verdict);
            (CallVerdict::Refused(Text::clip(&refusal.to_string())), Some(refusal), None)
        }
        Decision::Ask if context.asks_nobody() => {
            let refusal = Refusal::Unattended(verdict.reason.clone());
            (CallVerdict::Refused(Text::clip(&refusal.to_string())), Some(refusal), None)
        }
        Decision::Ask => {
            let id = ApprovalId::random();
            why.expires_ms = question::expiry(gate, context.session.unattended);
            match question::question(gate, id, call, args, &verdict, &why) {
                Some(question) => (CallVerdict::Asking(id), None, Some(question)),
                None => return Ok(refused(gate, context, Refusal::Unshowable)),
            }
        }
    };
    Ok(Judged { verdict: ruling, refusal, why, question, granted })
}

fn refused(gate: &GateContext, context: &TurnContext, refusal: Refusal) -> Judged {
    let why = Why {
        version: Name::clip(gate.engine().version()),
        label: context.session.label.clone(),
        ..Why::default()
    };
    let verdict = CallVerdict::Refused(Text::clip(&refusal.to_string()));
    Judged { verdict, refusal: Some(refusal), why, question: None, granted: false }
}

/// Records a decision or a question; returns the index of the entry.
async fn record(
    gate: &GateContext,
    context: &TurnContext,
    call: &ToolCall,
    judged: &Judged,
) -> Result<u64, GateError> {
    let (action, result) = match &judged.verdict {
        CallVerdict::Run => (Action::ToolDecided, Result3::Success),
        CallVerdict::Refused(_) => (Action::ToolDecided, Result3::Blocked),
        CallVerdict::Asking(_) => (Action::ApprovalAsked, Result3::Success),
    };
    let mut event = event(gate, context, action, result, call);
    event.reason = judged.refusal.as_ref().map(|refusal| Name::clip(refusal.phrase()));
    if judged.granted && judged.verdict == CallVerdict::Run {
        event.reason = Some(Name::clip("granted for the session"));
    }
    if let Some(question) = &judged.question {
        event.hash = Some(question.hash);
    }
    Ok(gate.record(event).await?.index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::testing::context;
    use ipc_proto::ids::CallId;

    fn refusal(
        tools: &[&str],
        tool: &str,
        args: &str,
        change: impl FnOnce(&mut TurnContext),
    ) -> Option<Refusal> {
        let mut context = context(vec![]);
        context.agent.tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
        change(&mut context);
        let call = ToolCall { id: CallId::random(), tool: Name::clip(tool), args: Text::clip(args) };
        let times = context.calls.count(&call);
        by_rules(&context, &call, times).err()
    }

    // Holds B-13, B-14, P8-24.
    #[test]
    fn what_no_rule_permits_is_refused_and_the_reason_says_which_rule() {
        let bash = r#"{"command":"ls"}"#;
        assert_eq!(refusal(&["bash"], "bash", bash, |_| ()), None);
        let phrase = |refusal: Option<Refusal>| refusal.map(|refusal| refusal.phrase());
        assert_eq!(
            phrase(refusal(&["read"], "bash", bash, |_| ())),
            Some("not in the agent's list of tools")
        );
        assert_eq!(phrase(refusal(&["bash"], "bash", "{}", |_| ())), Some("arguments do not fit the schema"));
        let many = |context: &mut TurnContext| {
            let other = ToolCall { id: CallId::random(), tool: Name::clip("read"), args: Text::clip("{}") };
            (0..50).for_each(|_| assert!(context.calls.count(&other) > 0));
        };
        assert_eq!(phrase(refusal(&["bash"], "bash", bash, many)), Some("bound of tool calls reached"));
        let fail = |context: &mut TurnContext| (0..3).for_each(|_| context.calls.count_result("bash", true));
        assert_eq!(phrase(refusal(&["bash"], "bash", bash, fail)), Some("failures in a row"));
    }

    // Holds B-16.
    #[test]
    fn the_same_call_over_and_over_is_refused_and_another_is_not() {
        let again = |times: u32, args: &str| {
            refusal(&["bash"], "bash", args, |context| {
                for _ in 0..times {
                    let args = Text::clip(r#"{"command":"ls"}"#);
                    context.calls.count(&ToolCall { id: CallId::random(), tool: Name::clip("bash"), args });
                }
            })
        };
        assert_eq!(again(2, r#"{"command":"ls"}"#), None);
        assert_eq!(again(3, r#"{ "command": "ls" }"#).map(|it| it.phrase()), Some("the same call again"));
        assert_eq!(again(9, r#"{"command":"ls -l"}"#), None);
    }
}
