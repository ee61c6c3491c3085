//! Directories that users attach as workspaces: the checks of them, the mounts of them for launches, and the children that make
//! the calls which may never return. None of it outlives the host.

use crate::asides::Asides;
use crate::directory_check::{self, Check};
use crate::own_log;
use crate::pending_answer::PendingAnswer;
use crate::pending_mount::{self, PendingMount};
use crate::workspaces::{Attached, Space, Workspaces};
use manifest::command::{Answer, Ended, Frame, Mode};
use nix::libc::{EAGAIN, ENOENT, EPERM, ETIMEDOUT};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

/// Checks under way at once, and those of one uid.
const CHECKS: usize = 32;
const CHECKS_OF_ONE: usize = 2;
/// Mounts under way at once; router asks for no more runners than there are slots.
const MOUNTS: usize = 256;

/// The attached directories and the work on them.
#[derive(Debug, Default)]
pub(crate) struct Attachments {
    pub(crate) workspaces: Workspaces,
    pub(crate) asides: Asides,
    checks: Vec<Check>,
    mounts: Vec<PendingMount>,
}

/// The answer to control's request to attach a directory.
#[derive(Debug)]
pub(crate) struct Attachment {
    pub(crate) token: u64,
    pub(crate) answer: Answer,
    /// The id of the workspace; zero if it was refused.
    pub(crate) id: [u8; 16],
}

impl Attachments {
    /// Begins to check the directory that a client sends over this connection. `state` is the host's state directory.
    ///
    /// # Errors
    /// The answer, if it is refused at once.
    pub(crate) fn begin_check(
        &mut self,
        frame: &Frame,
        descriptors: Vec<OwnedFd>,
        state: &Path,
    ) -> Result<(), Answer> {
        let [token, uid, ..] = frame.words;
        let uid = u32::try_from(uid).unwrap_or(u32::MAX);
        let connection = descriptors.into_iter().next().ok_or(Answer::NotADirectory)?;
        let of_one = self.checks.iter().filter(|check| check.uid == uid).count();
        if self.checks.len() >= CHECKS || of_one >= CHECKS_OF_ONE {
            return Err(Answer::Busy);
        }
        if self.asides.hang(uid) {
            return Err(Answer::Stalled);
        }
        let (child, socket) = directory_check::start(&connection, state).map_err(|cause| {
            own_log::warn(&format!("cannot look at a directory: {cause}"));
            Answer::Stalled
        })?;
        let answer = PendingAnswer::new(self.asides.add(child, uid), socket);
        self.checks.push(Check { answer, uid, token });
        Ok(())
    }

    /// Takes the findings of checks that are over, and attaches the directories that were found fit.
    pub(crate) fn finish_checks(&mut self) -> Vec<Attachment> {
        let mut done = Vec::new();
        let mut at = 0;
        while let Some(check) = self.checks.get(at) {
            let Some((finding, descriptors)) = check.finding() else {
                at += 1;
                continue;
            };
            let check = self.checks.swap_remove(at);
            self.asides.end(check.answer.child);
            let mut descriptors = descriptors.into_iter();
            let id = finding.id();
            let answer = match (finding.answer, descriptors.next()) {
                (Answer::Ok, Some(_)) if finding.owner != check.uid => Answer::NotYours,
                (Answer::Ok, Some(directory)) => {
                    let attached = Attached { directory, namespace: descriptors.next(), uid: check.uid };
                    self.workspaces.attach(id, attached)
                }
                (Answer::Ok, None) => Answer::NotADirectory,
                (refused, _) => refused,
            };
            let id = if answer == Answer::Ok { id } else { [0; 16] };
            done.push(Attachment { token: check.token, answer, id });
        }
        done
    }

    /// Begins to mount the attached directory that router's request names. The request also names the uid that must have attached
    /// the directory.
    ///
    /// # Errors
    /// The reason and an errno, if it is refused at once.
    pub(crate) fn begin_mount(&mut self, frame: &Frame, mode: Mode) -> Result<(), (Ended, i32)> {
        let uid = u32::try_from(frame.words[7]).unwrap_or(u32::MAX);
        let attached = self.workspaces.get(frame.id(1)).ok_or((Ended::NoWorkspace, ENOENT))?;
        if attached.uid != uid {
            return Err((Ended::NoWorkspace, EPERM));
        }
        if self.asides.hang(uid) {
            return Err((Ended::NoWorkspace, ETIMEDOUT));
        }
        if self.mounts.len() >= MOUNTS {
            return Err((Ended::NotLaunched, EAGAIN));
        }
        let (child, socket) = pending_mount::start(attached, mode).map_err(|cause| {
            own_log::warn(&format!("cannot look at a workspace: {cause}"));
            (Ended::NotLaunched, cause.raw_os_error().unwrap_or(EAGAIN))
        })?;
        let answer = PendingAnswer::new(self.asides.add(child, uid), socket);
        self.mounts.push(PendingMount { frame: *frame, uid, answer });
        Ok(())
    }

    /// Takes the mounts that are over, each with router's request. A directory that could not be mounted is detached: it has to be
    /// attached again, and is then checked again.
    pub(crate) fn finish_mounts(&mut self) -> Vec<(Frame, Result<Space, i32>)> {
        let mut done = Vec::new();
        let mut at = 0;
        while let Some(pending) = self.mounts.get(at) {
            let Some(mount) = pending.mount() else {
                at += 1;
                continue;
            };
            let pending = self.mounts.swap_remove(at);
            self.asides.end(pending.answer.child);
            if mount.is_err() {
                self.workspaces.forget(pending.frame.id(1));
            }
            done.push((pending.frame, mount));
        }
        done
    }

    /// Takes back the launch of this turn, if it waits for its mount. Returns router's request.
    pub(crate) fn take_back(&mut self, turn: [u8; 16]) -> Option<Frame> {
        let at = self.mounts.iter().position(|pending| pending.turn() == turn)?;
        let pending = self.mounts.swap_remove(at);
        self.asides.end(pending.answer.child);
        Some(pending.frame)
    }

    /// The turns that get a runner as soon as their directory answers.
    pub(crate) fn turns(&self) -> impl Iterator<Item = [u8; 16]> {
        self.mounts.iter().map(PendingMount::turn)
    }

    /// The sockets on which checks and mounts answer. While the host is frozen mounts are not waited for.
    pub(crate) fn answers(&self, frozen: bool) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.pending(frozen).map(PendingAnswer::socket)
    }

    /// The time at which the next of them is over.
    pub(crate) fn next_deadline(&self, frozen: bool) -> Option<Instant> {
        self.pending(frozen).map(PendingAnswer::deadline).min()
    }

    fn pending(&self, frozen: bool) -> impl Iterator<Item = &PendingAnswer> {
        let mounts = self.mounts.iter().filter(move |_| !frozen);
        self.checks.iter().map(|check| &check.answer).chain(mounts.map(|mount| &mount.answer))
    }

    /// Ends it all.
    pub(crate) fn end(&mut self) {
        self.checks.clear();
        self.mounts.clear();
        self.asides.end_all();
    }
}
