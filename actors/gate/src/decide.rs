//! The decision on a tool call, in order: the agent's list of tools, schema, quotas, what the scanner finds in the
//! arguments, label and policy. What no rule permits is refused. The decision is on durable record before anybody
//! hears of it.

use crate::asking;
use crate::calling;
use crate::context::TurnContext;
use crate::host::Shared;
use crate::scan;
use ipc_proto::approval::Question;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::capability::Effect;
use ipc_proto::ids::ApprovalId;
use ipc_proto::label::{Class, Label};
use ipc_proto::router::{CallVerdict, Released, Why};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::Crossing;
use ipc_proto::tool::ToolCall;
use ipc_proto::{Name, Text};
use manifest::command::Room;
use policy::{Call, Decision, Passage, Verdict};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Why a call is refused: told to the model and the person.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the agent {agent} does not have the tool {tool}; it has {valid}")]
    NotListed { agent: String, tool: String, valid: String },
    #[error("[VALIDATION ERROR] {0}")]
    Schema(String),
    #[error("the turn's bound of {0} tool calls is reached")]
    TooMany(u32),
    #[error("{tool} has failed {times} times in a row; it is refused for the rest of this turn")]
    Failing { tool: String, times: u32 },
    #[error(
        "this turn has called {tool} with exactly these arguments {times} times; the same call again is refused. Go on \
         with what these calls gave back, or try something else"
    )]
    Same { tool: String, times: u32 },
    #[error("the arguments hold what must never leave the prompt")]
    Canary,
    #[error("the arguments hold a secret of the host")]
    HeldSecret,
    #[error("{reason} [{policies}]")]
    Policy { reason: String, policies: String },
    #[error("a person must be asked, and the action is too long to be shown")]
    Unshowable,
    #[error("disk: {free_mib} MiB free, {kept_mib} are kept; nothing new takes effect until there is room")]
    NoRoom { free_mib: u32, kept_mib: u32 },
}

impl Refusal {
    /// For the record: a fixed phrase, without content.
    const fn phrase(&self) -> &'static str {
        match self {
            Self::NotListed { .. } => "not in the agent's list of tools",
            Self::Schema(_) => "arguments do not fit the schema",
            Self::TooMany(_) => "bound of tool calls reached",
            Self::Failing { .. } => "failures in a row",
            Self::Same { .. } => "the same call again",
            Self::Canary => "canary in the arguments",
            Self::HeldSecret => "a secret of the host in the arguments",
            Self::Policy { .. } => "policy",
            Self::Unshowable => "too long to be shown to a person",
            Self::NoRoom { .. } => "disk low",
        }
    }
}

/// What is found of a call before it is put on the record.
struct Judged {
    verdict: CallVerdict,
    refusal: Option<Refusal>,
    why: Why,
    question: Option<Question>,
    granted: bool,
}

/// A decided call, and the question where a person is to be asked.
pub(crate) struct Decided {
    pub(crate) released: Released,
    pub(crate) question: Option<Question>,
}

/// Decides on a call and puts the decision on the record.
pub(crate) async fn decide(
    shared: &Shared,
    context: &mut TurnContext,
    call: ToolCall,
) -> Result<Decided, GateError> {
    let times = context.ask(&call);
    let rules = by_rules(context, &call, times).and_then(|args| {
        calling::fits(shared, context, &call.tool, &args).map_err(Refusal::Schema)?;
        has_room(shared, &call.tool).map(|()| args)
    });
    let judged = match rules {
        Err(refusal) => refused(shared, context, refusal),
        Ok(args) => judge(shared, context, &call, &args).await?,
    };
    let record = record(shared, context, &call, &judged).await?;
    let outcome = match &judged.verdict {
        CallVerdict::Run => "success",
        CallVerdict::Refused(_) => "blocked",
        CallVerdict::Asking(_) => "asked",
    };
    // A success is an alert once it has happened, a refusal and a question at once.
    if outcome != "success" {
        alert(shared, context, &call.tool, outcome).await?;
    }
    let released = Released { call, verdict: judged.verdict, record, why: judged.why };
    Ok(Decided { released, question: judged.question })
}

