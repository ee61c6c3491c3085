//! A runner's root: a small read-only tree in memory with the system's programs, a minimal `/dev` and a mountpoint for the workspace.
//! Each runner gets a copy of it, and mounts its own `/proc` and a `/tmp` in memory in it.

use crate::namespaces::{NODEV, NOSUID, RDONLY};
use crate::sys;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::{chdir, pivot_root};
use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

/// Folders of programs and libraries. On a merged-/usr system all but the first are links into it.
const SYSTEM: &[&str] = &["usr", "bin", "sbin", "lib", "lib32", "lib64"];
/// The files of `/etc` that programs read; the rest of it is not shown.
const ETC: [&str; 7] =
    ["ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "ssl", "localtime", "mime.types"];
/// Device nodes that programs need.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];
/// Options of a runner's `/tmp`, in memory; `/dev/shm` is a link to it, so that both share one budget.
const TMP: &CStr = c"mode=1777,size=128m,nr_inodes=16384";
/// The mountpoint of the workspace. Landlock checks the folder above a mountpoint and never the mountpoint itself, so the workspace,
/// which is mounted late, has a folder of its own above it with the rule; `/workspace` is a link.
pub(crate) const MOUNTPOINT: &CStr = c"/ws/s";
/// The mountpoint of the files of a server, likewise; `/server` is a link.
pub(crate) const FILES: &CStr = c"/sv/s";
/// The inode of the first user namespace of a machine, `PROC_USER_INIT_INO` of `linux/proc_ns.h`.
const FIRST_USER_NAMESPACE: u64 = 0xEFFF_FFFD;
/// `/etc/passwd` and its like: one user, and the overflow one.
const USERS: &[(&str, &str)] = &[
    (
        "passwd",
        "agent:x:1000:1000:agent:/workspace:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    ),
    ("group", "agent:x:1000:\nnogroup:x:65534:\n"),
    ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    ("hosts", "127.0.0.1 localhost AGENT\n"),
];

/// Builds the tree on `stage`, an empty folder that only agentd can reach.
pub(crate) fn build(stage: &Path) -> io::Result<()> {
    tmpfs(stage, "mode=0755,size=1m,nr_inodes=512", MsFlags::MS_NOSUID)?;
    for folder in ["proc", "tmp", "skills", "etc", "dev", "ws", "ws/s", "sv", "sv/s"] {
        fs::create_dir(stage.join(folder))?;
        fs::set_permissions(stage.join(folder), fs::Permissions::from_mode(0o755))?;
    }
    symlink("ws/s", stage.join("workspace"))?;
    symlink("sv/s", stage.join("server"))?;
    for name in SYSTEM {
        system(stage, name)?;
    }
    etc(&stage.join("etc"))?;
    devices(&stage.join("dev"))?;
    if fs::metadata("/proc/self/ns/user")?.ino() != FIRST_USER_NAMESPACE {
        // In another namespace than the first the kernel allows a new /proc only where a whole one is visible. The runner's own is
        // mounted over this one, and no runner can unmount it.
        let here = stage.join("proc");
        mount(Some("/proc"), &here, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)?;
        // Not read-only: the kernel would then require the new one to be read-only too.
        sys::mount_setattr(libc::AT_FDCWD, &c_path(&here)?, true, NOSUID | NODEV, None)?;
    }
    Ok(())
}

/// Mounts a runner's own file systems over its copy of the tree, which is its root already. Allocates nothing.
pub(crate) fn own_mounts() -> nix::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some(c"proc"), c"/proc", Some(c"proc"), flags | MsFlags::MS_NOEXEC, None::<&CStr>)?;
    mount(Some(c"tmpfs"), c"/tmp", Some(c"tmpfs"), flags, Some(TMP))
}

/// Mounts the terminals of a jail: a file system of its own, separate from all others. Allocates nothing.
pub(crate) fn own_terminals() -> nix::Result<()> {
    let options = Some(c"newinstance,ptmxmode=0666,mode=0620,max=16");
    mount(Some(c"devpts"), c"/dev/pts", Some(c"devpts"), MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC, options)
}

/// Identifies the host's files that the tree shows one by one.
pub(crate) type Fingerprint = [Option<(u64, u64)>; ETC.len()];

