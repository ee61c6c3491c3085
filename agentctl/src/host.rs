//! The state of the host and of its queue, as control reports them, for every command that needs them.

use crate::app::App;
use crate::failure::Failure;
use ipc_proto::control::{HostStatus, ProcessStatus, method};
use ipc_proto::router::QueueInfo;
use std::path::PathBuf;

/// Asks for the state of the host.
///
/// # Errors
/// Control's own.
pub(crate) async fn status(app: &App) -> Result<HostStatus, Failure> {
    app.link.ask(&method::status, async |c, cx| c.status(cx).await).await
}

/// Asks for the state of the queue.
///
/// # Errors
/// Control's own.
pub(crate) async fn queue(app: &App) -> Result<QueueInfo, Failure> {
    app.link.ask(&method::queue, async |c, cx| c.queue(cx).await).await
}

/// The configuration file that the host read, if it read one.
pub(crate) fn config(host: &HostStatus) -> Option<PathBuf> {
    (!host.config.is_empty()).then(|| PathBuf::from(host.config.as_str()))
}

/// The processes that are not ready.
pub(crate) fn degraded(host: &HostStatus) -> impl Iterator<Item = &ProcessStatus> {
    host.processes.iter().filter(|process| process.state.as_str() != "ready")
}

/// Why a message of this session waits, if the session or everything is paused.
pub(crate) fn halted(queue: &QueueInfo, session: &str) -> Option<String> {
    if queue.paused {
        return Some("everything is paused; to resume: agentctl resume".to_owned());
    }
    let paused = queue.paused_sessions.iter().any(|name| name.as_str() == session);
    paused.then(|| format!("this session is paused; to resume: agentctl resume --session {session}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ipc_proto::{List, Text};

    /// A host with one process, of this name and in this state.
    pub(crate) fn host(name: &str, state: &str, generation: u64) -> HostStatus {
        let process = ProcessStatus {
            name: Text::clip(name),
            state: Text::clip(state),
            pid: 7,
            uid: 1,
            generation,
            restarts: 0,
            uptime_ms: 10,
            pss_kib: 0,
            rss_kib: 0,
            calls: 0,
            refused: 0,
            p50_us: 0,
            p99_us: 0,
            in_flight: 0,
            queue: 0,
        };
        HostStatus {
            state: Text::clip("ready"),
            mode: Text::clip("user"),
            limits: Text::clip("watch"),
            self_check: Text::clip("pending"),
            version: Text::clip("0"),
            pid: 1,
            uptime_ms: 1,
            reason: Text::default(),
            state_dir: Text::clip("/s"),
            config: Text::clip("/c.toml"),
            processes: List::clip([process]),
        }
    }

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