/// `times` is how often the turn has asked for this very call, this time included.
fn by_rules(context: &TurnContext, call: &ToolCall, times: u32) -> Result<Map<String, Value>, Refusal> {
    let (agent, limits) = (&context.agent, &context.agent.limits);
    let tool = call.tool.to_string();
    if !agent.tools.contains(&tool) {
        let agent_name = context.turn.agent.to_string();
        return Err(Refusal::NotListed { agent: agent_name, tool, valid: agent.tools.join(", ") });
    }
    let args = toolset::check(&tool, &call.args).map_err(Refusal::Schema)?;
    if context.asked > limits.tool_calls {
        return Err(Refusal::TooMany(limits.tool_calls));
    }
    let failures = context.failures.get(&tool).copied().unwrap_or(0);
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

/// What only reads goes on while the disk is low; whatever else a tool does does not begin. What was begun has the
/// room that is kept.
pub(crate) fn has_room(shared: &Shared, tool: &str) -> Result<(), Refusal> {
    let Room { low, free_mib, kept_mib } = shared.disk();
    let reads = shared.catalogue.get(tool).is_some_and(|capability| capability.effect == Effect::Read);
    if low && !reads { Err(Refusal::NoRoom { free_mib, kept_mib }) } else { Ok(()) }
}

/// The scanner's word and policy's.
async fn judge(
    shared: &Shared,
    context: &mut TurnContext,
    call: &ToolCall,
    args: &Map<String, Value>,
) -> Result<Judged, GateError> {
    let found = scan::scan(shared, context, Crossing::Arguments, &call.args).await?;
    if found.canary_leaked {
        return Ok(refused(shared, context, Refusal::Canary));
    }
    if found.held_secret {
        return Ok(refused(shared, context, Refusal::HeldSecret));
    }
    let verdict = by_policy(shared, context, &call.tool, args, found.class);
    let mut why = verdict.why.clone();
    let granted = context.session.grants.contains(&verdict.scope);
    let (ruling, refusal, question) = match verdict.decision {
        Decision::Allow => (CallVerdict::Run, None, None),
        Decision::Deny => {
            let refusal = policy_refusal(&verdict);
            (CallVerdict::Refused(Text::clip(&refusal.to_string())), Some(refusal), None)
        }
        Decision::Ask => {
            let id = ApprovalId::random();
            why.expires_ms = asking::expiry(shared);
            match asking::question(shared, id, call, args, &verdict, &why) {
                Some(question) => (CallVerdict::Asking(id), None, Some(question)),
                None => return Ok(refused(shared, context, Refusal::Unshowable)),
            }
        }
    };
    Ok(Judged { verdict: ruling, refusal, why, question, granted })
}

/// What policy says of a call whose arguments show this class. The class is that of the arguments alone: a key that
/// a model makes up is no secret that its context holds.
pub(crate) fn by_policy(
    shared: &Shared,
    context: &mut TurnContext,
    tool: &str,
    args: &Map<String, Value>,
    found: Class,
) -> Verdict {
    let engine = shared.engine();
    let class = context.session.label.class;
    context.session.label.class = class.max(found);
    let verdict = policy::decide(&engine, &shared.catalogue, &context.session, &Call { tool, args });
    context.session.label.class = class;
    verdict
}

fn policy_refusal(verdict: &Verdict) -> Refusal {
    let policies: Vec<&str> = verdict.why.policies.iter().map(Text::as_str).collect();
    Refusal::Policy { reason: verdict.reason.clone(), policies: policies.join(", ") }
}

fn refused(shared: &Shared, context: &TurnContext, refusal: Refusal) -> Judged {
    let why = Why {
        version: Name::clip(shared.engine().version()),
        label: context.session.label.clone(),
        ..Why::default()
    };
    let verdict = CallVerdict::Refused(Text::clip(&refusal.to_string()));
    Judged { verdict, refusal: Some(refusal), why, question: None, granted: false }
}

/// Puts a decision, or a question, on the record: gives its index.
async fn record(
    shared: &Shared,
    context: &TurnContext,
    call: &ToolCall,
    judged: &Judged,
) -> Result<u64, GateError> {
    let (action, result) = match &judged.verdict {
        CallVerdict::Run => (Action::ToolDecided, Result3::Success),
        CallVerdict::Refused(_) => (Action::ToolDecided, Result3::Blocked),
        CallVerdict::Asking(_) => (Action::ApprovalAsked, Result3::Success),
    };
    let mut event = event(shared, context, action, result, call);
    event.reason = judged.refusal.as_ref().map(|refusal| Name::clip(refusal.phrase()));
    if judged.granted && judged.verdict == CallVerdict::Run {
        event.reason = Some(Name::clip("granted for the session"));
    }
    if let Some(question) = &judged.question {
        event.hash = Some(question.hash);
    }
    Ok(shared.record(event).await?.index)
}

/// Returns whether policy lets a digest of content with this label be written: that of a short secret tells the secret.
pub(crate) fn may_log(shared: &Shared, context: &TurnContext, label: &Label) -> bool {
    policy::passes(&shared.engine(), &context.session, Passage::Log, label).is_ok()
}

/// An event about a call; a digest of its arguments where the tool's capability wants one.
pub(crate) fn event(
    shared: &Shared,
    context: &TurnContext,
    action: Action,
    result: Result3,
    call: &ToolCall,
) -> Event {
    let event = Event::new(action, result).about(&call.tool);
    let mut event = event.in_turn(context.turn.session, context.turn.id);
    event.call = Some(call.id);
    event.bytes = call.args.len() as u64;
    let label = &context.session.label;
    event.label = Some(label.clone());
    let wanted = shared.catalogue.get(&call.tool).is_none_or(|capability| capability.audit.log_args);
    if wanted && may_log(shared, context, label) {
        event.hash = Some(Sha256::digest(call.args.as_bytes()).into());
    }
    event
}

/// An alert, where the tool's capability wants one of this outcome.
pub(crate) async fn alert(
    shared: &Shared,
    context: &TurnContext,
    tool: &str,
    outcome: &str,
) -> Result<(), GateError> {
    let Some(capability) = shared.catalogue.get(tool) else { return Ok(()) };
    if capability.audit.alert_on.iter().any(|wanted| wanted == outcome) {
        scan::alert(shared, context, tool, outcome).await?;
    }
    Ok(())
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
        change(&mut context);
        let call = ToolCall { id: CallId::random(), tool: Name::clip(tool), args: Text::clip(args) };
        let times = context.ask(&call);
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
        assert_eq!(
            phrase(refusal(&["bash"], "bash", bash, |c| c.asked = 50)),
            Some("bound of tool calls reached")
        );
        let fail = |context: &mut TurnContext| (0..3).for_each(|_| context.count("bash", true));
        assert_eq!(phrase(refusal(&["bash"], "bash", bash, fail)), Some("failures in a row"));
    }

    // Holds B-16.
    #[test]
    fn the_same_call_over_and_over_is_refused_and_another_is_not() {
        let again = |times: u32, args: &str| {
            refusal(&["bash"], "bash", args, |context| {
                for _ in 0..times {
                    let args = Text::clip(r#"{"command":"ls"}"#);
                    context.ask(&ToolCall { id: CallId::random(), tool: Name::clip("bash"), args });
                }
            })
        };
        assert_eq!(again(2, r#"{"command":"ls"}"#), None);
        assert_eq!(again(3, r#"{ "command": "ls" }"#).map(|it| it.phrase()), Some("the same call again"));
        assert_eq!(again(9, r#"{"command":"ls -l"}"#), None);
    }

    // Holds B-14.
    #[test]
    fn a_success_forgets_the_failures_before_it() {
        let mut context = context(vec![]);
        context.count("bash", true);
        context.count("bash", false);
        assert_eq!(context.failures.get("bash"), Some(&0));
    }
}
