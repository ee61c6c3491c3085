//! Acts that a sealed process is to die by: raw system calls with fixed, harmless arguments. The tests' probe runs
//! as an actor and tries them, to see that the filter which the table promises is the one that holds.
//!
//! Nothing here hands memory of this process to the kernel, and no act can do harm where no filter stops it: what
//! it would need is left out. No program of the host calls it.

use crate::sys;
use crate::syscall_numbers::{Known, number};
use std::io;

/// One act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// Its name in the tests.
    pub name: &'static str,
    /// The system call.
    pub call: &'static str,
    /// Its arguments: numbers, and null for every pointer.
    pub arguments: [u64; 6],
}

const fn bare(call: &'static str) -> Act {
    Act { name: call, call, arguments: [0; 6] }
}

const fn with(name: &'static str, call: &'static str, arguments: [u64; 6]) -> Act {
    Act { name, call, arguments }
}

const READ_EXECUTE: u64 = (libc::PROT_READ | libc::PROT_EXEC) as u64;
const ANONYMOUS: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
/// An ioctl that pushes a byte into a terminal's input.
const TIOCSTI: u64 = 0x5412;

/// `MSG_FASTOPEN` and `TCP_FASTOPEN_CONNECT`: connections that landlock's rules for TCP do not see.
const FASTOPEN: u64 = 0x2000_0000;
const FASTOPEN_CONNECT: u64 = 30;

/// All acts. Which of them a row forbids follows from its groups; most are forbidden to every actor.
pub const ACTS: &[Act] = &[
    with("socket of IPv4", "socket", [libc::AF_INET as u64, libc::SOCK_STREAM as u64, 0, 0, 0, 0]),
    with("socket of IPv6", "socket", [libc::AF_INET6 as u64, libc::SOCK_DGRAM as u64, 0, 0, 0, 0]),
    with("socket of Unix", "socket", [libc::AF_UNIX as u64, libc::SOCK_STREAM as u64, 0, 0, 0, 0]),
    with("socket of netlink", "socket", [libc::AF_NETLINK as u64, libc::SOCK_RAW as u64, 0, 0, 0, 0]),
    with("socket of packets", "socket", [libc::AF_PACKET as u64, libc::SOCK_RAW as u64, 0, 0, 0, 0]),
    with("socket of MPTCP", "socket", [libc::AF_INET as u64, libc::SOCK_STREAM as u64, 262, 0, 0, 0]),
    with("raw socket", "socket", [libc::AF_INET as u64, libc::SOCK_RAW as u64, 1, 0, 0, 0]),
    with("connect by sending", "sendto", [0, 0, 0, FASTOPEN, 0, 0]),
    with("send by connecting", "setsockopt", [0, 6, FASTOPEN_CONNECT, 0, 0, 0]),
    with("abort another", "tgkill", [1, 1, libc::SIGABRT as u64, 0, 0, 0]),
    with("map code", "mmap", [0, 4096, READ_EXECUTE, ANONYMOUS, u64::MAX, 0]),
    with("turn memory into code", "mprotect", [0, 4096, READ_EXECUTE, 0, 0, 0]),
    with("own a descriptor's signals", "fcntl", [0, libc::F_SETOWN as u64, 0, 0, 0, 0]),
    with("push terminal input", "ioctl", [0, TIOCSTI, 0, 0, 0, 0]),
    with("fork by clone", "clone", [libc::SIGCHLD as u64, 0, 0, 0, 0, 0]),
    bare("socketpair"),
    bare("connect"),
    bare("bind"),
    bare("listen"),
    bare("accept4"),
    bare("sendmsg"),
    bare("clone3"),
    bare("execve"),
    bare("execveat"),
    bare("openat"),
    bare("openat2"),
    bare("memfd_create"),
    bare("ptrace"),
    bare("process_vm_readv"),
    bare("pidfd_open"),
    bare("pidfd_getfd"),
    bare("kill"),
    bare("prctl"),
    bare("prlimit64"),
    bare("setresuid"),
    bare("capset"),
    bare("unshare"),
    bare("setns"),
    bare("mount"),
    bare("move_mount"),
    bare("chroot"),
    with("seccomp", "seccomp", [99, 0, 0, 0, 0, 0]),
    bare("keyctl"),
    bare("add_key"),
    bare("bpf"),
    bare("perf_event_open"),
    bare("userfaultfd"),
    bare("io_uring_setup"),
    bare("io_uring_enter"),
    bare("name_to_handle_at"),
    bare("open_by_handle_at"),
    bare("personality"),
    bare("syslog"),
    bare("finit_module"),
    bare("kexec_load"),
    bare("reboot"),
];

/// Does it. What comes back is the kernel's answer, which a process that the filter stops never hears.
///
/// # Errors
/// The kernel's errno; `Unsupported` where this architecture has no such call.
pub fn perform(act: &Act) -> io::Result<i64> {
    let number = call_number(act.call).ok_or(io::ErrorKind::Unsupported)?;
    let [a, b, c, d, e, f] = act.arguments;
    // SAFETY: every pointer argument is null and every length 0, so no memory of this process is read or written;
    // the one mapping that can come of it is new and never used. A child made by `clone` has a copy of everything,
    // its stack included, and ends below before it does anything.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if act.call == "clone" && answer == 0 {
        sys::end(0);
    }
    sys::check(answer)
}

/// The number of the call `name` on this machine, if it has it.
#[must_use]
pub fn call_number(name: &str) -> Option<i64> {
    match number(name) {
        Known::Number(number) => Some(number),
        Known::NotHere | Known::Nobody => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_act_has_a_name_of_its_own_and_a_known_call() {
        for (at, act) in ACTS.iter().enumerate() {
            assert!(number(act.call) != Known::Nobody, "{}", act.call);
            assert!(ACTS.iter().skip(at + 1).all(|other| other.name != act.name), "{}", act.name);
        }
    }
}
