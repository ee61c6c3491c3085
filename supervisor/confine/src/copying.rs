//! Mounts a directory that a client has sent. A file system may answer late or never, so a child makes every call on the
//! directory.

use crate::aside::aside;
use crate::child::Child;
use crate::jail::Ids;
use crate::passing;
use crate::sys;
use nix::sched::{CloneFlags, setns};
use nix::sys::stat::fstat;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes of the child's answer: an errno or 0, then uid and gid of the directory's owner.
const ANSWER_BYTES: usize = 12;
/// The child's descriptors.
const DIRECTORY: i32 = 0;
const ANSWER: i32 = 1;
const NAMESPACE: i32 = 2;

/// The ways to a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A detached copy of the mount, its submounts left out.
    Copy,
    /// The same, of the directory opened again by its path: in mode user agentd has a mount namespace of its own, and a directory
    /// that was opened outside it cannot be mounted.
    Reopen,
    /// The directory itself, without a mount.
    Bare,
}

/// Starts a child that mounts the directory, and returns the socket of its answer. `namespace` is the mount namespace that the
/// directory was opened in, if that is not this process's own.
///
/// # Errors
/// No child can be made.
pub fn copy_aside(
    directory: &OwnedFd,
    namespace: Option<&OwnedFd>,
    way: Way,
) -> io::Result<(Child, OwnedFd)> {
    let (ours, theirs) = passing::frame_pair()?;
    let stay = [directory, &theirs, namespace.unwrap_or(&theirs)];
    let child = aside(&stay, || answer(namespace.is_some(), way))?;
    Ok((child, ours))
}

/// Reads the child's answer, once it is readable: the mount, and the owner of the directory.
///
/// # Errors
/// The errno that the child got; `ESTALE` if the path leads elsewhere now.
pub fn take_copy(answer: BorrowedFd<'_>) -> io::Result<(OwnedFd, Ids)> {
    let (bytes, descriptors) =
        passing::receive::<ANSWER_BYTES>(answer)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let [e0, e1, e2, e3, u0, u1, u2, u3, g0, g1, g2, g3] = bytes;
    match i32::from_le_bytes([e0, e1, e2, e3]) {
        0 => {
            let ids =
                Ids { uid: u32::from_le_bytes([u0, u1, u2, u3]), gid: u32::from_le_bytes([g0, g1, g2, g3]) };
            let mount = descriptors.into_iter().next().ok_or(io::ErrorKind::NotFound)?;
            Ok((mount, ids))
        }
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// A detached copy of a mount of this process's own mount namespace, for directories of its own.
///
/// # Errors
/// The kernel's error.
pub fn copied(directory: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    sys::open_tree(directory)
}

/// The child's code, with its descriptors in place. It looks up no path in the client's namespace: the client decides what is
/// mounted in it.
fn answer(is_elsewhere: bool, way: Way) {
    // SAFETY: `aside` has put open descriptors at these numbers, which stay open until this process ends.
    let [directory, to, namespace] =
        [DIRECTORY, ANSWER, NAMESPACE].map(|number| unsafe { BorrowedFd::borrow_raw(number) });
    let made = made(directory, is_elsewhere.then_some(namespace), way);
    let (errno, uid, gid) = match &made {
        Ok((_, ids)) => (0, ids.uid, ids.gid),
        Err(error) => (error.raw_os_error().unwrap_or(libc::EIO), 0, 0),
    };
    let mut bytes = [0; ANSWER_BYTES];
    let parts = errno.to_le_bytes().into_iter().chain(uid.to_le_bytes()).chain(gid.to_le_bytes());
    for (slot, byte) in bytes.iter_mut().zip(parts) {
        *slot = byte;
    }
    let mount: Vec<BorrowedFd<'_>> = made.iter().map(|(mount, _)| mount.as_fd()).collect();
    let _ = passing::send(to, &bytes, &mount);
}

fn made(
    directory: BorrowedFd<'_>,
    namespace: Option<BorrowedFd<'_>>,
    way: Way,
) -> io::Result<(OwnedFd, Ids)> {
    if let Some(namespace) = namespace {
        setns(namespace, CloneFlags::CLONE_NEWNS)?;
    }
    let about = fstat(directory)?;
    let mount = match way {
        Way::Copy => sys::open_tree(directory)?,
        Way::Reopen => sys::open_tree(reopened(directory)?.as_fd())?,
        Way::Bare => directory.try_clone_to_owned()?,
    };
    Ok((mount, Ids { uid: about.st_uid, gid: about.st_gid }))
}

/// Opens the same directory by its path; it must still be the same.
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
