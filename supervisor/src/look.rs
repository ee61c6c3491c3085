//! The look at a directory that somebody hands over. A file system may answer late or never, to every call and even to a close, so
//! a child of agentd's takes the descriptors from the caller's connection, makes every call on them, and is ended after two
//! seconds. agentd is handed a directory and a mount namespace and nothing else; neither has anything to do when it is closed.
//!
//! The child has the connection as number 0 and a socket to agentd as number 1, on which it says one [`Finding`].

use crate::host::Host;
use crate::workspaces::Attached;
use confine::{Child, passing};
use manifest::Process as Name;
use manifest::command::{Answer, Frame, HELLO, Kind, attached_id, id_words};
use nix::fcntl::{FcntlArg, OFlag, fcntl, openat};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::{Mode, fstat, major, minor};
use nix::sys::statfs::fstatfs;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a directory may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Looks under way at once, and of one uid.
const MOST: usize = 32;
const MOST_OF_ONE: usize = 2;
/// Bytes of a finding: the answer, the device, the inode and the owner.
const FINDING: usize = 17;
/// Directories above one that are looked at.
const DEEP: usize = 4096;
/// File systems that another program or machine answers for, by their magic numbers (`statfs(2)`, linux/magic.h): FUSE, NFS,
/// SMB, CIFS, SMB2, 9P, AFS (two), Ceph, Coda, NCP, OCFS2, GFS2.
const REMOTE: [u64; 13] = [
    0x6573_5546, 0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x5346_414f, 0x6b41_4653,
    0x00c3_6400, 0x7375_7245, 0x564c, 0x7461_636f, 0x0116_1970,
];

/// What a look found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Finding {
    answer: Answer,
    device: u32,
    inode: u64,
    owner: u32,
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

    /// The id of the workspace: the same directory of the same owner is the same workspace, and no directory of another is.
    fn id(self) -> [u8; 16] {
        attached_id(self.device, self.owner, self.inode)
    }
}

/// A look under way.
#[derive(Debug)]
pub(crate) struct Look {
    child: i32,
    uid: u32,
    /// The number of control's question.
    token: u64,
    answer: OwnedFd,
    deadline: Instant,
}

impl Look {
    /// Where the finding comes.
    pub(crate) fn answer(&self) -> BorrowedFd<'_> {
        self.answer.as_fd()
    }
}

/// Begins to look at what a connection hands over, or refuses at once.
pub(crate) fn begin(host: &mut Host, frame: &Frame, descriptors: Vec<OwnedFd>) {
    let [token, uid, ..] = frame.words;
    let uid = u32::try_from(uid).unwrap_or(u32::MAX);
    let Some(connection) = descriptors.into_iter().next() else {
        return answer(host, token, Answer::NotADirectory, [0; 16]);
    };
    let of_one = host.handed.looks.iter().filter(|look| look.uid == uid).count();
    if host.handed.looks.len() >= MOST || of_one >= MOST_OF_ONE {
        return answer(host, token, Answer::Busy, [0; 16]);
    }
    if host.handed.asides.hang(uid) {
        return answer(host, token, Answer::Stalled, [0; 16]);
    }
    match start(&connection, &host.places.state) {
        Ok((child, answer)) => {
            let child = host.handed.asides.keep(child, uid);
            let deadline = Instant::now() + PATIENCE;
            host.handed.looks.push(Look { child, uid, token, answer, deadline });
        }
        Err(cause) => {
            crate::exit::say(&format!("agentd: cannot look at a directory: {cause}"));
            answer(host, token, Answer::Stalled, [0; 16]);
        }
    }
}

fn start(connection: &OwnedFd, state: &Path) -> io::Result<(Child, OwnedFd)> {
    let (ours, theirs) = passing::frame_pair()?;
    let child = confine::aside(&[connection, &theirs], || child(state))?;
    Ok((child, ours))
}

/// Takes what has come, and ends what takes too long.
pub(crate) fn go_on(host: &mut Host) {
    let now = Instant::now();
    let mut at = 0;
    while let Some(look) = host.handed.looks.get(at) {
        let found = finding(look);
        if found.is_none() && look.deadline > now {
            at += 1;
            continue;
        }
        let look = host.handed.looks.swap_remove(at);
        host.handed.asides.end(look.child);
        keep(host, &look, found.flatten());
    }
}

/// What the child says, once it has: nothing inside if it ended without a word.
fn finding(look: &Look) -> Option<Option<(Finding, Vec<OwnedFd>)>> {
    let mut ready = [PollFd::new(look.answer(), PollFlags::POLLIN)];
    if poll(&mut ready, PollTimeout::ZERO).is_ok_and(|ready| ready == 0) {
        return None;
    }
    let said = passing::receive::<FINDING>(look.answer()).ok().flatten();
    Some(said.and_then(|(bytes, handed)| Some((Finding::decode(&bytes)?, handed))))
}

