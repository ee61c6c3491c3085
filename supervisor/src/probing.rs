//! Probes on request of control, and the self-test with the launches that wait for it.

use crate::host::Host;
use crate::probes::{Outcome, Probe};
use crate::self_test::Step;
use crate::{launch, own_log, reports};
use manifest::Process as Name;
use manifest::command::{Ended, Frame, HostState, Mode};
use nix::libc::{EAGAIN, ENOENT};

/// Control requests a probe of one act.
pub(crate) fn request(host: &mut Host, frame: &Frame) {
    let [act, token, ..] = frame.words;
    let acts: Vec<u16> = u16::try_from(act).into_iter().collect();
    let probe = Probe { row: frame.peer, acts, token: Some(token) };
    let jailed = frame.peer == Name::Runner || (frame.peer.is_runner() && host.jails.mode != Mode::Flat);
    let known = jailed || host.processes.get(frame.peer).is_some();
    if !known || probe.acts.is_empty() {
        report(host, &Outcome { probe, ended: Ended::NotLaunched, code: ENOENT });
    } else if host.probes.is_full() {
        report(host, &Outcome { probe, ended: Ended::NotLaunched, code: EAGAIN });
    } else {
        host.probes.add(probe);
    }
}

/// Begins the self-test when every process has been ready for the first time, even if one is not any more.
pub(crate) fn begin_self_test(host: &mut Host) {
    let was_ready = matches!(host.state, HostState::Ready | HostState::Degraded);
    if !was_ready || !host.self_test.is_due() {
        return;
    }
    let rows = host.processes.names().into_iter().chain(Name::RUNNERS.iter().copied());
    for probe in host.self_test.begin(rows, host.jails.mode) {
        host.probes.add(probe);
    }
    go_on(host);
}

/// Ends probes that take too long and launches those that may be launched: none while the host is frozen or stops.
pub(crate) fn go_on(host: &mut Host) {
    host.probes.end_overdue();
    if host.freeze.is_on() || host.state == HostState::Stopping {
        return;
    }
    let template = host.runners.pool.template();
    for outcome in host.probes.launch(&host.jails, &host.processes, template) {
        ended(host, outcome);
    }
}

/// Takes the outcome of a probe.
pub(crate) fn ended(host: &mut Host, outcome: Outcome) {
    if outcome.probe.token.is_some() {
        return report(host, &outcome);
    }
    match host.self_test.take(outcome) {
        Step::Wait => {}
        Step::Again(probe) => host.probes.add(probe),
        Step::Over(line) => {
            own_log::info(&line);
            reports::checked(host);
            for frame in host.self_test.take_waiting() {
                launch::admit(host, &frame);
            }
        }
    }
}

/// Tries again to launch the self-test's probes. To be called after a look at the disk.
pub(crate) fn disk_looked_at(host: &mut Host) {
    if host.disk.room.low {
        return;
    }
    for probe in host.self_test.take_held() {
        host.probes.add(probe);
    }
}

fn report(host: &Host, outcome: &Outcome) {
    host.processes.send(Name::Control, outcome.frame(), &[]);
}
