//! Puts a whole file in place in one step: a temporary file in the same folder, made durable, then renamed. Works on
//! descriptors of folders beneath the workspace, so nothing is written elsewhere whatever is renamed meanwhile; must
//! never open the target itself for writing, which a symbolic link or a FIFO in its place would turn against us.

use super::beneath::{Links, beneath};
use super::fault::ToolFault;
use super::path::{Place, special};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{Mode, fchmod, mkdirat};
use nix::unistd::{UnlinkatFlags, linkat, unlinkat};
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A name in an open folder of the workspace.
pub(super) struct Slot<'a> {
    place: &'a Place<'a>,
    folder: OwnedFd,
    name: OsString,
}

impl<'a> Slot<'a> {
    /// The folder of a place, made if asked, and the name in it.
    pub(super) fn of(place: &'a Place<'a>, create_dirs: bool) -> Result<Self, ToolFault> {
        if !place.writable {
            return Err(ToolFault::ReadOnly { path: place.shown.clone() });
        }
        let Some(name) = place.rel.file_name() else {
            return Err(ToolFault::Folder { path: place.shown.clone() });
        };
        let parent = place.rel.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let folder = match beneath(&place.root.dir, parent, FOLDER, Links::Followed) {
            Err(Errno::ENOENT) if create_dirs => make_folders(&place.root.dir, parent),
            other => other,
        };
        let folder = folder.map_err(|errno| place.fault("open its folder", errno))?;
        Ok(Self { place, folder, name: name.to_owned() })
    }

    /// The file in the slot: nothing, or a regular file. Anything else is refused.
    pub(super) fn occupant(&self) -> Result<Option<Metadata>, ToolFault> {
        let path = || self.place.shown.clone();
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW;
        let fd = match beneath(&self.folder, Path::new(&self.name), flags, Links::Followed) {
            Ok(fd) => fd,
            Err(Errno::ENOENT) => return Ok(None),
            Err(errno) => return Err(self.place.fault("look at it", errno)),
        };
        let about = File::from(fd).metadata();
        let about = about.map_err(|cause| ToolFault::from_io(&self.place.shown, "look at it", cause))?;
        if about.is_file() {
            Ok(Some(about))
        } else if about.is_symlink() {
            Err(ToolFault::Link { path: path() })
        } else if about.is_dir() {
            Err(ToolFault::Folder { path: path() })
        } else {
            Err(ToolFault::Special { path: path(), what: special(about.file_type()) })
        }
    }

    /// Puts `content` in the slot, with the permissions of the file that was there. Without `overwrite` the kernel
    /// itself refuses a slot that is taken.
    pub(super) fn put(
        &self,
        content: &[u8],
        old: Option<&Metadata>,
        overwrite: bool,
    ) -> Result<(), ToolFault> {
        let fault = |errno| self.place.fault("write it", errno);
        let mut temporary = Temporary::new(&self.folder).map_err(fault)?;
        let written = temporary.file.write_all(content).and_then(|()| temporary.file.sync_data());
        written.map_err(|cause| ToolFault::from_io(&self.place.shown, "write it", cause))?;
        if let Some(old) = old {
            // Never the set-uid, set-gid and sticky bits: new content has not earned them.
            let mode = Mode::from_bits_truncate(old.permissions().mode() & 0o777);
            fchmod(&temporary.file, mode).map_err(fault)?;
        }
        if overwrite {
            renameat(&self.folder, temporary.name.as_str(), &self.folder, self.name.as_os_str())
                .map_err(fault)?;
            temporary.placed = true;
            return Ok(());
        }
        let (from, to) = (temporary.name.as_str(), self.name.as_os_str());
        linkat(&self.folder, from, &self.folder, to, AtFlags::empty()).map_err(fault)
    }
}

const FOLDER: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY);

/// Makes the missing folders of a path and opens the last. Each is opened from the root again, so that `..` and links
/// have the kernel's meaning.
fn make_folders(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let mut sofar = PathBuf::new();
    let mut current = beneath(root, Path::new("."), FOLDER, Links::Followed)?;
    for part in path.components() {
        sofar.push(part);
        let opened = match (beneath(root, &sofar, FOLDER, Links::Followed), part) {
            (Err(Errno::ENOENT), Component::Normal(name)) => {
                match mkdirat(&current, name, Mode::from_bits_truncate(0o777)) {
                    // Another process made it: good. A link that leads nowhere: opening it reports that.
                    Ok(()) | Err(Errno::EEXIST) => {}
                    Err(errno) => return Err(errno),
                }
                beneath(root, &sofar, FOLDER, Links::Followed)
            }
            (opened, _) => opened,
        };
        current = opened?;
    }
    Ok(current)
}

/// A file under a name of its own, removed unless it was put in place.
struct Temporary<'a> {
    folder: &'a OwnedFd,
    name: String,
    file: File,
    placed: bool,
}

impl<'a> Temporary<'a> {
    fn new(folder: &'a OwnedFd) -> Result<Self, Errno> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".cordon-{}-{count}-{now:x}.tmp", std::process::id());
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let fd = openat(folder, name.as_str(), flags, Mode::from_bits_truncate(0o666))?;
        Ok(Self { folder, name, file: File::from(fd), placed: false })
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.placed {
            // Nothing can be done about a failure; the name says where it came from.
            let _ = unlinkat(self.folder, self.name.as_str(), UnlinkatFlags::NoRemoveDir);
        }
    }
}
