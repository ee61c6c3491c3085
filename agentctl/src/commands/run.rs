//! `agentctl run`: a coding agent, or any program that calls models by itself, in a jail of its own. Its output and input
//! pass through, and its exit status becomes this program's, as with `sandbox run`. Its terminal is one of its jail's own:
//! this one's is never handed over.

mod program;
mod terminal;
mod token;

use crate::app::{App, Outcome};
use crate::attach::Directory;
use crate::commands::sandbox;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::{turn, turn_end, view};
use ipc_proto::control::{ControlError, method};
use ipc_proto::dialer::HostPort;
use ipc_proto::ids::{ApprovalId, TurnId};
use ipc_proto::router::{self, End, Finished, Profile, RouterError, SessionName, Task, TurnEvent, Typed};
use ipc_proto::{List, Name, Text};
use manifest::Process;
use nix::sys::signal::Signal;
use program::Places;
use serde_json::json;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use terminal::{Keyboard, Raw};
use token::{ThrowAway, Token};
use tokio::time::{Instant, sleep_until};

/// The pause before input that found no room is sent again.
const PAUSE: Duration = Duration::from_millis(50);
/// The longest wait for the end of a cancelled run.
const ENDING: Duration = Duration::from_secs(10);

/// The arguments of `run`.
#[derive(clap::Args)]
pub(crate) struct Run {
    /// Use this agent's model, policy and budget
    #[arg(long, short, value_name = "NAME", value_parser = crate::arguments::text::<64>)]
    agent: Option<Name>,
    #[command(flatten)]
    directory: Directory,
    /// Use this session's workspace, which is kept
    #[arg(long, short, value_name = "NAME", value_parser = crate::arguments::text::<128>)]
    session: Option<SessionName>,
    /// The profile of the program's needs; guessed from its name by default
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Profiled>,
    /// Let the program reach this host without a question: HOST, HOST:PORT or HOST:PORT send
    #[arg(long, value_name = "HOST", value_parser = allowed)]
    allow: Vec<Text<300>>,
    /// Resume a run whose agentctl has ended, by the token that was printed at its start
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["agent", "workspace", "session", "profile", "allow", "command"])]
    resume: Option<Token>,
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "resume", value_name = "PROGRAM")]
    command: Vec<String>,
}

/// The profiles that there are.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Profiled {
    /// Any program
    Plain,
    /// OpenAI's codex
    Codex,
    /// Anthropic's claude
    ClaudeCode,
    /// opencode
    Opencode,
}

/// A host that the program may reach; without a port HTTPS's is meant.
fn allowed(text: &str) -> Result<Text<300>, String> {
    let (place, verb) = text.split_once(' ').unwrap_or((text, "read"));
    let place = if place.contains(':') { place.to_owned() } else { format!("{place}:443") };
    if place.parse::<HostPort>().is_err() || !matches!(verb, "read" | "send") {
        return Err("give HOST, HOST:PORT or \"HOST:PORT send\", such as pypi.org".to_owned());
    }
    Text::new(format!("{place} {verb}")).map_err(|_| "the host is too long".to_owned())
}

/// Runs it.
pub(crate) async fn run(app: &App, run: Run) -> Outcome {
    sandbox::with_own_status(app, attempt(app, run).await)
}

async fn attempt(app: &App, run: Run) -> Outcome {
    let terminal = terminal::of_this(app.out.json);
    if let Some(token) = run.resume {
        return go_on(app, &token, terminal.is_some()).await;
    }
    let mut command = run.command;
    if let Some(program) = command.first_mut() {
        *program = Places::here(run.directory.path()).find(program)?;
    }
    let argv = sandbox::argv(&command)?;
    let workspace = run.directory.attach(app).await?;
    let nameless = run.session.is_none();
    let session = run.session.unwrap_or_else(sandbox::unnamed);
    let words = sandbox::command_line(&argv);
    let profile = profile(run.profile, argv.first().map_or("", |word| word.as_str()));
    let attended = terminal.is_some();
    let allow = List::new(run.allow)
        .map_err(|_| Failure::Usage("--allow can be given at most 16 times".to_owned()))?;
    let task = Task::Run(router::Run { argv, profile, terminal, allow });
    let ask = turn::within(turn::ask(session.clone(), run.agent, words, task), workspace);
    let accepted = turn::submit(app, &ask).await?;
    let throw_away =
        nameless.then(|| ThrowAway { session: session.clone(), own_folder: workspace.is_none() });
    let token = Token { turn: accepted.turn, throw_away };
    if attended {
        app.out.remark(&format!(
            "The run goes on if this terminal is lost. To come back to it: agentctl run --resume {token}"
        ));
    }
    if app.out.json {
        app.out.json_line(&json!({"event": "started", "token": token.to_string(), "session": session}))?;
    }
    go_on(app, &token, attended).await
}

