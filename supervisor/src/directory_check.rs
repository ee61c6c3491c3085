//! The check of a directory that a client attaches. A file system may answer late or never, to every call and even to a close, so
//! a child of agentd takes the descriptors from the client's connection, makes every call on them, and is ended after two
//! seconds. agentd gets only the directory and a mount namespace, and closing either calls no file system.
//!
//! The child has the connection as descriptor 0 and a socket to agentd as descriptor 1, over which it sends one [`Finding`].

use crate::pending_answer::{AnswerState, PendingAnswer};
use confine::{Child, passing};
use manifest::command::{Answer, HELLO, attached_id};
use nix::fcntl::{FcntlArg, OFlag, fcntl, openat};
use nix::sys::stat::{Mode, fstat, major, minor};
use nix::sys::statfs::fstatfs;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes of a finding: answer, device, inode and owner.
const FINDING: usize = 17;
/// Parent directories that are looked at.
const DEEP: usize = 4096;
/// File systems served by another program or machine, by their magic numbers (`statfs(2)`, linux/magic.h): FUSE, NFS,
/// SMB, CIFS, SMB2, 9P, AFS (two), Ceph, Coda, NCP, OCFS2, GFS2.
const REMOTE: [u64; 13] = [
    0x6573_5546, 0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x5346_414f, 0x6b41_4653,
    0x00c3_6400, 0x7375_7245, 0x564c, 0x7461_636f, 0x0116_1970,
];

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) answer: Answer,
    device: u32,
    inode: u64,
    pub(crate) owner: u32,
}

impl Finding {
    const fn refused(answer: Answer) -> Self {
        Self { answer, device: 0, inode: 0, owner: 0 }
    }

    fn encode(self) -> [u8; FINDING] {
        let mut bytes = [0; FINDING];
        let answer = u8::try_from(self.answer as u64).unwrap_or(u8::MAX);
        let parts = [answer]
            .into_iter()
            .chain(self.device.to_le_bytes())
            .chain(self.inode.to_le_bytes())
            .chain(self.owner.to_le_bytes());
        for (slot, byte) in bytes.iter_mut().zip(parts) {
            *slot = byte;
        }
        bytes
    }

    fn decode(bytes: &[u8; FINDING]) -> Option<Self> {
        let (answer, rest) = bytes.split_first()?;
        let (device, rest) = rest.split_first_chunk()?;
        let (inode, rest) = rest.split_first_chunk()?;
        let owner = rest.first_chunk()?;
        Some(Self {
            answer: Answer::from_number((*answer).into())?,
            device: u32::from_le_bytes(*device),
            inode: u64::from_le_bytes(*inode),
            owner: u32::from_le_bytes(*owner),
        })
    }

    /// The id of the workspace: the same directory of the same owner is the same workspace, and another owner's never is.
    pub(crate) fn id(self) -> [u8; 16] {
        attached_id(self.device, self.owner, self.inode)
    }
}

/// A check under way.
#[derive(Debug)]
pub(crate) struct Check {
    /// The child's answer.
    pub(crate) answer: PendingAnswer,
    /// The uid of the client.
    pub(crate) uid: u32,
    /// The number of control's request.
    pub(crate) token: u64,
}

impl Check {
    /// The finding with its descriptors, once there is one or the time is over; `None` until then.
    pub(crate) fn finding(&self) -> Option<(Finding, Vec<OwnedFd>)> {
        let stalled = || (Finding::refused(Answer::Stalled), Vec::new());
        match self.answer.state() {
            AnswerState::Waiting => return None,
            AnswerState::Late => return Some(stalled()),
            AnswerState::Ready => {}
        }
        let received = passing::receive::<FINDING>(self.answer.socket()).ok().flatten();
        let finding = received.and_then(|(bytes, descriptors)| Some((Finding::decode(&bytes)?, descriptors)));
        Some(finding.unwrap_or_else(stalled))
    }
}

/// Starts the child that checks the directory which comes over this connection, and returns the socket of its answer.
pub(crate) fn start(connection: &OwnedFd, state: &Path) -> io::Result<(Child, OwnedFd)> {
    let (ours, theirs) = passing::frame_pair()?;
    let child = confine::aside(&[connection, &theirs], || child(state))?;
    Ok((child, ours))
}

/// The child's part, with its descriptors in place.
fn child(state: &Path) {
    let received = passing::receive::<HELLO>(io::stdin().as_fd());
    let received = received.ok().flatten().map(|(_, descriptors)| descriptors).unwrap_or_default();
    let mut received = received.iter().map(AsFd::as_fd);
    let (directory, namespace) = (received.next(), received.next());
    let finding =
        directory.map_or(Finding::refused(Answer::NotADirectory), |it| checked(it, namespace, state));
    let passed: Vec<BorrowedFd<'_>> =
        directory.into_iter().chain(namespace).filter(|_| finding.answer == Answer::Ok).collect();
    // Before anything is closed, which may block for ever.
    let _ = passing::send(io::stdout().as_fd(), &finding.encode(), &passed);
}

