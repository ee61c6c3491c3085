//! System calls that ordinary programs in a runner's jail may make: those that `sh`, `git`, `python3` and `node` were
//! seen to need, in groups by purpose. A list of refused calls would age with every kernel. The jail's namespaces,
//! landlock and empty network hold these programs; the list keeps the kernel's rarer interfaces out of reach, and in
//! mode flat, where there are no namespaces, other processes' limits, priorities and signals too.

use super::Condition::{
    Attributes, Copies, Folders, Locks, Memory, Names, OlderCalls, Pairs, Parts, ProtectionKeys, Relatives,
    Room, Shares, Signals, Stopped, Terminals, Timers, Watches,
};
use super::actors::CREATES;
use super::refused::CLONE_NEW;
use super::{FASTOPEN, Group, SETUID, When, any, bits, equal, only, whole, without};

/// Programs, and code that they make.
pub const CODE: Group = Group {
    name: "code",
    why: "programs are started and libraries loaded; node compiles to memory that it writes and executes, which is why \
          this row alone has both at once",
    calls: &[
        any("arch_prctl"),
        any("execve"),
        any("execveat").rare(Relatives),
        any("membarrier").rare(Memory),
        any("mlock").rare(Memory),
        any("mmap"),
        any("mprotect"),
        any("msync").rare(Memory),
        any("munlock").rare(Memory),
        any("madvise"),
        any("pkey_alloc").rare(ProtectionKeys),
        any("pkey_free").rare(ProtectionKeys),
        any("pkey_mprotect").rare(ProtectionKeys),
        // A process that may write a file of the workspace may execute it, so a program in memory adds nothing.
        any("memfd_create").rare(Memory),
        any("rseq"),
        any("set_robust_list"),
        any("set_tid_address"),
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
        any("getpgid").rare(Relatives),
        any("getpgrp"),
        any("getpid"),
        any("getppid"),
        any("getsid").rare(Relatives),
        any("gettid"),
        any("pidfd_open").rare(Relatives),
        any("sched_yield"),
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
        any("pidfd_send_signal").rare(Signals),
        any("rt_sigaction"),
        any("rt_sigpending").rare(Signals),
        any("rt_sigprocmask"),
        any("rt_sigqueueinfo").rare(Signals),
        any("rt_sigreturn"),
        any("rt_sigsuspend").rare(Signals),
        any("rt_sigtimedwait").rare(Signals),
        any("sigaltstack"),
        any("signalfd4").rare(Signals),
        any("tgkill").rare(Signals),
        any("tkill").rare(OlderCalls),
    ],
};

/// `F_DUPFD`, the flags, `F_DUPFD_CLOEXEC`.
const FCNTL: &[&[When]] =
    &[&[equal(1, 0)], &[equal(1, 1)], &[equal(1, 2)], &[equal(1, 3)], &[equal(1, 4)], &[equal(1, 1030)]];
/// Record locks and locks of open files.
const FCNTL_LOCKS: &[&[When]] =
    &[&[equal(1, 5)], &[equal(1, 6)], &[equal(1, 7)], &[equal(1, 36)], &[equal(1, 37)], &[equal(1, 38)]];
/// `F_SETPIPE_SZ`, `F_GETPIPE_SZ`.
const FCNTL_PIPES: &[&[When]] = &[&[equal(1, 1031)], &[equal(1, 1032)]];
/// `TCGETS`, `TIOCGPGRP`, `TIOCGWINSZ`, `FIONREAD`, `FIONBIO`, `FIOCLEX` of `asm-generic/ioctls.h`.
const IOCTL: &[&[When]] = &[&[equal(1, 0x5401)], &[equal(1, 0x5413)], &[equal(1, 0x5421)]];
/// `TCSETS` and its two others, `TIOCGPGRP`, `TIOCSPGRP`, `TIOCGSID`, `TCGETS2`.
const IOCTL_TERMINALS: &[&[When]] = &[
    &[equal(1, 0x5402)],
    &[equal(1, 0x5403)],
    &[equal(1, 0x5404)],
    &[equal(1, 0x540f)],
    &[equal(1, 0x5410)],
    &[equal(1, 0x5429)],
    &[equal(1, 0x802c_542a)],
];
/// `FICLONE`, `FICLONERANGE` of `linux/fs.h`.
const IOCTL_COPIES: &[&[When]] = &[&[equal(1, 0x4004_9409)], &[equal(1, 0x4020_940d)]];
/// `FIONREAD`, `FIONCLEX`, `FIOCLEX`.
const IOCTL_FLAGS: &[&[When]] = &[&[equal(1, 0x541b)], &[equal(1, 0x5450)], &[equal(1, 0x5451)]];

