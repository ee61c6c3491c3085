//! The probe in the place of a runner: it holds one socket and a workspace. What it is to do is the command of its
//! turn; what it finds goes back as that command's output.
//!
//! An attack costs it its connection. It leaves a note in the workspace, ends as by a passing failure, and the turn's
//! next attempt gives the note in.

use crate::{Fault, raw};
use confine::{RunnerPlaces, Watch, passing};
use ipc_proto::audit::AuditRequest;
use ipc_proto::egress::{self, Origin, ReplyId};
use ipc_proto::ids::{CallId, TurnId, UserId};
use ipc_proto::mcp::{Reply, Report, Trouble};
use ipc_proto::memory::{Area, MemoryRequest, Scope};
use ipc_proto::model::{self, StreamId};
use ipc_proto::router::{RouterRequest, Task};
use ipc_proto::runner_gate::{
    Ending, FRAME_BOUND, GateError, RunnerGateClient, RunnerGateRequest, RunnerGateResponse,
};
use ipc_proto::tool::{Outcome, ToolResult};
use ipc_proto::{Blob, List, Name, Text};
use manifest::command::Mode;
use manifest::{Process, Row};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tarpc::client::{Config, RpcError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use wire::codec::{Messages, Side, decode};

/// Ends a turn whose gate is lost.
const LOST: u8 = 130;
/// The note of a turn before, in the same workspace.
const NOTE: &str = "/workspace/note";
/// How long the gate is given to end the connection.
const PATIENCE: Duration = Duration::from_secs(40);

/// Is a runner, in a jail with namespaces.
pub(crate) fn run(row: &'static Row) -> Result<ExitCode, Fault> {
    let socket = passing::inherited_control().ok_or("no socket")?;
    let mode = if std::env::args().nth(1).as_deref() == Some("user") { Mode::User } else { Mode::System };
    let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect();
    let places = RunnerPlaces {
        work: paths(&["/ws", "/tmp"]),
        system: paths(&["/usr", "/bin", "/lib", "/lib64"]),
        read: paths(&["/etc", "/proc"]),
        devices: Vec::new(),
    };
    let notices = passing::inherited_notices().ok_or("no second socket")?;
    confine::seal_runner(row, mode, &places, Watch::Agentd(notices.as_fd()))?;
    drop(notices);
    let holds = format!("{} and {} variables", crate::held(), std::env::vars_os().count());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let early = writable();
    tokio::task::LocalSet::new().block_on(&runtime, turn(socket, holds, early))
}

/// Where a file can be made now, of all the places where a jail's layout could let one be by mistake.
fn writable() -> Vec<&'static str> {
    let places = [
        "/", "/ws", "/ws/s", "/workspace", "/etc", "/usr", "/usr/bin", "/dev", "/skills", "/proc", "/var",
        ".",
    ];
    let can = |place: &&str| std::fs::File::create(std::path::Path::new(place).join("cordon-early")).is_ok();
    places.into_iter().filter(can).collect()
}

async fn turn(socket: OwnedFd, holds: String, early: Vec<&str>) -> Result<ExitCode, Fault> {
    let stream = std::os::unix::net::UnixStream::from(socket);
    stream.set_nonblocking(true)?;
    let mut stream = UnixStream::from_std(stream)?;
    wire::hello::exchange(&mut stream, Process::Runner).await?;
    let words = words(&mut stream).await?;
    let note = std::fs::read_to_string(NOTE);
    let found = match (words.first().map(String::as_str), note) {
        (_, Ok(note)) => note,
        (Some("calls"), _) => return calls(stream).await,
        (Some("holds"), _) => holds,
        (Some("early"), _) => format!("before {early:?}, after {:?}", writable()),
        (Some(attack), _) => {
            std::fs::write(NOTE, format!("{attack}: {}", send(stream, attack).await?))?;
            return Ok(ExitCode::from(LOST));
        }
        (None, _) => return Err("no command".into()),
    };
    let gate = client(stream);
    let _ = gate.output(raw::context(), false, Blob::new(found)?).await?;
    let _ = gate.finish(raw::context(), Ending::Exited { status: 0 }).await?;
    Ok(ExitCode::SUCCESS)
}

/// Asks for the work, by hand so that the socket stays at hand.
async fn words(stream: &mut UnixStream) -> Result<Vec<String>, Fault> {
    stream.write_all(&raw::request(0, RunnerGateRequest::Work {})).await?;
    let mut body = vec![0; usize::try_from(stream.read_u32_le().await?)?];
    stream.read_exact(&mut body).await?;
    let answer: tarpc::Response<RunnerGateResponse> = decode(&body, FRAME_BOUND, Side::Client)?;
    let RunnerGateResponse::Work(work) = answer.message? else {
        return Err("an answer to something else".into());
    };
    let Task::Command { argv } = work?.task else { return Err("not a command".into()) };
    Ok(argv.iter().map(ToString::to_string).collect())
}

fn client(stream: UnixStream) -> RunnerGateClient {
    let new = RunnerGateClient::new(Config::default(), Messages::new(stream, FRAME_BOUND, Side::Client));
    tokio::task::spawn_local(async move { drop(new.dispatch.await) });
    new.client
}

