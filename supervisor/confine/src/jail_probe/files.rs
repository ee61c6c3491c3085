//! Acts on files: outside, and in a workspace.

use super::{NotReady, Ready, Scene, errno, probe};
use manifest::Process;
use nix::fcntl::{AT_FDCWD, OFlag, RenameFlags, open, renameat2};
use nix::sys::stat::{Mode, SFlag, fchmod, fstat, makedev, mknod, stat};
use nix::unistd::mkfifo;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const READ: OFlag = OFlag::O_RDONLY;
const WRITE: OFlag = OFlag::O_WRONLY;
/// A name that nothing else uses.
const NAME: &str = "cordon-probe";
/// A file of the system that exists in every jail and belongs to no user.
const OUTSIDE: &str = "/etc/passwd";
/// A file that can be restored before it is missed.
const MOVABLE: &str = "/etc/mtab";
/// The number of times that a name is swapped and opened.
const TURNS: usize = 300;

/// Prepares the act of this name, if it is one of these.
pub(super) fn prepare(id: &str, scene: &Scene) -> Option<Ready> {
    let (agentd, peer) = (scene.agentd, scene.peer);
    match id {
        "shadow" => opens(&["/etc/shadow", "/etc/gshadow"], READ),
        "system-write" | "system-write-apart" => probe(system_write),
        "home-keys" => homes(),
        "self-root" => opens(&["/proc/self/root/etc/shadow", "/proc/thread-self/root/etc/shadow"], READ),
        "init-root" => opens(&["/proc/1/root/etc/shadow"], READ),
        "init-environ" => opens(&["/proc/1/environ"], READ),
        "agentd-environ" => opens(&[&format!("/proc/{agentd}/environ")], READ),
        "agentd-memory" => opens(&[&format!("/proc/{agentd}/mem")], OFlag::O_RDWR),
        "peer-maps" | "peer-maps-jailed" => opens(&[&format!("/proc/{peer}/maps")], READ),
        "peer-memory" => opens(&[&format!("/proc/{peer}/mem")], OFlag::O_RDWR),
        "kernel-log" => opens(&["/dev/kmsg", "/proc/kmsg"], READ | OFlag::O_NONBLOCK),
        "core-pattern" => opens(&["/proc/sys/kernel/core_pattern"], WRITE),
        "cgroup-write" => opens(&["/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/tasks"], WRITE),
        "sysrq" => opens(&["/proc/sysrq-trigger"], WRITE),
        "memory-device" => opens(&["/dev/mem", "/dev/kmem", "/dev/port"], READ),
        "disk-device" => opens(DISKS, READ | OFlag::O_NONBLOCK),
        "terminal" => opens(&["/dev/tty", "/dev/console", "/dev/ptmx", "/dev/pts/0"], READ | OFlag::O_NOCTTY),
        "other-folder" => others(scene.row.process),
        "folder-above" => opens(&[".."], READ | OFlag::O_DIRECTORY),
        "log-write" => opens(&["../logs/agentd.log", "../logs/audit.log"], WRITE),
        "own-folder" => opens(&["."], READ | OFlag::O_DIRECTORY),
        _ => workspace(id),
    }
}

const DISKS: &[&str] = &[
    "/dev/sda",
    "/dev/vda",
    "/dev/nvme0n1",
    "/dev/loop0",
    "/dev/loop-control",
    "/dev/fuse",
    "/dev/kvm",
    "/dev/net/tun",
];

/// Acts in a folder of its own.
fn workspace(id: &str) -> Option<Ready> {
    match id {
        "git-hook" => probe(|| git("hooks/post-commit", "#!/bin/sh\n")),
        "git-config" => probe(|| git("config", "[core]\n\tfsmonitor = true\n")),
        "link-out" => Some(link_out()),
        "link-race" => Some(link_race()),
        "rename-out" => Some(rename_out()),
        "rename-in" => probe(|| fs::rename(MOVABLE, NAME).and_then(|()| fs::rename(NAME, MOVABLE))),
        "hard-link-in" => probe(|| fs::hard_link(OUTSIDE, NAME).and_then(|()| fs::remove_file(NAME))),
        "fifo" => probe(|| Ok(mkfifo(NAME, Mode::S_IRUSR | Mode::S_IWUSR)?)),
        "device-node" | "device-node-jailed" => probe(device_node),
        "setuid-file" => probe(setuid_file),
        _ => None,
    }
}

