//! The decision on a tool call, in order: the agent's list of tools, schema, quotas, canary. What no rule permits is
//! refused. The decision is on durable record before anybody hears of it.

use crate::context::TurnContext;
use crate::host::{Shared, down};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::router::{CallVerdict, Released};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::{self, Direction};
use ipc_proto::tool::ToolCall;
use ipc_proto::{Name, Text};
use sha2::{Digest, Sha256};

/// Why a call is refused: told to the model and the person.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Refusal {
    #[error("the agent {agent} does not have the tool {tool}; it has {valid}")]
    NotListed { agent: String, tool: String, valid: String },
    #[error("[VALIDATION ERROR] {0}")]
    Schema(String),
    #[error("the turn's bound of {0} tool calls is reached")]
    TooMany(u32),
    #[error("{tool} has failed {times} times in a row; it is refused for the rest of this turn")]
    Failing { tool: String, times: u32 },
    #[error("the arguments hold what must never leave the prompt")]
    Canary,
}

impl Refusal {
    /// For the record: a fixed phrase, without content.
    const fn phrase(&self) -> &'static str {
        match self {
            Self::NotListed { .. } => "not in the agent's list of tools",
            Self::Schema(_) => "arguments do not fit the schema",
            Self::TooMany(_) => "bound of tool calls reached",
            Self::Failing { .. } => "failures in a row",
            Self::Canary => "canary in the arguments",
        }
    }
}

/// Decides on a call and puts the decision on the record.
pub(crate) async fn decide(
    shared: &Shared,
    context: &mut TurnContext,
    call: ToolCall,
) -> Result<Released, GateError> {
    context.asked += 1;
    let mut refusal = by_rules(context, &call);
    if refusal.is_none() && leaks(shared, context, &call).await? {
        refusal = Some(Refusal::Canary);
    }
    let result = if refusal.is_some() { Result3::Blocked } else { Result3::Success };
    let mut event = Event::new(Action::ToolDecided, result)
        .about(&call.tool)
        .in_turn(context.turn.session, context.turn.id);
    event.call = Some(call.id);
    event.hash = Some(Sha256::digest(call.args.as_bytes()).into());
    event.bytes = call.args.len() as u64;
    event.label = Some(context.session_label.clone());
    event.reason = refusal.as_ref().map(|refusal| Name::clip(refusal.phrase()));
    let record = shared.record(event).await?.index;
    let verdict =
        refusal.map_or(CallVerdict::Run, |refusal| CallVerdict::Refused(Text::clip(&refusal.to_string())));
    Ok(Released { call, verdict, record })
}

fn by_rules(context: &TurnContext, call: &ToolCall) -> Option<Refusal> {
    let (agent, limits) = (&context.agent, &context.agent.limits);
    let tool = call.tool.to_string();
    if !agent.tools.contains(&tool) {
        return Some(Refusal::NotListed {
            agent: context.turn.agent.to_string(),
            tool,
            valid: agent.tools.join(", "),
        });
    }
    if let Err(problem) = toolset::check(&tool, &call.args) {
        return Some(Refusal::Schema(problem));
    }
    if context.asked > limits.tool_calls {
        return Some(Refusal::TooMany(limits.tool_calls));
    }
    let times = context.failures.get(&tool).copied().unwrap_or(0);
    (times >= limits.tool_failures).then_some(Refusal::Failing { tool, times })
}

/// A canary in the arguments of a call is on its way out of the prompt.
async fn leaks(shared: &Shared, context: &TurnContext, call: &ToolCall) -> Result<bool, GateError> {
    let scanned = shared.scanner.call(&scanner::method::scan, |scanner, rpc| {
        let (text, canary) = (Text::clip(&call.args), Some(Name::clip(&context.canary)));
        async move { scanner.scan(rpc, Direction::Output, text, canary).await }
    });
    Ok(scanned.await.map_err(|_| down("scanner"))?.canary_leaked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::tests::context;
    use ipc_proto::ids::CallId;

    fn refusal(
        tools: &[&str],
        tool: &str,
        args: &str,
        change: impl FnOnce(&mut TurnContext),
    ) -> Option<Refusal> {
        let mut context = context(vec![]);
        context.agent.tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
        context.asked = 1;
        change(&mut context);
        by_rules(&context, &ToolCall { id: CallId::random(), tool: Name::clip(tool), args: Text::clip(args) })
    }

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
        assert_eq!(
            phrase(refusal(&["bash"], "bash", bash, |c| c.asked = 51)),
            Some("bound of tool calls reached")
        );
        let fail = |context: &mut TurnContext| (0..3).for_each(|_| context.count("bash", true));
        assert_eq!(phrase(refusal(&["bash"], "bash", bash, fail)), Some("failures in a row"));
    }

    #[test]
    fn a_success_forgets_the_failures_before_it() {
        let mut context = context(vec![]);
        context.count("bash", true);
        context.count("bash", false);
        assert_eq!(context.failures.get("bash"), Some(&0));
    }
}
