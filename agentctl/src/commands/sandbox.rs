//! `agentctl sandbox run`: any command in a runner's jail. Its output passes through, escaped on a terminal. Its exit status
//! becomes this program's: 124 if it ran out of time, 125 if Cordon refused it, and a shell's status for the kernel's signal
//! if its jail went over a limit.

use crate::app::{App, Outcome};
use crate::attach::Directory;
use crate::failure::{Failure, UNREACHABLE};
use crate::turn::{self, Ended};
use crate::{turn_end, view};
use ipc_proto::bounded::TooLong;
use ipc_proto::control::method;
use ipc_proto::router::{End, Limit, SessionName, Task, TurnEvent};
use ipc_proto::{List, Text};
use serde_json::json;
use std::process::ExitCode;

/// The exit status of a command that ran out of time.
const TIMED_OUT: u8 = 124;
/// The exit status of a command that Cordon refused.
pub(crate) const REFUSED: u8 = 125;
/// The exit status of a command that the person stopped.
const CANCELLED: u8 = 130;
/// Its jail went over its memory or its processes: 128 and SIGKILL.
const ENDED: u8 = 137;
/// Its jail used up its CPU time: 128 and SIGXCPU.
const NO_CPU: u8 = 152;
/// Its jail wrote into the host's disk reserve: 128 and SIGXFSZ.
const NO_DISK: u8 = 153;

/// Bytes of an argument, and arguments of a command line, at most.
const WORD: usize = 8192;
const WORDS: usize = 64;

/// A program and its arguments.
type Argv = List<Text<WORD>, WORDS>;

/// The commands of `sandbox`.
#[derive(clap::Subcommand)]
pub(crate) enum Sandbox {
    /// Run a command in a runner's jail
    Run(Run),
}

