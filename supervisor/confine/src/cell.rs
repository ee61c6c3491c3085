//! What stays with a runner slot from one runner to the next: an empty network namespace, a user namespace in which the
//! slot's uid is all there is, and the mapping of a workspace's owner to it. Making them costs more than everything else
//! about a launch, and nothing of a runner can stay in them: what could be there ends with its processes, since no runner
//! holds a capability over either, nor may it make a socket or a key.
//!
//! A cell must never have two runners at once.

use crate::jail::Ids;
use crate::namespaces::{IDMAP, NODEV, NOSUID};
use crate::passing;
use crate::sys::{self, Forked};
use manifest::Network;
use manifest::command::Mode;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, getgid, getuid};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Uid and gid of a runner, as it sees them itself.
pub(crate) const INSIDE: u32 = 1000;

/// The namespaces of a slot.
#[derive(Debug)]
pub struct Cell {
    mode: Mode,
    ids: Option<Ids>,
    user: OwnedFd,
    network: OwnedFd,
    /// The owner whose workspaces are mapped by this namespace: most are one and the same.
    mapping: Option<(Ids, OwnedFd)>,
}

impl Cell {
    /// Makes them for a slot with these ids on the host; `None` in mode user, where it is agentd's own.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn make(mode: Mode, ids: Option<Ids>) -> io::Result<Self> {
        Self::made(mode, ids, Network::None)
    }

    /// The same with its loopback up: programs in it reach each other, and nothing else. For one runner alone, since
    /// what that one's sockets leave behind would be the next one's.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn with_loopback(mode: Mode, ids: Option<Ids>) -> io::Result<Self> {
        Self::made(mode, ids, Network::Loopback)
    }

    fn made(mode: Mode, ids: Option<Ids>, network: Network) -> io::Result<Self> {
        // As agentd sees itself where it is root of a namespace of its own.
        let outside = ids.unwrap_or(Ids { uid: getuid().as_raw(), gid: getgid().as_raw() });
        // The network namespace belongs to another user namespace than the runner's: regained capabilities give nothing over
        // it. To bring loopback up takes a capability that agentd's unit does not leave it, so such a one is made in a user
        // namespace of its own, in which nobody is ever mapped.
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

    /// Makes a detached mount a workspace, without setuid programs and devices. In mode system files of the directory's `owner` on
    /// disk are the runner's own as it sees them, and back: the slot's uid owns nothing on disk, and what the runner makes
    /// belongs to the workspace's owner.
    ///
    /// # Errors
    /// What the kernel says; EINVAL where the file system has no id-mapped mounts.
    pub fn workspace(&mut self, tree: OwnedFd, owner: Ids) -> io::Result<OwnedFd> {
        if self.ids.is_none() {
            sys::mount_setattr(tree.as_raw_fd(), c"", false, NOSUID | NODEV, None)?;
        } else {
            let mapping = self.mapping(owner)?;
            sys::mount_setattr(tree.as_raw_fd(), c"", false, NOSUID | NODEV | IDMAP, Some(mapping))?;
        }
        Ok(tree)
    }

    /// The mapping of `owner` to the slot, made when it is first asked for: ahead of need, for the usual owner.
    ///
    /// # Errors
    /// What the kernel says.
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

/// A child that does nothing but hold namespaces until they were opened.
struct Waiting(i32);

/// A user namespace that is not that of the namespaces made before.
fn own_users() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_NEWUSER)?)
}

impl Waiting {
    /// Starts it in new namespaces, and has it do this there.
    fn start(also: libc::c_int, then: fn() -> io::Result<()>) -> io::Result<Self> {
        let (made, word) = passing::pipe()?;
        match sys::clone(also as u64)? {
            Forked::Child => {
                // It must not outlive an agentd that is killed here.
                let done = crate::child::die_with_parent(None).and_then(|()| then());
                let errno = done.err().map_or(0, |error| error.raw_os_error().unwrap_or(libc::EIO));
                let _ = nix::unistd::write(word, &errno.to_le_bytes());
                loop {
                    nix::unistd::pause();
                }
            }
            Forked::Parent(pid, _pidfd) => {
                let child = Self(pid);
                drop(word);
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
