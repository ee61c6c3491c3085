//! `agentctl run`: a coding agent, or any program that asks models by itself, in a jail of its own. What it says passes
//! through as it is, what is typed goes to it, and its exit status becomes ours as with `sandbox run`. The program's
//! terminal is one of its jail's own: this one's is never handed over.

mod terminal;
mod token;

use crate::app::{App, Outcome};
use crate::attach::Directory;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::sandbox;
use crate::{turn, view};
use ipc_proto::Name;
use ipc_proto::control::{ControlError, method};
use ipc_proto::ids::TurnId;
use ipc_proto::router::{self, End, Finished, Profile, RouterError, SessionName, Task, TurnEvent, Typed};
use manifest::Process;
use nix::sys::signal::Signal;
use serde_json::json;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use terminal::{Keyboard, Raw};
use token::{ThrowAway, Token};
use tokio::time::{Instant, sleep_until};

/// After so long, what there was no room for is typed again.
const PAUSE: Duration = Duration::from_millis(50);
/// How long the end of a run that was cancelled is waited for.
const ENDING: Duration = Duration::from_secs(10);

/// The arguments of `run`.
#[derive(clap::Args)]
pub(crate) struct Run {
    /// With this agent's model, policy and budget
    #[arg(long, short, value_name = "NAME", value_parser = crate::cli::text::<64>)]
    agent: Option<Name>,
    #[command(flatten)]
    directory: Directory,
    /// In this session's workspace, which is kept
    #[arg(long, short, value_name = "NAME", value_parser = crate::cli::text::<128>)]
    session: Option<SessionName>,
    /// What the program needs; guessed from its name without a word
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Profiled>,
    /// Take up a run whose agentctl went away, by the token that was said at its start
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["agent", "workspace", "session", "profile", "command"])]
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

/// Runs it.
pub(crate) async fn run(app: &App, run: Run) -> Outcome {
    sandbox::told_apart(app, attempt(app, run).await)
}

async fn attempt(app: &App, run: Run) -> Outcome {
    let terminal = terminal::of_this(app.out.json);
    if let Some(token) = run.resume {
        return go_on(app, &token, terminal.is_some()).await;
    }
    let argv = sandbox::argv(&run.command)?;
    let workspace = run.directory.attach(app).await?;
    let nameless = run.session.is_none();
    let session = run.session.unwrap_or_else(sandbox::unnamed);
    let words = sandbox::words(&argv);
    let profile = profile(run.profile, argv.first().map_or("", |word| word.as_str()));
    let attended = terminal.is_some();
    let task = Task::Run(router::Run { argv, profile, terminal });
    let ask = turn::within(turn::ask(session.clone(), run.agent, words, task), workspace);
    let accepted = turn::submit(app, &ask).await?;
    let throw_away =
        nameless.then(|| ThrowAway { session: session.clone(), own_folder: workspace.is_none() });
    let token = Token { turn: accepted.turn, throw_away };
    app.out.remark(&format!("(agentctl run --resume {token})"));
    if app.out.json {
        app.out.json_line(&json!({"event": "started", "token": token.to_string(), "session": session}))?;
    }
    go_on(app, &token, attended).await
}

/// Follows it to its end; a session that nobody named goes with it, whoever saw the end.
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
    /// The signal that had it cancelled.
    signal: Option<Signal>,
    /// Why nothing more of it could be shown; it was cancelled for that.
    lost: Option<io::Error>,
}

/// The profile that was named, else the one whose program it is.
fn profile(named: Option<Profiled>, program: &str) -> Profile {
    let name = Path::new(program).file_name().and_then(|name| name.to_str());
    match (named, name) {
        (Some(Profiled::Codex), _) | (None, Some("codex")) => Profile::Codex,
        (Some(Profiled::ClaudeCode), _) | (None, Some("claude")) => Profile::ClaudeCode,
        (Some(Profiled::Opencode), _) | (None, Some("opencode")) => Profile::Opencode,
        _ => Profile::Plain,
    }
}

/// What ends a run at a terminal; there Ctrl-C is a key like any other.
const ENDS: [Signal; 2] = [Signal::SIGTERM, Signal::SIGHUP];

/// Gives it what is typed, and shows what it says, until it has ended.
async fn play(app: &App, turn: TurnId, attended: bool) -> Result<Played, Failure> {
    // Before anything is changed and before there is another thread, which a signal could end the program by.
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

/// Shows what it says. A signal cancels it, and so does output that goes nowhere; the end is waited for all the same.
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
            // The end itself was missed, which only an ended host can come to.
            return Err(Failure::Control(ControlError::Router(RouterError::NoTurn)));
        }
        from = followed.next;
    }
}

fn show(app: &App, event: &TurnEvent) -> io::Result<()> {
    let TurnEvent::Output { error, bytes } = event else { return Ok(()) };
    if !app.out.json {
        return app.out.raw(bytes, *error);
    }
    let mut line = json!({"event": "output"});
    view::add_bytes(&mut line, if *error { "stderr" } else { "stdout" }, bytes);
    app.out.json_line(&line)
}

/// Types, piece by piece, for as long as it runs; ends only by a failure.
async fn type_in(app: &App, turn: TurnId, mut keyboard: Keyboard) -> Failure {
    // Each agentctl goes on above the numbers of the one before it.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut number = u64::try_from(since.as_micros()).unwrap_or_default();
    while let Some(typed) = keyboard.next().await {
        if let Err(failure) = type_one(app, turn, number, &typed).await {
            return failure;
        }
        number += 1;
    }
    // Nothing more comes; its end is seen by following it.
    std::future::pending().await
}

async fn type_one(app: &App, turn: TurnId, number: u64, typed: &Typed) -> Result<(), Failure> {
    loop {
        let taken = app
            .link
            .ask(&method::type_in, async |c, cx| c.type_in(cx, turn, number, typed.clone()).await)
            .await;
        match taken {
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

/// How it ended, as the exit status.
fn end(app: &App, token: &Token, played: &Played) -> Outcome {
    let end = &played.finished.end;
    let status = status(end, played.signal);
    let ran = matches!(end, End::Exited { .. });
    if app.out.json {
        let mut line = json!({
            "event": "end", "ok": ran, "token": token.to_string(), "status": status, "end": turn::word(end),
        });
        if let (false, Some(map)) = (ran, line.as_object_mut()) {
            map.insert("error".to_owned(), json!({"type": turn::word(end), "message": sentence(end)}));
        }
        app.out.json_line(&line)?;
    } else if !ran {
        app.out.complain(turn::word(end), &sentence(end));
    }
    Ok(ExitCode::from(status))
}

/// Of one that a signal ended, what a shell says of a program that ended by it.
fn status(end: &End, signal: Option<Signal>) -> u8 {
    let ended_by = signal.filter(|_| *end == End::Cancelled).and_then(|it| u8::try_from(it as i32).ok());
    ended_by.map_or_else(|| sandbox::status(end), |number| 128 + number)
}

fn sentence(end: &End) -> String {
    match end {
        End::OverLimit(limit) => limit.sentence_of(Process::AgentRunner),
        End::TimedOut => "the run was out of time".to_owned(),
        End::Cancelled => "the run was cancelled".to_owned(),
        _ => turn::sentence(end),
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
