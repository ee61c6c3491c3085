//! Tasks that a turn hands to other agents, and their answers. Router keeps each task and has its turn run; the bounds of that turn are set
//! here, from what the turn that hands it out may do itself.

use crate::effects::outcome::{Effect, done, failed};
use crate::effects::server_call::Polled;
use crate::services;
use crate::state::blocked_on;
use crate::state::context::GateContext;
use crate::turn::attempt::Attempt;
use crate::turn::context::TurnContext;
use ipc_proto::config::{Agent, Network};
use ipc_proto::ids::{CallId, TurnId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::router::{self, Delegation, End, Finished, Terms, TurnEvent, Unattended};
use ipc_proto::runner_gate::GateError;
use ipc_proto::tool::{Outcome, ToolCall};
use ipc_proto::{Fault, List, Name, Text};
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use toolset::browser_tools::PREFIX;
use toolset::delegation_tools::{COLLECT, DELEGATE, SECONDS};
use toolset::server_tools::MCP_READ;

/// The longest that one poll takes.
const SLICE: Duration = Duration::from_secs(20);
/// The pause before router is asked again that did not answer.
const PAUSE: Duration = Duration::from_millis(500);
/// Events of a task's turn that are read at once.
const EVENTS: u16 = 64;

/// Returns true for the tools of this module.
pub(crate) fn calls(tool: &str) -> bool {
    matches!(tool, DELEGATE | COLLECT)
}

/// A call that waits for tasks.
pub(crate) struct TasksCall {
    call: CallId,
    pub(crate) begun: Instant,
    left: VecDeque<TaskTurn>,
    answers: Vec<(TaskTurn, Finished)>,
}

/// The turn that works on a task.
struct TaskTurn {
    turn: TurnId,
    agent: Name,
    /// The next of its events.
    from: u64,
}

/// Begins a call, or goes on with it, for at most [`SLICE`].
pub(crate) async fn poll(
    gate: &GateContext,
    attempt: &mut Attempt,
    under_way: &mut Option<TasksCall>,
    call: &ToolCall,
) -> Result<Polled, GateError> {
    let mut waiting = match under_way.take() {
        Some(waiting) if waiting.call == call.id => waiting,
        Some(_) => return Err(GateError::OutOfTurn),
        None => match begin(gate, &mut attempt.context, call).await {
            Ok(waiting) => waiting,
            Err(effect) => return Ok(Polled::Done(effect)),
        },
    };
    let until = Instant::now() + SLICE;
    while let Some(task) = waiting.left.front_mut() {
        let Ok(followed) = tokio::time::timeout_at(until.into(), follow(gate, &attempt.context, task)).await
        else {
            *under_way = Some(waiting);
            return Ok(Polled::Working);
        };
        let mut finished = None;
        match followed {
            Ok(Ok(followed)) => {
                task.from = followed.next;
                for event in followed.events {
                    match event {
                        TurnEvent::Done(end) => finished = Some(end),
                        event => attempt.events.send(gate, seen(call.id, task, event)).await?,
                    }
                }
            }
            Ok(Err(refusal)) => return Ok(Polled::Done(failed(&refusal.to_string()))),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
        if let Some(finished) = finished
            && let Some(task) = waiting.left.pop_front()
        {
            attempt.context.task_ended(task.turn, finished.usage);
            waiting.answers.push((task, finished));
        }
    }
    Ok(Polled::Done(effect(&waiting.answers)))
}

type Asked<T> = Result<Result<T, router::RouterError>, Fault>;

async fn follow(gate: &GateContext, context: &TurnContext, task: &TaskTurn) -> Asked<router::Followed> {
    let (user, turn, from) = (Some(context.turn.user), task.turn, task.from);
    let followed = gate.router.call(&router::method::follow, |router, rpc| async move {
        router.follow(rpc, user, turn, from, EVENTS).await
    });
    blocked_on::during("router", followed).await
}

/// The part of a task's turn that the followers of the turn above see.
fn seen(call: CallId, task: &TaskTurn, event: TurnEvent) -> Option<TurnEvent> {
    let agent = &task.agent;
    match event {
        TurnEvent::ToolStart { tool, refused: None, .. } => {
            Some(TurnEvent::ToolProgress { call, line: Text::clip(&format!("{agent}: {tool}")) })
        }
        TurnEvent::ToolStart { tool, refused: Some(why), .. } => {
            let line = format!("{agent}: {tool} was refused: {why}");
            Some(TurnEvent::ToolProgress { call, line: Text::clip(&line) })
        }
        TurnEvent::Approval { id, tool, .. } => {
            let notice =
                format!("{agent} asks to use {tool} for its task; answer it: agentctl approvals show {id}");
            Some(TurnEvent::Notice(Text::clip(&notice)))
        }
        _ => None,
    }
}

async fn begin(gate: &GateContext, context: &mut TurnContext, call: &ToolCall) -> Result<TasksCall, Effect> {
    let Ok(Value::Object(args)) = toolset::parse_args(&call.args) else {
        return Err(failed("the arguments are no JSON object"));
    };
    let left = if call.tool.as_str() == COLLECT {
        handed_out(gate, context, &args).await?
    } else {
        let task = hand_out(gate, context, call, &args).await?;
        if args.get("wait").and_then(Value::as_bool) == Some(false) {
            return Err(done(handle(&task), None));
        }
        VecDeque::from([task])
    };
    Ok(TasksCall { call: call.id, begun: Instant::now(), left, answers: Vec::new() })
}

fn handle(task: &TaskTurn) -> String {
    format!("{} works on it. The handle, for collect: {}", task.agent, task.turn)
}

/// Hands a task out that an earlier attempt may have handed out already, which is one task; returns its handle.
pub(crate) async fn again(gate: &GateContext, context: &mut TurnContext, call: &ToolCall) -> Effect {
    match toolset::parse_args(&call.args) {
        Ok(Value::Object(args)) if call.tool.as_str() == DELEGATE => {
            match hand_out(gate, context, call, &args).await {
                Ok(task) => done(handle(&task), None),
                Err(effect) => effect,
            }
        }
        _ => failed("the host was interrupted while it waited; collect them again"),
    }
}

async fn hand_out(
    gate: &GateContext,
    context: &mut TurnContext,
    call: &ToolCall,
    args: &Map<String, Value>,
) -> Result<TaskTurn, Effect> {
    let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
    let name = text("agent");
    let agents = &context.agent.delegates;
    let agent = gate.agents.get(name).filter(|_| agents.iter().any(|one| one == name));
    let agent = agent.ok_or_else(|| {
        failed(&format!("you hand tasks to no agent {name}; there are: {}", agents.join(", ")))
    })?;
    let terms = terms(gate, context, (name, agent), args).map_err(failed)?;
    let tokens = terms.unattended.map_or(0, |unattended| unattended.tokens);
    let label = context.session.label.join(&context.workspace_label);
    let source = Label::of(Trust::Verified, Class::Public, &format!("task:{}", context.turn.agent));
    let delegation = Box::new(Delegation {
        agent: Name::clip(name),
        task: Text::new(text("task")).map_err(|_| failed("the task is too long"))?,
        label: label.join(&source),
        terms,
    });
    let (turn, id) = (context.turn.id, call.id);
    let asked = gate.router.call(&router::method::delegate, |router, rpc| {
        let delegation = delegation.clone();
        async move { router.delegate(rpc, turn, id, delegation).await }
    });
    let turn = match blocked_on::during("router", asked).await {
        Ok(Ok(turn)) => turn,
        Ok(Err(refusal)) => return Err(failed(&refusal.to_string())),
        Err(fault) => {
            tracing::warn!(%fault, "router did not take a task");
            return Err(failed("router is not there, or went away; repeat the call"));
        }
    };
    context.task_began(turn, tokens);
    Ok(TaskTurn { turn, agent: Name::clip(name), from: 0 })
}

/// The tasks of these handles, all of which this turn handed out.
async fn handed_out(
    gate: &GateContext,
    context: &TurnContext,
    args: &Map<String, Value>,
) -> Result<VecDeque<TaskTurn>, Effect> {
    let (user, turn) = (Some(context.turn.user), context.turn.id);
    let tree = gate
        .router
        .call(&router::method::tree, |router, rpc| async move { router.tree(rpc, user, turn).await });
    let nodes = match blocked_on::during("router", tree).await {
        Ok(Ok(nodes)) => nodes,
        Ok(Err(refusal)) => return Err(failed(&refusal.to_string())),
        Err(_) => return Err(failed("router is not there, or went away; repeat the call")),
    };
    let mut tasks: VecDeque<TaskTurn> = VecDeque::new();
    for handle in args.get("handles").and_then(Value::as_array).into_iter().flatten() {
        let handle = handle.as_str().unwrap_or_default();
        let node = nodes.iter().find(|node| node.parent == Some(turn) && node.turn.to_string() == handle);
        let node = node.ok_or_else(|| failed(&format!("no task of this turn has the handle {handle}")))?;
        if tasks.iter().all(|task| task.turn != node.turn) {
            tasks.push_back(TaskTurn { turn: node.turn, agent: node.agent.clone(), from: 0 });
        }
    }
    Ok(tasks)
}

/// The bounds of the turn that works on a task: nothing in it may do what this one may not.
fn terms(
    gate: &GateContext,
    context: &TurnContext,
    (name, agent): (&str, &Agent),
    args: &Map<String, Value>,
) -> Result<Terms, &'static str> {
    let (settings, own) = (&gate.settings.services, &context.turn.agent);
    let wanted = args.get("tools").and_then(Value::as_array);
    let wanted = |tool: &str| wanted.is_none_or(|tools| tools.iter().any(|one| one.as_str() == Some(tool)));
    let servers = gate.mcp.readable(own);
    let same_servers = gate.mcp.readable(name).iter().all(|server| servers.contains(server));
    let same_services = |tool: &str| services::covers(settings, tool, own, name);
    let mut tools = context.all_tools();
    tools.retain(|tool| match tool.as_str() {
        MCP_READ => same_servers,
        call if services::calls(call) => same_services(call),
        page if page.starts_with(PREFIX) => agent.browser_isolate || !context.agent.browser_isolate,
        _ => true,
    });
    tools.retain(|tool| wanted(tool));
    if agent.engine.is_some() && !tools.iter().any(|tool| tool == "bash") {
        return Err(
            "an engine answers for this agent, which runs commands, and you may not: you have no bash",
        );
    }
    let seconds = args.get("seconds").and_then(Value::as_u64).unwrap_or(SECONDS[2]);
    let above = context.turn.delegated.iter().flat_map(|terms| &terms.chain);
    let network = leads_nowhere_else(agent.network.as_ref(), context.agent.network.as_ref());
    let unattended = match context.turn.unattended {
        Some(job) => {
            let left = context.tokens_left(job.tokens);
            // Half of it, so that what is handed out and this turn together keep to the limit.
            Some(Unattended { tokens: left / 2, ..job })
        }
        None => None,
    };
    Ok(Terms {
        chain: List::clip(above.chain([own]).cloned()),
        tools: List::clip(tools.iter().map(|tool| Name::clip(tool))),
        plan: List::clip(context.session.plan.iter().flatten().map(|tool| Name::clip(tool))),
        profile: Name::clip(&context.agent.profile),
        network: network && services::covers_variables(settings, own, name),
        seconds: u16::try_from(seconds)
            .unwrap_or(u16::MAX)
            .min(agent.limits.seconds.try_into().unwrap_or(u16::MAX)),
        unattended,
    })
}

/// Returns true if a way out leads nowhere that the other one does not lead.
fn leads_nowhere_else(one: Option<&Network>, other: Option<&Network>) -> bool {
    match (one, other) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(one), Some(other)) => {
            one.allow.iter().all(|allowed| other.allow.contains(allowed))
                && one.opaque.iter().all(|place| other.opaque.contains(place))
        }
    }
}

