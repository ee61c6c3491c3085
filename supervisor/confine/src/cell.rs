//! The parts of a runner slot that stay from one runner to the next: an empty network namespace, a user namespace that maps only
//! the slot's uid, and the mapping of a workspace's owner to it. To make them costs more than the rest of a launch. Nothing of a
//! runner can stay in them: it would end with the runner's processes, since no runner has a capability over either namespace or
//! may make a socket or a key.
//!
//! A cell must never have two runners at once.

use crate::child::{At, Holder, LaunchFault, Step};
use crate::jail::Ids;
use crate::namespaces::{IDMAP, NODEV, NOSUID, RDONLY};
use crate::sys;
use manifest::Network;
use manifest::command::Mode;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getgid, getuid};
use std::fs;
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
        let child = held(if loopback { 0 } else { libc::CLONE_NEWNET }, own_users)?;
        map(child.pid(), Ids { uid: INSIDE, gid: INSIDE }, outside, mode == Mode::User)?;
        let [user, empty] = child.namespaces(["user", "net"])?;
        let network = if loopback {
            let bring_up = || sys::loopback_up().at(Step::Network);
            let [up] = held(libc::CLONE_NEWUSER | libc::CLONE_NEWNET, bring_up)?.namespaces(["net"])?;
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
        self.tree(tree, owner, NOSUID | NODEV)
    }

    /// Makes a detached mount the files of a server, as a workspace is made, and read-only unless it `writes`.
    ///
    /// # Errors
    /// As [`Cell::workspace`].
    pub fn files(&mut self, tree: OwnedFd, owner: Ids, writes: bool) -> io::Result<OwnedFd> {
        let flags = if writes { 0 } else { RDONLY };
        self.tree(tree, owner, NOSUID | NODEV | flags)
    }

    fn tree(&mut self, tree: OwnedFd, owner: Ids, flags: u64) -> io::Result<OwnedFd> {
        if self.ids.is_none() {
            sys::mount_setattr(tree.as_raw_fd(), c"", false, flags, None)?;
        } else {
            let mapping = self.mapping(owner)?;
            sys::mount_setattr(tree.as_raw_fd(), c"", false, flags | IDMAP, Some(mapping))?;
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
                let child = held(0, own_users)?;
                map(child.pid(), owner, slot, false)?;
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

/// Starts a child that holds new namespaces, in which it calls `work`.
fn held(namespaces: libc::c_int, work: impl FnOnce() -> Result<(), LaunchFault>) -> io::Result<Holder> {
    Holder::start(namespaces, work).map_err(|fault| fault.cause)
}

/// Makes a user namespace that does not own the namespaces made before.
fn own_users() -> Result<(), LaunchFault> {
    unshare(CloneFlags::CLONE_NEWUSER).at(Step::UserNamespace)
}