/// Device and inode of each; folders show the host's changes by themselves.
pub(crate) fn fingerprint() -> Fingerprint {
    ETC.map(|name| {
        let meta = fs::metadata(Path::new("/etc").join(name)).ok().filter(fs::Metadata::is_file)?;
        Some((meta.dev(), meta.ino()))
    })
}

/// Shows the state directory at `/tmp/state` of a private `/tmp`, and changes to `folder` there. Programs look up their folder by
/// its path (SQLite does), and the folders above the state directory may be closed to other users.
pub(crate) fn enter_state(state: &Path, folder: &str) -> io::Result<()> {
    let held = fs::File::open(state)?;
    let here = Path::new(manifest::STATE_INSIDE);
    tmpfs(Path::new("/tmp"), "mode=0755,size=64k,nr_inodes=8", MsFlags::MS_NOSUID | MsFlags::MS_NODEV)?;
    fs::create_dir(here)?;
    fs::set_permissions(here, fs::Permissions::from_mode(0o711))?;
    // By its descriptor, since the private /tmp may have covered its path.
    let source = format!("/proc/self/fd/{}", held.as_raw_fd());
    mount(Some(source.as_str()), here, None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
    Ok(chdir(&here.join(folder))?)
}

/// Makes `stage` the root, detaches the host's, and makes the root itself read-only.
pub(crate) fn enter(stage: &Path) -> io::Result<()> {
    chdir(stage)?;
    pivot_root(".", ".")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    chdir("/")?;
    sys::mount_setattr(libc::AT_FDCWD, c"/", false, RDONLY | NOSUID | NODEV, None)
}

fn tmpfs(at: &Path, options: &str, flags: MsFlags) -> io::Result<()> {
    Ok(mount(Some("tmpfs"), at, Some("tmpfs"), flags, Some(options))?)
}

/// Shows one of the host's folders read-only, or makes the same link.
fn system(stage: &Path, name: &str) -> io::Result<()> {
    let (host, here) = (Path::new("/").join(name), stage.join(name));
    match fs::symlink_metadata(&host) {
        Err(_) => Ok(()),
        Ok(meta) if meta.is_symlink() => symlink(fs::read_link(&host)?, here),
        Ok(_) => {
            fs::create_dir(&here)?;
            bind_read_only(&host, &here)
        }
    }
}

fn etc(here: &Path) -> io::Result<()> {
    for (name, text) in USERS {
        fs::write(here.join(name), text)?;
        fs::set_permissions(here.join(name), fs::Permissions::from_mode(0o644))?;
    }
    for name in ETC {
        let (host, here) = (Path::new("/etc").join(name), here.join(name));
        // Links are followed: the content matters, not how a distribution stores it.
        match fs::metadata(&host) {
            Err(_) => continue,
            Ok(meta) if meta.is_dir() => fs::create_dir(&here)?,
            Ok(_) => drop(fs::File::create(&here)?),
        }
        bind_read_only(&host, &here)?;
    }
    Ok(())
}

fn devices(here: &Path) -> io::Result<()> {
    for name in DEVICES {
        let (host, here) = (Path::new("/dev").join(name), here.join(name));
        fs::File::create(&here)?;
        mount(Some(&host), &here, None::<&str>, MsFlags::MS_BIND, None::<&str>)?;
    }
    for (name, target) in [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")]
    {
        symlink(target, here.join(name))?;
    }
    // Empty except in a jail that mounts terminals of its own there.
    fs::create_dir(here.join("pts"))?;
    fs::set_permissions(here.join("pts"), fs::Permissions::from_mode(0o755))?;
    symlink("pts/ptmx", here.join("ptmx"))?;
    symlink("/tmp", here.join("shm"))
}

/// Binds with submounts and makes all of it read-only. Attributes are only set and never cleared, so that a mount which an outer
/// user namespace has locked does not refuse.
fn bind_read_only(host: &Path, here: &Path) -> io::Result<()> {
    mount(Some(host), here, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)?;
    sys::mount_setattr(libc::AT_FDCWD, &c_path(here)?, true, RDONLY | NOSUID | NODEV, None)
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}