/// Checks if a directory may be a workspace. `namespace` is the mount namespace that it was opened in, if the client sent one.
fn checked(directory: BorrowedFd<'_>, namespace: Option<BorrowedFd<'_>>, state: &Path) -> Finding {
    // O_DIRECTORY makes it a directory whatever its file system says, and only a namespace has a name of this form.
    let is_directory = fcntl(directory, FcntlArg::F_GETFL)
        .is_ok_and(|flags| OFlag::from_bits_truncate(flags).contains(OFlag::O_DIRECTORY));
    let is_namespace = |namespace: BorrowedFd<'_>| {
        let name = std::fs::read_link(format!("/proc/self/fd/{}", namespace.as_raw_fd()));
        name.is_ok_and(|name| name.as_os_str().as_bytes().starts_with(b"mnt:["))
    };
    if !is_directory || !namespace.is_none_or(is_namespace) {
        return Finding::refused(Answer::NotADirectory);
    }
    if magic(directory).is_none_or(|magic| REMOTE.contains(&magic)) {
        return Finding::refused(Answer::Remote);
    }
    let Ok(about) = fstat(directory) else { return Finding::refused(Answer::NotADirectory) };
    if is_hosts(directory, state) {
        return Finding::refused(Answer::Hosts);
    }
    // The kernel's own numbers of a device have 12 and 20 bits.
    let device = (major(about.st_dev) << 20 | minor(about.st_dev) & 0xf_ffff) & u64::from(u32::MAX);
    let device = u32::try_from(device).unwrap_or_default();
    Finding { answer: Answer::Ok, device, inode: about.st_ino, owner: about.st_uid }
}

fn magic(file: BorrowedFd<'_>) -> Option<u64> {
    let about = fstatfs(file).ok()?;
    // The kernel's numbers have 32 bits; some C libraries give them a sign.
    Some(u64::try_from(about.filesystem_type().0).unwrap_or_default() & 0xffff_ffff)
}

/// Returns true if a directory is the state directory, lies in it, or contains it.
fn is_hosts(directory: BorrowedFd<'_>, state: &Path) -> bool {
    let Ok(own) = File::open(state) else { return true };
    let (own, theirs) = (upward(own.as_fd()), upward(directory));
    let within = own.first().is_some_and(|state| theirs.contains(state));
    within || theirs.first().is_none_or(|directory| own.contains(directory))
}

/// The device and inode of a directory and of all its parents.
fn upward(directory: BorrowedFd<'_>) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut next = directory.try_clone_to_owned().ok();
    while let Some(here) = next.filter(|_| found.len() < DEEP) {
        let Ok(about) = fstat(here.as_fd()) else { break };
        let this = (about.st_dev, about.st_ino);
        // The root is its own parent.
        if found.last() == Some(&this) {
            break;
        }
        found.push(this);
        let up = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        next = openat(here.as_fd(), "..", up, Mode::empty()).ok();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::os::unix::fs::OpenOptionsExt;

    // Holds P8-31.
    #[test]
    fn only_a_local_directory_without_the_hosts_state_is_found_fit() {
        let folder = tempfile::tempdir().unwrap();
        let [work, state] = ["work", "state"].map(|name| folder.path().join(name));
        std::fs::create_dir_all(&work).unwrap();
        std::fs::create_dir_all(state.join("audit")).unwrap();
        let open = |path: &Path| {
            OwnedFd::from(
                OpenOptions::new().read(true).custom_flags(nix::libc::O_DIRECTORY).open(path).unwrap(),
            )
        };
        let look = |path: &Path| checked(open(path).as_fd(), None, &state);
        let file = File::open("/proc/self/status").unwrap();
        assert_eq!(checked(file.as_fd(), None, &state).answer, Answer::NotADirectory);
        for hosts in [folder.path(), &state, &state.join("audit")] {
            assert_eq!(look(hosts).answer, Answer::Hosts, "{}", hosts.display());
        }
        let found = look(&work);
        assert_eq!((found.answer, found.owner), (Answer::Ok, nix::unistd::geteuid().as_raw()));
        let with = |namespace: &str| {
            checked(open(&work).as_fd(), Some(File::open(namespace).unwrap().as_fd()), &state)
        };
        assert_eq!(with("/proc/self/ns/mnt").answer, Answer::Ok);
        for other in ["/proc/self/status", "/dev/null", "/proc/self/ns/net"] {
            assert_eq!(with(other).answer, Answer::NotADirectory, "{other}");
        }
    }

    // Holds P1-40.
    #[test]
    fn the_same_directory_of_another_owner_has_another_id() {
        let found = Finding { answer: Answer::Ok, device: 7, inode: 9, owner: 1000 };
        assert_eq!(Finding::decode(&found.encode()), Some(found));
        assert_ne!(found.id(), Finding { owner: 1001, ..found }.id());
        assert_ne!(found.id(), Finding { inode: 10, ..found }.id());
        assert_ne!(found.id(), Finding { device: 8, ..found }.id());
    }
}
