//! `agentctl run`: a coding agent, or any program that asks models by itself, in a jail of its own. What it says passes
//! through as it is, what is typed goes to it, and its exit status becomes ours as with `sandbox run`. The program's
//! terminal is one of its jail's own: this one's is never handed over.

mod terminal;

use crate::app::{App, Outcome};
use crate::attach::Directory;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::sandbox;
use crate::{turn, view};
use ipc_proto::control::{ControlError, method};
use ipc_proto::ids::TurnId;
use ipc_proto::router::{self, End, Finished, Profile, RouterError, SessionName, Task, TurnEvent, Typed};
use ipc_proto::{List, Name, Text};
use manifest::Process;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use terminal::{Keyboard, Raw};

/// After so long, what there was no room for is typed again.
const PAUSE: Duration = Duration::from_millis(50);

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
    resume: Option<TurnId>,
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "resume", value_name = "PROGRAM", value_parser = crate::cli::text::<8192>)]
    command: Vec<Text<8192>>,
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
    if let Some(turn) = run.resume {
        return end(app, turn, &play(app, turn, terminal.is_some()).await?);
    }
    let argv = List::new(run.command).map_err(|why| Failure::Usage(format!("the program: {why}")))?;
    let workspace = run.directory.attach(app).await?;
    let throw_away = run.session.is_none();
    let session = run.session.unwrap_or_else(sandbox::unnamed);
    let words = sandbox::words(&argv);
    let profile = profile(run.profile, argv.first().map_or("", |word| word.as_str()));
    let attended = terminal.is_some();
    let task = Task::Run(router::Run { argv, profile, terminal });
    let ask = turn::within(turn::ask(session.clone(), run.agent, words, task), workspace);
    let accepted = app.link.ask(&method::submit, async |c, cx| c.submit(cx, ask.clone()).await).await?;
    let turn = accepted.turn;
    app.out.remark(&format!("(agentctl run --resume {turn})"));
    if app.out.json {
        app.out.json_line(&json!({"event": "started", "token": turn.to_string(), "session": session}))?;
    }
    let finished = play(app, turn, attended).await;
    if throw_away && finished.is_ok() {
        sandbox::forget(app, &session, workspace.is_none()).await;
    }
    end(app, turn, &finished?)
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

/// Gives it what is typed, and shows what it says, until it has ended.
async fn play(app: &App, turn: TurnId, attended: bool) -> Result<Finished, Failure> {
    let raw = if attended { Some(Raw::begin()?) } else { None };
    let keyboard = Keyboard::begin(attended)?;
    let ended = tokio::select! {
        ended = follow(app, turn, attended) => ended,
        failure = type_in(app, turn, keyboard) => Err(failure),
    };
    drop(raw);
    ended
}

/// Shows what it says. Without a terminal Ctrl-C cancels it; with one it is a key like any other.
async fn follow(app: &App, turn: TurnId, attended: bool) -> Result<Finished, Failure> {
    let interrupt = if attended { None } else { Some(Interrupt::new()?) };
    let pressed = async || match &interrupt {
        Some(interrupt) => interrupt.pressed().await,
        None => std::future::pending().await,
    };
    let (mut from, mut again) = (0, false);
    loop {
        let followed = tokio::select! {
            followed = turn::follow(app, turn, from) => followed?,
            () = pressed() => {
                if again {
                    return Err(Failure::Interrupted);
                }
                again = true;
                turn::cancel(app, turn).await;
                continue;
            }
        };
        for event in &followed.events {
            match event {
                TurnEvent::Output { error, bytes } if app.out.json => {
                    let mut line = json!({"event": "output"});
                    view::add_bytes(&mut line, if *error { "stderr" } else { "stdout" }, bytes);
                    app.out.json_line(&line)?;
                }
                TurnEvent::Output { error, bytes } => app.out.raw(bytes, *error)?,
                TurnEvent::Done(finished) => return Ok(finished.clone()),
                _ => {}
            }
        }
        if followed.over {
            // The end itself was missed, which only an ended host can come to.
            return Err(Failure::Control(ControlError::Router(RouterError::NoTurn)));
        }
        from = followed.next;
    }
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
fn end(app: &App, turn: TurnId, finished: &Finished) -> Outcome {
    let end = &finished.end;
    let status = sandbox::status(end);
    let ran = matches!(end, End::Exited { .. });
    if app.out.json {
        let mut line = json!({
            "event": "end", "ok": ran, "token": turn.to_string(), "status": status, "end": turn::word(end),
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
