//! The one place where agentd waits: for frames, log lines, ends of processes, signals and clocks.

use crate::disk;
use crate::host::Host;
use crate::violations::Owner;
use crate::{commands, denied_calls, launch, own_log, probing, reports, stop};
use manifest::Process as Name;
use manifest::command::{Ended, HostState};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// The longest wait: silence, deadlines and restarts are looked at that often when nothing happens.
const TICK: Duration = Duration::from_millis(500);

/// The source of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Signal,
    Control(Name),
    Log(Name),
    DeniedToActor(Name),
    DeniedToRunner(i32),
    End,
    Attachment,
}

/// Waits once and acts on the events.
pub(crate) fn once(host: &mut Host, at_most: Option<Duration>) {
    let ready = ready(host, at_most);
    let idle = ready.is_empty();
    let mut some_ended = false;
    for source in ready {
        match source {
            Source::Signal => drain_signals(host),
            Source::Control(name) => commands::take(host, name),
            Source::Log(name) => pump(host, name),
            Source::DeniedToActor(name) => denied_calls::of_actor(host, name),
            Source::DeniedToRunner(pid) => denied_calls::of_runner(host, pid),
            Source::End => some_ended = true,
            // Handled with the clocks.
            Source::Attachment => {}
        }
    }
    if some_ended {
        reap(host);
    }
    clocks(host);
    if idle {
        // One runner at a time, so that frames that arrive meanwhile are read before the next.
        host.runners.pool.make_spare();
        if may_refill(host) {
            host.runners.refill(&host.jails);
        }
    }
}

fn ready(host: &Host, at_most: Option<Duration>) -> Vec<Source> {
    let frozen = host.freeze.is_on();
    let mut polled = vec![(Source::Signal, PollFd::new(host.signals.as_fd(), PollFlags::POLLIN))];
    for process in host.processes.iter() {
        let name = process.row.process;
        if let Some(life) = &process.life {
            if host.freeze.may_act(name) {
                polled.push((Source::Control(name), PollFd::new(life.control.as_fd(), PollFlags::POLLIN)));
            }
            polled.push((Source::Log(name), PollFd::new(life.log.descriptor(), PollFlags::POLLIN)));
            polled.push((Source::End, PollFd::new(life.child.pidfd.as_fd(), PollFlags::POLLIN)));
            let denied = life.seccomp.descriptor();
            polled.extend(denied.map(|it| (Source::DeniedToActor(name), PollFd::new(it, PollFlags::POLLIN))));
        }
    }
    for (pid, denied) in host.runners.seccomp_descriptors() {
        polled.push((Source::DeniedToRunner(pid), PollFd::new(denied, PollFlags::POLLIN)));
    }
    let children = host.runners.children().chain(host.probes.children());
    for child in children.chain(host.attachments.asides.children()) {
        polled.push((Source::End, PollFd::new(child.pidfd.as_fd(), PollFlags::POLLIN)));
    }
    for answer in host.attachments.answers(frozen) {
        polled.push((Source::Attachment, PollFd::new(answer, PollFlags::POLLIN)));
    }
    let (sources, mut descriptors): (Vec<Source>, Vec<PollFd<'_>>) = polled.into_iter().unzip();
    let timeout = PollTimeout::try_from(patience(host, at_most)).unwrap_or(PollTimeout::ZERO);
    if poll(&mut descriptors, timeout).is_err() {
        return Vec::new();
    }
    let events = |descriptor: &PollFd<'_>| descriptor.revents().is_some_and(|events| !events.is_empty());
    sources.into_iter().zip(&descriptors).filter(|(_, d)| events(d)).map(|(source, _)| source).collect()
}

/// The time until the next deadline of anything, at most a tick.
fn patience(host: &Host, at_most: Option<Duration>) -> Duration {
    let frozen = host.freeze.is_on();
    let may_start = host.processes.iter().filter(|process| host.freeze.may_act(process.row.process));
    let thawed = host.runners.next_deadline().into_iter();
    let thawed = thawed.chain(host.watch.due(host.runners.live.len())).chain(host.removed.due);
    let due = may_start
        .filter_map(|process| process.due)
        .chain(thawed.filter(|_| !frozen))
        .chain(host.freeze.deadline())
        .chain(host.orphans.due())
        .chain(host.runners.pool_due(&host.jails).filter(|_| may_refill(host)))
        .chain(host.disk.due(&host.runners).filter(|_| !host.runners.live.is_empty()))
        .chain(host.probes.next_deadline())
        .chain(host.attachments.next_deadline(frozen))
        .min();
    let due = due.map_or(TICK, |due| due.saturating_duration_since(Instant::now()));
    due.min(TICK).min(at_most.unwrap_or(TICK))
}

/// Returns true if runners may be launched ahead of need.
fn may_refill(host: &Host) -> bool {
    !host.freeze.is_on()
        && matches!(host.state, HostState::Ready | HostState::Degraded)
        && host.self_test.passed()
}

fn pump(host: &mut Host, name: Name) {
    if let Some(life) = host.processes.life_mut(name) {
        life.log.pump(name.name(), &mut host.logs);
    }
}

fn drain_signals(host: &mut Host) {
    while let Ok(Some(_)) = host.signals.read_signal() {
        host.stop_asked = true;
    }
}

/// Collects every child that has ended. Its pid identifies it, since no other process can have that pid until then.
fn reap(host: &mut Host) {
    loop {
        let (pid, ended, code) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, status)) => (pid.as_raw(), Ended::Exited, status),
            Ok(WaitStatus::Signaled(pid, signal, _)) => (pid.as_raw(), Ended::Killed, signal as i32),
            _ => return,
        };
        host.orphans.child_ended();
        let Some(name) = host.processes.of_pid(pid) else {
            other_ended(host, pid, ended, code);
            continue;
        };
        // Its last frame and its last log lines came before its end. While the host is frozen, the frames of a process that was
        // killed are lost, as if it had been killed a moment earlier.
        if host.freeze.may_act(name) {
            commands::take(host, name);
        }
        pump(host, name);
        if ended == Ended::Killed && code == nix::libc::SIGSYS {
            host.violations.report_killed(name, Owner::default(), pid, &host.processes);
        }
        stop::ended(host, name, ended, code);
    }
}

