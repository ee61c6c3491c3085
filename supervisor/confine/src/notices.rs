//! The listener's end of a seccomp filter: the calls that the filter stopped, as the kernel reports them, and the answers. A
//! notice is a struct of fixed size that the kernel fills in; the process's memory is never read.

use crate::sys;
use crate::syscall_numbers;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// A call that a filter stopped; its caller waits for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    id: u64,
    /// The thread that made it, as agentd's pid namespace numbers it; 0 if agentd cannot see it.
    pub thread: i32,
    /// The number of the call.
    pub number: i32,
    /// Its arguments, as numbers.
    pub arguments: [u64; 6],
}

/// The next notice; `None` if its caller was interrupted or has ended meanwhile. On a listener that is readable it does not block.
///
/// # Errors
/// The kernel's error.
pub fn receive(listener: BorrowedFd<'_>) -> io::Result<Option<Notice>> {
    // SAFETY: the struct is plain numbers, and the kernel wants it zeroed.
    let mut notice: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    match control(listener, libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut notice) {
        Ok(()) => Ok(Some(Notice {
            id: notice.id,
            thread: notice.pid as i32,
            number: notice.data.nr,
            arguments: notice.data.args,
        })),
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the call fail with this errno. It is no error if the caller has ended.
///
/// # Errors
/// The kernel's error.
pub fn refuse(listener: BorrowedFd<'_>, notice: &Notice, errno: u32) -> io::Result<()> {
    answer(listener, notice, -i32::try_from(errno).unwrap_or(libc::EPERM), 0)
}

/// Lets the call through: only to record which rules are needed.
///
/// # Errors
/// The kernel's error.
#[cfg(debug_assertions)]
pub fn let_through(listener: BorrowedFd<'_>, notice: &Notice) -> io::Result<()> {
    answer(listener, notice, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32)
}

fn answer(listener: BorrowedFd<'_>, notice: &Notice, error: i32, flags: u32) -> io::Result<()> {
    let mut answer = libc::seccomp_notif_resp { id: notice.id, val: 0, error, flags };
    match control(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) {
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        other => other,
    }
}

/// Kills the process of the thread that made the call, and no other: its number may be reused as soon as it has ended, so it is
/// killed by a descriptor that was opened while the kernel reports that it still waits.
///
/// # Errors
/// The kernel's error, also if agentd cannot see the process.
pub fn kill(listener: BorrowedFd<'_>, notice: &Notice) -> io::Result<()> {
    let process = open(process_of(notice.thread)?)?;
    if !waits(listener, notice) {
        return Ok(());
    }
    // SAFETY: integers, and a null pointer for no further facts.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            process.as_raw_fd(),
            libc::SIGKILL,
            std::ptr::null::<libc::siginfo_t>(),
            0,
        )
    };
    sys::check(sent).map(drop)
}

/// Returns true if the thread that made the call still waits for its answer.
fn waits(listener: BorrowedFd<'_>, notice: &Notice) -> bool {
    let mut id = notice.id;
    control(listener, libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw mut id).is_ok()
}

/// The process of a thread: the kernel opens descriptors only by the process's number.
fn process_of(thread: i32) -> io::Result<i32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status"))?;
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    group.and_then(|number| number.trim().parse().ok()).ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: integers alone.
    let raw = sys::check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    // SAFETY: the kernel has just made this descriptor for us, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw as RawFd) })
}

fn control<T>(listener: BorrowedFd<'_>, request: libc::Ioctl, value: *mut T) -> io::Result<()> {
    // SAFETY: each caller passes the struct that its request is defined for, valid for the call.
    let answer = unsafe { libc::ioctl(listener.as_raw_fd(), request, value) };
    sys::check(answer.into()).map(drop)
}

/// The name of the call with this number.
#[must_use]
pub fn name(number: i32) -> Option<&'static str> {
    syscall_numbers::name(number.into())
}

/// Every known call, by name and number: for the test that makes them all.
#[doc(hidden)]
pub fn calls() -> impl Iterator<Item = (&'static str, i64)> {
    syscall_numbers::named()
}
