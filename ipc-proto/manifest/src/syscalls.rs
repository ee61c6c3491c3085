//! Groups of system calls, by name, each with its reason. A row names the groups it needs; what is in none of
//! them kills the process. One list for all builds: debug and release have the same filters.

/// One system call that is allowed.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The kernel's name of it.
    pub name: &'static str,
    /// What its arguments must be; an empty slice allows any.
    pub when: &'static [When],
}

/// One condition on one argument. A call with several `When`s is allowed if any of them holds.
#[derive(Clone, Copy, Debug)]
pub struct When {
    /// Which argument, from 0.
    pub argument: u8,
    /// What must hold of its low 32 bits.
    pub is: Is,
}

/// A condition on an argument.
#[derive(Clone, Copy, Debug)]
pub enum Is {
    /// Equal to this value.
    Equal(u32),
    /// None of these bits is set.
    Without(u32),
}

/// Calls that belong together and why they are needed.
#[derive(Debug)]
pub struct Group {
    /// Its name in `agentctl manifest`.
    pub name: &'static str,
    /// The reason.
    pub why: &'static str,
    /// The calls.
    pub calls: &'static [Call],
}

const fn any(name: &'static str) -> Call {
    Call { name, when: &[] }
}

/// `PROT_EXEC`, from `asm-generic/mman-common.h`.
const PROT_EXEC: u32 = 4;
/// `FIONBIO`, from `asm-generic/ioctls.h`: the only ioctl std's sockets make.
const FIONBIO: u32 = 0x5421;
/// `F_GETFD`, `F_SETFD`, `F_GETFL`, `F_SETFL`, `F_DUPFD_CLOEXEC` from `linux/fcntl.h`.
const FCNTL: &[When] = &[equal(1, 1), equal(1, 2), equal(1, 3), equal(1, 4), equal(1, 1030)];
/// The same and POSIX record locks, which SQLite takes (`F_GETLK`, `F_SETLK`, `F_SETLKW`).
const FCNTL_LOCKS: &[When] = &[equal(1, 5), equal(1, 6), equal(1, 7)];

const fn equal(argument: u8, value: u32) -> When {
    When { argument, is: Is::Equal(value) }
}

const fn without(argument: u8, bits: u32) -> When {
    When { argument, is: Is::Without(bits) }
}

/// What every process needs to live, wait and end.
pub const BASE: Group = Group {
    name: "base",
    why: "the runtime: memory without code, clocks, waiting, ending",
    calls: &[
        any("brk"),
        any("clock_gettime"),
        any("clock_nanosleep"),
        any("close"),
        any("epoll_ctl"),
        any("epoll_pwait"),
        any("epoll_wait"),
        any("exit"),
        any("exit_group"),
        any("fstat"),
        any("futex"),
        any("getpid"),
        any("getrandom"),
        any("gettid"),
        any("lseek"),
        any("madvise"),
        Call { name: "mmap", when: &[without(2, PROT_EXEC)] },
        Call { name: "mprotect", when: &[without(2, PROT_EXEC)] },
        any("mremap"),
        any("munmap"),
        any("newfstatat"),
        any("poll"),
        any("ppoll"),
        any("pread64"),
        any("read"),
        any("readv"),
        any("restart_syscall"),
        any("rt_sigaction"),
        any("rt_sigprocmask"),
        any("rt_sigreturn"),
        any("sched_yield"),
        any("sigaltstack"),
        any("statx"),
        any("tgkill"),
        any("write"),
        any("writev"),
        Call { name: "fcntl", when: FCNTL },
        Call { name: "ioctl", when: &[equal(1, FIONBIO)] },
    ],
};

/// Speaking on descriptors that were handed over.
pub const LINKS: Group = Group {
    name: "links",
    why: "reading and writing the ends of its edges and its control descriptor",
    calls: &[
        any("recvfrom"),
        any("recvmsg"),
        any("sendto"),
        any("shutdown"),
        any("getsockopt"),
        any("getpeername"),
        any("getsockname"),
        any("epoll_create1"),
        any("eventfd2"),
    ],
};

