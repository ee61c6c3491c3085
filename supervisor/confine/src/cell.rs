//! The parts of a runner slot that stay from one runner to the next: an empty network namespace, a user namespace that maps only
//! the slot's uid, and the mapping of a workspace's owner to it. To make them costs more than the rest of a launch. Nothing of a
//! runner can stay in them: it would end with the runner's processes, since no runner has a capability over either namespace or
//! may make a socket or a key.
//!
//! A cell must never have two runners at once.

use crate::child::die_with_parent;
use crate::jail::Ids;
use crate::namespaces::{IDMAP, NODEV, NOSUID};
use crate::passing;
use crate::sys::{self, Forked};
use manifest::Network;
use manifest::command::Mode;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, getgid, getpid, getuid};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// The uid and gid of a runner inside its user namespace.
pub(crate) const INSIDE: u32 = 1000;

/// The namespaces of a slot.
#[derive(Debug)]
pub struct Cell {
    mode: Mode,
    ids: Option<Ids>,
    user: OwnedFd,
    network: OwnedFd,
    /// The owner whose workspaces this namespace maps: most have the same one.
    mapping: Option<(Ids, OwnedFd)>,
}

impl Cell {
    /// Makes them for a slot with these ids on the host; `None` in mode user, for agentd's own.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn make(mode: Mode, ids: Option<Ids>) -> io::Result<Self> {
        Self::made(mode, ids, Network::None)
    }

    /// Makes them with the loopback up: programs in the jail reach each other, and nothing else. For one runner alone, since its
    /// sockets could leave something for the next one.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn with_loopback(mode: Mode, ids: Option<Ids>) -> io::Result<Self> {
        Self::made(mode, ids, Network::Loopback)
    }

    fn made(mode: Mode, ids: Option<Ids>, network: Network) -> io::Result<Self> {
        // agentd's own ids, as it sees them where it is root of a namespace of its own.
        let outside = ids.unwrap_or(Ids { uid: getuid().as_raw(), gid: getgid().as_raw() });
        // The network namespace belongs to another user namespace than the runner's, so that regained capabilities give nothing over
        // it. To bring the loopback up takes a capability that agentd's unit does not leave it, so a network namespace with loopback is
        // made in a user namespace of its own that maps nobody.
        let loopback = network == Network::Loopback;
        let child = Waiting::start(if loopback { 0 } else { libc::CLONE_NEWNET }, own_users)?;
        map(child.0, Ids { uid: INSIDE, gid: INSIDE }, outside, mode == Mode::User)?;
        let [user, empty] = child.namespaces(["user", "net"])?;
        let network = if loopback {
            let [up] = Waiting::start(libc::CLONE_NEWUSER | libc::CLONE_NEWNET, sys::loopback_up)?
                .namespaces(["net"])?;
            up
        } else {
            empty
        };
        Ok(Self { mode, ids, user, network, mapping: None })
    }

    /// Makes a detached mount a workspace, without setuid programs and devices. In mode system the files of the directory's `owner`
    /// show as the runner's own, and the runner's new files belong to that owner: the slot's uid owns nothing on disk.
    ///
    /// # Errors
    /// The kernel's error; EINVAL where the file system has no id-mapped mounts.
    pub fn workspace(&mut self, tree: OwnedFd, owner: Ids) -> io::Result<OwnedFd> {
        if self.ids.is_none() {
            sys::mount_setattr(tree.as_raw_fd(), c"", false, NOSUID | NODEV, None)?;
        } else {
            let mapping = self.mapping(owner)?;
            sys::mount_setattr(tree.as_raw_fd(), c"", false, NOSUID | NODEV | IDMAP, Some(mapping))?;
        }
        Ok(tree)
    }

    /// The mapping of `owner` to the slot, made when it is first used; for the usual owner, ahead of need.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn mapping(&mut self, owner: Ids) -> io::Result<BorrowedFd<'_>> {
        let known = self.mapping.take().filter(|(of, _)| *of == owner);
        let (of, made) = match (known, self.ids) {
            (Some(known), _) => known,
            (None, Some(slot)) => {
                let child = Waiting::start(0, own_users)?;
                map(child.0, owner, slot, false)?;
                let [user] = child.namespaces(["user"])?;
                (owner, user)
            }
            (None, None) => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(self.mapping.insert((of, made)).1.as_fd())
    }

    pub(crate) const fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) const fn has_own_ids(&self) -> bool {
        self.ids.is_some()
    }

    pub(crate) fn user(&self) -> BorrowedFd<'_> {
        self.user.as_fd()
    }

    pub(crate) fn network(&self) -> BorrowedFd<'_> {
        self.network.as_fd()
    }
}

/// Maps one uid and gid of the user namespace that process `pid` has made.
fn map(pid: i32, inside: Ids, outside: Ids, deny_groups: bool) -> io::Result<()> {
    if deny_groups {
        fs::write(format!("/proc/{pid}/setgroups"), "deny")?;
    }
    fs::write(format!("/proc/{pid}/uid_map"), format!("{} {} 1", inside.uid, outside.uid))?;
    fs::write(format!("/proc/{pid}/gid_map"), format!("{} {} 1", inside.gid, outside.gid))
}

/// A child that only holds namespaces until they are opened.
struct Waiting(i32);

/// The child's part: reports an errno, 0 if all went well, and holds the namespaces until it is killed. It ends by itself where
/// something failed or where `parent`, agentd, has ended: even if that was before this child could ask for the death signal.
fn hold(parent: i32, report: &OwnedFd, then: fn() -> io::Result<()>) -> ! {
    let done = die_with_parent(Some(parent)).and_then(|()| then());
    let errno = done.err().map_or(0, |error| error.raw_os_error().unwrap_or(libc::EIO));
    let _ = nix::unistd::write(report, &errno.to_le_bytes());
    if errno != 0 {
        sys::end(1);
    }
    loop {
        nix::unistd::pause();
    }
}

/// Makes a user namespace that does not own the namespaces made before.
fn own_users() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_NEWUSER)?)
}

impl Waiting {
    /// Starts a child in new namespaces, in which it calls `then`.
    fn start(also: libc::c_int, then: fn() -> io::Result<()>) -> io::Result<Self> {
        let (made, report) = passing::pipe()?;
        let parent = getpid().as_raw();
        match sys::clone(also as u64)? {
            Forked::Child => hold(parent, &report, then),
            Forked::Parent(pid, _pidfd) => {
                let child = Self(pid);
                drop(report);
                let mut errno = [0; 4];
                io::Read::read_exact(&mut File::from(made), &mut errno)?;
                match i32::from_le_bytes(errno) {
                    0 => Ok(child),
                    errno => Err(io::Error::from_raw_os_error(errno)),
                }
            }
        }
    }

    fn namespaces<const N: usize>(&self, names: [&str; N]) -> io::Result<[OwnedFd; N]> {
        let opened: io::Result<Vec<OwnedFd>> =
            names.iter().map(|name| Ok(File::open(format!("/proc/{}/ns/{name}", self.0))?.into())).collect();
        opened?.try_into().map_err(|_| io::ErrorKind::InvalidData.into())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.0), Signal::SIGKILL);
        let _ = waitpid(Pid::from_raw(self.0), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::orphaned;

    // Holds P7-07.
    #[test]
    fn a_namespace_holder_ends_if_agentd_died_before_the_death_signal() {
        assert!(orphaned(|parent, report| hold(parent, report, || Ok(()))).is_some(), "it goes on");
    }
}