/// Calls on descriptors that a process already has.
pub const DESCRIPTORS: Group = Group {
    name: "descriptors",
    why: "reading, writing, copying and waiting for descriptors",
    calls: &[
        any("close_range"),
        any("copy_file_range").rare(Copies),
        any("dup"),
        any("dup2"),
        any("dup3").rare(Copies),
        any("epoll_create1"),
        any("epoll_pwait"),
        any("epoll_pwait2").rare(Watches),
        any("eventfd2"),
        only("fcntl", FCNTL, "flags and copies; not whom a descriptor signals, nor leases"),
        only("fcntl", FCNTL_LOCKS, "locks; not whom a descriptor signals, nor leases").rare(Locks),
        only("fcntl", FCNTL_PIPES, "the size of a pipe").rare(Copies),
        any("inotify_add_watch").rare(Watches),
        any("inotify_init1").rare(Watches),
        any("inotify_rm_watch").rare(Watches),
        only(
            "ioctl",
            IOCTL,
            "what a terminal is like, and blocking; a byte pushed into one (TIOCSTI) is another's input",
        ),
        only("ioctl", IOCTL_TERMINALS, "terminals; a byte pushed into one (TIOCSTI) is another's input")
            .rare(Terminals),
        only("ioctl", IOCTL_COPIES, "copies that share blocks; never a file's attributes nor a device")
            .rare(Copies),
        only("ioctl", IOCTL_FLAGS, "what waits in a descriptor, and whether it is inherited").rare(Watches),
        any("lseek"),
        any("pipe2"),
        any("poll"),
        any("ppoll").rare(Watches),
        any("pread64"),
        any("preadv").rare(Parts),
        any("preadv2").rare(Parts),
        any("pselect6").rare(Watches),
        any("pwrite64").rare(Parts),
        any("pwritev").rare(Parts),
        any("pwritev2").rare(Parts),
        any("read"),
        any("readv").rare(Parts),
        any("sendfile").rare(Copies),
        any("splice").rare(Copies),
        any("writev").rare(Parts),
    ],
};

/// `S_IFMT`, and with it no bit that lends rights.
const KIND: u64 = 0o17_0000 | SETUID;
/// File types that `mknod` may make: `S_IFREG`, also as 0, `S_IFIFO` and `S_IFSOCK`.
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
        any("chown").rare(Attributes),
        only("creat", &[&[without(1, SETUID)]], MODE).rare(Folders),
        any("faccessat").rare(Folders),
        any("faccessat2").rare(Folders),
        any("fadvise64"),
        any("fallocate").rare(Room),
        any("fchdir").rare(Folders),
        only("fchmod", &[&[without(1, SETUID)]], MODE),
        only("fchmodat", &[&[without(2, SETUID)]], MODE),
        only("fchmodat2", &[&[without(2, SETUID)]], MODE).rare(OlderCalls),
        any("fchown").rare(Attributes),
        any("fchownat").rare(Attributes),
        any("fdatasync").rare(Room),
        any("fgetxattr").rare(Attributes),
        any("flistxattr").rare(Attributes),
        any("flock").rare(Locks),
        any("fsetxattr").rare(Attributes),
        any("fstat"),
        any("fstatfs").rare(Room),
        any("fsync"),
        any("ftruncate").rare(Room),
        any("getcwd"),
        any("getdents64"),
        any("getxattr").rare(Attributes),
        any("lchown").rare(Attributes),
        any("lgetxattr").rare(Attributes),
        any("link"),
        any("linkat").rare(Folders),
        any("listxattr").rare(Attributes),
        any("llistxattr").rare(Attributes),
        any("lstat").rare(OlderCalls),
        any("mkdir"),
        any("mkdirat").rare(Folders),
        only("mknod", NODES, "pipes and sockets; no device").rare(OlderCalls),
        only("mknodat", PIPE_AT, "pipes; no device"),
        only("mknodat", NODES_AT, "files and sockets; no device").rare(Folders),
        any("newfstatat"),
        only("open", &[&[without(1, CREATES)], &[without(2, SETUID)]], MODE).rare(OlderCalls),
        only("openat", &[&[without(2, CREATES)], &[without(3, SETUID)]], MODE),
        any("readlink"),
        any("readlinkat").rare(Folders),
        any("removexattr").rare(Attributes),
        any("rename"),
        any("renameat").rare(OlderCalls),
        any("renameat2").rare(Folders),
        any("rmdir"),
        any("setxattr").rare(Attributes),
        any("stat").rare(OlderCalls),
        any("statfs"),
        any("statx"),
        any("symlink"),
        any("symlinkat").rare(Folders),
        any("sync_file_range").rare(Room),
        any("truncate").rare(Room),
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
        any("alarm").rare(Timers),
        any("clock_getres").rare(Timers),
        any("clock_gettime").rare(Timers),
        any("clock_nanosleep"),
        any("getitimer").rare(Timers),
        any("gettimeofday").rare(OlderCalls),
        any("nanosleep").rare(OlderCalls),
        any("pause").rare(Timers),
        any("restart_syscall").rare(Stopped),
        any("setitimer").rare(Timers),
        any("time").rare(OlderCalls),
        any("timer_create").rare(Timers),
        any("timer_delete").rare(Timers),
        any("timer_getoverrun").rare(Timers),
        any("timer_gettime").rare(Timers),
        any("timer_settime").rare(Timers),
        any("timerfd_create").rare(Timers),
        any("timerfd_gettime").rare(Timers),
        any("timerfd_settime").rare(Timers),
        any("times").rare(Timers),
    ],
};

