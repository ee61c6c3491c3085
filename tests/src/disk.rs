//! A small disk of a test's own, mounted by root: a host's state lies on it, and the test fills it.

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::statvfs;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The disk; it is unmounted with the value.
pub struct Disk(TempDir);

impl Disk {
    /// A disk of this size, with these further options of tmpfs(5).
    ///
    /// # Panics
    /// It cannot be mounted, as by a user who is not root.
    #[must_use]
    pub fn of(options: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = format!("size={options},mode=755");
        mount(Some("tmpfs"), folder.path(), Some("tmpfs"), MsFlags::empty(), Some(options.as_str()))
            .expect("the disk is mounted");
        Self(folder)
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The state directory of a host on it.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// Bytes that are free.
    ///
    /// # Panics
    /// The kernel does not say.
    #[must_use]
    pub fn free(&self) -> u64 {
        free_bytes(self.path())
    }

    /// Inodes that are free.
    ///
    /// # Panics
    /// The kernel does not say.
    #[must_use]
    pub fn free_inodes(&self) -> u64 {
        statvfs(self.path()).expect("the disk").files_available()
    }

    /// Fills it until no more than so many bytes are free.
    ///
    /// # Panics
    /// The file that fills it cannot be opened.
    pub fn fill(&self, leave: u64) {
        let mut file = fs::File::options().create(true).append(true).open(self.filler()).expect("a file");
        while self.free() > leave && file.write_all(&[0; 4096]).is_ok() {}
    }

    /// Takes away what filled it.
    ///
    /// # Panics
    /// Nothing did.
    pub fn empty(&self) {
        fs::remove_file(self.filler()).expect("the file that fills it");
    }

    /// Makes empty files until no inode is free.
    ///
    /// # Panics
    /// Their folder cannot be made.
    pub fn fill_inodes(&self) {
        let folder = self.path().join("files");
        fs::create_dir_all(&folder).expect("a folder");
        for number in 0.. {
            if fs::write(folder.join(format!("{number}")), "").is_err() {
                return;
            }
        }
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = umount2(self.path(), MntFlags::MNT_DETACH);
    }
}

/// Bytes that are free where this folder lies.
///
/// # Panics
/// The kernel does not say.
#[must_use]
pub fn free_bytes(folder: &Path) -> u64 {
    let about = statvfs(folder).expect("the disk");
    about.blocks_available().saturating_mul(about.fragment_size())
}
