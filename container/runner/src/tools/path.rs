//! From a path that a model wrote to an open descriptor, with no moment between check and use: it is resolved
//! beneath a directory that is already open. Must never open a path by its ambient name.

use super::beneath::{Links, beneath};
use super::fault::ToolFault;
use super::output;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use std::fs::{File, FileType, Metadata};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

/// A directory that tools may reach.
#[derive(Debug)]
pub(super) struct Root {
    /// Its names: as it was given and, where that is a symbolic link, as it resolves.
    pub(super) names: Vec<PathBuf>,
    pub(super) dir: OwnedFd,
}

impl Root {
    /// Opens a directory named by the context, not by a model.
    pub(super) fn open(path: &Path) -> Result<Self, ToolFault> {
        let fault = |errno| ToolFault::from_errno(&output::shown(path), "open it", errno);
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let dir = open(path, flags, Mode::empty()).map_err(fault)?;
        let mut names = vec![path.to_owned()];
        if let Ok(real) = path.canonicalize()
            && real != path
        {
            names.push(real);
        }
        Ok(Self { names, dir })
    }

    /// The rest of an absolute path that begins with one of its names.
    pub(super) fn rest_of(&self, path: &Path) -> Option<PathBuf> {
        self.names.iter().find_map(|name| path.strip_prefix(name).ok()).map(Path::to_owned)
    }
}

/// A path within a root. That it exists, and where its links lead, is known only when it is opened.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) root: &'a Root,
    /// Relative to the root, never empty.
    pub(super) rel: PathBuf,
    /// How the model knows it.
    pub(super) shown: String,
    /// True if it lies in the workspace, the one root that may be written.
    pub(super) writable: bool,
}

/// Without `.` and empty parts. `..` stays: its meaning is known only on the way, links included.
pub(super) fn relative(path: &Path) -> PathBuf {
    let kept: PathBuf = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .collect();
    if kept.as_os_str().is_empty() { PathBuf::from(".") } else { kept }
}

impl Place<'_> {
    /// Opens the file; a last symbolic link is followed unless `flags` has `O_NOFOLLOW`, and never out of the root.
    pub(super) fn open(&self, flags: OFlag, doing: &'static str) -> Result<OwnedFd, ToolFault> {
        beneath(&self.root.dir, &self.rel, flags, Links::Followed).map_err(|errno| self.fault(doing, errno))
    }

    pub(super) fn fault(&self, doing: &'static str, errno: Errno) -> ToolFault {
        ToolFault::from_errno(&self.shown, doing, errno)
    }

    /// Opens a regular file for reading. `O_NONBLOCK` keeps a FIFO from holding the call until it is known for one.
    pub(super) fn open_file(&self, also: OFlag) -> Result<(File, Metadata), ToolFault> {
        let fd = self.open(OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | also, "read it")?;
        let file = File::from(fd);
        let about = file.metadata().map_err(|cause| ToolFault::from_io(&self.shown, "read it", cause))?;
        if about.is_dir() {
            return Err(ToolFault::Folder { path: self.shown.clone() });
        }
        if !about.is_file() {
            return Err(ToolFault::Special { path: self.shown.clone(), what: special(about.file_type()) });
        }
        Ok((file, about))
    }

    /// The file's metadata, links followed.
    pub(super) fn about(&self) -> Result<Metadata, ToolFault> {
        let fd = self.open(OFlag::O_PATH, "look at it")?;
        File::from(fd).metadata().map_err(|cause| ToolFault::from_io(&self.shown, "look at it", cause))
    }

    /// The path by which a program may name it.
    pub(super) fn full(&self) -> PathBuf {
        self.root.names.first().map(|name| name.join(&self.rel)).unwrap_or_default()
    }
}

/// The name of something that is neither a file nor a folder.
pub(super) fn special(kind: FileType) -> &'static str {
    if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else {
        "a device"
    }
}
