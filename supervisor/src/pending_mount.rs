//! A launch whose workspace is a directory of a user's own: a child makes the mount of it, so that a file system that does not
//! answer holds up only that child.

use crate::pending_answer::{AnswerState, PendingAnswer};
use crate::workspaces::{Attached, Space};
use confine::{Child, Way};
use manifest::command::{Frame, Mode};
use nix::libc::{ENOENT, EPERM, ETIMEDOUT};
use std::io;
use std::os::fd::OwnedFd;

/// A launch that waits for the mount of its workspace.
#[derive(Debug)]
pub(crate) struct PendingMount {
    /// Router's request for the runner.
    pub(crate) frame: Frame,
    /// The uid that attached the directory.
    pub(crate) uid: u32,
    /// The answer of the child that makes the mount.
    pub(crate) answer: PendingAnswer,
}

impl PendingMount {
    /// The turn of the launch.
    pub(crate) fn turn(&self) -> [u8; 16] {
        self.frame.id(0)
    }

    /// The mount once the directory has answered, as long as the uid that attached it owns it; `None` until then.
    ///
    /// # Errors
    /// The errno: ETIMEDOUT when the time is over, EPERM for another owner, else the kernel's.
    pub(crate) fn mount(&self) -> Option<Result<Space, i32>> {
        match self.answer.state() {
            AnswerState::Waiting => return None,
            AnswerState::Late => return Some(Err(ETIMEDOUT)),
            AnswerState::Ready => {}
        }
        let copy = confine::take_copy(self.answer.socket());
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
