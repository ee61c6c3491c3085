//! Launches whose workspace is a directory of somebody's own: a child makes the mount of it, and agentd goes on meanwhile. One that
//! does not answer in time has its turn refused, and is to be attached anew, when it is looked at again.

use crate::host::Host;
use crate::runners;
use crate::workspaces::Space;
use confine::{Ids, Way};
use manifest::command::{Ended, Frame, LAUNCH_ATTACHED, Mode};
use nix::libc::{EAGAIN, ENOENT, EPERM, ETIMEDOUT, SIGKILL};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long a directory may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Launches under way at once; router asks for no more than there are slots.
const MOST: usize = 256;

/// A launch that waits for the mount of its workspace.
#[derive(Debug)]
pub(crate) struct Binding {
    frame: Frame,
    /// Who attached the directory.
    uid: u32,
    /// The child that makes the mount, and where it answers.
    child: i32,
    answer: OwnedFd,
    deadline: Instant,
}

impl Binding {
    /// The turn that it is of.
    pub(crate) fn turn(&self) -> [u8; 16] {
        self.frame.id(0)
    }

    /// Readable when the directory has answered.
    pub(crate) fn answer(&self) -> BorrowedFd<'_> {
        self.answer.as_fd()
    }

    fn has_answered(&self) -> bool {
        let mut answer = [PollFd::new(self.answer(), PollFlags::POLLIN)];
        poll(&mut answer, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }
}

/// Has the runner launched that router asked for: at once in a folder of the host's own, else once the directory has answered.
pub(crate) fn launch(host: &mut Host, frame: &Frame) {
    let turn = frame.id(0);
    if host.runners.turns().chain(host.handed.turns()).any(|known| known == turn) {
        return;
    }
    if frame.words[5] & LAUNCH_ATTACHED == 0 {
        runners::launch(host, frame);
    } else {
        begin(host, frame);
    }
}

/// Begins the launch of a turn in an attached directory, or tells router why not. The frame names the uid that the directory must
/// have been attached by.
fn begin(host: &mut Host, frame: &Frame) {
    let uid = u32::try_from(frame.words[7]).unwrap_or(u32::MAX);
    let Some(attached) = host.workspaces.get(frame.id(1)) else {
        return runners::refuse(host, frame, Ended::NoWorkspace, ENOENT);
    };
    if attached.uid != uid {
        return runners::refuse(host, frame, Ended::NoWorkspace, EPERM);
    }
    if host.handed.asides.hang(uid) {
        return runners::refuse(host, frame, Ended::NoWorkspace, ETIMEDOUT);
    }
    if host.handed.bindings.len() >= MOST {
        return runners::refuse(host, frame, Ended::NotLaunched, EAGAIN);
    }
    let way = match host.mode {
        Mode::System => Way::Copy,
        Mode::User => Way::Reopen,
        Mode::Flat => Way::Bare,
    };
    // Nothing is mounted in mode flat, so that it does not matter where the directory was opened.
    let there = attached.there.as_ref().filter(|_| host.mode == Mode::System);
    match confine::copy_aside(&attached.directory, there, way) {
        Ok((child, answer)) => {
            let (child, deadline) = (host.handed.asides.keep(child, uid), Instant::now() + PATIENCE);
            host.handed.bindings.push(Binding { frame: *frame, uid, child, answer, deadline });
        }
        Err(cause) => {
            crate::exit::say(&format!("agentd: cannot look at a workspace: {cause}"));
            runners::refuse(host, frame, Ended::NotLaunched, cause.raw_os_error().unwrap_or(EAGAIN));
        }
    }
}

/// Takes what has come, and refuses what takes too long. While everything stands still nothing is launched.
pub(crate) fn go_on(host: &mut Host) {
    if host.frozen.is_some() {
        return;
    }
    let now = Instant::now();
    let mut at = 0;
    while let Some(binding) = host.handed.bindings.get(at) {
        let answered = binding.has_answered();
        if !answered && binding.deadline > now {
            at += 1;
            continue;
        }
        let binding = host.handed.bindings.swap_remove(at);
        host.handed.asides.end(binding.child);
        let mount = if answered { taken(&binding) } else { Err(ETIMEDOUT) };
        match mount {
            Ok((mount, owner)) => runners::launch_in(host, &binding.frame, Space { mount, owner }),
            Err(errno) => {
                host.workspaces.forget(binding.frame.id(1));
                runners::refuse(host, &binding.frame, Ended::NoWorkspace, errno);
            }
        }
    }
}

/// The mount, as long as the uid that attached the directory owns it.
fn taken(binding: &Binding) -> Result<(OwnedFd, Ids), i32> {
    let (mount, owner) =
        confine::take_copy(binding.answer()).map_err(|cause| cause.raw_os_error().unwrap_or(ENOENT))?;
    if owner.uid == binding.uid { Ok((mount, owner)) } else { Err(EPERM) }
}

/// Takes back a launch that waits; its turn hears that its runner was ended.
pub(crate) fn take_back(host: &mut Host, turn: [u8; 16]) {
    if let Some(at) = host.handed.bindings.iter().position(|binding| binding.turn() == turn) {
        let binding = host.handed.bindings.swap_remove(at);
        host.handed.asides.end(binding.child);
        runners::refuse(host, &binding.frame, Ended::Killed, SIGKILL);
    }
}

/// When the next is over at the latest.
pub(crate) fn next_deadline(host: &Host) -> Option<Instant> {
    let waiting = host.handed.bindings.iter().filter(|_| host.frozen.is_none());
    waiting.map(|binding| binding.deadline).min()
}