/// Follows the run to its end, and removes an unnamed session with it.
async fn go_on(app: &App, token: &Token, attended: bool) -> Outcome {
    let played = play(app, token.turn, attended).await?;
    if let Some(ThrowAway { session, own_folder }) = &token.throw_away {
        sandbox::forget(app, session, *own_folder).await;
    }
    if let Some(lost) = played.lost {
        return Err(lost.into());
    }
    end(app, token, &played)
}

/// A run that has ended.
struct Played {
    finished: Finished,
    /// The signal that cancelled it.
    signal: Option<Signal>,
    /// The error of the output, for which it was cancelled.
    lost: Option<io::Error>,
}

/// The named profile, else the one of the program's name.
fn profile(named: Option<Profiled>, program: &str) -> Profile {
    let name = Path::new(program).file_name().and_then(|name| name.to_str());
    match (named, name) {
        (Some(Profiled::Codex), _) | (None, Some("codex")) => Profile::Codex,
        (Some(Profiled::ClaudeCode), _) | (None, Some("claude")) => Profile::ClaudeCode,
        (Some(Profiled::Opencode), _) | (None, Some("opencode")) => Profile::Opencode,
        _ => Profile::Plain,
    }
}

/// Signals that end a run at a terminal, where Ctrl-C is a key like any other.
const ENDS: [Signal; 2] = [Signal::SIGTERM, Signal::SIGHUP];

/// Passes input to the run and shows its output, until it has ended.
async fn play(app: &App, turn: TurnId, attended: bool) -> Result<Played, Failure> {
    // Before the terminal is changed, and before another thread exists that could receive a signal.
    let signals =
        Interrupt::of(if attended { &ENDS } else { &[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] })?;
    let raw = if attended { Some(Raw::begin()?) } else { None };
    let keyboard = Keyboard::begin(attended)?;
    let ended = tokio::select! {
        ended = follow(app, turn, &signals) => ended,
        failure = type_in(app, turn, keyboard) => Err(failure),
    };
    drop(raw);
    ended
}

/// Shows its output. A signal or a failed output cancels the run, and its end is still awaited.
async fn follow(app: &App, turn: TurnId, signals: &Interrupt) -> Result<Played, Failure> {
    let (mut from, mut signal, mut lost) = (0, None, None);
    let mut until: Option<Instant> = None;
    loop {
        let followed = tokio::select! {
            followed = turn::follow(app, turn, from) => followed?,
            came = signals.came() => {
                if signal.is_some() {
                    return Err(Failure::Interrupted);
                }
                (signal, until) = (Some(came), Some(Instant::now() + ENDING));
                turn::cancel(app, turn).await;
                continue;
            }
            () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {
                return Err(Failure::Interrupted);
            }
        };
        for event in &followed.events {
            if let TurnEvent::Done(finished) = event {
                return Ok(Played { finished: finished.clone(), signal, lost });
            }
            if lost.is_none()
                && let Err(error) = show(app, event)
            {
                (lost, until) = (Some(error), Some(Instant::now() + ENDING));
                turn::cancel(app, turn).await;
            }
        }
        if followed.over {
            // The end itself was missed, which happens only if the host ended.
            return Err(Failure::Control(ControlError::Router(RouterError::NoTurn)));
        }
        from = followed.next;
    }
}

