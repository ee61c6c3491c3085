//! Answers the calls that filters refuse. Each process passes agentd the listener of its filter when it is sealed. An actor that
//! makes a refused call is killed; a runner's program is killed or gets the errno of the table. Nothing is let through.
//!
//! A jail has a share of agentd's time, after which its listener is closed: the kernel then refuses by itself, with ENOSYS.

use crate::host::Host;
use crate::processes::FORBIDDEN;
use crate::violations::{Owner, USED_UP, Violation};
use confine::notices::{self, Notice};
use manifest::command::EndCause;
use manifest::syscalls::{self, Fate};
use manifest::{Process as Name, Row};
use std::os::fd::OwnedFd;

/// Violations of one jail that are reported one by one.
const REPORTED: u32 = 64;
/// Violations of one jail that agentd answers at all: some programs try each family of sockets.
const ANSWERED: u32 = 1024;

/// Takes the listener that an actor passes, once in its life.
pub(crate) fn listen(host: &mut Host, name: Name, descriptors: Vec<OwnedFd>) {
    if !host.processes.life_mut(name).is_some_and(|life| life.seccomp.accept(descriptors)) {
        host.processes.kill(name, EndCause::Forbidden, FORBIDDEN);
    }
}

/// Answers an actor's refused call, if there is one.
pub(crate) fn of_actor(host: &mut Host, name: Name) {
    let Some(process) = host.processes.get_mut(name) else { return };
    let (row, Some(life)) = (process.row, process.life.as_mut()) else { return };
    let pid = life.child.pid;
    let Some(notice) = life.seccomp.next() else { return };
    #[cfg(debug_assertions)]
    if host.recording.note(row, &notice, pid) {
        life.seccomp.let_through(&notice);
        return;
    }
    host.violations.report(&violation(row, Owner::default(), pid, &notice, None), &host.processes);
    host.processes.kill(name, EndCause::SystemCall, &format!("it may not call {}", called(&notice)));
}

/// Answers a refused call in the jail whose runner has this pid, if there is one.
pub(crate) fn of_runner(host: &mut Host, pid: i32) {
    let Some((owner, listener)) = host.runners.seccomp(pid) else { return };
    let Some(row) = listener.row() else { return };
    let Some(notice) = listener.next() else { return };
    #[cfg(debug_assertions)]
    if host.recording.note(row, &notice, 0) {
        listener.let_through(&notice);
        return;
    }
    let name = notices::name(notice.number).unwrap_or_default();
    let errno = match syscalls::fate(row, name) {
        Fate::Kill => {
            listener.kill(&notice);
            None
        }
        Fate::Errno(errno) => {
            listener.refuse(&notice, errno);
            Some(errno)
        }
    };
    let count = listener.count();
    if count >= ANSWERED {
        listener.close();
    }
    let violation = violation(row, owner, notice.thread, &notice, errno);
    if count <= REPORTED {
        host.violations.report(&violation, &host.processes);
    } else if count == REPORTED + 1 || count == ANSWERED {
        let last = Violation { number: USED_UP, arguments: [0; 6], ..violation };
        host.violations.report(&last, &host.processes);
    } else {
        host.violations.send(&host.processes);
    }
}

fn violation(row: &Row, owner: Owner, pid: i32, notice: &Notice, errno: Option<u32>) -> Violation {
    let number = u64::from(notice.number.unsigned_abs());
    Violation { process: row.process, owner, pid, number, arguments: notice.arguments, errno }
}

fn called(notice: &Notice) -> String {
    match notices::name(notice.number) {
        Some(name) => format!("{name} with these arguments"),
        None => format!("number {}", notice.number),
    }
}
