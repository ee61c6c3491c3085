//! What control is told, so that `agentctl status` and `attest` can show it; and what systemd is told.

use crate::host::{Host, now_ms};
use manifest::Process as Name;
use manifest::command::{Frame, HostState, Kind, ProcessState};

/// Tells control of one process, and everybody of what that makes of the host.
pub(crate) fn process(host: &mut Host, name: Name) {
    if let (Some(control), Some(process)) = (host.process(Name::Control), host.process(name)) {
        control.tell(process.report(host.own_uid), &[]);
    }
    let state = state_of(host);
    if state != host.state {
        host.state = state;
        tell_host(host);
        tell_systemd(host);
    }
}

/// Tells everybody of the host itself: its own check has come to an end.
pub(crate) fn host(host: &mut Host) {
    let state = state_of(host);
    let changed = state != host.state;
    host.state = state;
    tell_host(host);
    if changed {
        tell_systemd(host);
    }
}

/// Tells control everything: after its start.
pub(crate) fn everything(host: &Host) {
    let Some(control) = host.process(Name::Control) else { return };
    for process in &host.processes {
        control.tell(process.report(host.own_uid), &[]);
    }
    tell_host(host);
}

fn tell_host(host: &Host) {
    if let Some(control) = host.process(Name::Control) {
        let pid = u64::from(std::process::id());
        let holder = host.limits.holder() as u64;
        let words = [host.state as u64, host.mode as u64, host.began_ms, pid, now_ms(), holder];
        let words: Vec<u64> = words.into_iter().chain(host.proof.words()).collect();
        control.tell(Frame::new(Kind::HostState, Name::Agentd).with(&words), &[]);
    }
}

fn state_of(host: &Host) -> HostState {
    let all_ready = host.processes.iter().all(|process| process.state == ProcessState::Ready);
    match host.state {
        HostState::Stopping => HostState::Stopping,
        _ if all_ready && !host.proof.failed() => HostState::Ready,
        HostState::Starting => HostState::Starting,
        _ => HostState::Degraded,
    }
}

fn tell_systemd(host: &Host) {
    match host.state {
        HostState::Ready => host.notify.tell("READY=1\nSTATUS=ready"),
        HostState::Degraded => {
            let not_ready = host.processes.iter().filter(|process| process.state != ProcessState::Ready);
            let names: Vec<_> = not_ready.map(crate::process::Process::name).collect();
            let processes = (!names.is_empty()).then(|| format!("{} not ready", names.join(", ")));
            let check = host.proof.failed().then(|| "self-check failed, no runner is served".to_owned());
            let all: Vec<String> = processes.into_iter().chain(check).collect();
            host.notify.tell(&format!("STATUS=degraded: {}", all.join("; ")));
        }
        HostState::Stopping => host.notify.tell("STOPPING=1\nSTATUS=stopping"),
        HostState::Starting => {}
    }
}