/// A child has ended that is no process of the table.
fn other_ended(host: &mut Host, pid: i32, ended: Ended, code: i32) {
    if host.attachments.asides.ended(pid) {
        return;
    }
    match host.probes.ended(pid, ended, code) {
        Some(outcome) => probing::ended(host, outcome),
        None => launch::ended(host, pid, ended, code),
    }
}

/// Does everything whose time has come. While the host is frozen, silence and wall clocks do not count.
fn clocks(host: &mut Host) {
    if host.freeze.is_overdue() {
        own_log::warn("the freeze has timed out: the processes continue");
        host.freeze.thaw(&mut host.processes, &mut host.runners);
    }
    if !host.freeze.is_on() {
        host.runners.end_overdue();
        host.watch.look(&mut host.runners, host.jails.mode);
        stop::end_silent(host);
    }
    update_clock(host);
    look_at_disk(host);
    end_orphans(host);
    if !host.freeze.is_on()
        && let Some(line) = host.removed.go_on()
    {
        own_log::warn(&line);
    }
    stop::start_due(host);
    probing::go_on(host);
    commands::finish_checks(host);
    launch::finish_mounts(host);
    host.notify.feed_watchdog();
}

/// Sends every process the new offset of the clock, if that has changed: in tests of recovery alone.
pub(crate) fn update_clock(host: &mut Host) {
    let Some(ms) = host.clock.update() else { return };
    own_log::info(&format!("the clock is stepped to {ms} ms off the machine's"));
    for name in host.processes.running() {
        host.processes.send(name, host.clock.frame(), &[]);
    }
}

/// Looks at the disk if it is time, and reports a change.
fn look_at_disk(host: &mut Host) {
    let Some(change) = host.disk.look(&host.jails, &mut host.runners) else { return };
    for line in change.lines {
        own_log::warn(&line);
    }
    if change.is_news {
        for name in disk::CONCERNED {
            host.processes.send(name, host.disk.room.frame(), &[]);
        }
    }
    probing::disk_looked_at(host);
    reports::host(host);
}

fn end_orphans(host: &mut Host) {
    let actors = host.processes.lives().map(|life| life.child.pid);
    let others = host.runners.children().chain(host.probes.children());
    let others = others.chain(host.attachments.asides.children()).map(|child| child.pid);
    host.orphans.end(|| actors.chain(others).collect::<BTreeSet<i32>>());
}
