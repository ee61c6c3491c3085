//! Explains why a process could not open its own files. It looks at the names, owners and modes in the process's own
//! folder once that has failed, and at the room on its disk, before the seal, and opens no file: a file that another
//! user's program left there is found, and named.

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, Uid, faccessat, geteuid};
use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes of room below which a full disk is the explanation: a start writes more.
const FULL: u64 = 1 << 20;
/// The most names that are looked at.
const MOST: usize = 16_384;

/// A path in a process's folder that the process may not use.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} belongs to uid {owner}, and uid {me}, which this process has, may not {act} it; `agentctl doctor` says whose it is to be",
    .path.display()
)]
pub(crate) struct NotOwn {
    path: PathBuf,
    owner: Uid,
    me: Uid,
    act: &'static str,
}

/// The first path below this folder that this process may not read, or may not write since it is another user's. For
/// deeper folders the second holds for the folders alone: the owner's own policies and scripts lie in some.
pub(crate) fn not_own(folder: &Path) -> Option<NotOwn> {
    let (me, mut looked_at) = (geteuid(), 0);
    let mut next = VecDeque::from([(folder.to_owned(), 0)]);
    while let Some((path, deep)) = next.pop_front() {
        let Ok(about) = path.symlink_metadata() else { continue };
        if about.is_symlink() || looked_at >= MOST {
            continue;
        }
        looked_at += 1;
        let (owner, into) = (Uid::from_raw(about.uid()), about.is_dir());
        let enter = if into { AccessFlags::X_OK } else { AccessFlags::empty() };
        let refused = |access| faccessat(AT_FDCWD, &path, access, AtFlags::AT_EACCESS).is_err();
        let act = match () {
            () if refused(AccessFlags::R_OK | enter) => "read",
            () if owner != me && (into || deep == 1) && refused(AccessFlags::W_OK) => "write",
            () => {
                let below = into.then(|| fs::read_dir(&path).ok()).flatten();
                next.extend(below.into_iter().flatten().flatten().map(|entry| (entry.path(), deep + 1)));
                continue;
            }
        };
        let path = path.strip_prefix(folder).map(Path::to_owned).unwrap_or(path);
        return Some(NotOwn { path, owner, me, act });
    }
    None
}

/// Returns true if the disk of this folder is full, or nearly so.
pub(crate) fn is_full(folder: &Path) -> bool {
    let about = nix::sys::statvfs::statvfs(folder);
    about.is_ok_and(|it| it.blocks_available().saturating_mul(it.fragment_size()) < FULL)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P2-22.
    #[test]
    fn nothing_of_a_folder_that_is_a_process_s_own_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        fs::write(folder.path().join("a/b/c"), "").unwrap();
        std::os::unix::fs::symlink("/nowhere", folder.path().join("a/link")).unwrap();
        assert!(not_own(folder.path()).is_none());
    }
}
