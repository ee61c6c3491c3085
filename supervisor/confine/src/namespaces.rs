//! The user namespace of agentd itself in mode user, and the attributes of mounts.

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getgid, getuid};
use std::fs;
use std::io;

/// `MOUNT_ATTR_*`, `linux/mount.h`.
pub(crate) const RDONLY: u64 = 0x1;
pub(crate) const NOSUID: u64 = 0x2;
pub(crate) const NODEV: u64 = 0x4;
pub(crate) const IDMAP: u64 = 0x0010_0000;

/// Makes this process root of a user and mount namespace of its own that maps only its own uid. Used once, by agentd in mode user,
/// with one thread.
///
/// # Errors
/// The kernel's error; EPERM or ENOSPC where user namespaces are off.
pub fn become_root_of_own_namespace() -> io::Result<()> {
    let (uid, gid) = (getuid(), getgid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1"))?;
    Ok(())
}
