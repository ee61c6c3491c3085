//! The tree that every runner's root is a copy of, built once in a mount namespace of its own: programs, devices and a mountpoint
//! for the workspace, all of it read-only. And the one way in which agentd reaches into a jail: to mount the workspace there.
//!
//! It must never hold anything of a turn, since all runners share it.

use crate::child::{At, Child, Holder, LaunchFault, Step};
use crate::descriptor_slots::DescriptorSlots;
use crate::{root, sys};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// agentd's exit status when it cannot leave a jail that it reached into: `EX_OSERR`.
const LOST: i32 = 71;

/// A mount namespace that only its descriptor keeps alive, and agentd's own to return to.
#[derive(Debug)]
pub struct Template {
    namespace: OwnedFd,
    home: OwnedFd,
    made_of: root::Fingerprint,
    slots: DescriptorSlots,
}

/// Where a tree is mounted in a jail.
#[derive(Clone, Copy, Debug)]
pub enum Mountpoint {
    /// `/workspace`.
    Workspace,
    /// `/server`: the files of a server.
    Files,
}

impl Mountpoint {
    const fn path(self) -> &'static CStr {
        match self {
            Self::Workspace => root::MOUNTPOINT,
            Self::Files => root::FILES,
        }
    }
}

impl Template {
    /// Builds it on `stage`, an empty folder that only agentd can reach and that stays empty. In mode user agentd must
    /// be root of its own namespace already.
    ///
    /// # Errors
    /// [`LaunchFault`]: the failed step and its cause.
    pub fn build(stage: &Path) -> Result<Self, LaunchFault> {
        // First, so that the numbers are low.
        let slots = DescriptorSlots::reserve().at(Step::Descriptors)?;
        let home = File::open("/proc/self/ns/mnt").at(Step::Root)?.into();
        let made_of = root::fingerprint();
        let holder = Holder::start(libc::CLONE_NEWNS, || build_here(stage))?;
        let [namespace] = holder.namespaces(["mnt"]).at(Step::Root)?;
        Ok(Self { namespace, home, made_of, slots })
    }

    /// Returns true while the host's files that it shows one by one (all but folders) are the same as at its making: an upgrade
    /// replaces them.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.made_of == root::fingerprint()
    }

    /// Mounts a detached tree in a jail, late and from outside. Must be called at most once for a child and a place, since the kernel
    /// would mount a second one over the first.
    ///
    /// Ends this process if it cannot return from the jail.
    ///
    /// # Errors
    /// ESRCH when the runner has ended; else the kernel's error.
    pub fn attach(&self, child: &Child, tree: BorrowedFd<'_>, at: Mountpoint) -> io::Result<()> {
        // Landlock checks the parent of the mountpoint, and the runner can change no path above it.
        setns(&child.pidfd, CloneFlags::CLONE_NEWNS)?;
        let attached = sys::move_mount(tree, at.path());
        if setns(&self.home, CloneFlags::CLONE_NEWNS).is_err() {
            // agentd must not run on within a jail's mounts: the host is started again instead.
            sys::end(LOST);
        }
        attached
    }

    pub(crate) const fn slots(&self) -> &DescriptorSlots {
        &self.slots
    }

    pub(crate) fn namespace(&self) -> BorrowedFd<'_> {
        self.namespace.as_fd()
    }
}

fn build_here(stage: &Path) -> Result<(), LaunchFault> {
    make_private().at(Step::Private)?;
    root::build(stage).at(Step::Root)?;
    // The host's tree is unreachable after this.
    root::enter(stage).at(Step::Root)
}

/// Keeps later mounts, here or on the host, apart.
pub(crate) fn make_private() -> nix::Result<()> {
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
}