/// The arguments of `sandbox run`.
#[derive(clap::Args)]
pub(crate) struct Run {
    #[command(flatten)]
    directory: Directory,
    /// Use this session's workspace
    #[arg(long, short, value_name = "NAME", value_parser = crate::arguments::text::<128>)]
    session: Option<SessionName>,
    /// Print its output unescaped on a terminal too, which its bytes may then steer
    #[arg(long)]
    raw: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs a command.
pub(crate) async fn run(app: &App, run: Run) -> Outcome {
    with_own_status(app, attempt(app, run).await)
}

/// The exit status of a person's program. Failures of Cordon itself have a status of their own.
pub(crate) fn with_own_status(app: &App, outcome: Outcome) -> Outcome {
    match outcome {
        Err(failure) if failure.exit() == UNREACHABLE || matches!(failure, Failure::Output(_)) => {
            Err(failure)
        }
        Err(failure @ (Failure::Interrupted | Failure::Usage(_))) => Err(failure),
        Err(failure) => {
            app.out.complain(failure.kind(), &failure.to_string());
            Ok(ExitCode::from(REFUSED))
        }
        ended => ended,
    }
}

/// A program and its arguments within the bounds. The error does not repeat an argument, which is a person's text.
pub(crate) fn argv(words: &[String]) -> Result<Argv, Failure> {
    if words.first().is_none_or(String::is_empty) {
        return Err(Failure::Usage("the program's name is empty; give a command".to_owned()));
    }
    let word = |(number, word): (usize, &String)| {
        Text::new(word).map_err(|TooLong { given, .. }| {
            let number = number + 1;
            Failure::Usage(format!(
                "word {number} of the command has {given} bytes, over the bound of {WORD}; put it into a file of the \
                 workspace, or pipe it in"
            ))
        })
    };
    let argv = words.iter().enumerate().map(word).collect::<Result<Vec<_>, Failure>>()?;
    List::new(argv).map_err(|TooLong { given, .. }| {
        Failure::Usage(format!(
            "the command has {given} words, over the bound of {WORDS}; put it into a script in the workspace"
        ))
    })
}

async fn attempt(app: &App, run: Run) -> Outcome {
    let argv = argv(&run.command)?;
    let workspace = run.directory.attach(app).await?;
    let (throw_away, raw) = (run.session.is_none(), run.raw);
    let session = run.session.unwrap_or_else(unnamed);
    let ask = turn::ask(session.clone(), None, command_line(&argv), Task::Command { argv });
    let ask = turn::within(ask, workspace);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let ended = turn::play(app, &ask, |event| {
        let TurnEvent::Output { error, bytes } = event else { return Ok(()) };
        if !app.out.json {
            return app.out.content(bytes, *error, raw);
        }
        let kept = if *error { &mut stderr } else { &mut stdout };
        kept.extend_from_slice(bytes);
        Ok(())
    })
    .await;
    if throw_away {
        forget(app, &session, workspace.is_none()).await;
    }
    let ended = ended?;
    let status = status(&ended.finished.end);
    report(app, &session, &ended, status, &stdout, &stderr)?;
    Ok(ExitCode::from(status))
}

/// The name of a new unnamed session.
pub(crate) fn unnamed() -> SessionName {
    Text::clip(&format!("run-{}", uuid::Uuid::new_v4()))
}

/// A command as the transcript shows it.
pub(crate) fn command_line<const N: usize>(argv: &[Text<8192>]) -> Text<N> {
    Text::clip(&argv.iter().map(Text::as_str).collect::<Vec<_>>().join(" "))
}

/// Ends an unnamed session, which nobody can find again, and removes its own folder. A directory of the person's own is
/// left alone.
pub(crate) async fn forget(app: &App, session: &SessionName, own_folder: bool) {
    let name = || session.clone();
    let view = app.link.ask(&method::session, async |c, cx| c.session(cx, name()).await).await;
    // A guest may not end sessions, and a host may be away: both only leave a session behind.
    let _ = app.link.ask(&method::end_session, async |c, cx| c.end_session(cx, name()).await).await;
    if let (Ok(view), true) = (view, own_folder) {
        let id = view.info.workspace;
        let _ = app.link.ask(&method::remove_workspace, async |c, cx| c.remove_workspace(cx, id).await).await;
    }
}

pub(crate) const fn status(end: &End) -> u8 {
    match end {
        End::Exited { status } => *status,
        End::Answered => 0,
        End::TimedOut => TIMED_OUT,
        End::Cancelled | End::Recalled => CANCELLED,
        End::Blocked(_) | End::Failed(_) | End::Quarantined(_) | End::TakenIn(_) => REFUSED,
        End::OverLimit(Limit::Memory | Limit::Processes) => ENDED,
        End::OverLimit(Limit::Cpu) => NO_CPU,
        End::OverLimit(Limit::Disk) => NO_DISK,
    }
}

fn report(
    app: &App,
    session: &str,
    ended: &Ended,
    status: u8,
    stdout: &[u8],
    stderr: &[u8],
) -> Result<(), Failure> {
    let end = &ended.finished.end;
    let ran = matches!(end, End::Exited { .. } | End::Answered);
    if !app.out.json {
        if !ran {
            app.out.complain(turn_end::kind(end), &turn_end::sentence(end));
        }
        return Ok(());
    }
    let mut document = json!({
        "ok": ran,
        "turn": ended.accepted.turn.to_string(),
        "session": session,
        "status": status,
        "end": turn_end::kind(end),
        "total_ms": ended.total_ms,
    });
    view::add_bytes(&mut document, "stdout", stdout);
    view::add_bytes(&mut document, "stderr", stderr);
    if let (false, Some(map)) = (ran, document.as_object_mut()) {
        map.insert(
            "error".to_owned(),
            json!({ "type": turn_end::kind(end), "message": turn_end::sentence(end) }),
        );
    }
    Ok(app.out.json_line(&document)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds B-74.
    #[test]
    fn a_command_over_its_bounds_is_refused_without_its_text() {
        let refused = |words: Vec<String>| argv(&words).map_err(|failure| failure.to_string());
        let word = |length| "x".repeat(length);
        assert_eq!(refused(vec![word(WORD); WORDS]).unwrap().len(), WORDS);
        for (words, why) in [
            (vec![], "name is empty"),
            (vec![String::new()], "name is empty"),
            (vec![word(1), word(WORD + 1)], "word 2 of the command has 8193 bytes, over the bound of 8192"),
            (vec![word(1); WORDS + 1], "the command has 65 words, over the bound of 64"),
        ] {
            let refused = refused(words).unwrap_err();
            assert!(refused.contains(why) && !refused.contains("xx"), "{refused}");
        }
    }

    #[test]
    fn a_command_that_cordon_stopped_has_a_status_of_its_own() {
        for (end, expected) in [
            (End::Exited { status: 0 }, 0),
            (End::Exited { status: 137 }, 137),
            (End::TimedOut, 124),
            (End::Failed(Text::default()), 125),
            (End::Blocked(Text::clip("why")), 125),
            (End::Quarantined(Text::default()), 125),
            (End::OverLimit(Limit::Memory), 137),
            (End::OverLimit(Limit::Processes), 137),
            (End::OverLimit(Limit::Cpu), 152),
            (End::OverLimit(Limit::Disk), 153),
            (End::Cancelled, 130),
            (End::Recalled, 130),
        ] {
            assert_eq!(status(&end), expected, "{end:?}");
        }
    }
}
