//! The way from a directory that somebody handed over to a mount of it. A file system may answer late or never, so a child makes
//! every call on the directory.

use crate::aside::aside;
use crate::child::Child;
use crate::jail::Ids;
use crate::passing;
use crate::sys;
use nix::sched::{CloneFlags, setns};
use nix::sys::stat::fstat;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes of the child's word: an errno or 0, then uid and gid of the directory's owner.
const WORD: usize = 12;
/// Where the child has its descriptors.
const DIRECTORY: i32 = 0;
const ANSWER: i32 = 1;
const THERE: i32 = 2;

/// The ways to a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A detached copy of the mount, its submounts left out.
    Copy,
    /// The same, of the directory opened again by its path: in mode user, agentd has a mount namespace of its own, and what was
    /// opened outside it cannot be mounted.
    Reopen,
    /// The directory itself, where nothing is mounted.
    Bare,
}

/// Begins with a directory: a child, and where it answers. `there` is the mount namespace that the directory was opened in, where it
/// is not this process's own.
///
/// # Errors
/// No child can be made.
pub fn copy_aside(directory: &OwnedFd, there: Option<&OwnedFd>, way: Way) -> io::Result<(Child, OwnedFd)> {
    let (ours, theirs) = passing::frame_pair()?;
    let stay = [directory, &theirs, there.unwrap_or(&theirs)];
    let child = aside(&stay, || answer(there.is_some(), way))?;
    Ok((child, ours))
}

/// The child's answer: the mount, and whose the directory is. To be asked once it is readable.
///
/// # Errors
/// What the kernel said to the child; `ESTALE` if the path leads elsewhere now.
pub fn take_copy(answer: BorrowedFd<'_>) -> io::Result<(OwnedFd, Ids)> {
    let (word, handed) = passing::receive::<WORD>(answer)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let [e0, e1, e2, e3, u0, u1, u2, u3, g0, g1, g2, g3] = word;
    match i32::from_le_bytes([e0, e1, e2, e3]) {
        0 => {
            let ids =
                Ids { uid: u32::from_le_bytes([u0, u1, u2, u3]), gid: u32::from_le_bytes([g0, g1, g2, g3]) };
            let mount = handed.into_iter().next().ok_or(io::ErrorKind::NotFound)?;
            Ok((mount, ids))
        }
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// A detached copy of a mount of this process's own mount namespace, for directories of its own.
///
/// # Errors
/// What the kernel says.
pub fn copied(directory: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    sys::open_tree(directory)
}

/// The child's part, with its descriptors in place. It looks up no path in the namespace that it was given: whoever gave it decides
/// what is mounted there.
fn answer(is_elsewhere: bool, way: Way) {
    // SAFETY: `aside` has put open descriptors at these numbers, which stay open until this process ends.
    let [directory, to, there] =
        [DIRECTORY, ANSWER, THERE].map(|number| unsafe { BorrowedFd::borrow_raw(number) });
    let made = made(directory, is_elsewhere.then_some(there), way);
    let (errno, uid, gid) = match &made {
        Ok((_, ids)) => (0, ids.uid, ids.gid),
        Err(error) => (error.raw_os_error().unwrap_or(libc::EIO), 0, 0),
    };
    let mut word = [0; WORD];
    let parts = errno.to_le_bytes().into_iter().chain(uid.to_le_bytes()).chain(gid.to_le_bytes());
    for (slot, byte) in word.iter_mut().zip(parts) {
        *slot = byte;
    }
    let mount: Vec<BorrowedFd<'_>> = made.iter().map(|(mount, _)| mount.as_fd()).collect();
    let _ = passing::send(to, &word, &mount);
}

fn made(directory: BorrowedFd<'_>, there: Option<BorrowedFd<'_>>, way: Way) -> io::Result<(OwnedFd, Ids)> {
    if let Some(there) = there {
        setns(there, CloneFlags::CLONE_NEWNS)?;
    }
    let about = fstat(directory)?;
    let mount = match way {
        Way::Copy => sys::open_tree(directory)?,
        Way::Reopen => sys::open_tree(reopened(directory)?.as_fd())?,
        Way::Bare => directory.try_clone_to_owned()?,
    };
    Ok((mount, Ids { uid: about.st_uid, gid: about.st_gid }))
}

/// The same directory by its path; it must be the same.
fn reopened(directory: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    use nix::fcntl::{OFlag, open};
    use nix::sys::stat::Mode;
    let path = std::fs::read_link(format!("/proc/self/fd/{DIRECTORY}"))?;
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let again = open(&path, flags, Mode::empty())?;
    let (one, other) = (fstat(directory)?, fstat(again.as_fd())?);
    if (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino) {
        Ok(again)
    } else {
        Err(io::Error::from_raw_os_error(libc::ESTALE))
    }
}
