//! What `--fix` may do: the mode and owner of a folder of the host, a folder that is missing, the mode of a key, a socket
//! that nobody listens at. Nothing is done through a link, and every act says in words what it was.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

/// A folder as it should be.
pub(super) struct Wanted {
    pub(super) path: PathBuf,
    pub(super) mode: u32,
    /// Uid, and gid where it is known; none where it is not known whose it should be.
    pub(super) owner: Option<(u32, Option<u32>)>,
}

impl Wanted {
    /// What is wrong with it, if anything.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub(super) fn fault(&self) -> io::Result<Option<String>> {
        let about = match self.path.symlink_metadata() {
            Ok(about) => about,
            // A folder that is not there is made by the next start: only a state directory that is used misses one.
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

    /// Makes it so, and says what that was.
    ///
    /// # Errors
    /// It is something else than a folder, or the kernel's own reason.
    pub(super) fn mend(&self) -> io::Result<String> {
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

/// Takes everybody's rights but the owner's away.
///
/// # Errors
/// What the kernel says.
pub(super) fn only_owner(path: &Path) -> io::Result<String> {
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(format!("{} has mode 0600", path.display()))
}

/// Takes everybody's right to write away but the owner's.
///
/// # Errors
/// What the kernel says.
pub(super) fn not_writable_by_others(path: &Path) -> io::Result<String> {
    let mode = path.metadata()?.mode() & 0o7755;
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    Ok(format!("{} has mode {mode:04o}", path.display()))
}

/// Takes a socket away that nobody listens at.
///
/// # Errors
/// What the kernel says.
pub(super) fn stale(socket: &Path) -> io::Result<String> {
    fs::remove_file(socket)?;
    Ok(format!("{} is gone", socket.display()))
}
