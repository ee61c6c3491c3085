//! What ordinary programs in a runner's jail may call: what `sh`, `git`, `python3` and `node` were seen to need, in
//! groups by what it is for. A list of what is refused would age with every kernel. The jail's namespaces, landlock
//! and empty network hold these programs; this keeps the kernel's rarer doors shut, and in mode flat, where there are no
//! namespaces, other processes' limits, priorities and signals out of reach.

use super::actors::CREATES;
use super::refused::CLONE_NEW;
use super::{FASTOPEN, Group, SETUID, When, any, bits, equal, only, whole, without};

/// Most programs never, some now and then.
const SELDOM: &str = "programs other than those that a day of tests runs";
/// Kept for programs built for an older C library, which has other names for what newer ones do.
const OLD: &str = "programs built for an older C library";

/// Programs, and code that they make.
pub const CODE: Group = Group {
    name: "code",
    why: "programs are started and libraries loaded; node compiles to memory that it writes and executes, which is why \
          this row alone has both at once",
    calls: &[
        any("arch_prctl"),
        any("execve"),
        any("execveat").rare(SELDOM),
        any("membarrier").rare(SELDOM),
        any("mincore").rare(SELDOM),
        any("mlock").rare(SELDOM),
        any("mmap"),
        any("mprotect"),
        any("msync").rare(SELDOM),
        any("munlock").rare(SELDOM),
        any("madvise"),
        any("pkey_alloc").rare("a processor with protection keys, which node looks for"),
        any("pkey_free").rare("a processor with protection keys"),
        any("pkey_mprotect").rare("a processor with protection keys"),
        // Whoever may write a file of the workspace may execute it, so a program in memory adds nothing.
        any("memfd_create").rare(SELDOM),
        any("rseq"),
        any("set_robust_list"),
        any("set_tid_address"),
        any("get_robust_list").rare(SELDOM),
    ],
};

/// Processes and threads of the jail.
pub const CHILDREN: Group = Group {
    name: "children",
    why: "threads and processes of the jail, which its pid namespace and its limit of processes hold",
    calls: &[
        only(
            "clone",
            &[&[without(0, CLONE_NEW)]],
            "no namespace: in one a process has every capability over what it makes",
        ),
        any("exit"),
        any("getpgid").rare(SELDOM),
        any("getpgrp"),
        any("getpid"),
        any("getppid"),
        any("getsid").rare(SELDOM),
        any("gettid"),
        any("pidfd_open").rare("a program that waits for its child by descriptor"),
        any("sched_yield").rare(SELDOM),
        any("setpgid"),
        any("setsid"),
        any("vfork"),
        any("wait4"),
        any("waitid"),
    ],
};

/// Signals among the processes of the jail; landlock's scope keeps them in it where no namespace does.
pub const SIGNALS: Group = Group {
    name: "signals",
    why: "signals to processes of the same jail, their own handlers and timers",
    calls: &[
        any("kill"),
        any("pidfd_send_signal").rare(SELDOM),
        any("rt_sigaction"),
        any("rt_sigpending").rare(SELDOM),
        any("rt_sigprocmask"),
        any("rt_sigqueueinfo").rare(SELDOM),
        any("rt_sigreturn"),
        any("rt_sigsuspend").rare(SELDOM),
        any("rt_sigtimedwait").rare(SELDOM),
        any("sigaltstack"),
        any("signalfd4").rare(SELDOM),
        any("tgkill").rare(SELDOM),
        any("tkill").rare(SELDOM),
    ],
};

/// `F_DUPFD`, the flags, record locks, `F_GETOWN`, locks of open files, the size of a pipe, seals.
const FCNTL: &[&[When]] =
    &[&[equal(1, 0)], &[equal(1, 1)], &[equal(1, 2)], &[equal(1, 3)], &[equal(1, 4)], &[equal(1, 1030)]];