fn show(app: &App, event: &TurnEvent) -> io::Result<()> {
    if let TurnEvent::Approval { id, preview, .. } = event {
        return asked(app, *id, preview);
    }
    let TurnEvent::Output { error, bytes } = event else { return Ok(()) };
    if !app.out.json {
        return app.out.raw(bytes, *error);
    }
    let mut line = json!({"event": "output"});
    view::add_bytes(&mut line, if *error { "stderr" } else { "stdout" }, bytes);
    app.out.json_line(&line)
}

/// Shows a question about the program's requests. It is answered by another command: whatever is typed here is the program's, which
/// could ask for a `y` of its own.
fn asked(app: &App, id: ApprovalId, preview: &str) -> io::Result<()> {
    if app.out.json {
        return app.out.json_line(&json!({"event": "approval", "id": id.to_string(), "preview": preview}));
    }
    let what = preview.lines().next().unwrap_or_default();
    // A raw terminal needs a carriage return besides.
    let said = format!("\r\nCordon asks: {what}?\r\n  agentctl approvals approve {id}\r\n");
    app.out.raw(said.as_bytes(), true)
}

/// Sends input piece by piece while it runs; ends only by a failure.
async fn type_in(app: &App, turn: TurnId, mut keyboard: Keyboard) -> Failure {
    // Each agentctl continues above the numbers of the one before it.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut number = u64::try_from(since.as_micros()).unwrap_or_default();
    while let Some(typed) = keyboard.next().await {
        if let Err(failure) = type_one(app, turn, number, &typed).await {
            return failure;
        }
        number += 1;
    }
    // The input has ended; the end of the run is seen by following it.
    std::future::pending().await
}

async fn type_one(app: &App, turn: TurnId, number: u64, typed: &Typed) -> Result<(), Failure> {
    loop {
        let sent = app
            .link
            .ask(&method::type_in, async |c, cx| c.type_in(cx, turn, number, typed.clone()).await)
            .await;
        match sent {
            Ok(true) => return Ok(()),
            Ok(false) => tokio::time::sleep(PAUSE).await,
            // It has ended.
            Err(Failure::Control(ControlError::Router(RouterError::NoTurn))) => {
                std::future::pending::<()>().await;
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// Prints the end of the run, and returns its exit status.
fn end(app: &App, token: &Token, played: &Played) -> Outcome {
    let end = &played.finished.end;
    let status = status(end, played.signal);
    let ran = matches!(end, End::Exited { .. });
    if app.out.json {
        let mut line = json!({
            "event": "end", "ok": ran, "token": token.to_string(), "status": status, "end": turn_end::kind(end),
        });
        if let (false, Some(map)) = (ran, line.as_object_mut()) {
            map.insert("error".to_owned(), json!({"type": turn_end::kind(end), "message": sentence(end)}));
        }
        app.out.json_line(&line)?;
    } else if !ran {
        app.out.complain(turn_end::kind(end), &sentence(end));
    }
    Ok(ExitCode::from(status))
}

/// The exit status; for a run that a signal ended, a shell's status for that signal.
fn status(end: &End, signal: Option<Signal>) -> u8 {
    let ended_by = signal.filter(|_| *end == End::Cancelled).and_then(|it| u8::try_from(it as i32).ok());
    ended_by.map_or_else(|| sandbox::status(end), |number| 128 + number)
}

fn sentence(end: &End) -> String {
    match end {
        End::OverLimit(limit) => limit.sentence_of(Process::AgentRunner),
        End::TimedOut => "the run was out of time".to_owned(),
        End::Cancelled => "the run was cancelled".to_owned(),
        _ => turn_end::sentence(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_the_one_that_was_named_or_that_of_the_program_s_name() {
        for (named, program, expected) in [
            (None, "codex", Profile::Codex),
            (None, "/opt/x/bin/claude", Profile::ClaudeCode),
            (None, "./node_modules/.bin/opencode", Profile::Opencode),
            (None, "python3", Profile::Plain),
            (None, "", Profile::Plain),
            (Some(Profiled::Plain), "codex", Profile::Plain),
            (Some(Profiled::Codex), "node", Profile::Codex),
        ] {
            assert_eq!(profile(named, program), expected, "{program}");
        }
    }
}
