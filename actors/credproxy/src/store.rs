//! Files of the own folder: read whole with a bound, replaced whole and durably. Nothing else opens a file here.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Only its owner.
pub(crate) const PRIVATE: u32 = 0o600;
/// Everybody may read it.
pub(crate) const PUBLIC: u32 = 0o644;

/// The own folder.
pub(crate) struct Store {
    path: PathBuf,
    folder: File,
}

/// The content of a file.
pub(crate) struct Content {
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
    /// Its permission bits.
    pub(crate) mode: u32,
}

impl Store {
    /// Opens the folder, and lets others pass through it to the one public file: all else in it is 0600.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let folder = File::open(path)?;
        folder.set_permissions(fs::Permissions::from_mode(0o711))?;
        Ok(Self { path: path.to_owned(), folder })
    }

    /// A file whole, at most `bound` bytes of it; none if there is no such file.
    pub(crate) fn read(&self, name: &str, bound: u64) -> io::Result<Option<Content>> {
        let file = match File::open(self.path.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let mode = file.metadata()?.permissions().mode() & 0o777;
        let mut bytes = Vec::new();
        file.take(bound).read_to_end(&mut bytes)?;
        Ok(Some(Content { bytes, mode }))
    }

    /// Puts a file in the place of the one that was there. After a crash there is the old one or the new one,
    /// whole; when this returns it is the new one.
    pub(crate) fn replace(&self, name: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
        let fresh = self.path.join(format!("{name}.new"));
        // A crash may have left one, whose mode and content mean nothing.
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&fresh)?;
        // The umask may have taken bits away.
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&fresh, self.path.join(name))?;
        self.folder.sync_all()
    }

    /// Gives a file another name, in the place of one that has it.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))?;
        self.folder.sync_all()
    }

    /// Removes a file, if it is there.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.and_then(|()| self.folder.sync_all()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_has_the_new_bytes_the_mode_and_no_leftover_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert!(store.read("f", 10).unwrap().is_none());
        fs::write(folder.path().join("f.new"), "half of a").unwrap();
        store.replace("f", PRIVATE, b"one").unwrap();
        store.replace("f", PRIVATE, b"two").unwrap();
        let content = store.read("f", 10).unwrap().unwrap();
        assert_eq!((content.bytes.as_slice(), content.mode), (&b"two"[..], PRIVATE));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        store.replace("p", PUBLIC, b"x").unwrap();
        assert_eq!(store.read("p", 10).unwrap().unwrap().mode, PUBLIC);
    }

    #[test]
    fn a_file_is_replaced_and_removing_a_missing_one_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store.replace("old", PRIVATE, b"one").unwrap();
        store.replace("new", PRIVATE, b"two").unwrap();
        store.rename("new", "old").unwrap();
        assert_eq!(store.read("old", 10).unwrap().unwrap().bytes, b"two");
        store.remove("old").unwrap();
        store.remove("old").unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(store.rename("new", "old").is_err());
    }

    #[test]
    fn no_more_than_the_bound_is_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("f"), [1; 100]).unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.read("f", 10).unwrap().unwrap().bytes.len(), 10);
    }
}
