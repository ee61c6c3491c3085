//! What processes try and may not. Each process hands agentd the listener of its filter when it is sealed; what the
//! filter stops waits here for its answer: an actor is killed, a runner's program is killed or hears the errno of the
//! table. Nothing is ever let through, and nothing but numbers that the kernel gives is read.
//!
//! Each is told to control, which puts it on the record. What control has not said to be recorded is kept and told again
//! after its next start, up to a bound; what is beyond the bound is counted. A jail has a share of this process's time,
//! after which its listener is closed: the kernel then refuses for itself, with ENOSYS.

use crate::host::{Host, now_ms};
use crate::stop;
use confine::notices::{self, Notice};
use confine::passing;
use manifest::command::{FRAME, Frame, Kind, WORDS, id_words, violation_words as at};
use manifest::syscalls::{self, Fate};
use manifest::{Process as Name, Row};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Violations that wait to be recorded.
const KEPT: usize = 256;
/// Violations of one jail that are told one by one.
const TOLD: u32 = 64;
/// Violations of one jail that agentd answers at all: some programs try each family of sockets.
const ANSWERED: u32 = 1024;
/// Arguments that are told: those that say what was tried.
const ARGUMENTS: usize = 3;
/// What stands for the number of a call that nobody was told of: the kernel killed by itself.
const UNKNOWN: u64 = u64::MAX;
/// What stands for it where a jail has used up what is told of it.
const USED_UP: u64 = u64::MAX - 1;

/// agentd's ear at one process, or at one jail.
#[derive(Debug)]
pub(crate) struct Ear {
    hears: Hears,
    /// Of which runner's row, if of any.
    row: Option<&'static Row>,
    heard: u32,
}

#[derive(Debug)]
enum Hears {
    /// Not sealed yet: a runner hands its listener over on this; an actor on its control descriptor.
    Before(Option<OwnedFd>),
    Listener(OwnedFd),
    /// It has used up its share, or cannot be heard.
    Nothing,
}

impl Ear {
    /// At a process that hands its listener over on its control descriptor.
    pub(crate) const fn of_actor() -> Self {
        Self { hears: Hears::Before(None), row: None, heard: 0 }
    }

    /// At a runner that hands it over on the other end of this socket.
    pub(crate) const fn of_runner(socket: OwnedFd, row: &'static Row) -> Self {
        Self { hears: Hears::Before(Some(socket)), row: Some(row), heard: 0 }
    }

    /// What is waited for.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.hears {
            Hears::Before(socket) => socket.as_ref().map(AsFd::as_fd),
            Hears::Listener(listener) => Some(listener.as_fd()),
            Hears::Nothing => None,
        }
    }

    /// Takes the listener of a process that has none yet; whether it may.
    fn listen(&mut self, descriptors: Vec<OwnedFd>) -> bool {
        let (Hears::Before(_), Some(listener)) = (&self.hears, descriptors.into_iter().next()) else {
            return false;
        };
        self.hears = Hears::Listener(listener);
        true
    }

    /// The next notice. The socket of a runner that says anything but its one frame is not heard again.
    fn next(&mut self) -> Option<Notice> {
        match &self.hears {
            Hears::Listener(listener) => match said(listener.as_fd()) {
                Some(true) => notices::receive(listener.as_fd()).unwrap_or_default(),
                Some(false) => None,
                // Everybody under this filter has ended; whoever asks its listener for more may wait for ever.
                None => {
                    self.hears = Hears::Nothing;
                    None
                }
            },
            Hears::Before(Some(socket)) => {
                let descriptors = match passing::receive::<FRAME>(socket.as_fd()) {
                    Ok(Some((bytes, descriptors))) if is_listening(&bytes) => descriptors,
                    _ => Vec::new(),
                };
                if !self.listen(descriptors) {
                    self.hears = Hears::Nothing;
                }
                None
            }
            _ => None,
        }
    }

    fn refuse(&self, notice: &Notice, errno: u32) {
        if let Hears::Listener(listener) = &self.hears {
            // That it has gone, or that the listener has, leaves the call refused.
            drop(notices::refuse(listener.as_fd(), notice, errno));
        }
    }

    #[cfg(debug_assertions)]
    fn let_through(&self, notice: &Notice) {
        if let Hears::Listener(listener) = &self.hears {
            drop(notices::let_through(listener.as_fd(), notice));
        }
    }

    /// Kills the process of a jail that made the call; where it cannot be seen from here, the call fails.
    fn kill(&self, notice: &Notice) {
        if let Hears::Listener(listener) = &self.hears
            && notices::kill(listener.as_fd(), notice).is_err()
        {
            self.refuse(notice, nix::libc::EPERM.unsigned_abs());
        }
    }
}

