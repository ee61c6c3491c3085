//! Acts that are one bare system call, with numbers, and null or a bad address for every pointer: a call that comes through has
//! nothing to work with.

use super::{Ready, Scene, probe, refused};
use crate::sys;
use libc::c_long;

/// An address at which nothing is mapped.
const NOWHERE: c_long = 1;
/// Not a descriptor.
const NONE: c_long = -1;
/// `ADDR_NO_RANDOMIZE`, `linux/personality.h`.
const SAME_ADDRESSES: c_long = 0x004_0000;
/// A key of System V that nobody has.
const KEY: c_long = 0x0c0d_0a11;
/// `TIOCSTI`, `asm-generic/ioctls.h`.
const TIOCSTI: c_long = 0x5412;
/// An action of `syslog` that only reads the size of the kernel's log.
const LOG_SIZE: c_long = 10;
const NEW_USER: c_long = libc::CLONE_NEWUSER as c_long;

/// By name: the call, its arguments, and errnos besides a layer's that refuse it.
type Bare = (&'static str, c_long, [c_long; 5], &'static [i32]);

const CALLS: &[Bare] = &[
    ("call-pidfd-getfd", libc::SYS_pidfd_getfd, [NONE, 0, 0, 0, 0], &[]),
    ("call-process-madvise", libc::SYS_process_madvise, [NONE, 0, 0, 0, 0], &[]),
    ("call-kcmp", libc::SYS_kcmp, [0, 0, 99, 0, 0], &[]),
    ("call-mount", libc::SYS_mount, [0, 0, 0, 0, 0], &[]),
    ("call-umount2", libc::SYS_umount2, [0, 0, 0, 0, 0], &[]),
    ("call-pivot-root", libc::SYS_pivot_root, [0, 0, 0, 0, 0], &[]),
    ("call-move-mount", libc::SYS_move_mount, [NONE, 0, NONE, 0, 0], &[]),
    ("call-open-tree", libc::SYS_open_tree, [NONE, 0, 0, 0, 0], &[]),
    ("call-fsopen", libc::SYS_fsopen, [0, 0, 0, 0, 0], &[]),
    ("call-fsmount", libc::SYS_fsmount, [NONE, 0, 0, 0, 0], &[]),
    ("call-mount-setattr", libc::SYS_mount_setattr, [NONE, 0, 0, 0, 0], &[]),
    ("call-unshare", libc::SYS_unshare, [NEW_USER, 0, 0, 0, 0], &[]),
    ("call-clone3", libc::SYS_clone3, [0, 0, 0, 0, 0], &[]),
    ("call-setns", libc::SYS_setns, [NONE, 0, 0, 0, 0], &[]),
    ("call-setresuid", libc::SYS_setresuid, [0, 0, 0, 0, 0], &[]),
    ("call-setgroups", libc::SYS_setgroups, [0, 0, 0, 0, 0], &[]),
    ("call-capset", libc::SYS_capset, [0, 0, 0, 0, 0], &[]),
    ("call-io-uring-setup", libc::SYS_io_uring_setup, [1, 0, 0, 0, 0], &[]),
    ("call-io-uring-enter", libc::SYS_io_uring_enter, [NONE, 0, 0, 0, 0], &[]),
    ("call-userfaultfd", libc::SYS_userfaultfd, [0, 0, 0, 0, 0], &[]),
    ("call-keyctl", libc::SYS_keyctl, [0, NONE, 0, 0, 0], &[]),
    ("call-add-key", libc::SYS_add_key, [0, 0, 0, 0, 0], &[]),
    ("call-request-key", libc::SYS_request_key, [0, 0, 0, 0, 0], &[]),
    ("call-bpf", libc::SYS_bpf, [0, 0, 0, 0, 0], &[]),
    ("call-perf-event-open", libc::SYS_perf_event_open, [0, 0, 0, 0, 0], &[]),
    // PTRACE_TRACEME.
    ("call-ptrace", libc::SYS_ptrace, [0, 0, 0, 0, 0], &[]),
    ("call-personality", libc::SYS_personality, [SAME_ADDRESSES, 0, 0, 0, 0], &[]),
    ("call-syslog", libc::SYS_syslog, [LOG_SIZE, 0, 0, 0, 0], &[]),
    ("call-name-to-handle", libc::SYS_name_to_handle_at, [NONE, 0, 0, 0, 0], &[]),
    ("call-open-by-handle", libc::SYS_open_by_handle_at, [NONE, 0, 0, 0, 0], &[]),
    ("call-finit-module", libc::SYS_finit_module, [NONE, 0, 0, 0, 0], &[]),
    ("call-kexec-load", libc::SYS_kexec_load, [0, 99, NOWHERE, 0, 0], &[]),
    // Without its two numbers it does nothing.
    ("call-reboot", libc::SYS_reboot, [0, 0, 0, 0, 0], &[]),
    ("call-swapon", libc::SYS_swapon, [NOWHERE, 0, 0, 0, 0], &[]),
    // Null would end what root has begun.
    ("call-acct", libc::SYS_acct, [NOWHERE, 0, 0, 0, 0], &[]),
    // Neither a time nor a zone: nothing is set.
    ("call-settimeofday", libc::SYS_settimeofday, [0, 0, 0, 0, 0], &[]),
    ("call-fanotify", libc::SYS_fanotify_init, [0, 0, 0, 0, 0], &[]),
    ("call-memfd-secret", libc::SYS_memfd_secret, [0, 0, 0, 0, 0], &[]),
    ("call-shmget", libc::SYS_shmget, [KEY, 0, 0, 0, 0], &[]),
    ("call-msgget", libc::SYS_msgget, [KEY, 0, 0, 0, 0], &[]),
    ("call-semget", libc::SYS_semget, [KEY, 0, 0, 0, 0], &[]),
    ("call-mq-open", libc::SYS_mq_open, [0, 0, 0, 0, 0], &[]),
    ("call-seccomp", libc::SYS_seccomp, [99, 0, 0, 0, 0], &[]),
    ("call-landlock", libc::SYS_landlock_create_ruleset, [0, 0, 1, 0, 0], &[]),
    // Standard input is no terminal, so that the call is refused also where it is let through.
    ("push-input", libc::SYS_ioctl, [0, TIOCSTI, NOWHERE, 0, 0], &[libc::ENOTTY, libc::EBADF]),
];

/// Prepares the act of this name, if it is one of these.
pub(super) fn prepare(id: &str, _: &Scene) -> Option<Ready> {
    if id == "call-iopl" {
        return Some(ports());
    }
    let (_, number, arguments, also) = CALLS.iter().find(|(name, ..)| *name == id)?;
    probe(move || refused(call(*number, *arguments), also))
}

/// Only some machines have I/O ports.
fn ports() -> Ready {
    #[cfg(target_arch = "x86_64")]
    return Ok(Box::new(|| refused(call(libc::SYS_iopl, [0; 5]), &[])));
    #[cfg(not(target_arch = "x86_64"))]
    Err(super::NotReady::NotHere)
}

fn call(number: c_long, [a, b, c, d, e]: [c_long; 5]) -> std::io::Result<c_long> {
    // SAFETY: pointers are null or an address at which nothing is mapped, so no memory of this process is read or written;
    // an object that a call makes is new, and ends with this process.
    sys::check(unsafe { libc::syscall(number, a, b, c, d, e) })
}
