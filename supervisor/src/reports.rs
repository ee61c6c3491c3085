//! Reports on processes and on the host as a whole: to control, so that `agentctl status` and `attest` can show them, and to
//! systemd.

use crate::clock::now_ms;
use crate::host::Host;
use manifest::Process as Name;
use manifest::command::{Frame, HostState, Kind, Measure, ProcessState, RecordState};

/// Heartbeats between two reports of one process to gateway, which shows them to a collector every few seconds.
const SELDOM: u64 = 5;

/// Reports one process to control and gateway, and the state of the host if that changes it.
pub(crate) fn process(host: &mut Host, name: Name) {
    if let Some(process) = host.processes.get(name) {
        for to in [Name::Control, Name::Gateway] {
            host.processes.send(to, process.report(host.own_uid), &[]);
        }
    }
    self::host(host);
}

/// Reports the counters of one process: to control with every heartbeat, to gateway more seldom.
pub(crate) fn heartbeat(host: &mut Host, name: Name) {
    if host.processes.get(name).is_some_and(|process| process.beats.is_multiple_of(SELDOM)) {
        if name == Name::Gateway {
            jails(host);
        }
        return process(host, name);
    }
    if let Some(process) = host.processes.get(name) {
        host.processes.send(Name::Control, process.report(host.own_uid), &[]);
    }
    self::host(host);
}

/// Passes a figure of a process on, as being of that process whatever it says.
pub(crate) fn measure(host: &Host, from: Name, frame: &Frame) {
    for to in [Name::Control, Name::Gateway] {
        host.processes.send(to, Frame { peer: from, ..*frame }, &[]);
    }
}

/// Reports the number of jails.
fn jails(host: &Host) {
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let running = count(host.runners.live.len());
    let jails = Measure::Jails { running, ready: count(host.runners.pool.waiting.len()) };
    for to in [Name::Control, Name::Gateway] {
        host.processes.send(to, jails.frame(Name::Runner), &[]);
    }
}

/// Reports the state of the host, if it has changed.
pub(crate) fn host(host: &mut Host) {
    let state = state_of(host);
    if state != host.state {
        host.state = state;
        report_host(host);
        notify_systemd(host);
    }
}

/// Reports the state of the host in any case, since one of its parts has changed.
pub(crate) fn checked(host: &mut Host) {
    let before = host.state;
    self::host(host);
    if host.state == before {
        report_host(host);
    }
}

/// Reports everything to control, after its start.
pub(crate) fn everything(host: &Host) {
    for process in host.processes.iter() {
        host.processes.send(Name::Control, process.report(host.own_uid), &[]);
        for end in &process.ends {
            host.processes.send(Name::Control, *end, &[]);
        }
    }
    report_host(host);
}

/// Reports everything to gateway, after its start.
pub(crate) fn figures(host: &Host) {
    for process in host.processes.iter() {
        host.processes.send(Name::Gateway, process.report(host.own_uid), &[]);
    }
    report_host(host);
    jails(host);
}

fn report_host(host: &Host) {
    let pid = u64::from(std::process::id());
    let holder = host.jails.limits.holder() as u64;
    let words = [host.state as u64, host.jails.mode as u64, host.began_ms, pid, now_ms(), holder];
    let words = words.into_iter().chain(host.self_test.words());
    let words: Vec<u64> = words.chain([u64::from(host.vault.locked), host.record as u64]).collect();
    for to in [Name::Control, Name::Gateway] {
        host.processes.send(to, Frame::new(Kind::HostState, Name::Agentd).with(&words), &[]);
    }
}

fn state_of(host: &Host) -> HostState {
    let all_ready = host.processes.iter().all(|process| process.state == ProcessState::Ready);
    match host.state {
        HostState::Stopping => HostState::Stopping,
        // A host that starts on a low disk, or with a locked vault, has started: it is reported as ready first, and then as
        // degraded.
        HostState::Starting if all_ready => HostState::Ready,
        HostState::Starting => HostState::Starting,
        _ if all_ready && is_well(host) => HostState::Ready,
        _ => HostState::Degraded,
    }
}

/// Returns true if nothing is wrong but perhaps a process that is not ready.
fn is_well(host: &Host) -> bool {
    !host.disk.room.low && !host.self_test.failed() && !host.vault.locked && host.record == RecordState::Whole
}

fn notify_systemd(host: &Host) {
    match host.state {
        HostState::Ready => host.notify.send("READY=1\nSTATUS=ready"),
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
            if host.self_test.failed() {
                why.push("self-check failed, no runner is served".to_owned());
            }
            host.notify.send(&format!("STATUS=degraded: {}", why.join(", ")));
        }
        // The stop itself sends word of it.
        HostState::Stopping | HostState::Starting => {}
    }
}