const FCNTL_RARE: &[&[When]] = &[
    &[equal(1, 5)],
    &[equal(1, 6)],
    &[equal(1, 7)],
    &[equal(1, 9)],
    &[equal(1, 36)],
    &[equal(1, 37)],
    &[equal(1, 38)],
    &[equal(1, 1027)],
    &[equal(1, 1031)],
    &[equal(1, 1032)],
    &[equal(1, 1033)],
    &[equal(1, 1034)],
];
/// `TCGETS`, `TIOCGPGRP`, `TIOCGWINSZ`, `FIONREAD`, `FIONBIO`, `FIOCLEX` of `asm-generic/ioctls.h`.
const IOCTL: &[&[When]] = &[&[equal(1, 0x5401)], &[equal(1, 0x5413)], &[equal(1, 0x5421)]];
/// `TCSETS` and its two others, `TIOCGPGRP`, `TIOCSPGRP`, `FIONREAD`, `TIOCGSID`, `FIONCLEX`, `FIOCLEX`, `FIOASYNC`,
/// `TCGETS2`, and of `linux/fs.h` `FICLONE`, `FICLONERANGE`, `FS_IOC_GETFLAGS`, `FS_IOC_FIEMAP`.
const IOCTL_RARE: &[&[When]] = &[
    &[equal(1, 0x5402)],
    &[equal(1, 0x5403)],
    &[equal(1, 0x5404)],
    &[equal(1, 0x540f)],
    &[equal(1, 0x5410)],
    &[equal(1, 0x541b)],
    &[equal(1, 0x5429)],
    &[equal(1, 0x5450)],
    &[equal(1, 0x5451)],
    &[equal(1, 0x5452)],
    &[equal(1, 0x802c_542a)],
    &[equal(1, 0x4004_9409)],
    &[equal(1, 0x4020_940d)],
    &[equal(1, 0x8008_6601)],
    &[equal(1, 0xc020_660b)],
];

/// What a process does with the descriptors that it has.
pub const DESCRIPTORS: Group = Group {
    name: "descriptors",
    why: "reading, writing, copying and waiting for descriptors",
    calls: &[
        any("close_range"),
        any("copy_file_range").rare(SELDOM),
        any("dup"),
        any("dup2"),
        any("dup3").rare(SELDOM),
        any("epoll_create1"),
        any("epoll_pwait"),
        any("epoll_pwait2").rare(SELDOM),
        any("eventfd2"),
        only("fcntl", FCNTL, "flags and copies; not whom a descriptor signals, nor leases"),
        only("fcntl", FCNTL_RARE, "locks, pipes and seals; not whom a descriptor signals, nor leases")
            .rare(SELDOM),
        any("inotify_add_watch").rare(SELDOM),
        any("inotify_init1").rare(SELDOM),
        any("inotify_rm_watch").rare(SELDOM),
        only(
            "ioctl",
            IOCTL,
            "what a terminal is like, and blocking; a byte pushed into one (TIOCSTI) is another's input",
        ),
        only(
            "ioctl",
            IOCTL_RARE,
            "terminals, copies that share blocks; never a file's attributes nor a device",
        )
        .rare(SELDOM),
        any("lseek"),
        any("pipe2"),
        any("poll"),
        any("ppoll").rare(SELDOM),
        any("pread64"),
        any("preadv").rare(SELDOM),
        any("preadv2").rare(SELDOM),
        any("pselect6").rare(SELDOM),
        any("pwrite64").rare(SELDOM),
        any("pwritev").rare(SELDOM),
        any("pwritev2").rare(SELDOM),
        any("read"),
        any("readv").rare(SELDOM),
        any("sendfile").rare(SELDOM),
        any("splice").rare(SELDOM),
        any("tee").rare(SELDOM),
        any("writev").rare(SELDOM),
    ],
};

/// `S_IFMT`, and with it no bit that lends rights.
const KIND: u64 = 0o17_0000 | SETUID;
/// What `mknod` may make: `S_IFREG`, also as 0, `S_IFIFO` and `S_IFSOCK`.
const NODES: &[&[When]] = &[
    &[bits(1, KIND, 0)],
    &[bits(1, KIND, 0o10_0000)],
    &[bits(1, KIND, 0o1_0000)],
    &[bits(1, KIND, 0o14_0000)],
];
const PIPE_AT: &[&[When]] = &[&[bits(2, KIND, 0o1_0000)]];
const NODES_AT: &[&[When]] = &[&[bits(2, KIND, 0)], &[bits(2, KIND, 0o10_0000)], &[bits(2, KIND, 0o14_0000)]];
/// Why a mode is bound: on disk a file of the workspace is its owner's.
const MODE: &str =
    "no file of the workspace lends its owner's rights to whoever executes it outside the jail";

