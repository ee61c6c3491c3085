//! Acts with namespaces, mounts, ids and limits that need more than a bare call.

use super::{Ready, Scene, errno, probe, refused};
use crate::sys;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::fs::File;
use std::io;

/// Prepares the act of this name, if it is one of these.
pub(super) fn prepare(id: &str, _: &Scene) -> Option<Ready> {
    match id {
        "mount-apart" => {
            probe(|| Ok(mount(Some("none"), "/proc", Some("tmpfs"), MsFlags::empty(), None::<&str>)?))
        }
        "unmount-apart" => probe(|| Ok(umount2("/usr", MntFlags::MNT_DETACH)?)),
        "remount-apart" => probe(remount),
        "unshare-jailed" => probe(|| Ok(unshare(CloneFlags::CLONE_NEWNS)?)),
        "clone-user" => probe(clone_user),
        "chroot" | "chroot-jailed" => probe(|| Ok(nix::unistd::chroot("/")?)),
        "host-name-apart" => probe(|| Ok(nix::unistd::sethostname("cordon-probe")?)),
        "init-namespace-jailed" => probe(|| File::open("/proc/1/ns/net").map(drop)),
        "raise-limits-jailed" => probe(raise),
        _ => None,
    }
}

fn remount() -> io::Result<()> {
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND;
    Ok(mount(None::<&str>, "/usr", None::<&str>, flags, None::<&str>)?)
}

/// By the old call, whose flags a filter can read.
fn clone_user() -> io::Result<()> {
    let flags = libc::CLONE_NEWUSER | libc::SIGCHLD;
    // SAFETY: no pointer is handed over; a child that is made ends before it does anything.
    let made = unsafe { libc::syscall(libc::SYS_clone, libc::c_long::from(flags), 0, 0, 0, 0) };
    if made == 0 {
        sys::end(0);
    }
    refused(sys::check(made), &[])
}

/// The hard limit of descriptors, raised by one.
fn raise() -> io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let more = hard.checked_add(1).ok_or_else(|| errno(libc::EPERM))?;
    Ok(setrlimit(Resource::RLIMIT_NOFILE, more, more)?)
}
