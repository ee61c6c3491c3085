//! The disk that the host's state lies on: as root one of its own, which can be filled and held up; else the
//! machine's, which is left alone.

use nix::fcntl::{FallocateFlags, fallocate};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::statvfs;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Bytes of a disk of its own.
const SIZE: u64 = 768 * 1024 * 1024;
/// Bytes of the smallest write that fills the disk.
const GRAIN: u64 = 4096;

/// Where the state lies.
#[derive(Debug)]
pub(crate) struct Disk {
    /// The folder for the state directory.
    pub(crate) at: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// ext4 in a file: it can be filled and frozen.
    Image,
    /// tmpfs: it can be filled.
    Memory,
    /// The machine's own.
    Plain,
}

impl Disk {
    /// The best that this user can have, beneath `dir`.
    pub(crate) fn make(dir: &Path) -> io::Result<Self> {
        let at = dir.join("disk");
        std::fs::create_dir(&at)?;
        let kind = if !tests::is_root() {
            Kind::Plain
        } else if image(&dir.join("image"), &at) {
            Kind::Image
        } else {
            let options = format!("size={SIZE},mode=755");
            mount(Some("tmpfs"), &at, Some("tmpfs"), MsFlags::empty(), Some(options.as_str()))?;
            Kind::Memory
        };
        Ok(Self { at, kind })
    }

    /// It can be filled.
    pub(crate) fn fills(&self) -> bool {
        self.kind != Kind::Plain
    }

    /// Its writes can be held up.
    pub(crate) fn stalls(&self) -> bool {
        self.kind == Kind::Image
    }

    /// Leaves no room on it.
    pub(crate) fn fill(&self) -> io::Result<()> {
        let file = File::create(self.filler())?;
        let about = statvfs(&self.at)?;
        let (mut grain, mut from) = (about.blocks_available().saturating_mul(about.fragment_size()), 0_u64);
        while grain >= GRAIN {
            let (Ok(offset), Ok(length)) = (i64::try_from(from), i64::try_from(grain)) else { break };
            match fallocate(&file, FallocateFlags::empty(), offset, length) {
                Ok(()) => from += grain,
                Err(_) => grain /= 2,
            }
        }
        Ok(())
    }

    /// Gives the room back.
    pub(crate) fn empty(&self) -> io::Result<()> {
        match std::fs::remove_file(self.filler()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Begins to hold up every write for so long. A process of its own ends it, so that it ends whatever becomes of
    /// this one.
    pub(crate) fn stall(&self, time: Duration) -> io::Result<Child> {
        let at = self.at.display();
        let script = format!("fsfreeze -f {at} && sleep {} ; fsfreeze -u {at}", time.as_secs_f64());
        Command::new("sh").arg("-c").arg(script).stdin(Stdio::null()).stderr(Stdio::null()).spawn()
    }

    fn filler(&self) -> PathBuf {
        self.at.join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.kind != Kind::Plain {
            let _ = umount2(&self.at, MntFlags::MNT_DETACH);
        }
    }
}

/// Mounts ext4 of a file, if this machine can.
fn image(file: &Path, at: &Path) -> bool {
    let run = |words: &[&str], paths: &[&Path]| {
        let mut command = Command::new(words.first().copied().unwrap_or_default());
        command.args(words.get(1..).unwrap_or_default()).args(paths);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let made = File::create(file).and_then(|it| it.set_len(SIZE)).is_ok();
    made && run(&["mkfs.ext4", "-q", "-m", "0"], &[file])
        && run(&["fsfreeze", "--version"], &[])
        && run(&["mount", "-o", "loop"], &[file, at])
}
