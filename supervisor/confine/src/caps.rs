//! Capabilities: every set emptied, the bounding set too, and read back.

use crate::sys;
use std::io;

/// `SECBIT_NOROOT` and its lock, `linux/securebits.h`: uid 0 gives nothing on exec.
const NO_ROOT: u64 = 0b11;
/// `_LINUX_CAPABILITY_VERSION_3`, `linux/capability.h`.
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Data {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Empties the bounding set if it may. Without the capability for that (mode flat as an ordinary user) it does nothing: with
/// no_new_privs the bounding set grants nothing.
pub(crate) fn drop_bounding() -> io::Result<()> {
    match sys::prctl(libc::PR_SET_SECUREBITS, NO_ROOT, 0) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => return Ok(()),
        other => other?,
    };
    for capability in 0..64 {
        match sys::prctl(libc::PR_CAPBSET_DROP, capability, 0) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => break, // Past the last one.
            other => other?,
        };
    }
    Ok(())
}

/// Empties every other set and reads all of them back.
pub(crate) fn drop_all() -> io::Result<()> {
    const CLEAR_ALL: u64 = 4; // PR_CAP_AMBIENT_CLEAR_ALL
    sys::prctl(libc::PR_CAP_AMBIENT, CLEAR_ALL, 0)?;
    let header = Header { version: VERSION, pid: 0 };
    let none = [Data::default(); 2];
    // SAFETY: header and data are the two structures of version 3 and live for the call.
    sys::check(unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) })?;
    let mut left = [Data { effective: 1, ..Data::default() }; 2];
    // SAFETY: as above; the kernel writes two entries for version 3.
    sys::check(unsafe { libc::syscall(libc::SYS_capget, &raw const header, left.as_mut_ptr()) })?;
    if left == none { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}
