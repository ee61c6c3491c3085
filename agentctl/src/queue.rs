//! `agentctl queue|pause|resume|stop`: what waits and what runs, and how either is brought to a halt.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::view;
use ipc_proto::control::{ControlClient, method};
use ipc_proto::router::{QueueInfo, SessionName};
use serde_json::json;
use std::cell::Cell;

/// Which session is meant; without one, all of the caller's, and for the owner everyone's.
#[derive(clap::Args)]
pub(crate) struct Which {
    /// Only this session
    #[arg(long, short, value_name = "NAME", value_parser = crate::cli::text::<128>)]
    session: Option<SessionName>,
}

/// What is to be stopped: one or the other is said, so that nobody stops everything by leaving a word out.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Stop {
    /// What runs and waits in this session
    #[arg(long, short, value_name = "NAME", value_parser = crate::cli::text::<128>)]
    session: Option<SessionName>,
    /// Everything of yours; for the owner, everything of everyone
    #[arg(long)]
    all: bool,
}

/// Shows the queue in numbers.
pub(crate) async fn queue(app: &App) -> Outcome {
    let queue = read(app).await?;
    let paused = match (queue.paused, &still(&queue)[..]) {
        (true, _) => "everything; nothing is begun until: agentctl resume".to_owned(),
        (false, []) => "nothing".to_owned(),
        (false, names) => names.join(", "),
    };
    let facts = [
        ("waiting", queue.waiting.to_string()),
        ("running", queue.running.to_string()),
        ("dead letters", queue.dead.to_string()),
        ("paused", paused),
    ];
    Ok(app.out.facts(json!({ "queue": view::queue(&queue) }), &facts)?)
}

/// What control says of the queue.
///
/// # Errors
/// Control's own.
pub(crate) async fn read(app: &App) -> Result<QueueInfo, Failure> {
    app.link.ask(&method::queue, async |c, cx| c.queue(cx).await).await
}

/// Has nothing be started, or lets it go on.
pub(crate) async fn pause(app: &App, which: Which, paused: bool) -> Outcome {
    let session = which.session;
    app.link.ask(&method::pause, async |c, cx| c.pause(cx, session.clone(), paused).await).await?;
    let place = session.as_ref().map_or_else(|| "every session".to_owned(), |name| format!("session {name}"));
    if paused {
        let sentence =
            format!("{place} is paused: messages are accepted and wait, turns that have begun go on");
        return Ok(app.out.done(json!({ "session": session, "paused": true }), &sentence)?);
    }
    let queue = read(app).await?;
    let fields = json!({ "session": session, "paused": false, "still_paused": still(&queue) });
    let rest = match (queue.paused, &still(&queue)[..]) {
        (true, _) => "; everything is still paused".to_owned(),
        (false, []) => String::new(),
        (false, names) => format!("; still paused by themselves: {}", names.join(", ")),
    };
    Ok(app.out.done(fields, &format!("{place} goes on{rest}"))?)
}

/// A pause of everything and those of single sessions are apart: whoever takes one back is told of the others.
fn still(queue: &QueueInfo) -> Vec<&str> {
    queue.paused_sessions.iter().map(|name| name.as_str()).collect()
}

/// Ends turns and what waits behind them.
pub(crate) async fn stop(app: &App, stop: Stop) -> Outcome {
    let session = match stop {
        Stop { session: Some(session), .. } => Some(session),
        Stop { all: true, .. } => None,
        Stop { .. } => return Err(Failure::Usage("give --session NAME or --all".to_owned())),
    };
    let asked = Cell::new(false);
    let stop = async |c: ControlClient, cx| c.stop(cx, session.clone(), asked.replace(true)).await;
    let stopped = app.link.ask(&method::stop, stop).await?;
    let (running, waiting) = (stopped.running, stopped.waiting);
    let fields = json!({ "session": session, "running": running, "waiting": waiting });
    let sentence = format!("stopped: {running} under way, {waiting} waiting");
    Ok(app.out.done(fields, &sentence)?)
}

/// Why a session's message waits, if somebody has paused it.
pub(crate) fn halted(queue: &QueueInfo, session: &str) -> Option<String> {
    if queue.paused {
        return Some("everything is paused; whoever paused it lets it go on: agentctl resume".to_owned());
    }
    let paused = queue.paused_sessions.iter().any(|name| name.as_str() == session);
    paused.then(|| format!("this session is paused; to let it go on: agentctl resume --session {session}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::{List, Text};

    #[test]
    fn a_message_waits_for_what_is_paused_and_not_for_other_sessions() {
        let queue = |paused, sessions: &[&str]| QueueInfo {
            paused,
            paused_sessions: List::clip(sessions.iter().map(|name| Text::clip(name))),
            waiting: 1,
            running: 0,
            dead: 0,
        };
        assert!(halted(&queue(true, &[]), "s").is_some_and(|why| why.contains("everything")));
        assert!(halted(&queue(false, &["t", "s"]), "s").is_some_and(|why| why.ends_with("--session s")));
        assert_eq!(halted(&queue(false, &["t"]), "s"), None);
    }
}
