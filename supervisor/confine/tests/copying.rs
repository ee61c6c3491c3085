//! The child that makes a mount of a directory. Alone in its program: a process with more threads is no place to fork in.

use confine::{Way, copy_aside, take_copy};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

#[test]
fn the_child_gives_the_directory_and_its_owner_or_the_kernels_word() {
    let taken = |path: &str, there: Option<&OwnedFd>| {
        let directory = OwnedFd::from(File::open(path).unwrap());
        let (child, answer) = copy_aside(&directory, there, Way::Bare).unwrap();
        let mut ready = [PollFd::new(answer.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut ready, PollTimeout::from(2000_u16)).unwrap(), 1);
        assert!(waitpid(Pid::from_raw(child.pid), None).is_ok());
        take_copy(answer.as_fd())
    };
    let folder = tempfile::tempdir().unwrap();
    let about = std::fs::metadata(folder.path()).unwrap();
    let (same, ids) = taken(folder.path().to_str().unwrap(), None).unwrap();
    assert_eq!((ids.uid, ids.gid), (about.uid(), about.gid()));
    assert_eq!(File::from(same).metadata().unwrap().ino(), about.ino());
    let none = OwnedFd::from(File::open("/dev/null").unwrap());
    let refused = taken("/", Some(&none)).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(nix::libc::EINVAL), "it is no namespace");
}