/// Passing descriptors on.
pub const PASS: Group = Group {
    name: "pass",
    why: "handing a dialled connection or a workspace directory over",
    calls: &[any("sendmsg")],
};

/// Files beneath its own folder.
pub const FILES: Group = Group {
    name: "files",
    why: "its own folder: databases and logs, made durable",
    calls: &[
        any("access"),
        any("faccessat2"),
        any("fallocate"),
        any("fchmod"),
        any("fchown"),
        any("fdatasync"),
        any("flock"),
        any("fsync"),
        any("ftruncate"),
        any("getcwd"),
        any("getdents64"),
        any("geteuid"),
        any("lstat"),
        any("mkdir"),
        any("mkdirat"),
        any("open"),
        any("openat"),
        any("pwrite64"),
        any("readlink"),
        any("rename"),
        any("renameat"),
        any("renameat2"),
        any("stat"),
        any("umask"),
        any("unlink"),
        any("unlinkat"),
        Call { name: "fcntl", when: FCNTL_LOCKS },
    ],
};

/// Accepting on a listener that `agentd` made.
pub const ACCEPT: Group = Group {
    name: "accept",
    why: "its inherited listener, and who is at the other end",
    calls: &[any("accept4"), any("setsockopt")],
};

/// Sockets of the one process with a network.
pub const DIAL: Group = Group {
    name: "dial",
    why: "DNS over UDP and TCP, and TCP connections: AF_INET and AF_INET6 only",
    calls: &[
        Call { name: "socket", when: &[equal(0, 2), equal(0, 10)] },
        any("connect"),
        any("bind"),
        any("setsockopt"),
        any("sendmmsg"),
        any("recvmmsg"),
    ],
};

