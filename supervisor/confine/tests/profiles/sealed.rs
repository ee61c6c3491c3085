//! The process under the filters, and this program's exchange with it.

use crate::cases::Case;
use confine::notices::{self, Notice};
use confine::{Watch, passing};
use manifest::Row;
use manifest::command::{FRAME, Mode};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// The kernel made it.
    Allowed,
    /// The listener was notified.
    Told,
    /// It failed with this errno, without a notification.
    Errno(u32),
}

/// The end of a process that made one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The listener was notified.
    Told,
    /// By itself.
    Exited,
    /// By this signal.
    Signal(i32),
    /// By itself, after a call that failed with this errno.
    Errno(i32),
}

/// Calls that end their process, double it, or make it wait for ever.
pub(crate) const ENDING: &[&str] =
    &["exit", "exit_group", "fork", "vfork", "pause", "rt_sigreturn", "seccomp"];

/// The answer to notifications; no kernel returns it.
const MARK: u32 = 3999;

/// A process that is sealed, and this program's ends.
struct Child {
    pid: Pid,
    listener: Option<OwnedFd>,
    answers: File,
}

/// Starts a process that is sealed as this row and then calls `act`, which reports over the descriptor that it is given.
fn start(row: &'static Row, watched: bool, act: impl FnOnce(&OwnedFd)) -> Child {
    let (ours, theirs) = passing::frame_pair().unwrap();
    let (reader, writer) = passing::pipe().unwrap();
    // SAFETY: the C library's fork leaves the child's allocator usable, and the child uses nothing else that another
    // thread of this program could hold.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            drop((ours, reader));
            let watch = if watched { Watch::Agentd(theirs.as_fd()) } else { Watch::Nobody };
            // Not `harden`: another thread may hold the lock of the panic hook for ever, as this child sees it.
            // SAFETY: options with integers alone.
            let ready = unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) } == 0
                && unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } == 0
                && confine::seal(row, Mode::System, watch).is_ok();
            if ready {
                act(&writer);
            }
            // SAFETY: it ends the process and runs nothing of this program's.
            unsafe { libc::_exit(if ready { 0 } else { 99 }) }
        }
        ForkResult::Parent { child } => {
            drop((theirs, writer));
            let listener = watched.then(|| {
                let (_, descriptors) =
                    passing::receive::<FRAME>(ours.as_fd()).unwrap().expect("it was not sealed");
                descriptors.into_iter().next().unwrap()
            });
            Child { pid: child, listener, answers: File::from(reader) }
        }
    }
}

/// Makes a call; its errno, or 0.
fn call(case: &Case) -> i32 {
    let number = confine::acts::call_number(case.name).unwrap_or(-1);
    let [a, b, c, d, e, f] = case.arguments;
    // SAFETY: what a pointer would be is an address that no process has, what a length would be is longer than any, so
    // the kernel refuses it before it touches memory; where neither is, the call changes this process alone, which ends.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if answer < 0 { std::io::Error::last_os_error().raw_os_error().unwrap_or(0) } else { 0 }
}

