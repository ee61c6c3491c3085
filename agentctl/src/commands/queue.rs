//! `agentctl queue|pause|resume|stop`: waiting messages and running turns, and commands that halt either.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{host, view};
use ipc_proto::control::{ControlClient, method};
use ipc_proto::router::{QueueInfo, SessionName};
use serde_json::json;
use std::cell::Cell;

/// The session to pause or resume. The default is all of the caller's; for the owner, everyone's.
#[derive(clap::Args)]
pub(crate) struct Which {
    /// Only this session
    #[arg(long, short, value_name = "NAME", value_parser = crate::arguments::text::<128>)]
    session: Option<SessionName>,
}

/// The turns to stop. One option is required, so that nobody stops everything by leaving an option out.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Stop {
    /// Everything that runs or waits in this session
    #[arg(long, short, value_name = "NAME", value_parser = crate::arguments::text::<128>)]
    session: Option<SessionName>,
    /// Everything of yours; for the owner, everything of everyone
    #[arg(long)]
    all: bool,
}

/// Shows the queue in numbers.
pub(crate) async fn queue(app: &App) -> Outcome {
    let queue = host::queue(app).await?;
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

/// Pauses or resumes the queue.
pub(crate) async fn pause(app: &App, which: Which, paused: bool) -> Outcome {
    let session = which.session;
    app.link.ask(&method::pause, async |c, cx| c.pause(cx, session.clone(), paused).await).await?;
    let place = session.as_ref().map_or_else(|| "every session".to_owned(), |name| format!("session {name}"));
    if paused {
        let sentence =
            format!("{place} is paused: messages are accepted and wait, turns that have begun go on");
        return Ok(app.out.done(json!({ "session": session, "paused": true }), &sentence)?);
    }
    let queue = host::queue(app).await?;
    let fields = json!({ "session": session, "paused": false, "still_paused": still(&queue) });
    let rest = match (queue.paused, &still(&queue)[..]) {
        (true, _) => "; everything is still paused".to_owned(),
        (false, []) => String::new(),
        (false, names) => format!("; still paused by themselves: {}", names.join(", ")),
    };
    Ok(app.out.done(fields, &format!("{place} is resumed{rest}"))?)
}

/// The sessions that are still paused. A pause of everything and those of single sessions are independent.
fn still(queue: &QueueInfo) -> Vec<&str> {
    queue.paused_sessions.iter().map(|name| name.as_str()).collect()
}

/// Ends turns and drops the messages that wait behind them.
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