/// Every method of the gate's interface for runners; `finish` comes last, and says so by the turn's end.
async fn calls(stream: UnixStream) -> Result<ExitCode, Fault> {
    let (gate, call) = (client(stream), CallId::random());
    let result = ToolResult {
        call,
        outcome: Outcome::Success,
        output: Text::default(),
        duration_ms: 0,
        snapshot: None,
    };
    let now = raw::context;
    let outcomes = [
        ("work", outcome(gate.work(now()).await)),
        ("start_completion", outcome(gate.start_completion(now(), Text::default(), List::default()).await)),
        ("poll_completion", outcome(gate.poll_completion(now()).await)),
        ("effect", outcome(gate.effect(now(), call, None).await)),
        ("result", outcome(gate.result(now(), result).await)),
        ("progress", outcome(gate.progress(now(), call, Text::clip("half")).await)),
        ("inbox", outcome(gate.inbox(now(), 0, 0).await)),
        ("output", outcome(gate.output(now(), true, Blob::new(*b"heard")?).await)),
        ("run_models", let_through(&gate.run_models(now()).await)),
        ("run_ask", let_through(&gate.run_ask(now(), to_model()).await)),
        ("run_pull", let_through(&gate.run_pull(now(), StreamId(0), 1).await)),
        ("run_end", let_through(&gate.run_end(now(), StreamId(0)).await)),
        ("run_count", let_through(&gate.run_count(now(), to_model()).await)),
        ("run_input", let_through(&gate.run_input(now(), 0).await)),
        ("net_request", let_through(&gate.net_request(now(), outside()).await)),
        ("net_next", let_through(&gate.net_next(now(), ReplyId(0)).await)),
        ("net_tunnel", let_through(&gate.net_tunnel(now(), outside().origin).await)),
        ("net_send", let_through(&gate.net_send(now(), ReplyId(0), egress::Piece::default()).await)),
        ("net_close", let_through(&gate.net_close(now(), ReplyId(0)).await)),
        ("server_terms", let_through(&gate.server_terms(now()).await)),
        ("server_report", let_through(&gate.server_report(now(), Report::Failed(Trouble::TooSlow)).await)),
        ("server_next", let_through(&gate.server_next(now()).await)),
        ("server_reply", let_through(&gate.server_reply(now(), 0, Reply::Gone).await)),
        ("engine", let_through(&gate.engine(now(), List::default()).await)),
        ("steering", let_through(&gate.steering(now()).await)),
        (
            "save_engine_state",
            let_through(&gate.save_engine_state(now(), Text::clip("probe"), Blob::new(*b"kept")?).await),
        ),
    ];
    let line = outcomes.map(|(method, outcome)| format!("{method}={outcome}")).join(" ");
    let _ = gate.output(now(), false, Blob::new(line)?).await?;
    let _ = gate.finish(now(), Ending::Exited { status: 0 }).await?;
    Ok(ExitCode::SUCCESS)
}

/// A request to another machine.
fn outside() -> egress::Request {
    egress::Request {
        origin: Origin { tls: true, host: Text::clip("a.example"), port: 443 },
        method: Name::clip("GET"),
        path: Text::clip("/"),
        headers: List::default(),
        body: Blob::default(),
        websocket: false,
    }
}

/// The number of a method of another row.
const fn let_through<T>(answer: &Result<T, RpcError>) -> &'static str {
    match answer {
        Ok(_) => "answered",
        Err(RpcError::Server(_)) => "not-allowed",
        Err(_) => "connection-lost",
    }
}

fn outcome<T>(answer: Result<Result<T, GateError>, RpcError>) -> &'static str {
    match answer {
        Ok(Ok(_)) => "answered",
        Ok(Err(GateError::OutOfTurn)) => "out-of-turn",
        Ok(Err(_)) => "refused",
        Err(RpcError::Server(_)) => "not-allowed",
        Err(_) => "connection-lost",
    }
}

/// Sends what is no message of a runner's, and says what the gate did about it.
async fn send(mut stream: UnixStream, attack: &str) -> Result<&'static str, Fault> {
    let scope = || Scope { owner: UserId::random(), area: Area::User };
    let frame = match attack {
        "garbage" => raw::framed(&[0xa5; 64]),
        "oversize" => u32::try_from(FRAME_BOUND + 1)?.to_le_bytes().to_vec(),
        "endless" => raw::endless(Process::Gate),
        "memory.stats" => raw::request(1, MemoryRequest::Stats { scope: scope() }),
        "router.take" => raw::request(1, RouterRequest::Take { turn: TurnId::random(), budget: 1 }),
        "router.events" => raw::request(1, RouterRequest::Events { after: 0, wait_ms: 0 }),
        "audit.tail" => raw::request(1, AuditRequest::Tail { from: 0, max: 1, wait_ms: 0 }),
        _ => return Err("no such attack".into()),
    };
    stream.write_all(&frame).await?;
    let mut buffer = [0; 1024];
    match tokio::time::timeout(PATIENCE, stream.read(&mut buffer)).await {
        Ok(Ok(0) | Err(_)) => Ok("ended"),
        Ok(Ok(_)) => Ok("answered"),
        Err(_) => Ok("still open"),
    }
}

/// A request to a model that there is not.
fn to_model() -> model::Request {
    model::Request {
        model: Text::clip("none/none"),
        purpose: model::Purpose::Answer,
        messages: List::default(),
        tools: List::default(),
        max_output: 1,
        temperature: None,
        top_p: None,
        stop: List::default(),
        choice: model::Choice::Auto,
        images: List::default(),
        think: model::Think::default(),
        payer: model::Payer::of(UserId::random()),
    }
}
