//! A program and everything in its process group, from start to the last one's end. Ends the group by TERM, then KILL;
//! must never signal a process id that could meanwhile belong to another (the leader is not reaped before its group
//! was killed) and never wait on output that a survivor holds open.

use super::output::HeadTail;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Pid, getpid};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Bytes kept of each stream, half from its beginning and half from its end.
pub(super) const KEPT: usize = 1_000_000;
/// The longest a loop sleeps, ms: how late an end, a sign to stop or a time-out is seen.
const TICK_MS: u8 = 20;
/// How long output is still taken in after the group was killed.
const DRAIN: Duration = Duration::from_millis(100);
/// How long a killed process may take to go before it is left behind (it hangs in the kernel).
const GONE: Duration = Duration::from_secs(2);

/// A program under way. Its standard output and error are pipes to this process.
pub(super) struct Group {
    child: Child,
    leader: Pid,
    out: Stream<std::process::ChildStdout>,
    err: Stream<std::process::ChildStderr>,
    tick_ms: u8,
    ending: Option<Ending>,
}

struct Ending {
    kill_at: Instant,
    killed: bool,
}

/// The output and end of a program.
pub(super) struct Finished {
    /// How it ended; none if it could not be ended.
    pub(super) status: Option<ExitStatus>,
    pub(super) out: HeadTail,
    pub(super) err: HeadTail,
}

impl Group {
    /// Takes over a program that was started as the leader of a group of its own, with both streams piped.
    pub(super) fn of(mut child: Child) -> io::Result<Self> {
        let leader = i32::try_from(child.id()).map(Pid::from_raw).map_err(io::Error::other)?;
        let (out, err) = (Stream::new(child.stdout.take())?, Stream::new(child.stderr.take())?);
        Ok(Self { child, leader, out, err, tick_ms: 1, ending: None })
    }

    /// Bytes of output so far.
    pub(super) const fn output(&self) -> u64 {
        self.out.kept.total() + self.err.kept.total()
    }

    /// Reads output, for one tick at most. False when the program has ended, or cannot be ended.
    pub(super) fn step(&mut self) -> bool {
        let before = self.output();
        self.take_in(self.tick_ms);
        // Short ticks where much happens, longer ones while a program thinks.
        self.tick_ms = if self.output() > before { 1 } else { self.tick_ms.saturating_mul(2).min(TICK_MS) };
        if self.has_ended() {
            return false;
        }
        if let Some(ending) = &mut self.ending {
            let now = Instant::now();
            if now >= ending.kill_at && !ending.killed {
                ending.killed = true;
                let _ = killpg(self.leader, Signal::SIGKILL);
            }
            return now < ending.kill_at + GONE;
        }
        true
    }

    /// Asks the whole group to end, and kills the rest of it at `kill_at`.
    pub(super) fn end(&mut self, kill_at: Instant) {
        if self.ending.is_none() {
            let _ = killpg(self.leader, Signal::SIGTERM);
            self.ending = Some(Ending { kill_at, killed: false });
        }
    }

    /// Returns whether [`Group::end`] was called.
    pub(super) const fn is_ending(&self) -> bool {
        self.ending.is_some()
    }

    /// Kills whatever the program left running and takes in the last of its output.
    pub(super) fn finish(mut self) -> Finished {
        let _ = killpg(self.leader, Signal::SIGKILL);
        let status = self.child.try_wait().ok().flatten();
        if getpid() == Pid::from_raw(1) {
            end_everybody_else();
        }
        let until = Instant::now() + DRAIN;
        while !self.is_drained() && Instant::now() < until {
            self.take_in(1);
        }
        Finished { status, out: self.out.kept, err: self.err.kept }
    }

    const fn is_drained(&self) -> bool {
        self.out.pipe.is_none() && self.err.pipe.is_none()
    }

    /// Looks without reaping, so that the leader's id stays taken until its group was killed.
    fn has_ended(&self) -> bool {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        !matches!(waitid(Id::Pid(self.leader), flags), Ok(WaitStatus::StillAlive) | Err(Errno::EINTR))
    }

    fn take_in(&mut self, most_ms: u8) {
        let fds = [self.out.pipe.as_ref().map(AsFd::as_fd), self.err.pipe.as_ref().map(AsFd::as_fd)];
        let mut polled: Vec<_> =
            fds.into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        if poll(&mut polled, PollTimeout::from(most_ms)).is_ok_and(|ready| ready > 0) {
            self.out.take_in();
            self.err.take_in();
        }
    }
}

/// As the first process of its namespace, a runner is the parent of every process that left its group and its parent;
/// it ends and reaps them all. The kernel leaves the caller out of -1, and shows it no process outside the namespace.
fn end_everybody_else() {
    let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    let until = Instant::now() + GONE;
    while Instant::now() < until {
        match waitpid(None, Some(nix::sys::wait::WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => std::thread::sleep(Duration::from_millis(1)),
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

/// A pipe that is read without waiting, and its collected output.
struct Stream<T> {
    /// None when it has ended.
    pipe: Option<T>,
    kept: HeadTail,
}

impl<T: Read + AsFd> Stream<T> {
    fn new(pipe: Option<T>) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            fcntl(pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok(Self { pipe, kept: HeadTail::new(KEPT) })
    }

    /// Reads the available output, at most about 1 MiB, so that a program that never pauses does not keep us from its
    /// end.
    fn take_in(&mut self) {
        let mut buffer = [0_u8; 64 * 1024];
        for _ in 0..16 {
            let Some(pipe) = &mut self.pipe else { return };
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => self.kept.push(buffer.get(..count).unwrap_or_default()),
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}

/// The exit code a shell would show: 128 and the signal's number where a signal ended it.
pub(super) fn code_of(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(255)
}
