//! A child that makes calls which may never return, in place of a process that must go on. If a file system's server has taken a
//! call and does not answer, no signal ends the caller: nothing may wait for such a child, or rely on its end.

use crate::child::{Child, die_with_parent, place_descriptors};
use crate::sys::{self, Forked};
use nix::unistd::getpid;
use std::io;
use std::os::fd::OwnedFd;

/// Starts a child of this same program that calls `work` and ends. It has these descriptors, from number 0 on, and no other of its
/// parent's. The parent must have one thread.
///
/// # Errors
/// No child can be made.
pub fn aside(stay: &[&OwnedFd], work: impl FnOnce()) -> io::Result<Child> {
    let parent = getpid().as_raw();
    match sys::clone(0)? {
        Forked::Child => {
            let ready = die_with_parent(Some(parent)).and_then(|()| place_descriptors(stay, &[]));
            if ready.is_ok() {
                work();
            }
            sys::end(0)
        }
        Forked::Parent(pid, pidfd) => Ok(Child { pid, pidfd }),
    }
}
