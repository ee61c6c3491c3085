//! The one place where agentd waits: for frames, log lines, ends of processes, signals and clocks.

use crate::binding::{self, Binding};
use crate::host::Host;
use crate::look::Look;
use crate::{clock, disk, frames, freeze, look, orphans, removed, runners, stop, twins, violations, warm};
use manifest::Process as Name;
use manifest::command::Ended;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How often silence, deadlines and restarts are looked at when nothing happens.
const TICK: Duration = Duration::from_millis(500);

/// What a descriptor that became readable stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Signal,
    Control(Name),
    Log(Name),
    Tried(Name),
    TriedInJail(i32),
    End,
    Looked,
}

/// Waits once and deals with what happened.
pub(crate) fn once(host: &mut Host, at_most: Option<Duration>) {
    let ready = ready(host, at_most);
    let idle = ready.is_empty();
    let mut some_ended = false;
    for source in ready {
        match source {
            Source::Signal => drain_signals(host),
            Source::Control(name) => frames::take(host, name),
            Source::Log(name) => pump(host, name),
            Source::Tried(name) => violations::of_actor(host, name),
            Source::TriedInJail(pid) => violations::of_runner(host, pid),
            Source::End => some_ended = true,
            // The clocks take it.
            Source::Looked => {}
        }
    }
    if some_ended {
        reap(host);
    }
    clocks(host);
    if idle {
        // One at a time: whoever says something meanwhile is heard before the next.
        warm::refill(host);
    }
}

fn ready(host: &Host, at_most: Option<Duration>) -> Vec<Source> {
    let mut polled = vec![(Source::Signal, PollFd::new(host.signals.as_fd(), PollFlags::POLLIN))];
    for process in &host.processes {
        let name = process.row.process;
        if let Some(life) = &process.life {
            if freeze::may_act(host, name) {
                polled.push((Source::Control(name), PollFd::new(life.control.as_fd(), PollFlags::POLLIN)));
            }
            polled.push((Source::Log(name), PollFd::new(life.log.descriptor(), PollFlags::POLLIN)));
            polled.push((Source::End, PollFd::new(life.child.pidfd.as_fd(), PollFlags::POLLIN)));
            let ear = life.ear.descriptor();
            polled.extend(ear.map(|ear| (Source::Tried(name), PollFd::new(ear, PollFlags::POLLIN))));
        }
    }
    for (pid, ear) in host.runners.ears() {
        polled.push((Source::TriedInJail(pid), PollFd::new(ear, PollFlags::POLLIN)));
    }
    for child in host.runners.children().chain(host.twins.children()).chain(host.handed.asides.children()) {
        polled.push((Source::End, PollFd::new(child.pidfd.as_fd(), PollFlags::POLLIN)));
    }
    let binding = host.handed.bindings.iter().filter(|_| host.frozen.is_none());
    for answer in host.handed.looks.iter().map(Look::answer).chain(binding.map(Binding::answer)) {
        polled.push((Source::Looked, PollFd::new(answer, PollFlags::POLLIN)));
    }
    let (sources, mut descriptors): (Vec<Source>, Vec<PollFd<'_>>) = polled.into_iter().unzip();
    let timeout = PollTimeout::try_from(patience(host, at_most)).unwrap_or(PollTimeout::ZERO);
    if poll(&mut descriptors, timeout).is_err() {
        return Vec::new();
    }
    let events = |descriptor: &PollFd<'_>| descriptor.revents().is_some_and(|events| !events.is_empty());
    sources.into_iter().zip(&descriptors).filter(|(_, d)| events(d)).map(|(source, _)| source).collect()
}

fn patience(host: &Host, at_most: Option<Duration>) -> Duration {
    let may_start = host.processes.iter().filter(|process| freeze::may_act(host, process.row.process));
    let runners = host.runners.next_deadline().filter(|_| host.frozen.is_none());
    let watch = host.watch.due(host.runners.live.len()).filter(|_| host.frozen.is_none());
    let orphans = host.orphans.then(|| Instant::now() + orphans::AGAIN);
    let due = may_start.filter_map(|process| process.due).chain(runners).chain(freeze::deadline(host));
    let removed = host.removed.due.filter(|_| host.frozen.is_none());
    let due = due
        .chain(watch)
        .chain(orphans)
        .chain(removed)
        .chain(warm::due(host))
        .chain(disk::due(host).filter(|_| !host.runners.live.is_empty()))
        .chain(host.twins.next_deadline())
        .chain(look::next_deadline(host))
        .chain(binding::next_deadline(host))
        .min();
    let due = due.map_or(TICK, |due| due.saturating_duration_since(Instant::now()));
    due.min(TICK).min(at_most.unwrap_or(TICK))
}

fn pump(host: &mut Host, name: Name) {
    let Some(at) = host.processes.iter().position(|process| process.row.process == name) else { return };
    if let Some(life) = host.processes.get_mut(at).and_then(|process| process.life.as_mut()) {
        life.log.pump(name.name(), &mut host.logs);
    }
}

fn drain_signals(host: &mut Host) {
    while let Ok(Some(_)) = host.signals.read_signal() {
        host.stop_asked = true;
    }
}

/// Collects every child that has ended. Whose it was is known from its pid, which stays taken until now.
fn reap(host: &mut Host) {
    loop {
        let (pid, how, ended, code) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, status)) => {
                (pid, format!("exit status {status}"), Ended::Exited, status)
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) => {
                (pid, format!("signal {signal}"), Ended::Killed, signal as i32)
            }
            _ => return,
        };
        orphans::look_out(host);
        let of = |process: &&crate::process::Process| {
            process.life.as_ref().is_some_and(|life| life.child.pid == pid.as_raw())
        };
        match host.processes.iter().find(of).map(|process| process.row.process) {
            Some(name) => {
                // Its last frame and its last words came before its end. A frame from before all stood still is
                // lost with a process that was killed meanwhile, as if it had been killed a moment earlier.
                if freeze::may_act(host, name) {
                    frames::take(host, name);
                }
                pump(host, name);
                if ended == Ended::Killed && code == nix::libc::SIGSYS {
                    violations::killed_untold(host, name, violations::Whose::default(), pid.as_raw());
                }
                stop::ended(host, name, &how);
            }
            None if host.handed.asides.ended(pid.as_raw()) => {}
            None if twins::ended(host, pid.as_raw(), ended, code) => {}
            None => runners::ended(host, pid.as_raw(), ended, code),
        }
    }
}

fn clocks(host: &mut Host) {
    freeze::clocks(host);
    clock::look(host);
    disk::look(host);
    orphans::end(host);
    removed::go_on(host);
    let now = Instant::now();
    let due: Vec<Name> = host
        .processes
        .iter()
        .filter(|process| process.due.is_some_and(|due| due <= now))
        .filter(|process| freeze::may_act(host, process.row.process))
        .map(|process| process.row.process)
        .collect();
    for name in due {
        stop::again(host, name);
    }
    twins::go_on(host);
    look::go_on(host);
    binding::go_on(host);
    host.feed_watchdog();
}
