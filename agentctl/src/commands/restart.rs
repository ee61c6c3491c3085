//! `agentctl restart|hold|release NAME` and `shutdown`.
//!
//! The process may be control itself, which then cannot answer: the result is read from the state afterwards, so that
//! nothing is stopped twice.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::host;
use crate::link::{Peer, Trouble};
use ipc_proto::Name;
use ipc_proto::control::{ControlClient, ControlError, method};
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tarpc::context::Context;

/// The longest wait of `shutdown` for the end of the host.
const GOING_DOWN: Duration = Duration::from_secs(30);

/// Restarts a process.
pub(crate) async fn restart(app: &App, name: Name) -> Outcome {
    let before = generation(app, &name).await?;
    let call = async |c: ControlClient, cx: Context| c.restart(cx, name.clone()).await;
    let answer = app
        .link
        .patiently(async || match app.link.once(&method::restart, &call).await {
            Err(Trouble::Lost) if generation(app, &name).await.ok() > Some(before) => Ok(Ok(())),
            Ok(Err(down @ ControlError::Down(_))) => Err(Trouble::Down(down)),
            answer => answer,
        })
        .await?;
    answer.map_err(Failure::Control)?;
    Ok(app.out.done(json!({ "process": name, "command": "restart" }), &format!("{name} restarts"))?)
}

/// The number of starts of a process; 0 for one that control does not list, and will refuse itself.
async fn generation(app: &App, name: &Name) -> Result<u64, Failure> {
    let host = host::status(app).await?;
    Ok(host.processes.iter().find(|process| process.name == *name).map_or(0, |process| process.generation))
}

/// Stops a process and keeps it stopped.
pub(crate) async fn hold(app: &App, name: Name) -> Outcome {
    app.link.ask(&method::hold, async |c, cx| c.hold(cx, name.clone()).await).await?;
    Ok(app.out.done(json!({ "process": name, "command": "hold" }), &format!("{name} is held"))?)
}

/// Starts a held process.
pub(crate) async fn release(app: &App, name: Name) -> Outcome {
    app.link.ask(&method::release, async |c, cx| c.release(cx, name.clone()).await).await?;
    Ok(app.out.done(json!({ "process": name, "command": "release" }), &format!("{name} is released"))?)
}

/// Stops the host and waits until it is gone.
pub(crate) async fn shutdown(app: &App) -> Outcome {
    host::status(app).await?;
    match app.link.ask(&method::shutdown, async |c, cx| c.shutdown(cx).await).await {
        // The host answered a moment ago, so it stopped before it could answer again.
        Ok(()) | Err(Failure::Unreachable { .. }) => {}
        Err(failure) => return Err(failure),
    }
    let stopped = gone(app.link.peer()?).await;
    let sentence = if stopped { "the host has stopped" } else { "the host is stopping" };
    Ok(app.out.done(json!({ "stopped": stopped }), sentence)?)
}

/// Waits for the end of agentd, whose pid the kernel gave; the lock on the state directory ends with it.
async fn gone(agentd: Peer) -> bool {
    let process = PathBuf::from(format!("/proc/{}", agentd.pid));
    let end = Instant::now() + GOING_DOWN;
    while Instant::now() < end {
        if !process.exists() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}