/// Opens each; one that opens is success. A missing file is reported like one that may not be opened.
fn opens(paths: &[&str], how: OFlag) -> Option<Ready> {
    let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    probe(move || any(&paths, how))
}

fn any(paths: &[PathBuf], how: OFlag) -> io::Result<()> {
    let mut last = errno(libc::ENOENT);
    for path in paths {
        match open(path.as_path(), how | OFlag::O_CLOEXEC, Mode::empty()) {
            Ok(_) => return Ok(()),
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

fn system_write() -> io::Result<()> {
    let path = Path::new("/usr/bin").join(NAME);
    let how = WRITE | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
    drop(open(&path, how, Mode::S_IRUSR)?);
    fs::remove_file(path)
}

/// Creates nothing: a home that can be listed, or a file in it that can be opened for writing, is enough.
fn homes() -> Option<Ready> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = users.lines().filter_map(|line| line.split(':').nth(5));
    let apart = |home: &&str| home.starts_with("/home/") || *home == "/root";
    let homes: Vec<PathBuf> =
        ["/root", "/home"].into_iter().chain(named.filter(apart)).map(PathBuf::from).take(32).collect();
    probe(move || {
        let files: Vec<PathBuf> =
            homes.iter().flat_map(|home| [home.join(".ssh/authorized_keys"), home.join(".bashrc")]).collect();
        any(&files, WRITE).or_else(|_| any(&homes, READ | OFlag::O_DIRECTORY))
    })
}

fn others(own: Process) -> Option<Ready> {
    let other = if own == Process::Audit { "credproxy" } else { "audit" };
    // A workspace is one folder deeper.
    opens(&[&format!("../{other}"), &format!("../../{other}")], READ | OFlag::O_DIRECTORY)
}

fn git(file: &str, text: &str) -> io::Result<()> {
    fs::create_dir_all(".git/hooks")?;
    fs::write(Path::new(".git").join(file), text)
}

fn link_out() -> Ready {
    drop(fs::remove_file(NAME));
    symlink(OUTSIDE, NAME)?;
    Ok(Box::new(|| any(&[PathBuf::from(NAME)], WRITE)))
}

fn rename_out() -> Ready {
    drop(own_file()?);
    let to = Path::new("/usr/bin").join(NAME);
    Ok(Box::new(move || fs::rename(NAME, &to).and_then(|()| fs::remove_file(&to))))
}

/// A new file of this name. An existing one is removed and never written through: another act may have left a link to a file of
/// the system, which a probe in a jail that lacks a layer may be able to write.
fn own_file() -> io::Result<fs::File> {
    drop(fs::remove_file(NAME));
    fs::File::create_new(NAME)
}

/// A name that is a file and a link in turns while another process opens it: the opened file must never be the link's target.
fn link_race() -> Ready {
    drop(own_file()?);
    drop(fs::remove_file("cordon-link"));
    symlink(OUTSIDE, "cordon-link")?;
    let outside = stat(OUTSIDE).map_err(io::Error::from)?;
    Ok(Box::new(move || {
        let turning = super::programs::child(|| {
            loop {
                let _ = renameat2(AT_FDCWD, NAME, AT_FDCWD, "cordon-link", RenameFlags::RENAME_EXCHANGE);
            }
        })?;
        let mut last = errno(libc::EACCES);
        for _ in 0..TURNS {
            match open(NAME, WRITE | OFlag::O_CLOEXEC, Mode::empty()) {
                Err(error) => last = error.into(),
                Ok(file) => {
                    let found = fstat(file.as_fd())?;
                    if (found.st_dev, found.st_ino) == (outside.st_dev, outside.st_ino) {
                        return Ok(());
                    }
                }
            }
        }
        drop(turning);
        Err(last)
    }))
}

/// The node of /dev/null, removed at once.
fn device_node() -> io::Result<()> {
    mknod(NAME, SFlag::S_IFCHR, Mode::S_IRUSR, makedev(1, 3))?;
    fs::remove_file(NAME)
}

fn setuid_file() -> io::Result<()> {
    let file = own_file()?;
    fchmod(file.as_fd(), Mode::S_ISUID | Mode::S_IRWXU)?;
    fs::remove_file(NAME)
}

impl From<nix::Error> for NotReady {
    fn from(error: nix::Error) -> Self {
        Self::Failed(error.into())
    }
}