fn keep(host: &mut Host, look: &Look, said: Option<(Finding, Vec<OwnedFd>)>) {
    let (found, handed) = said.unwrap_or((Finding::refused(Answer::Stalled), Vec::new()));
    let mut handed = handed.into_iter();
    let id = found.id();
    let done = match (found.answer, handed.next()) {
        (Answer::Ok, Some(_)) if found.owner != look.uid => Answer::NotYours,
        (Answer::Ok, Some(directory)) => {
            host.workspaces.keep(id, Attached { directory, there: handed.next(), uid: look.uid })
        }
        (Answer::Ok, None) => Answer::NotADirectory,
        (refused, _) => refused,
    };
    answer(host, look.token, done, if done == Answer::Ok { id } else { [0; 16] });
}

fn answer(host: &Host, token: u64, answer: Answer, id: [u8; 16]) {
    let [low, high] = id_words(id);
    if let Some(control) = host.process(Name::Control) {
        let words = [token, answer as u64, low, high];
        control.tell(Frame::new(Kind::Attached, Name::Agentd).with(&words), &[]);
    }
}

/// When the next look is over at the latest.
pub(crate) fn next_deadline(host: &Host) -> Option<Instant> {
    host.handed.looks.iter().map(|look| look.deadline).min()
}

/// The child's part, with its descriptors in place.
fn child(state: &Path) {
    let handed = passing::receive::<HELLO>(io::stdin().as_fd());
    let handed = handed.ok().flatten().map(|(_, handed)| handed).unwrap_or_default();
    let mut handed = handed.iter().map(AsFd::as_fd);
    let (directory, there) = (handed.next(), handed.next());
    let finding = directory.map_or(Finding::refused(Answer::NotADirectory), |it| looked(it, there, state));
    let passed: Vec<BorrowedFd<'_>> =
        directory.into_iter().chain(there).filter(|_| finding.answer == Answer::Ok).collect();
    // Before anything is closed, which may take for ever.
    let _ = passing::send(io::stdout().as_fd(), &finding.encode(), &passed);
}

/// Whether a directory is fit to be a workspace. `there` is the mount namespace that it was opened in, if one was handed over.
fn looked(directory: BorrowedFd<'_>, there: Option<BorrowedFd<'_>>, state: &Path) -> Finding {
    // What was opened as a directory is one whatever its file system says, and a name of this form is a namespace's.
    let is_directory = fcntl(directory, FcntlArg::F_GETFL)
        .is_ok_and(|flags| OFlag::from_bits_truncate(flags).contains(OFlag::O_DIRECTORY));
    let is_namespace = |there: BorrowedFd<'_>| {
        let name = std::fs::read_link(format!("/proc/self/fd/{}", there.as_raw_fd()));
        name.is_ok_and(|name| name.as_os_str().as_bytes().starts_with(b"mnt:["))
    };
    if !is_directory || !there.is_none_or(is_namespace) {
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

/// Returns whether a directory is the host's own, in it, or has it somewhere in it.
fn is_hosts(directory: BorrowedFd<'_>, state: &Path) -> bool {
    let Ok(own) = File::open(state) else { return true };
    let (own, theirs) = (upward(own.as_fd()), upward(directory));
    let within = own.first().is_some_and(|state| theirs.contains(state));
    within || theirs.first().is_none_or(|directory| own.contains(directory))
}

/// The device and inode of a directory, and then of all that are above it.
fn upward(directory: BorrowedFd<'_>) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut next = directory.try_clone_to_owned().ok();
    while let Some(here) = next.filter(|_| found.len() < DEEP) {
        let Ok(about) = fstat(here.as_fd()) else { break };
        let this = (about.st_dev, about.st_ino);
        // The topmost is above itself.
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
        let look = |path: &Path| looked(open(path).as_fd(), None, &state);
        let file = File::open("/proc/self/status").unwrap();
        assert_eq!(looked(file.as_fd(), None, &state).answer, Answer::NotADirectory);
        for hosts in [folder.path(), &state, &state.join("audit")] {
            assert_eq!(look(hosts).answer, Answer::Hosts, "{}", hosts.display());
        }
        let found = look(&work);
        assert_eq!((found.answer, found.owner), (Answer::Ok, nix::unistd::geteuid().as_raw()));
        let with =
            |there: &str| looked(open(&work).as_fd(), Some(File::open(there).unwrap().as_fd()), &state);
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
