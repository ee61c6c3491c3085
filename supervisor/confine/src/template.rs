//! The tree that every runner's root is a copy of, built once in a mount namespace of its own: programs, devices and a
//! mountpoint for the workspace, all of it read-only. And the one way in which agentd reaches into a jail: to put the
//! workspace there.
//!
//! It must never hold anything of a turn: all runners share what lies in it.

use crate::child::{At, Child, LaunchFault, Step, die_with_parent};
use crate::seats::Seats;
use crate::sys::{self, Forked};
use crate::{passing, root};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// agentd's exit status when it cannot leave a jail that it reached into: `EX_OSERR`.
const LOST: i32 = 71;

/// A mount namespace, kept by its descriptor alone, and agentd's own to come back to.
#[derive(Debug)]
pub struct Template {
    namespace: OwnedFd,
    home: OwnedFd,
    made_of: root::Fingerprint,
    seats: Seats,
}

impl Template {
    /// Builds it on `stage`, an empty folder that only agentd can reach and that stays empty. In mode user agentd must
    /// be root of its own namespace already.
    ///
    /// # Errors
    /// [`LaunchFault`]: which step failed, and why.
    pub fn build(stage: &Path) -> Result<Self, LaunchFault> {
        // First, since low numbers are what they are for.
        let seats = Seats::reserve().at(Step::Descriptors)?;
        let home = File::open("/proc/self/ns/mnt").at(Step::Root)?.into();
        let made_of = root::fingerprint();
        let (report, word) = passing::pipe().at(Step::Clone)?;
        match sys::clone(libc::CLONE_NEWNS as u64).at(Step::Clone)? {
            Forked::Child => {
                drop(report);
                // It must not outlive an agentd that is killed here.
                let built = die_with_parent(None).at(Step::DeathSignal).and_then(|()| build_here(stage));
                crate::child::tell(&word, built.err().as_ref());
                loop {
                    nix::unistd::pause();
                }
            }
            Forked::Parent(pid, _pidfd) => {
                drop(word);
                let namespace = taken(pid, report);
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
                let _ = waitpid(Pid::from_raw(pid), None);
                Ok(Self { namespace: namespace?, home, made_of, seats })
            }
        }
    }

    /// Returns whether the host's files that it shows by themselves (all but folders) are still those that it was made of: an
    /// upgrade puts others in their place.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.made_of == root::fingerprint()
    }

    /// Puts a detached tree into a jail as its workspace: late, from outside, at the one place for it. Must be called at
    /// most once for a child, since the kernel would put a second one over the first.
    ///
    /// Ends this process if it cannot come back from the jail.
    ///
    /// # Errors
    /// ESRCH when the runner has ended; else what the kernel says.
    pub fn attach(&self, child: &Child, tree: BorrowedFd<'_>) -> io::Result<()> {
        // The parent of a mountpoint is what landlock sees of it, and no path within the jail is the runner's to change.
        setns(&child.pidfd, CloneFlags::CLONE_NEWNS)?;
        let attached = sys::move_mount(tree, root::MOUNTPOINT);
        if setns(&self.home, CloneFlags::CLONE_NEWNS).is_err() {
            // What would run on within a jail's mounts is worse than a host that starts again.
            sys::end(LOST);
        }
        attached
    }

    pub(crate) const fn seats(&self) -> &Seats {
        &self.seats
    }

    pub(crate) fn namespace(&self) -> BorrowedFd<'_> {
        self.namespace.as_fd()
    }
}

fn build_here(stage: &Path) -> Result<(), LaunchFault> {
    make_private().at(Step::Private)?;
    root::build(stage).at(Step::Root)?;
    // The host's tree is gone after this.
    root::enter(stage).at(Step::Root)
}

fn taken(pid: i32, report: OwnedFd) -> Result<OwnedFd, LaunchFault> {
    let mut word = [0; 5];
    File::from(report).read_exact(&mut word).at(Step::Root)?;
    crate::child::told(word)?;
    Ok(File::open(format!("/proc/{pid}/ns/mnt")).at(Step::Root)?.into())
}

/// What is mounted here from now on, or on the host, stays apart.
pub(crate) fn make_private() -> nix::Result<()> {
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
}
