//! Acts that use something up. Each stops soon after the bound that must stop it, so that a jail without that bound is found out and
//! the machine unharmed.

use super::programs::child;
use super::{Ready, Scene, errno, probe};
use crate::sys;
use manifest::Limits;
use nix::fcntl::{FallocateFlags, FcntlArg, fallocate, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsFd;

const MIB: usize = 1 << 20;
/// The excess over a bound that is tried, MiB.
const OVER: usize = 64;
/// More than a runner's /tmp holds, and less than the largest file, bytes.
const TMP: i64 = 256 << 20;
/// More filters than any program stacks.
const FILTERS: usize = 40;
/// Most children, whatever the row says.
const CHILDREN: u32 = 600;

/// Prepares the act of this name, if it is one of these.
pub(super) fn prepare(id: &str, scene: &Scene) -> Option<Ready> {
    let limits = scene.row.limits;
    match id {
        "many-processes" => probe(move || processes(limits.processes)),
        "much-memory" => probe(move || memory(&limits)),
        "many-descriptors" => probe(move || descriptors(limits.files)),
        "large-file" => Some(large(limits.file_mib)),
        "full-tmp" => probe(full),
        "many-filters" => probe(filters),
        _ => None,
    }
}

fn processes(most: u32) -> io::Result<()> {
    let mut children = Vec::new();
    for _ in 0..most.saturating_add(8).min(CHILDREN) {
        let waiting = || loop {
            nix::unistd::pause();
        };
        children.push(child(waiting)?);
    }
    Ok(())
}

/// Mapped first, which `RLIMIT_DATA` refuses; then written, which a cgroup ends.
fn memory(limits: &Limits) -> io::Result<()> {
    let most = usize::try_from(limits.memory_mib).unwrap_or(0);
    let length = (most + OVER) * MIB;
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping of its own, wherever the kernel puts it.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the mapping has this length, is writable, and nobody else knows of it.
    unsafe { std::ptr::write_bytes(at.cast::<u8>(), 1, length) };
    Ok(())
}

fn descriptors(most: u32) -> io::Result<()> {
    let input = io::stdin();
    let mut copies = Vec::new();
    for _ in 0..=most {
        copies.push(fcntl(input.as_fd(), FcntlArg::F_DUPFD_CLOEXEC(0))?);
    }
    Ok(())
}

/// One byte behind the bound: a file with a hole, in memory.
fn large(most: u32) -> Ready {
    let mut file = File::from(memfd_create(c"probe", MFdFlags::MFD_CLOEXEC)?);
    Ok(Box::new(move || {
        file.seek(SeekFrom::Start(u64::from(most) << 20))?;
        file.write_all(&[0])
    }))
}

fn full() -> io::Result<()> {
    let path = "/tmp/cordon-probe";
    drop(std::fs::remove_file(path));
    let file = File::create_new(path)?;
    let filled = fallocate(file.as_fd(), FallocateFlags::empty(), 0, TMP);
    std::fs::remove_file(path)?;
    Ok(filled?)
}

/// Filters that allow everything.
fn filters() -> io::Result<()> {
    /// `BPF_RET | BPF_K`, `linux/bpf_common.h`.
    const RETURN: u16 = 0x06;
    let mut allow = libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };
    let program = libc::sock_fprog { len: 1, filter: &raw mut allow };
    for _ in 0..FILTERS {
        let mode = libc::c_ulong::from(libc::SECCOMP_MODE_FILTER);
        // SAFETY: the program and its one instruction live for the call, which copies them.
        let done = unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) };
        sys::check(done.into()).map_err(|error| errno(error.raw_os_error().unwrap_or(libc::EPERM)))?;
    }
    Ok(())
}