/// Files of the workspace, of `/tmp` and of the system.
pub const TREE: Group = Group {
    name: "tree",
    why: "files: landlock and the jail's root say which",
    calls: &[
        any("access"),
        any("chdir"),
        only("chmod", &[&[without(1, SETUID)]], MODE),
        any("chown").rare(SELDOM),
        only("creat", &[&[without(1, SETUID)]], MODE).rare(SELDOM),
        any("faccessat").rare(SELDOM),
        any("faccessat2").rare(SELDOM),
        any("fadvise64"),
        any("fallocate").rare(SELDOM),
        any("fchdir").rare(SELDOM),
        only("fchmod", &[&[without(1, SETUID)]], MODE),
        only("fchmodat", &[&[without(2, SETUID)]], MODE),
        only("fchmodat2", &[&[without(2, SETUID)]], MODE).rare("a C library that makes it of fchmodat"),
        any("fchown").rare(SELDOM),
        any("fchownat").rare(SELDOM),
        any("fdatasync").rare(SELDOM),
        any("fgetxattr").rare(SELDOM),
        any("flistxattr").rare(SELDOM),
        any("flock").rare(SELDOM),
        any("fsetxattr").rare(SELDOM),
        any("fstat"),
        any("fstatfs").rare(SELDOM),
        any("fsync"),
        any("ftruncate").rare(SELDOM),
        any("getcwd"),
        any("getdents64"),
        any("getxattr").rare(SELDOM),
        any("lchown").rare(SELDOM),
        any("lgetxattr").rare(SELDOM),
        any("link"),
        any("linkat").rare(SELDOM),
        any("listxattr").rare(SELDOM),
        any("llistxattr").rare(SELDOM),
        any("lstat").rare(OLD),
        any("mkdir"),
        any("mkdirat").rare(SELDOM),
        only("mknod", NODES, "pipes and sockets; no device").rare(SELDOM),
        only("mknodat", PIPE_AT, "pipes; no device"),
        only("mknodat", NODES_AT, "files and sockets; no device").rare(SELDOM),
        any("newfstatat"),
        only("open", &[&[without(1, CREATES)], &[without(2, SETUID)]], MODE).rare(OLD),
        only("openat", &[&[without(2, CREATES)], &[without(3, SETUID)]], MODE),
        any("readahead").rare(SELDOM),
        any("readlink"),
        any("readlinkat").rare(SELDOM),
        any("removexattr").rare(SELDOM),
        any("rename"),
        any("renameat").rare(SELDOM),
        any("renameat2").rare(SELDOM),
        any("rmdir"),
        any("setxattr").rare(SELDOM),
        any("stat").rare(OLD),
        any("statfs"),
        any("statx"),
        any("symlink"),
        any("symlinkat").rare(SELDOM),
        any("sync_file_range").rare(SELDOM),
        any("truncate").rare(SELDOM),
        any("umask"),
        any("unlink"),
        any("unlinkat"),
        any("utimensat"),
    ],
};

/// Clocks and timers of a process's own.
pub const TIMES: Group = Group {
    name: "times",
    why: "clocks to read, and timers of a process's own",
    calls: &[
        any("alarm").rare(SELDOM),
        any("clock_getres").rare(SELDOM),
        any("clock_gettime").rare("a clock that the vDSO cannot read"),
        any("clock_nanosleep"),
        any("getitimer").rare(SELDOM),
        any("gettimeofday").rare("a clock that the vDSO cannot read"),
        any("nanosleep").rare(OLD),
        any("pause").rare(SELDOM),
        any("setitimer").rare(SELDOM),
        any("time").rare("a clock that the vDSO cannot read"),
        any("timer_create").rare(SELDOM),
        any("timer_delete").rare(SELDOM),
        any("timer_getoverrun").rare(SELDOM),
        any("timer_gettime").rare(SELDOM),
        any("timer_settime").rare(SELDOM),
        any("timerfd_create").rare(SELDOM),
        any("timerfd_gettime").rare(SELDOM),
        any("timerfd_settime").rare(SELDOM),
        any("times").rare(SELDOM),
    ],
};

