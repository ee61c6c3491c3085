//! Acts with programs, code in memory, and children.

use super::{NotReady, Ready, Scene, errno, probe};
use crate::sys;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork};
use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;

const PAGE: usize = 4096;
const TRUE: &[&CStr] = &[c"/bin/true", c"/usr/bin/true"];
/// Programs that are setuid root where they are installed.
const SETUID: &[&str] =
    &["/usr/bin/su", "/bin/su", "/usr/bin/passwd", "/usr/bin/mount", "/usr/bin/newgrp", "/usr/bin/chsh"];

/// Prepares the act of this name, if it is one of these.
pub(super) fn prepare(id: &str, _: &Scene) -> Option<Ready> {
    match id {
        "exec-system" => probe(execute_system),
        "exec-memory" => Some(execute_memory()),
        "exec-setuid" | "exec-setuid-jailed" => Some(setuid()),
        "code-map" => probe(|| map(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC).map(drop)),
        "code-protect" => probe(protect),
        "environment" => {
            probe(|| if std::env::vars_os().next().is_some() { Ok(()) } else { Err(errno(libc::ENOENT)) })
        }
        "descriptors" => probe(descriptors),
        _ => None,
    }
}

/// A child that is killed and collected when this is dropped.
pub(super) struct ChildGuard(Pid);

impl ChildGuard {
    pub(super) const fn pid(&self) -> i32 {
        self.0.as_raw()
    }
}

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = kill(self.0, Signal::SIGKILL);
        let _ = waitpid(self.0, None);
    }
}

/// A child that runs `act` and nothing else.
pub(super) fn child(act: impl FnOnce()) -> io::Result<ChildGuard> {
    // SAFETY: a process that performs acts has one thread, so its copy may go on with ordinary code; it ends below.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(ChildGuard(child)),
        ForkResult::Child => {
            act();
            sys::end(0)
        }
    }
}

fn execve(path: &CStr) -> io::Error {
    let arguments = [path.as_ptr(), std::ptr::null()];
    let environment = [std::ptr::null::<libc::c_char>()];
    // SAFETY: both lists end in null and point to strings that live until exec replaces the image.
    unsafe { libc::execve(path.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}

fn execute_system() -> io::Result<()> {
    let mut last = errno(libc::ENOENT);
    for path in TRUE {
        last = execve(path);
    }
    Err(last)
}

fn execute_memory() -> Ready {
    let program = fs::read("/bin/true").or_else(|_| fs::read("/usr/bin/true"))?;
    Ok(Box::new(move || {
        let memory = File::from(memfd_create(c"probe", MFdFlags::MFD_CLOEXEC)?);
        (&memory).write_all(&program)?;
        Err(sys::execute(memory.as_raw_fd(), &[c"true"]))
    }))
}

/// Has a child become a setuid program, and then checks its uid.
fn setuid() -> Ready {
    let is_setuid =
        |path: &&&str| fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o4000 != 0);
    let path = SETUID.iter().find(is_setuid).ok_or(NotReady::NotHere)?;
    let path = CString::new(*path).map_err(io::Error::from)?;
    let own = nix::unistd::geteuid().as_raw();
    Ok(Box::new(move || {
        let (reader, writer) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
        let child = child(|| drop(execve(&path)))?;
        executed(reader, writer)?;
        // The kernel still reports it after the process has ended.
        let status = fs::read_to_string(format!("/proc/{}/status", child.pid()))?;
        let uids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
        let same = uids.split_whitespace().all(|uid| uid.parse() == Ok(own));
        if same && !uids.is_empty() { Err(errno(libc::EPERM)) } else { Ok(()) }
    }))
}

/// Waits until the child has executed another program, or has ended: both close its end.
fn executed(reader: OwnedFd, writer: OwnedFd) -> io::Result<()> {
    drop(writer);
    File::from(reader).read(&mut [0]).map(drop)
}

fn map(protection: i32) -> io::Result<*mut libc::c_void> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping of its own, wherever the kernel puts it; nothing is read from it or run in it.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), PAGE, protection, flags, -1, 0) };
    if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(at) }
}

fn protect() -> io::Result<()> {
    let at = map(libc::PROT_READ | libc::PROT_WRITE)?;
    // SAFETY: the page was mapped just now, and nobody has a reference into it.
    let done = unsafe { libc::mprotect(at, PAGE, libc::PROT_READ | libc::PROT_EXEC) };
    sys::check(done.into()).map(drop)
}

/// Standard input, output and error, and the one socket: any other open descriptor was left open.
fn descriptors() -> io::Result<()> {
    for number in crate::passing::CONTROL + 1..1024 {
        // SAFETY: fcntl with F_GETFD on any number is defined; a closed one answers EBADF.
        if unsafe { libc::fcntl(number, libc::F_GETFD) } >= 0 {
            return Ok(());
        }
    }
    Err(errno(libc::EBADF))
}