/// The answers to tasks, each with its handle if there are several.
fn effect(answers: &[(TaskTurn, Finished)]) -> Effect {
    let mut label: Option<Label> = None;
    let (mut parts, mut all_answered) = (Vec::new(), true);
    for (task, finished) in answers {
        let answered = finished.end == End::Answered;
        all_answered &= answered;
        let text = match answered {
            true => finished.text.to_string(),
            false => format!("[ERROR] {} did not do it: {}", task.agent, why(&finished.end)),
        };
        let one =
            finished.label.join(&Label::of(Trust::System, Class::Public, &format!("agent:{}", task.agent)));
        label = Some(label.map_or(one.clone(), |label| label.join(&one)));
        parts.push(if answers.len() == 1 {
            text
        } else {
            format!("## {} ({})\n{text}", task.turn, task.agent)
        });
    }
    let untrusted = label.as_ref().is_some_and(|label| label.trust == Trust::Untrusted);
    let source = answers.first().filter(|_| untrusted).map(|(task, _)| format!("agent:{}", task.agent));
    let outcome = if all_answered { Outcome::Success } else { Outcome::Error };
    Effect { outcome, source, ..done(parts.join("\n\n"), label) }
}

/// The reason for which a task was not answered, in the host's words.
fn why(end: &End) -> String {
    match end {
        End::Blocked(why) | End::Failed(why) | End::Quarantined(why) => why.to_string(),
        End::TimedOut => "it ran out of time".to_owned(),
        End::OverLimit(limit) => limit.sentence(),
        End::Cancelled | End::Recalled => "it was cancelled".to_owned(),
        End::Answered | End::Exited { .. } | End::TakenIn(_) => "it gave no answer".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::config::Allowed;
    use ipc_proto::model::Usage;

    fn network(hosts: &[&str]) -> Network {
        let allowed =
            |host: &&str| Allowed { host: (*host).to_owned(), port: 443, sends: false, packages: false };
        Network { allow: hosts.iter().map(allowed).collect(), opaque: Vec::new() }
    }

    #[test]
    fn a_way_out_is_kept_only_if_it_leads_nowhere_else() {
        let (one, two) = (network(&["a.example"]), network(&["a.example", "b.example"]));
        for (child, own, kept) in [
            (None, None, true),
            (Some(&one), None, false),
            (None, Some(&one), true),
            (Some(&one), Some(&two), true),
            (Some(&two), Some(&one), false),
        ] {
            assert_eq!(leads_nowhere_else(child, own), kept, "{child:?} {own:?}");
        }
    }

    #[test]
    fn an_answer_has_the_label_of_its_turn_and_a_failure_says_why() {
        let finished = |end: End, trust: Trust| Finished {
            end,
            text: Text::clip("seven"),
            label: Label::of(trust, Class::Sensitive, "web"),
            usage: Usage::default(),
            duration_ms: 0,
            attempts: 1,
        };
        let task = || TaskTurn { turn: TurnId::random(), agent: Name::clip("research"), from: 0 };
        let answered = effect(&[(task(), finished(End::Answered, Trust::Untrusted))]);
        let label = answered.label.unwrap();
        assert_eq!((answered.output.as_str(), answered.outcome), ("seven", Outcome::Success));
        assert_eq!((label.trust, label.class), (Trust::Untrusted, Class::Sensitive));
        assert_eq!(answered.source.as_deref(), Some("agent:research"));
        let failed = effect(&[
            (task(), finished(End::Answered, Trust::User)),
            (task(), finished(End::TimedOut, Trust::User)),
        ]);
        assert_eq!(failed.outcome, Outcome::Error);
        assert!(
            failed.output.contains("seven") && failed.output.contains("did not do it: it ran out of time")
        );
    }
}