fn say(answers: &OwnedFd, errno: i32) {
    let bytes = errno.to_le_bytes();
    // SAFETY: the bytes are valid for the call; `write` is what every row has.
    unsafe { libc::write(answers.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
}

/// Makes all calls in one process: its pid, and the outcome of each.
pub(crate) fn make(row: &'static Row, cases: &[Case]) -> (u32, Vec<Came>) {
    let child = start(row, true, |answers| {
        let own = std::process::id();
        for case in cases {
            say(answers, call(&case.of(own)));
        }
    });
    let own = child.pid.as_raw().cast_unsigned();
    let mut came = Vec::new();
    while let Some(next) = next(&child) {
        match next {
            Next::Notice(notice) => {
                let case = cases[came.len()].of(own);
                assert_eq!(notices::name(notice.number), Some(case.name));
                assert_eq!((notice.arguments, notice.thread), (case.arguments, child.pid.as_raw()));
            }
            Next::Errno(0) => came.push(Came::Allowed),
            Next::Errno(errno) if errno == MARK => came.push(Came::Told),
            Next::Errno(errno) => came.push(Came::Errno(errno)),
        }
    }
    assert_eq!(
        waitpid(child.pid, None),
        Ok(WaitStatus::Exited(child.pid, 0)),
        "after {:?}",
        cases.get(came.len())
    );
    (own, came)
}

/// Makes one call in a process of its own, which may end by it.
pub(crate) fn end(row: &'static Row, name: &'static str) -> End {
    #[expect(deprecated, reason = "the call itself is what is tried, and its child ends at once")]
    let child = start(row, true, |_| {
        // SAFETY: integers alone; the alarm is what ends a call that waits for ever.
        let answer = unsafe {
            match name {
                "vfork" => libc::vfork().into(),
                _ => libc::syscall(confine::acts::call_number(name).unwrap_or(-1), 0),
            }
        };
        // SAFETY: both ends of a fork end here.
        unsafe { libc::_exit(i32::from(answer < 0)) }
    });
    if name == "pause" {
        // It waits in the call, or for the answer of the listener, which then has it already.
        while !waits(child.pid) {
            std::thread::yield_now();
        }
        let told = PollFd::new(child.listener.as_ref().unwrap().as_fd(), PollFlags::POLLIN);
        if poll(&mut [told], PollTimeout::ZERO).unwrap() > 0 {
            nix::sys::signal::kill(child.pid, nix::sys::signal::Signal::SIGKILL).unwrap();
            waitpid(child.pid, None).unwrap();
            return End::Told;
        }
        nix::sys::signal::kill(child.pid, nix::sys::signal::Signal::SIGALRM).unwrap();
    }
    let mut told = false;
    while let Some(next) = next(&child) {
        told |= matches!(next, Next::Notice(_));
    }
    match waitpid(child.pid, None).unwrap() {
        _ if told => End::Told,
        WaitStatus::Signaled(_, signal, _) => End::Signal(signal as i32),
        _ => End::Exited,
    }
}

fn waits(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.starts_with('S')
}

/// Makes one call that the last filter must stop.
pub(crate) fn last(row: &'static Row, case: &Case) -> End {
    let child = start(row, true, |answers| say(answers, call(case)));
    let mut errno = None;
    while let Some(next) = next(&child) {
        match next {
            Next::Notice(_) => return End::Told,
            Next::Errno(number) => errno = i32::try_from(number).ok(),
        }
    }
    match (waitpid(child.pid, None).unwrap(), errno) {
        (WaitStatus::Signaled(_, signal, _), _) => End::Signal(signal as i32),
        (_, Some(errno)) => End::Errno(errno),
        _ => End::Exited,
    }
}

/// Makes calls in one process that is not watched: the errno of each, 0 for an allowed one.
pub(crate) fn heard(row: &'static Row, cases: &[Case]) -> Vec<u32> {
    let child = start(row, false, |answers| cases.iter().for_each(|case| say(answers, call(case))));
    let mut bytes = Vec::new();
    (&child.answers).read_to_end(&mut bytes).unwrap();
    assert_eq!(waitpid(child.pid, None), Ok(WaitStatus::Exited(child.pid, 0)), "it died of one of them");
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Makes one call in a process that is not watched: the errno, or none if the filter killed it.
pub(crate) fn unwatched(row: &'static Row, case: &Case) -> Option<u32> {
    let mut child = start(row, false, |answers| say(answers, call(case)));
    let mut bytes = [0; 4];
    let said = child.answers.read_exact(&mut bytes).is_ok();
    match waitpid(child.pid, None).unwrap() {
        WaitStatus::Signaled(_, nix::sys::signal::Signal::SIGSYS, _) => None,
        WaitStatus::Exited(_, 0) if said => Some(u32::from_le_bytes(bytes)),
        other => panic!("{case:?}: {other:?}"),
    }
}

/// The next event of a process: a notification, answered, or its report.
enum Next {
    Notice(Notice),
    Errno(u32),
}

fn next(child: &Child) -> Option<Next> {
    let listener = child.listener.as_ref().unwrap();
    loop {
        let mut polled = [
            PollFd::new(listener.as_fd(), PollFlags::POLLIN),
            PollFd::new(child.answers.as_fd(), PollFlags::POLLIN),
        ];
        poll(&mut polled, PollTimeout::NONE).unwrap();
        let [told, said] = polled.map(|polled| polled.revents().unwrap_or(PollFlags::empty()));
        if said.contains(PollFlags::POLLIN) {
            let mut bytes = [0; 4];
            (&child.answers).read_exact(&mut bytes).ok()?;
            return Some(Next::Errno(u32::from_le_bytes(bytes)));
        }
        if told.contains(PollFlags::POLLIN)
            && let Some(notice) = notices::receive(listener.as_fd()).unwrap()
        {
            notices::refuse(listener.as_fd(), &notice, MARK).unwrap();
            return Some(Next::Notice(notice));
        }
        if said.contains(PollFlags::POLLHUP) {
            return None;
        }
    }
}
