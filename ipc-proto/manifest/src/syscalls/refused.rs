//! System calls of a runner's process that are refused by more than "not listed": the errno of each, the calls that
//! kill, and the calls that the kernel answers without notifying agentd because ordinary programs make them all the
//! time.

use super::{When, bits, equal};

/// Refused with an errno rather than death in a runner, because libraries probe with them and fall back:
/// (name, errno). `clone3` cannot be filtered by its flags, so glibc is sent to `clone`; nor `openat2` by its mode, so
/// that programs are sent to `openat`.
pub const RUNNER_REFUSES: &[(&str, u32)] = &[
    ("clone3", ENOSYS),
    ("openat2", ENOSYS),
    ("socket", EAFNOSUPPORT),
    ("connect", EACCES),
    ("bind", EACCES),
    ("listen", EACCES),
    ("accept", EACCES),
    ("accept4", EACCES),
    ("statmount", ENOSYS),
    ("landlock_create_ruleset", ENOSYS),
    ("io_uring_setup", ENOSYS),
    ("seccomp", ENOSYS),
    ("setuid", EPERM),
    ("setgid", EPERM),
    ("setreuid", EPERM),
    ("setregid", EPERM),
    ("setresuid", EPERM),
    ("setresgid", EPERM),
    ("setgroups", EPERM),
    ("capset", EPERM),
    ("chroot", EPERM),
    ("sethostname", EPERM),
    ("mbind", ENOSYS),
    ("get_mempolicy", ENOSYS),
    ("set_mempolicy", ENOSYS),
    ("mlockall", EPERM),
    ("personality", EPERM),
    ("sched_setaffinity", EPERM),
    ("sync", ENOSYS),
    ("syncfs", ENOSYS),
    ("syslog", EPERM),
];

/// A refusal that nobody hears of.
#[derive(Clone, Copy, Debug)]
pub struct Quiet {
    /// The call.
    pub name: &'static str,
    /// With which arguments: any of these; an empty slice is all.
    pub when: &'static [When],
    /// The errno that the program receives.
    pub errno: u32,
    /// Why it is no act worth an event.
    pub why: &'static str,
}

const fn quiet(name: &'static str, errno: u32, why: &'static str) -> Quiet {
    Quiet { name, when: &[], errno, why }
}

/// Refusals that the kernel makes by itself. Each is something that libraries do by themselves in programs which mean
/// no harm; an event for each would bury the others, and the jail's few reports would be used up by the first `ls`.
pub const QUIET: &[Quiet] = &[
    quiet("clone3", ENOSYS, "every thread and process that a new glibc starts asks for it first"),
    quiet("io_uring_setup", ENOSYS, "node asks at each start whether it is there"),
    quiet("get_mempolicy", ENOSYS, "numerical libraries ask at each start"),
    quiet("landlock_create_ruleset", ENOSYS, "programs that sandbox themselves ask whether they can"),
    quiet("openat2", ENOSYS, "tar and others ask for it first"),
    quiet(
        "seccomp",
        ENOSYS,
        "programs that sandbox themselves ask whether they can; refused by the last filter",
    ),
    quiet("statmount", ENOSYS, "new forms of df and findmnt ask for it first"),
    quiet(
        "sync",
        ENOSYS,
        "a jail's programs may not make the whole host flush its disks, and nothing is lost by it",
    ),
    quiet("syncfs", ENOSYS, "the same"),
];

/// The same of a runner that has no network at all.
pub(super) const QUIET_SOCKETS: &[Quiet] = &[Quiet {
    name: "socket",
    // AF_UNIX: a name service; AF_NETLINK: which addresses there are.
    when: &[equal(0, 1), equal(0, 16)],
    errno: EAFNOSUPPORT,
    why: "the C library looks for a name service whenever a user's name is asked, as by ls",
}];

/// The same of a runner that has a loopback of its own.
pub const QUIET_APART: &[Quiet] = &[Quiet {
    name: "socket",
    // AF_UNIX: a name service; SOCK_DGRAM: in which order addresses are tried.
    when: &[equal(0, 1), bits(1, 0xf, 2)],
    errno: EAFNOSUPPORT,
    why: "the C library looks for a name service whenever a name is asked, and tries addresses by datagram",
}];

/// The same of a browser, which makes each of these dozens of times for a page.
pub const QUIET_BROWSER: &[Quiet] = &[
    quiet("setpriority", EPERM, "Chromium gives each of its threads a priority"),
    quiet("getpriority", EPERM, "the same"),
    quiet("sched_getparam", EPERM, "Chromium asks for the priority of other threads"),
    quiet("sched_getscheduler", EPERM, "the same"),
    quiet("inotify_init", ENOSYS, "Chromium watches the files of its settings"),
    Quiet {
        name: "fcntl",
        // F_ADD_SEALS, `linux/fcntl.h`.
        when: &[equal(1, 1033)],
        errno: EPERM,
        why: "Chromium seals the memory that its processes share",
    },
    Quiet {
        name: "socket",
        // AF_NETLINK.
        when: &[equal(0, 16)],
        errno: EAFNOSUPPORT,
        why: "Chromium asks which devices and addresses there are",
    },
];

/// Calls that kill a runner's process outright: no program has an honest use for these in a jail, and each has
/// been a way out of one.
pub const RUNNER_KILLS: &[&str] = &[
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "bpf",
    "keyctl",
    "add_key",
    "request_key",
    "userfaultfd",
    "perf_event_open",
    "io_uring_enter",
    "io_uring_register",
    "mount",
    "umount2",
    "pivot_root",
    "unshare",
    "setns",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsmount",
    "fsconfig",
    "fspick",
    "mount_setattr",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "open_by_handle_at",
    "name_to_handle_at",
    "reboot",
    "swapon",
    "swapoff",
    "acct",
    "quotactl",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "iopl",
    "ioperm",
    "modify_ldt",
    "lookup_dcookie",
    "kcmp",
    "pidfd_getfd",
    "process_madvise",
];

/// Flags of `clone` that make a namespace (`linux/sched.h`): refused in a runner with EPERM.
pub const CLONE_NEW: u64 = 0x7e02_0080;

pub(super) const EPERM: u32 = 1;
const EACCES: u32 = 13;
pub(super) const ENOSYS: u32 = 38;
const EAFNOSUPPORT: u32 = 97;
