//! A launch whose workspace is a directory of a user's own: a child makes the mount of it, so that a file system that does not
//! answer holds up only that child.

use crate::workspaces::{Attached, Space};
use confine::{Child, Way};
use manifest::command::{Frame, Mode};
use nix::libc::{ENOENT, EPERM, ETIMEDOUT};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// The time in which a directory must answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A launch that waits for the mount of its workspace.
#[derive(Debug)]
pub(crate) struct PendingMount {
    /// Router's request for the runner.
    pub(crate) frame: Frame,
    /// The uid that attached the directory.
    uid: u32,
    /// The pid of the child that makes the mount.
    pub(crate) child: i32,
    answer: OwnedFd,
    deadline: Instant,
}

impl PendingMount {
    /// The mount that this child makes, which answers over this socket.
    pub(crate) fn new(frame: Frame, uid: u32, child: i32, answer: OwnedFd) -> Self {
        Self { frame, uid, child, answer, deadline: Instant::now() + PATIENCE }
    }

    /// The turn of the launch.
    pub(crate) fn turn(&self) -> [u8; 16] {
        self.frame.id(0)
    }

    /// Readable when the directory has answered.
    pub(crate) fn answer(&self) -> BorrowedFd<'_> {
        self.answer.as_fd()
    }

    /// The time at which it is over at the latest.
    pub(crate) const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The mount once the directory has answered, as long as the uid that attached it owns it; `None` until then.
    ///
    /// # Errors
    /// The errno: ETIMEDOUT when the time is over, EPERM for another owner, else the kernel's.
    pub(crate) fn mount(&self) -> Option<Result<Space, i32>> {
        let mut answer = [PollFd::new(self.answer(), PollFlags::POLLIN)];
        if !poll(&mut answer, PollTimeout::ZERO).is_ok_and(|ready| ready > 0) {
            return (self.deadline <= Instant::now()).then_some(Err(ETIMEDOUT));
        }
        let copy = confine::take_copy(self.answer());
        Some(match copy {
            Ok((mount, owner)) if owner.uid == self.uid => Ok(Space { mount, owner }),
            Ok(_) => Err(EPERM),
            Err(cause) => Err(cause.raw_os_error().unwrap_or(ENOENT)),
        })
    }
}

/// Starts the child that mounts an attached directory, and returns the socket of its answer.
pub(crate) fn start(attached: &Attached, mode: Mode) -> io::Result<(Child, OwnedFd)> {
    let way = match mode {
        Mode::System => Way::Copy,
        Mode::User => Way::Reopen,
        Mode::Flat => Way::Bare,
    };
    // Only in mode system does it matter in which mount namespace the directory was opened.
    let namespace = attached.namespace.as_ref().filter(|_| mode == Mode::System);
    confine::copy_aside(&attached.directory, namespace, way)
}
