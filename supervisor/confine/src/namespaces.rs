//! User namespaces, and mounts that carry an id mapping.

use crate::passing;
use crate::sys::{self, Forked};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, getgid, getuid};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// `MOUNT_ATTR_*`, `linux/mount.h`.
pub(crate) const RDONLY: u64 = 0x1;
pub(crate) const NOSUID: u64 = 0x2;
pub(crate) const NODEV: u64 = 0x4;
const IDMAP: u64 = 0x0010_0000;

/// Makes this process root of a user and mount namespace of its own, in which nothing but its own uid is
/// mapped. Used once, by agentd in user mode, with one thread.
///
/// # Errors
/// What the kernel says; EPERM or ENOSPC where user namespaces are off.
pub fn become_root_of_own_namespace() -> io::Result<()> {
    let (uid, gid) = (getuid(), getgid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1"))?;
    Ok(())
}

/// Maps one id of the user namespace that process `pid` has just made.
pub(crate) fn map_one(pid: i32, inside: u32, outside: (u32, u32), deny_setgroups: bool) -> io::Result<()> {
    if deny_setgroups {
        fs::write(format!("/proc/{pid}/setgroups"), "deny")?;
    }
    fs::write(format!("/proc/{pid}/uid_map"), format!("{inside} {} 1", outside.0))?;
    fs::write(format!("/proc/{pid}/gid_map"), format!("{inside} {} 1", outside.1))
}

/// A detached copy of the mount at `directory`, without setuid programs and devices.
///
/// # Errors
/// What the kernel says.
pub fn plain_tree(directory: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let tree = sys::open_tree(directory)?;
    sys::mount_setattr(tree.as_raw_fd(), c"", false, NOSUID | NODEV, None)?;
    Ok(tree)
}

/// The same, on which files of `owner` on disk are files of `slot` as this jail sees them, and back: a runner's
/// uid owns nothing on disk, and what it makes belongs to the workspace's owner. `there` is the mount namespace that
/// the directory was opened in, where it is not this process's own.
///
/// # Errors
/// What the kernel says; EINVAL where the file system has no id-mapped mounts.
pub fn id_mapped_tree(
    directory: BorrowedFd<'_>,
    there: Option<BorrowedFd<'_>>,
    owner: (u32, u32),
    slot: (u32, u32),
) -> io::Result<OwnedFd> {
    let tree = match there {
        Some(there) => copied_there(directory, there)?,
        None => sys::open_tree(directory)?,
    };
    let namespace = mapping(owner, slot)?;
    sys::mount_setattr(tree.as_raw_fd(), c"", false, NOSUID | NODEV | IDMAP, Some(namespace.as_fd()))?;
    Ok(tree)
}

/// A detached copy of a mount of the mount namespace `there`, in which alone the kernel copies it. A child goes there
/// and looks up no path: whoever gave the namespace decides what is mounted in it.
fn copied_there(directory: BorrowedFd<'_>, there: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let (ours, theirs) = passing::frame_pair()?;
    match sys::clone(0)? {
        Forked::Child => {
            let copied = setns(there, CloneFlags::CLONE_NEWNS)
                .map_err(io::Error::from)
                .and_then(|()| sys::open_tree(directory))
                .and_then(|tree| passing::send(theirs.as_fd(), &[0], &[tree.as_fd()]));
            sys::end(copied.err().map_or(0, |error| error.raw_os_error().unwrap_or(libc::EIO)))
        }
        Forked::Parent(pid, _pidfd) => {
            drop(theirs);
            let status = waitpid(Pid::from_raw(pid), None)?;
            if let WaitStatus::Exited(_, errno) = status
                && errno != 0
            {
                return Err(io::Error::from_raw_os_error(errno));
            }
            let handed = passing::receive::<1>(ours.as_fd())?;
            handed.and_then(|(_, trees)| trees.into_iter().next()).ok_or(io::ErrorKind::NotFound.into())
        }
    }
}

/// A user namespace that maps `owner` to `slot`, kept by its descriptor alone: the child that made it is gone.
fn mapping(owner: (u32, u32), slot: (u32, u32)) -> io::Result<OwnedFd> {
    match sys::clone(libc::CLONE_NEWUSER as u64)? {
        Forked::Child => {
            // It must not outlive an agentd that is killed here.
            drop(crate::child::die_with_parent(None));
            loop {
                nix::unistd::pause();
            }
        }
        Forked::Parent(pid, _pidfd) => {
            let made = fs::write(format!("/proc/{pid}/uid_map"), format!("{} {} 1", owner.0, slot.0))
                .and_then(|()| fs::write(format!("/proc/{pid}/gid_map"), format!("{} {} 1", owner.1, slot.1)))
                .and_then(|()| fs::File::open(format!("/proc/{pid}/ns/user")));
            kill(Pid::from_raw(pid), Signal::SIGKILL)?;
            waitpid(Pid::from_raw(pid), None)?;
            Ok(made?.into())
        }
    }
}
