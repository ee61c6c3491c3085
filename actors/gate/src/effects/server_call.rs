//! Calls of tools of servers, and readings of their resources: the server runs in a jail of its own, which is launched where none runs. What
//! it says is a stranger's, and has the label of everything that it was ever told.

use crate::effects::outcome::{Effect, failed, unknown};
use crate::effects::server_question::Asking;
use crate::state::context::GateContext;
use crate::state::mcp::{Holder, Instance, Lost, Workspace, parts};
use crate::turn::attempt::Attempt;
use crate::turn::context::TurnContext;
use ipc_proto::Text;
use ipc_proto::config::McpScope;
use ipc_proto::ids::CallId;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::mcp::{Act, AskAnswers, PinState, Reply};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::Crossing;
use ipc_proto::tool::{Outcome, ToolCall};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// The longest that one poll takes.
const SLICE: Duration = Duration::from_secs(20);

/// A call that is under way.
pub(crate) struct ServerCall {
    call: CallId,
    server: String,
    pub(crate) begun: Instant,
    stage: Stage,
    /// Questions of the server so far.
    asked: usize,
}

enum Stage {
    /// The server is at work.
    Working(Working),
    /// The server asks a person.
    Asking(Box<Asking>),
}

/// The wait for a server, which ends with this.
struct Working(JoinHandle<Answered>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The server with its reply, or the reason for which there is no server.
type Answered = Result<(Arc<Instance>, Result<Reply, Lost>), String>;

/// The state of a call after one poll.
pub(crate) enum Polled {
    Working,
    Asking,
    Done(Effect),
}

/// Begins a call, or goes on with it, for at most `SLICE`. It was permitted before; that the tool is still what was approved is checked
/// again.
pub(crate) async fn poll(
    gate: &GateContext,
    attempt: &mut Attempt,
    under_way: &mut Option<ServerCall>,
    call: &ToolCall,
) -> Result<Polled, GateError> {
    let mut serving = match under_way.take() {
        Some(serving) if serving.call == call.id => serving,
        Some(_) => return Err(GateError::OutOfTurn),
        None => match begin(gate, &attempt.context, call) {
            Ok(serving) => serving,
            Err(why) => return Ok(Polled::Done(failed(&why))),
        },
    };
    let until = Instant::now() + SLICE;
    loop {
        match serving.stage {
            Stage::Working(ref mut working) => {
                let Ok(answered) = tokio::time::timeout_at(until.into(), &mut working.0).await else {
                    *under_way = Some(serving);
                    return Ok(Polled::Working);
                };
                let answered = answered.unwrap_or_else(|_| Err("the call was given up".to_owned()));
                match answered {
                    Ok((instance, Ok(Reply::Asks { request, asks }))) => {
                        serving.stage = Stage::Asking(Box::new(Asking::of(instance, request, asks)));
                    }
                    answered => return Ok(Polled::Done(effect(gate, call, &serving.server, answered))),
                }
            }
            Stage::Asking(ref mut asking) => {
                let (server, asked) = (serving.server.as_str(), &mut serving.asked);
                let Some(answers) = asking.poll(gate, attempt, server, asked).await? else {
                    *under_way = Some(serving);
                    return Ok(Polled::Asking);
                };
                let seconds = seconds(gate, &serving.server);
                serving.stage = Stage::Working(resume(asking, answers, seconds));
            }
        }
    }
}

/// Has the request that waits go on.
fn resume(asking: &Asking, answers: AskAnswers, seconds: u16) -> Working {
    let (instance, request) = (Arc::clone(&asking.instance), asking.request);
    Working(tokio::spawn(async move {
        let replied = instance.ask(Act::Resume { request, answers }, seconds).await;
        Ok((instance, replied))
    }))
}

fn seconds(gate: &GateContext, server: &str) -> u16 {
    gate.mcp.servers.get(server).map_or(0, |server| server.seconds)
}

/// Begins a call. The error is the reason for which there is nothing to begin.
fn begin(gate: &GateContext, context: &TurnContext, call: &ToolCall) -> Result<ServerCall, String> {
    let Ok(Value::Object(args)) = toolset::parse_args(&call.args) else {
        return Err("the arguments are no JSON object".to_owned());
    };
    let (name, act) = act(gate, context, call, args)?;
    let server = gate.mcp.servers.get(&name).ok_or_else(|| format!("there is no server {name} any more"))?;
    let turn = &context.turn;
    let holder = match server.scope {
        McpScope::Session => Holder::Session(turn.session),
        McpScope::User => Holder::User(turn.user),
        McpScope::Host => Holder::Host,
    };
    let workspace = server.workspace.then_some(Workspace { id: turn.workspace, attached: turn.attached });
    let label = context.session.label.join(&context.workspace_label);
    let begun = begun(gate.clone(), name.clone(), (holder, workspace), label, act);
    let stage = Stage::Working(Working(tokio::spawn(begun)));
    Ok(ServerCall { call: call.id, server: name, begun: Instant::now(), stage, asked: 0 })
}

/// The server and what it is asked.
fn act(
    gate: &GateContext,
    context: &TurnContext,
    call: &ToolCall,
    args: Map<String, Value>,
) -> Result<(String, Act), String> {
    if let Some((name, tool)) = parts(&call.tool) {
        let args = Text::new(Value::Object(args).to_string()).map_err(|_| "the arguments are too long")?;
        let tool = Text::new(tool).map_err(|_| "this is no server's tool")?;
        return Ok((name.to_owned(), Act::Call { tool, args }));
    }
    let text = |name: &str| args.get(name).and_then(Value::as_str);
    let name = text("server").unwrap_or_default();
    let servers = gate.mcp.readable(&context.turn.agent);
    if !servers.iter().any(|one| one == name) {
        return Err(format!("there is no such server with resources; there are: {}", servers.join(", ")));
    }
    let act = match text("uri") {
        Some(uri) => Act::Read { uri: Text::new(uri).map_err(|_| "the address is too long")? },
        None => Act::Resources,
    };
    Ok((name.to_owned(), act))
}

/// Starts the server where it does not run, and asks it.
async fn begun(
    gate: GateContext,
    name: String,
    (holder, workspace): (Holder, Option<Workspace>),
    label: Label,
    act: Act,
) -> Answered {
    let running = gate.mcp.running(&name, holder, workspace).await;
    let instance = running.map_err(|trouble| format!("the server {name} is not there: {trouble}"))?;
    if let Act::Call { tool, .. } = &act
        && gate.mcp.state(&name, tool) != Some(PinState::Approved)
    {
        let next = format!("the owner looks at it: agentctl mcp tools {name}");
        return Err(format!("the server {name} has changed this tool since it was approved; {next}"));
    }
    // Before anything of this label is told.
    instance.raise_to(&label);
    let replied = instance.ask(act, seconds(&gate, &name)).await;
    Ok((instance, replied))
}

fn effect(gate: &GateContext, call: &ToolCall, server: &str, answered: Answered) -> Effect {
    let (instance, replied) = match answered {
        Ok(answered) => answered,
        Err(why) => return failed(&why),
    };
    match replied {
        Ok(Reply::Done { text, failed }) => from_server(server, &instance, failed, text.into_string()),
        Ok(Reply::Items(items)) => {
            let lines = items.iter().map(|item| format!("{}  {}", item.name, item.description));
            from_server(server, &instance, false, lines.collect::<Vec<_>>().join("\n"))
        }
        Ok(Reply::Browsed(_)) => failed(&format!("the server {server} gave no answer to a call")),
        Ok(Reply::Refused(text)) => from_server(server, &instance, true, text.into_string()),
        Ok(Reply::TimedOut | Reply::Gone | Reply::Asks { .. }) | Err(Lost::Unknown) => {
            if gate.catalogue().only_reads(&call.tool) {
                failed("the server did not answer")
            } else {
                // The call may have changed something.
                unknown()
            }
        }
        Err(Lost::Unsent) => failed(&format!("the server {server} has just ended; try again")),
    }
}

fn from_server(server: &str, instance: &Instance, failed: bool, output: String) -> Effect {
    let source = format!("mcp:{server}");
    let label = Label::of(Trust::Untrusted, Class::Internal, &source).join(&instance.label());
    Effect {
        outcome: if failed { Outcome::Error } else { Outcome::Success },
        output,
        label: Some(label),
        crossing: Crossing::Web,
        source: Some(source),
    }
}
