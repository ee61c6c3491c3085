//! The repairs of `--fix`: the mode and owner of a folder of the host, a missing folder, the mode of a key, a socket
//! with no listener. No repair follows a link, and each returns a sentence that says what it did.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

/// The right state of a folder.
pub(super) struct Wanted {
    pub(super) path: PathBuf,
    pub(super) mode: u32,
    /// The uid, and the gid if known; `None` if the right owner is not known.
    pub(super) owner: Option<(u32, Option<u32>)>,
}

impl Wanted {
    /// The fault of the folder, if it has one.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub(super) fn fault(&self) -> io::Result<Option<String>> {
        let about = match self.path.symlink_metadata() {
            Ok(about) => about,
            // The next start makes a missing folder: only a state directory in use lacks one.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if !about.is_dir() {
            return Ok(Some("it is no folder".to_owned()));
        }
        let mode = about.mode() & 0o7777;
        if mode != self.mode {
            return Ok(Some(format!("mode {mode:04o} instead of {:04o}", self.mode)));
        }
        let Some((uid, gid)) = self.owner else { return Ok(None) };
        if about.uid() != uid || gid.is_some_and(|gid| gid != about.gid()) {
            let wanted = gid.map_or(uid.to_string(), |gid| format!("{uid}:{gid}"));
            return Ok(Some(format!("of {}:{} instead of {wanted}", about.uid(), about.gid())));
        }
        Ok(None)
    }

    /// Repairs the folder, and returns a sentence about it.
    ///
    /// # Errors
    /// It is not a folder, or the kernel's error.
    pub(super) fn repair(&self) -> io::Result<String> {
        match self.path.symlink_metadata() {
            Ok(about) if !about.is_dir() => return Err(io::ErrorKind::NotADirectory.into()),
            Ok(_) => {}
            Err(_) => DirBuilder::new().mode(self.mode).create(&self.path)?,
        }
        if let Some((uid, gid)) = self.owner {
            lchown(&self.path, Some(uid), gid)?;
        }
        fs::set_permissions(&self.path, Permissions::from_mode(self.mode))?;
        let owner = self.owner.map_or(String::new(), |(uid, _)| format!(" and uid {uid}"));
        Ok(format!("{} has mode {:04o}{owner}", self.path.display(), self.mode))
    }
}

/// Removes all rights but the owner's.
///
/// # Errors
/// The kernel's error.
pub(super) fn only_owner(path: &Path) -> io::Result<String> {
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(format!("{} has mode 0600", path.display()))
}

/// Removes the right to write of everybody but the owner.
///
/// # Errors
/// The kernel's error.
pub(super) fn not_writable_by_others(path: &Path) -> io::Result<String> {
    let mode = path.metadata()?.mode() & 0o7755;
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    Ok(format!("{} has mode {mode:04o}", path.display()))
}

/// Removes a socket with no listener.
///
/// # Errors
/// The kernel's error.
pub(super) fn stale(socket: &Path) -> io::Result<String> {
    fs::remove_file(socket)?;
    Ok(format!("{} is gone", socket.display()))
}
