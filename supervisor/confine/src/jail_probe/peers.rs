//! Acts on other processes: agentd, and the process of the probed row.

use super::{Ready, Scene, errno, probe, refused};
use crate::sys;
use libc::{c_long, pid_t};
use std::io;

/// In a pid namespace of its own, a process that is not visible does not exist.
const NOBODY: &[i32] = &[libc::ESRCH];
/// The usual load address of a program; the answer does not depend on it.
const REMOTE: usize = 0x40_0000;

/// Prepares the act of this name, if it is one of these.
pub(super) fn prepare(id: &str, scene: &Scene) -> Option<Ready> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    // In a namespace of its own the pids would mean other processes.
    let (agentd, peer) = (stranger(scene.agentd, own), stranger(scene.peer, own));
    match id {
        "signal-agentd" => call(agentd, |pid| raw(libc::SYS_kill, [pid, 0, 0, 0])),
        "signal-peer" => call(peer, |pid| raw(libc::SYS_kill, [pid, 0, 0, 0])),
        "signal-thread" => call(agentd, |pid| raw(libc::SYS_tgkill, [pid, pid, 0, 0])),
        "signal-queue" => call(agentd, queue),
        "peer-trace" | "peer-trace-jailed" => call(peer, trace),
        "peer-read" => call(peer, |pid| memory(pid, libc::process_vm_readv)),
        "peer-write" => call(peer, |pid| memory(pid, libc::process_vm_writev)),
        "pidfd-agentd" => call(agentd, |pid| raw(libc::SYS_pidfd_open, [pid, 0, 0, 0])),
        "pidfd-signal" => call(agentd, |pid| {
            let descriptor = i32::try_from(raw(libc::SYS_pidfd_open, [pid, 0, 0, 0])?).unwrap_or(-1);
            raw(libc::SYS_pidfd_send_signal, [descriptor, 0, 0, 0])
        }),
        "limits-agentd" => call(agentd, |pid| raw(libc::SYS_prlimit64, [pid, 7, 0, 0])),
        "priority-agentd" => call(agentd, |pid| raw(libc::SYS_setpriority, [0, pid, 0, 0])),
        "affinity-agentd" => call(agentd, |pid| raw(libc::SYS_sched_setaffinity, [pid, 0, 0, 0])),
        _ => None,
    }
}

fn stranger(pid: pid_t, own: pid_t) -> Option<pid_t> {
    (pid > 0 && pid != own).then_some(pid)
}

fn call(pid: Option<pid_t>, act: fn(pid_t) -> io::Result<c_long>) -> Option<Ready> {
    probe(move || {
        let pid = pid.ok_or_else(|| errno(libc::ESRCH))?;
        refused(act(pid), NOBODY)
    })
}

/// A call with integers, and null for every pointer.
fn raw(number: c_long, [a, b, c, d]: [i32; 4]) -> io::Result<c_long> {
    let [a, b, c, d] = [a, b, c, d].map(c_long::from);
    // SAFETY: every pointer argument is null, so no memory of this process is read or written.
    sys::check(unsafe { libc::syscall(number, a, b, c, d) })
}

/// `rt_sigqueueinfo` reads its structure before it checks the target.
fn queue(pid: pid_t) -> io::Result<c_long> {
    // SAFETY: a siginfo of zeros is a valid one.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    info.si_code = libc::SI_QUEUE;
    // SAFETY: the structure lives for the call; signal 0 is none.
    sys::check(unsafe { libc::syscall(libc::SYS_rt_sigqueueinfo, pid, 0, &raw mut info) })
}

/// Detaches at once from a process that could be traced.
fn trace(pid: pid_t) -> io::Result<c_long> {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: attaching takes no memory of this process.
    let attached = sys::check(unsafe { libc::ptrace(libc::PTRACE_ATTACH, pid, none, none) })?;
    // SAFETY: as above; the process stops for it, is waited for and goes on.
    unsafe {
        libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL);
        libc::ptrace(libc::PTRACE_DETACH, pid, none, none);
    }
    Ok(attached)
}

type Copy = unsafe extern "C" fn(
    pid_t,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> isize;

/// The kernel accepts an empty piece for any process; this one is not empty.
fn memory(pid: pid_t, copy: Copy) -> io::Result<c_long> {
    let mut bytes = [0_u8; 8];
    let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // Its first bytes are not writable, so that a write which is let through fails and changes nothing.
    let there = libc::iovec { iov_base: REMOTE as *mut libc::c_void, iov_len: bytes.len() };
    // SAFETY: the local piece is eight bytes of ours; the remote one is an address of the other process.
    let copied = unsafe { copy(pid, &raw const here, 1, &raw const there, 1, 0) };
    if copied < 0 { Err(io::Error::last_os_error()) } else { Ok(0) }
}