/// Returns whether there is a notice; `None` once there can be none any more.
fn said(listener: BorrowedFd<'_>) -> Option<bool> {
    let mut polled = [PollFd::new(listener, PollFlags::POLLIN)];
    if poll(&mut polled, PollTimeout::ZERO).is_err() {
        return Some(false);
    }
    let [events] = polled.map(|polled| polled.revents().unwrap_or(PollFlags::empty()));
    if events.contains(PollFlags::POLLIN) {
        return Some(true);
    }
    (!events.intersects(PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL)).then_some(false)
}

fn is_listening(bytes: &[u8]) -> bool {
    Frame::decode(bytes).is_some_and(|frame| frame.kind == Kind::Listening)
}

/// Those that are not on the record yet.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    last: u64,
    sent: u64,
    waiting: VecDeque<Frame>,
    untold: u64,
}

/// Whose a runner is: ids of its turn and of the session of that, all zero without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Whose {
    pub(crate) turn: [u8; 16],
    pub(crate) session: [u8; 16],
}

/// What was tried.
struct Tried {
    who: Name,
    whose: Whose,
    pid: i32,
    number: u64,
    arguments: [u64; 6],
    /// What it heard; `None` if it was killed.
    errno: Option<u32>,
}

impl Violations {
    /// Everything up to this number is on the record.
    pub(crate) fn recorded(&mut self, number: u64) {
        self.waiting.retain(|frame| sequence(frame) > number);
    }

    /// Control has started: it knows of none.
    pub(crate) fn begin_again(&mut self) {
        self.sent = 0;
    }

    fn add(&mut self, tried: &Tried) {
        if self.waiting.len() >= KEPT {
            self.untold += 1;
            return;
        }
        self.last += 1;
        let mut words = [0; WORDS];
        let ids = [(at::TURN, tried.whose.turn), (at::SESSION, tried.whose.session)];
        let ids = ids.into_iter().flat_map(|(at, id)| (at..).zip(id_words(id)));
        let facts = [
            (at::NUMBER, tried.number),
            (at::PID, u64::from(tried.pid.unsigned_abs())),
            (at::ERRNO, tried.errno.map_or(0, u64::from)),
            (at::SEQUENCE, self.last),
            (at::AT, now_ms()),
            (at::UNTOLD, std::mem::take(&mut self.untold)),
        ];
        let arguments = (at::ARGUMENTS..).zip(tried.arguments).take(ARGUMENTS);
        for (index, word) in facts.into_iter().chain(arguments).chain(ids) {
            if let Some(slot) = words.get_mut(index) {
                *slot = word;
            }
        }
        self.waiting.push_back(Frame::new(Kind::Violation, tried.who).with(&words));
    }
}

fn sequence(frame: &Frame) -> u64 {
    frame.words.get(at::SEQUENCE).copied().unwrap_or_default()
}

/// Tells control what it has not been told. One that does not fit now is told later.
pub(crate) fn tell(host: &mut Host) {
    let Some(control) = host.process(Name::Control) else { return };
    let mut sent = host.violations.sent;
    for frame in &host.violations.waiting {
        if sequence(frame) <= sent {
            continue;
        }
        if !control.tell(*frame, &[]) {
            break;
        }
        sent = sequence(frame);
    }
    host.violations.sent = sent;
}

/// An actor hands its listener over, once in its life.
pub(crate) fn listen(host: &mut Host, name: Name, descriptors: Vec<OwnedFd>) {
    let life = host.process_mut(name).and_then(|process| process.life.as_mut());
    if !life.is_some_and(|life| life.ear.listen(descriptors)) {
        stop::kill(host, name, stop::FORBIDDEN);
    }
}