/// `PR_SET_NAME`.
const PRCTL: &[&[When]] = &[&[equal(0, 15)]];
/// `PR_SET_PDEATHSIG`, `PR_GET_PDEATHSIG`, `PR_GET_DUMPABLE`, `PR_SET_DUMPABLE` to 0, `PR_GET_NAME`, `PR_GET_SECCOMP`,
/// `PR_CAPBSET_READ`, both of the timer slack, of the child subreaper and of `NO_NEW_PRIVS`,
/// both of transparent huge pages, `PR_SET_VMA`.
const PRCTL_RARE: &[&[When]] = &[
    &[equal(0, 1)],
    &[equal(0, 2)],
    &[equal(0, 3)],
    &[equal(0, 4), whole(equal(1, 0))],
    &[equal(0, 16)],
    &[equal(0, 21)],
    &[equal(0, 23)],
    &[equal(0, 29)],
    &[equal(0, 30)],
    &[equal(0, 36)],
    &[equal(0, 37)],
    &[equal(0, 38)],
    &[equal(0, 39)],
    &[equal(0, 41)],
    &[equal(0, 42)],
    &[equal(0, 0x5356_4d41)],
];
/// Itself: in mode flat a pid may be anybody's of the same uid.
const ITSELF: &[&[When]] = &[&[equal(0, 0)]];

/// Calls by which a process reads facts about itself, or narrows its own rights.
pub const SELF: Group = Group {
    name: "self",
    why: "who a process is, and limits and names of its own",
    calls: &[
        any("capget"),
        any("getegid"),
        any("geteuid"),
        any("getgid"),
        any("getgroups").rare(Relatives),
        only("getpriority", &[&[equal(0, 0), equal(1, 0)]], "its own alone").rare(Shares),
        any("getresgid").rare(Relatives),
        any("getresuid").rare(Relatives),
        any("getrlimit").rare(OlderCalls),
        any("getrusage").rare(Relatives),
        any("getuid"),
        only("prctl", PRCTL, "names: a closed list of what changes or tells only the process itself"),
        only(
            "prctl",
            PRCTL_RARE,
            "the same; it may make itself unreadable to the others of its jail, not readable",
        )
        .rare(Names),
        only("prlimit64", ITSELF, "its own limits: another's, of the same uid, it could lower or read"),
        any("sched_get_priority_max").rare(Shares),
        any("sched_get_priority_min").rare(Shares),
        any("sched_getaffinity"),
        only("sched_getparam", ITSELF, "its own alone").rare(Shares),
        only("sched_getscheduler", ITSELF, "its own alone").rare(Shares),
        only("sched_setscheduler", ITSELF, "its own alone; a class that others feel needs a capability")
            .rare(Shares),
        only("setpriority", &[&[equal(0, 0), equal(1, 0)]], "its own alone").rare(Shares),
        any("setrlimit").rare(OlderCalls),
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
        any("getpeername").rare(Pairs),
        any("getsockname"),
        only("getsockopt", &[&[equal(1, 1)]], "what a socket is: its type, its family, its error")
            .rare(Pairs),
        only("setsockopt", &[&[equal(1, 1)]], "sizes and time-outs of a pair").rare(Pairs),
        only("sendmsg", &[&[without(2, FASTOPEN)]], "on a pair").rare(Pairs),
    ],
};

/// Forms that newer ones have replaced.
pub const OLDER: Group = Group {
    name: "older",
    why: "what programs built for an older C library, or written in assembly, call instead of the newer forms",
    calls: &[any("fork").rare(OlderCalls), any("pipe").rare(OlderCalls), any("select").rare(OlderCalls)],
};
