//! A child whose parent ends before the child's own code begins, for tests.

use crate::passing;
use crate::sys::{self, Forked};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, getpid, getppid};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};

/// The longest that such a child is waited for, ms.
const PATIENCE: u16 = 10_000;

/// Runs `child` in a process whose parent has ended, and gives it that parent's pid and a pipe for its report. Returns what it
/// reported before it ended; `None` if it does not end. `child` must not allocate: this process has other threads.
pub(crate) fn orphaned(child: impl FnOnce(i32, &OwnedFd)) -> Option<Vec<u8>> {
    let (reader, report) = passing::pipe().unwrap();
    let (pids, pid_out) = passing::pipe().unwrap();
    match sys::clone(0).unwrap() {
        Forked::Child => {
            let parent = getpid().as_raw();
            if matches!(sys::clone(0), Ok(Forked::Child)) {
                let _ = nix::unistd::write(&pid_out, &getpid().as_raw().to_le_bytes());
                while getppid().as_raw() == parent {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                child(parent, &report);
            }
            sys::end(0)
        }
        Forked::Parent(pid, _pidfd) => {
            waitpid(Pid::from_raw(pid), None).unwrap();
        }
    }
    drop((report, pid_out));
    let mut orphan = [0; 4];
    File::from(pids).read_exact(&mut orphan).unwrap();
    let mut reader = File::from(reader);
    let mut reported = Vec::new();
    loop {
        let mut ready = [PollFd::new(reader.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, PollTimeout::from(PATIENCE)).unwrap() == 0 {
            kill(Pid::from_raw(i32::from_le_bytes(orphan)), Signal::SIGKILL).unwrap();
            return None;
        }
        let mut bytes = [0; 64];
        match reader.read(&mut bytes).unwrap() {
            0 => return Some(reported),
            length => reported.extend(bytes.iter().take(length)),
        }
    }
}