/// Everything that ordinary programs in a runner's jail do. A list of what is refused would age with every
/// kernel; this is the list of what `sh`, `git`, `python3` and `node` were seen to need.
pub const PROGRAMS: Group = Group {
    name: "programs",
    why: "the agent's tools are ordinary programs, started inside the jail; its namespaces, landlock and empty \
          network hold them, and this list keeps the kernel's rarer doors shut",
    calls: &[
        any("access"),
        any("alarm"),
        any("arch_prctl"),
        any("capget"),
        any("chdir"),
        any("chmod"),
        any("clock_getres"),
        any("clone"),
        any("close_range"),
        any("copy_file_range"),
        any("creat"),
        any("dup"),
        any("dup2"),
        any("dup3"),
        any("epoll_create"),
        any("epoll_create1"),
        any("epoll_pwait2"),
        any("eventfd"),
        any("eventfd2"),
        any("execve"),
        any("execveat"),
        any("faccessat"),
        any("faccessat2"),
        any("fadvise64"),
        any("fallocate"),
        any("fchdir"),
        any("fchmod"),
        any("fchmodat"),
        any("fchmodat2"),
        any("fchown"),
        any("fchownat"),
        any("fcntl"),
        any("fdatasync"),
        any("fgetxattr"),
        any("flistxattr"),
        any("flock"),
        any("fork"),
        any("fsetxattr"),
        any("fstatfs"),
        any("fsync"),
        any("ftruncate"),
        any("futimesat"),
        any("get_robust_list"),
        any("getcpu"),
        any("getcwd"),
        any("getdents"),
        any("getdents64"),
        any("getegid"),
        any("geteuid"),
        any("getgid"),
        any("getgroups"),
        any("getitimer"),
        any("getpeername"),
        any("getpgid"),
        any("getpgrp"),
        any("getppid"),
        any("getpriority"),
        any("getresgid"),
        any("getresuid"),
        any("getrlimit"),
        any("getrusage"),
        any("getsid"),
        any("getsockname"),
        any("getsockopt"),
        any("gettimeofday"),
        any("getuid"),
        any("getxattr"),
        any("inotify_add_watch"),
        any("inotify_init"),
        any("inotify_init1"),
        any("inotify_rm_watch"),
        any("ioctl"),
        any("kill"),
        any("lchown"),
        any("chown"),
        any("lgetxattr"),
        any("link"),
        any("linkat"),
        any("listxattr"),
        any("llistxattr"),
        any("lstat"),
        any("membarrier"),
        any("memfd_create"),
        any("mincore"),
        any("mkdir"),
        any("mkdirat"),
        any("mknod"),
        any("mknodat"),
        any("mlock"),
        any("mmap"),
        any("mprotect"),
        any("msync"),
        any("munlock"),
        any("nanosleep"),
        any("open"),
        any("openat"),
        any("openat2"),
        any("pause"),
        any("pidfd_open"),
        any("pidfd_send_signal"),
        any("pipe"),
        any("pipe2"),
        any("pkey_alloc"),
        any("pkey_free"),
        any("pkey_mprotect"),
        any("prctl"),
        any("preadv"),
        any("preadv2"),
        any("prlimit64"),
        any("pselect6"),
        any("pwrite64"),
        any("pwritev"),
        any("pwritev2"),
        any("readahead"),
        any("readlink"),
        any("readlinkat"),
        any("recvmmsg"),
        any("removexattr"),
        any("rename"),
        any("renameat"),
        any("renameat2"),
        any("rmdir"),
        any("rseq"),
        any("rt_sigpending"),
        any("rt_sigqueueinfo"),
        any("rt_sigsuspend"),
        any("rt_sigtimedwait"),
        any("sched_get_priority_max"),
        any("sched_get_priority_min"),
        any("sched_getaffinity"),
        any("sched_getattr"),
        any("sched_getparam"),
        any("sched_getscheduler"),
        any("sched_setaffinity"),
        any("sched_setscheduler"),
        any("select"),
        any("sendfile"),
        any("sendmmsg"),
        any("sendmsg"),
        any("set_robust_list"),
        any("set_tid_address"),
        any("setitimer"),
        any("setpgid"),
        any("setpriority"),
        any("setrlimit"),
        any("setsid"),
        any("setsockopt"),
        any("setxattr"),
        any("signalfd"),
        any("signalfd4"),
        any("splice"),
        any("stat"),
        any("statfs"),
        any("symlink"),
        any("symlinkat"),
        any("sync"),
        any("sync_file_range"),
        any("syncfs"),
        any("sysinfo"),
        any("tee"),
        any("time"),
        any("timer_create"),
        any("timer_delete"),
        any("timer_getoverrun"),
        any("timer_gettime"),
        any("timer_settime"),
        any("timerfd_create"),
        any("timerfd_gettime"),
        any("timerfd_settime"),
        any("times"),
        any("tkill"),
        any("truncate"),
        any("umask"),
        any("uname"),
        any("unlink"),
        any("unlinkat"),
        any("utime"),
        any("utimensat"),
        any("utimes"),
        any("vfork"),
        any("wait4"),
        any("waitid"),
        // node and bash make pairs for their own pipes; no other family or call of this kind is let through.
        Call { name: "socketpair", when: &[equal(0, 1)] },
    ],
};

/// Refused with an errno rather than death in a runner, because libraries probe with them and fall back:
/// (name, errno). `clone3` cannot be filtered by its flags, so glibc is sent to `clone`.
pub const RUNNER_REFUSES: &[(&str, u32)] = &[
    ("clone3", ENOSYS),
    ("socket", EAFNOSUPPORT),
    ("connect", EACCES),
    ("bind", EACCES),
    ("listen", EACCES),
    ("accept", EACCES),
    ("accept4", EACCES),
    ("statmount", ENOSYS),
    ("landlock_create_ruleset", ENOSYS),
    ("io_uring_setup", ENOSYS),
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
    ("syslog", EPERM),
];

/// What kills a runner's process outright: no program has an honest use for these in a jail, and each has been
/// a way out of one.
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
pub const CLONE_NEW: u32 = 0x7e02_0080;

const EPERM: u32 = 1;
const EACCES: u32 = 13;
const ENOSYS: u32 = 38;
const EAFNOSUPPORT: u32 = 97;
