//! `agentctl status`: the host and every process of it.

use crate::app::{App, Outcome};
use crate::commands::tunnel;
use crate::{host, text, view};
use ipc_proto::control::{HostStatus, ProcessStatus};
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

/// The pause between two looks.
const LOOK: Duration = Duration::from_secs(2);
/// Clears a terminal and puts its cursor at the top.
const CLEAR: &[u8] = b"\x1b[H\x1b[2J";

/// Shows the host; with `watch` again and again, on a terminal in place.
pub(crate) async fn status(app: &App, watch: bool) -> Outcome {
    loop {
        let host = host::status(app).await?;
        if watch && !app.out.json && std::io::stdout().is_terminal() {
            app.out.raw(CLEAR, false)?;
        }
        if app.out.json {
            app.out.document(with_tunnel(&host))?;
        } else {
            print(app, &host)?;
        }
        if !watch {
            return Ok(ExitCode::SUCCESS);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// The host as a document.
pub(crate) fn document(host: &HostStatus) -> Value {
    json!({
        "host": {
            "state": host.state,
            "mode": host.mode,
            "limits": host.limits,
            "self_check": host.self_check,
            "version": host.version,
            "pid": host.pid,
            "uptime_ms": host.uptime_ms,
            "reason": Some(host.reason.as_str()).filter(|reason| !reason.is_empty()),
            "state_dir": host.state_dir,
            "config": host::config(host),
        },
        "processes": host.processes.iter().map(view::process).collect::<Vec<_>>(),
        "degraded": host::degraded(host).map(|p| json!({ "name": p.name, "state": p.state })).collect::<Vec<_>>(),
    })
}

/// The same, degraded by a tunnel that does not do its work.
fn with_tunnel(host: &HostStatus) -> Value {
    let mut document = document(host);
    let fault = tunnel::fault(&host.state_dir);
    let degraded = document.get_mut("degraded").and_then(Value::as_array_mut);
    if let (Some(degraded), Some(fault)) = (degraded, fault) {
        degraded.push(json!({ "name": "tunnel", "state": fault.state, "reason": fault.sentence }));
    }
    document
}

fn print(app: &App, host: &HostStatus) -> std::io::Result<()> {
    app.out.pairs(&[
        ("state", host.state.to_string()),
        ("mode", host.mode.to_string()),
        ("limits by", host.limits.to_string()),
        ("self-check", host.self_check.to_string()),
        ("version", host.version.to_string()),
        ("pid", host.pid.to_string()),
        ("up", text::span(host.uptime_ms)),
        ("state in", host.state_dir.to_string()),
        (
            "configured by",
            host::config(host).map_or_else(|| "no file".into(), |file| file.display().to_string()),
        ),
    ])?;
    app.out.line("")?;
    // As many as fit 80 columns; `agentctl inspect` has the rest.
    let head = ["PROCESS", "STATE", "STARTS", "UP", "PSS MiB", "CALLS", "REFUSED", "P99", "QUEUE"];
    app.out.table(&head, host.processes.iter().map(row).collect())?;
    let mut why: Vec<String> = host::degraded(host).map(|p| format!("{} is {}", p.name, p.state)).collect();
    why.extend((!host.reason.is_empty()).then(|| host.reason.to_string()));
    why.extend(tunnel::fault(&host.state_dir).map(|fault| fault.sentence));
    if why.is_empty() { Ok(()) } else { app.out.line(&format!("\ndegraded: {}", why.join(", "))) }
}

fn row(process: &ProcessStatus) -> Vec<String> {
    let running = process.pid != 0;
    let only_running = |text: String| if running { text } else { "-".to_owned() };
    vec![
        process.name.to_string(),
        process.state.to_string(),
        process.generation.to_string(),
        only_running(text::span(process.uptime_ms)),
        only_running(text::mib(process.pss_kib)),
        process.calls.to_string(),
        process.refused.to_string(),
        text::micros(process.p99_us),
        process.queue.to_string(),
    ]
}
