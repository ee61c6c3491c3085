//! What control is told, so that `agentctl status` and `attest` can show it; and what systemd is told.

use crate::host::{Host, now_ms};
use manifest::Process as Name;
use manifest::command::{Frame, HostState, Kind, ProcessState, RecordState};

/// Tells control of one process, and everybody of what that makes of the host.
pub(crate) fn process(host: &mut Host, name: Name) {
    if let (Some(control), Some(process)) = (host.process(Name::Control), host.process(name)) {
        control.tell(process.report(host.own_uid), &[]);
    }
    self::host(host);
}

/// Tells everybody what has become of the host as a whole, if it is not as it was.
pub(crate) fn host(host: &mut Host) {
    let state = state_of(host);
    if state != host.state {
        host.state = state;
        tell_host(host);
        tell_systemd(host);
    }
}

/// The same, and tells control in any case: the host's own check has come to an end.
pub(crate) fn checked(host: &mut Host) {
    let before = host.state;
    self::host(host);
    if host.state == before {
        tell_host(host);
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
        let words = words.into_iter().chain(host.proof.words());
        let words: Vec<u64> = words.chain([u64::from(host.vault.locked), host.record as u64]).collect();
        control.tell(Frame::new(Kind::HostState, Name::Agentd).with(&words), &[]);
    }
}

fn state_of(host: &Host) -> HostState {
    let all_ready = host.processes.iter().all(|process| process.state == ProcessState::Ready);
    match host.state {
        HostState::Stopping => HostState::Stopping,
        // A host that begins on a disk that is low, or with a vault that is locked, has begun: whoever waits for that is
        // told so, and then the rest.
        HostState::Starting if all_ready => HostState::Ready,
        HostState::Starting => HostState::Starting,
        _ if all_ready && is_well(host) => HostState::Ready,
        _ => HostState::Degraded,
    }
}

/// Returns whether nothing is wrong but perhaps a process that is not ready.
fn is_well(host: &Host) -> bool {
    !host.disk.room.low && !host.proof.failed() && !host.vault.locked && host.record == RecordState::Whole
}

fn tell_systemd(host: &Host) {
    match host.state {
        HostState::Ready => host.notify.tell("READY=1\nSTATUS=ready"),
        HostState::Degraded => {
            let not_ready = host.processes.iter().filter(|process| process.state != ProcessState::Ready);
            let mut why: Vec<_> = not_ready.map(|process| format!("{} not ready", process.name())).collect();
            let room = host.disk.room;
            if room.low {
                why.push(format!("disk: {} MiB free, {} are kept", room.free_mib, room.kept_mib));
            }
            if host.vault.locked {
                why.push("vault locked".to_owned());
            }
            match host.record {
                RecordState::Whole => {}
                RecordState::Unwritable => why.push("the record cannot be written".to_owned()),
                RecordState::Broken => why.push("the record does not verify".to_owned()),
                RecordState::Foreign => why.push("the record is another log than this host's".to_owned()),
            }
            if host.proof.failed() {
                why.push("self-check failed, no runner is served".to_owned());
            }
            host.notify.tell(&format!("STATUS=degraded: {}", why.join(", ")));
        }
        HostState::Stopping => host.notify.tell("STOPPING=1\nSTATUS=stopping"),
        HostState::Starting => {}
    }
}