/// `PR_SET_NAME`.
const PRCTL: &[&[When]] = &[&[equal(0, 15)]];
/// `PR_SET_PDEATHSIG`, `PR_GET_PDEATHSIG`, `PR_GET_DUMPABLE`, `PR_SET_DUMPABLE` to 0, `PR_GET_KEEPCAPS`, `PR_GET_NAME`, `PR_GET_SECCOMP`,
/// `PR_CAPBSET_READ`, `PR_GET_SECUREBITS`, both of the timer slack, of the child subreaper and of `NO_NEW_PRIVS`,
/// `PR_GET_TID_ADDRESS`, both of transparent huge pages, `PR_GET_MDWE`, `PR_SET_VMA`.
const PRCTL_RARE: &[&[When]] = &[
    &[equal(0, 1)],
    &[equal(0, 2)],
    &[equal(0, 3)],
    &[equal(0, 4), whole(equal(1, 0))],
    &[equal(0, 7)],
    &[equal(0, 16)],
    &[equal(0, 21)],
    &[equal(0, 23)],
    &[equal(0, 27)],
    &[equal(0, 29)],
    &[equal(0, 30)],
    &[equal(0, 36)],
    &[equal(0, 37)],
    &[equal(0, 38)],
    &[equal(0, 39)],
    &[equal(0, 40)],
    &[equal(0, 41)],
    &[equal(0, 42)],
    &[equal(0, 66)],
    &[equal(0, 0x5356_4d41)],
];
/// Itself: in mode flat a pid may be anybody's of the same uid.
const ITSELF: &[&[When]] = &[&[equal(0, 0)]];

/// What a process is told of itself, and may narrow.
pub const SELF: Group = Group {
    name: "self",
    why: "who a process is, and limits and names of its own",
    calls: &[
        any("capget"),
        any("getcpu").rare(SELDOM),
        any("getegid"),
        any("geteuid"),
        any("getgid"),
        any("getgroups").rare(SELDOM),
        only("getpriority", &[&[equal(0, 0), equal(1, 0)]], "its own alone").rare(SELDOM),
        any("getresgid").rare(SELDOM),
        any("getresuid").rare(SELDOM),
        any("getrlimit").rare(OLD),
        any("getrusage").rare(SELDOM),
        any("getuid"),
        only("prctl", PRCTL, "names: a closed list of what changes or tells only the process itself"),
        only(
            "prctl",
            PRCTL_RARE,
            "the same; it may make itself unreadable to the others of its jail, not readable",
        )
        .rare(SELDOM),
        only("prlimit64", ITSELF, "its own limits: another's, of the same uid, it could lower or read"),
        any("sched_get_priority_max").rare(SELDOM),
        any("sched_get_priority_min").rare(SELDOM),
        any("sched_getaffinity"),
        only("sched_getattr", ITSELF, "its own alone").rare(SELDOM),
        only("sched_getparam", ITSELF, "its own alone").rare(SELDOM),
        only("sched_getscheduler", ITSELF, "its own alone").rare(SELDOM),
        only("sched_setscheduler", ITSELF, "its own alone; a class that others feel needs a capability")
            .rare(SELDOM),
        only("setpriority", &[&[equal(0, 0), equal(1, 0)]], "its own alone").rare(SELDOM),
        any("setrlimit").rare(OLD),
        any("sysinfo"),
        any("uname"),
    ],
};

/// Pairs of connected sockets, for programs to speak with their children.
pub const PAIRS: Group = Group {
    name: "pairs",
    why: "node and others make pairs for their own pipes; no other family or call of this kind is let through",
    calls: &[
        only(
            "socketpair",
            &[&[equal(0, 1), bits(1, 0xf, 1)], &[equal(0, 1), bits(1, 0xf, 5)]],
            "AF_UNIX, SOCK_STREAM and SOCK_SEQPACKET, whose ends stay connected: one end of a pair of datagrams can \
             send to any path or abstract name",
        ),
        any("getpeername").rare(SELDOM),
        any("getsockname"),
        only("getsockopt", &[&[equal(1, 1)]], "what a socket is: its type, its family, its error")
            .rare(SELDOM),
        only("setsockopt", &[&[equal(1, 1)]], "sizes and time-outs of a pair").rare(SELDOM),
        only("sendmsg", &[&[without(2, FASTOPEN)]], "on a pair").rare(SELDOM),
        only("sendmmsg", &[&[without(3, FASTOPEN)]], "on a pair").rare(SELDOM),
        any("recvmmsg").rare(SELDOM),
    ],
};

/// Forms that newer ones have replaced.
pub const OLDER: Group = Group {
    name: "older",
    why: "what programs built for an older C library, or written in assembly, call instead of the newer forms",
    calls: &[
        any("epoll_create").rare(OLD),
        any("eventfd").rare(OLD),
        any("fork").rare(OLD),
        any("futimesat").rare(OLD),
        any("getdents").rare(OLD),
        any("inotify_init").rare(OLD),
        any("pipe").rare(OLD),
        any("select").rare(OLD),
        any("signalfd").rare(OLD),
        any("utime").rare(OLD),
        any("utimes").rare(OLD),
    ],
};
