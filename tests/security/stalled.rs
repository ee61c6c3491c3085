//! A FUSE file system whose server is a thread of the test: it answers what is needed to open its one directory and its one file,
//! and from one moment on nothing any more. It is ended with the value.

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::{read, write};
use std::fs::{self, File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

/// Numbers of requests, from linux/fuse.h.
const LOOKUP: u32 = 1;
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const STATFS: u32 = 17;
const RELEASE: u32 = 18;
const FLUSH: u32 = 25;
const INIT: u32 = 26;
const OPENDIR: u32 = 27;
const RELEASEDIR: u32 = 29;
/// The root's number, and that of the one file in it.
const ROOT: u64 = 1;
const FILE: u64 = 2;
/// The answers of the file system.
const ALL: u8 = 0;
const ALL_BUT_FLUSH: u8 = 1;
const NOTHING: u8 = 2;
/// `ENOENT` and `ENOSYS`.
const ABSENT: i32 = -2;
const UNKNOWN: i32 = -38;

/// It is mounted for as long as this lives.
pub(crate) struct Stalled {
    place: PathBuf,
    answers: Arc<AtomicU8>,
    _device: Arc<File>,
}

impl Stalled {
    /// Mounts it at `place`, which is made; all in it belongs to `uid`.
    pub(crate) fn mount(place: &Path, uid: u32) -> Self {
        fs::create_dir_all(place).unwrap();
        let device = Arc::new(OpenOptions::new().read(true).write(true).open("/dev/fuse").unwrap());
        let number = device.as_raw_fd();
        let options = format!("fd={number},rootmode=40000,user_id=0,group_id=0,allow_other");
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("cordon-test"), place, Some("fuse"), flags, Some(options.as_str())).unwrap();
        let answers = Arc::new(AtomicU8::new(ALL));
        let (serving, answering) = (Arc::clone(&device), Arc::clone(&answers));
        drop(thread::spawn(move || serve(&serving, &answering, uid)));
        Self { place: place.to_owned(), answers, _device: device }
    }

    /// From now on no close of a file is answered.
    pub(crate) fn stall_closes(&self) {
        self.answers.store(ALL_BUT_FLUSH, Ordering::SeqCst);
    }

    /// From now on nothing is answered.
    pub(crate) fn stall(&self) {
        self.answers.store(NOTHING, Ordering::SeqCst);
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        // Ends every call that waits; the thread reads an error then.
        let _ = umount2(&self.place, MntFlags::MNT_FORCE);
        let _ = umount2(&self.place, MntFlags::MNT_DETACH);
    }
}

fn serve(device: &File, answers: &AtomicU8, uid: u32) {
    let mut request = vec![0; 1 << 20];
    while let Ok(length) = read(device.as_fd(), &mut request) {
        let Some(request) = request.get(..length).filter(|request| request.len() >= 40) else { continue };
        let word = |at: usize| u32::from_le_bytes(request[at..at + 4].try_into().unwrap());
        let long = |at: usize| u64::from_le_bytes(request[at..at + 8].try_into().unwrap());
        let answers = answers.load(Ordering::SeqCst);
        if answers == NOTHING || answers == ALL_BUT_FLUSH && word(4) == FLUSH {
            continue;
        }
        let (error, body) = answer(word(4), long(16), &request[40..], uid);
        let length = u32::try_from(16 + body.len()).unwrap().to_le_bytes();
        let head = [length.as_slice(), &error.to_le_bytes(), &long(8).to_le_bytes()].concat();
        let _ = write(device.as_fd(), &[head, body].concat());
    }
}

/// The answer to a request about this node.
fn answer(what: u32, node: u64, rest: &[u8], uid: u32) -> (i32, Vec<u8>) {
    let zeros = |count: usize| vec![0; count];
    match what {
        // Version 7.31, no reading ahead, no flags; one page at a time.
        INIT => {
            let words = [7_u32, 31, 0, 0, 0, 4096, 1, 0].map(u32::to_le_bytes).concat();
            (0, [words, zeros(32)].concat())
        }
        GETATTR => (0, [zeros(16), about(node, uid)].concat()),
        LOOKUP if rest.starts_with(b"file\0") => {
            (0, [FILE.to_le_bytes().to_vec(), zeros(32), about(FILE, uid)].concat())
        }
        LOOKUP => (ABSENT, Vec::new()),
        OPEN | OPENDIR => (0, zeros(16)),
        STATFS => (0, zeros(80)),
        FLUSH | RELEASE | RELEASEDIR => (0, Vec::new()),
        _ => (UNKNOWN, Vec::new()),
    }
}

/// `struct fuse_attr` of a node; what is known of it holds for no time at all.
fn about(node: u64, uid: u32) -> Vec<u8> {
    let mode: u32 = if node == ROOT { 0o40_755 } else { 0o100_644 };
    let longs = [node, 0, 0, 0, 0, 0].map(u64::to_le_bytes).concat();
    let words = [0, 0, 0, mode, 1, uid, uid, 0, 4096, 0].map(u32::to_le_bytes).concat();
    [longs, words].concat()
}