/// Hears an actor.
pub(crate) fn of_actor(host: &mut Host, name: Name) {
    let Some(process) = host.process_mut(name) else { return };
    let (row, Some(life)) = (process.row, process.life.as_mut()) else { return };
    let pid = life.child.pid;
    let Some(notice) = life.ear.next() else { return };
    #[cfg(debug_assertions)]
    if crate::recording::noted(host, row, &notice, pid) {
        host.process(name)
            .and_then(|process| process.life.as_ref())
            .inspect(|life| life.ear.let_through(&notice));
        return;
    }
    let Some(life) = host.process_mut(name).and_then(|process| process.life.as_mut()) else { return };
    life.ear.heard += 1;
    add(host, row, Whose::default(), pid, &notice, None);
    stop::kill(host, name, &format!("it may not call {}", called(&notice)));
}

/// Hears the jail whose runner is this process.
pub(crate) fn of_runner(host: &mut Host, pid: i32) {
    let Some((whose, ear)) = host.runners.ear(pid) else { return };
    let Some(row) = ear.row else { return };
    let Some(notice) = ear.next() else { return };
    #[cfg(debug_assertions)]
    if crate::recording::noted(host, row, &notice, 0) {
        host.runners.ear(pid).inspect(|(_, ear)| ear.let_through(&notice));
        return;
    }
    let Some((_, ear)) = host.runners.ear(pid) else { return };
    let name = notices::name(notice.number).unwrap_or_default();
    let errno = match syscalls::fate(row, name) {
        Fate::Kill => {
            ear.kill(&notice);
            None
        }
        Fate::Errno(errno) => {
            ear.refuse(&notice, errno);
            Some(errno)
        }
    };
    ear.heard += 1;
    let heard = ear.heard;
    if heard >= ANSWERED {
        ear.hears = Hears::Nothing;
    }
    if heard <= TOLD {
        add(host, row, whose, notice.thread, &notice, errno);
    } else if heard == TOLD + 1 || heard == ANSWERED {
        host.violations.add(&Tried {
            who: row.process,
            whose,
            pid: notice.thread,
            number: USED_UP,
            arguments: [0; 6],
            errno,
        });
    }
    tell(host);
}

fn add(host: &mut Host, row: &Row, whose: Whose, pid: i32, notice: &Notice, errno: Option<u32>) {
    let number = u64::from(notice.number.unsigned_abs());
    let tried = Tried { who: row.process, whose, pid, number, arguments: notice.arguments, errno };
    host.violations.add(&tried);
    tell(host);
}

/// A process was killed by the kernel for a call that nobody was told of: before it handed its listener over, or what
/// handing it over needed and its last filter takes away.
pub(crate) fn killed_untold(host: &mut Host, who: Name, whose: Whose, pid: i32) {
    host.violations.add(&Tried { who, whose, pid, number: UNKNOWN, arguments: [0; 6], errno: None });
    tell(host);
}

fn called(notice: &Notice) -> String {
    match notices::name(notice.number) {
        Some(name) => format!("{name} with these arguments"),
        None => format!("number {}", notice.number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(number: u64) -> Tried {
        Tried {
            who: Name::Web,
            whose: Whose { turn: [1; 16], session: [2; 16] },
            pid: 7,
            number,
            arguments: [1, 2, 3, 4, 5, 6],
            errno: None,
        }
    }

    #[test]
    fn what_is_not_recorded_is_kept_up_to_its_bound_and_the_rest_is_counted() {
        let mut violations = Violations::default();
        for number in 0..300 {
            violations.add(&tried(number));
        }
        assert_eq!((violations.waiting.len(), violations.untold), (KEPT, 44));
        violations.recorded(10);
        assert_eq!(violations.waiting.front().map(sequence), Some(11));
        violations.add(&tried(59));
        let last = violations.waiting.back().unwrap();
        assert_eq!((sequence(last), last.words[at::UNTOLD], violations.untold), (257, 44, 0));
        assert_eq!(last.words[at::ARGUMENTS..at::SESSION], [1, 2, 3, 0]);
        assert_eq!((last.id(at::TURN / 2), last.id(at::SESSION / 2)), ([1; 16], [2; 16]));
        violations.recorded(u64::MAX);
        assert!(violations.waiting.is_empty());
    }
}
