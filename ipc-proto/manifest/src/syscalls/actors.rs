//! What the host's own processes may call. Every group but `BASE` and `LINKS` is for few.

use super::{FASTOPEN, Group, SETUID, When, any, bits, equal, only, own_pid, whole, without};

/// `PROT_EXEC`, `asm-generic/mman-common.h`.
const PROT_EXEC: u64 = 4;
/// `MADV_DONTNEED`, `asm-generic/mman-common.h`.
const DONTNEED: u64 = 4;
/// `FIONBIO`, `asm-generic/ioctls.h`.
const FIONBIO: u64 = 0x5421;
const SIGABRT: u64 = 6;
const SOL_SOCKET: u64 = 1;
const SO_ERROR: u64 = 4;
const SO_PEERCRED: u64 = 17;

/// `F_GETFD`, `F_SETFD`, `F_GETFL`, `F_SETFL`, `F_DUPFD_CLOEXEC`, `linux/fcntl.h`.
const FLAGS: &[&[When]] = &[&[equal(1, 1)], &[equal(1, 3)]];
const FLAGS_SET: &[&[When]] = &[&[equal(1, 2)], &[equal(1, 4)], &[equal(1, 1030)]];
/// `F_GETLK`, `F_SETLK`, `F_SETLKW`.
const LOCKS: &[&[When]] = &[&[equal(1, 6)]];
const LOCKS_RARE: &[&[When]] = &[&[equal(1, 5)], &[equal(1, 7)]];

/// What every process needs to live, wait and end.
pub const BASE: Group = Group {
    name: "base",
    why: "the runtime: memory without code, waiting, what it holds, ending",
    calls: &[
        any("brk"),
        any("close"),
        any("epoll_ctl"),
        any("epoll_wait"),
        any("exit_group"),
        any("futex"),
        any("getrandom"),
        any("munmap"),
        any("write"),
        only("fcntl", FLAGS, "a descriptor's own flags; not whom it signals, nor leases"),
        only("mmap", &[&[whole(without(2, PROT_EXEC))]], "memory, and never code")
            .rare("a block above 128 KiB, and a database's shared index"),
        any("sigaltstack"),
        only("ioctl", &[&[equal(1, FIONBIO)]], "a socket that does not block; no terminal, no file system").rare(
            "a descriptor that came over a control descriptor is made not to block by this or by fcntl, as std likes",
        ),
        only("fcntl", FLAGS_SET, "the same").rare("a descriptor that does not come with its flags set"),
        any("clock_gettime").rare("a clock that the vDSO cannot read, as in some virtual machines"),
        any("epoll_pwait").rare("an architecture, or a C library, that makes epoll_wait of it"),
        any("fstat").rare("a C library that makes no newfstatat of it"),
        any("getpid").rare("a panic: abort asks who it is"),
        any("gettid").rare("a panic: abort asks who it is"),
        any("lseek").rare("a file whose length is asked before it is read"),
        only("madvise", &[&[equal(2, DONTNEED)]], "giving memory back, and nothing that merges or poisons pages")
            .rare("a heap that has shrunk by far"),
        only("mprotect", &[&[whole(without(2, PROT_EXEC))]], "memory, and never code")
            .rare("a heap that grows past what was set aside for it"),
        any("mremap").rare("a block above 128 KiB that grows"),
        any("newfstatat").rare("a file whose length is asked before it is read"),
        any("poll").rare("std looks at its standard descriptors"),
        any("pread64").rare("a beat reads its memory statistics; a process without files, once a second"),
        any("read").rare("what is no socket and no file: an event counter of the runtime"),
        any("restart_syscall").rare("a wait that was interrupted by a stop, as for a copy of the state"),
        any("rt_sigaction").rare("a panic: abort puts the default back"),
        any("rt_sigprocmask").rare("a panic: abort blocks the rest"),
        any("rt_sigreturn").rare("a signal that std handles: a stack that overflows"),
        any("statx").rare("a file's length"),
        only("tgkill", &[&[own_pid(0), equal(2, SIGABRT)]], "to end itself by abort, and to signal nobody else")
            .rare("a panic: abort"),
        any("exit").rare("a C library that ends its one thread by it"),
        any("writev").rare("a log line, or an answer, in several parts"),
    ],
};

/// Speaking on descriptors that were handed over.
pub const LINKS: Group = Group {
    name: "links",
    why: "reading and writing the ends of its edges and its control descriptor",
    calls: &[
        any("recvfrom"),
        any("recvmsg"),
        only(
            "sendto",
            &[&[without(3, FASTOPEN), whole(equal(4, 0))]],
            "to whom the descriptor is connected, and to nobody by address",
        ),
        only("getsockopt", &[&[equal(1, SOL_SOCKET), equal(2, SO_ERROR)]], "why a connection failed")
            .rare("an edge whose other end died"),
        any("shutdown").rare("an edge is given up while the other end still speaks"),
    ],
};

/// Letting go of the processor.
pub const YIELD: Group = Group {
    name: "yield",
    why: "whoever waits for an answer goes on with it first, where both have one processor",
    calls: &[any("sched_yield")],
};

/// Speaking over a connection that dialer made.
pub const DIALLED: Group = Group {
    name: "dialled",
    why: "who is at the other end: a secret that is sent without TLS goes to this machine alone",
    calls: &[any("getpeername").rare("a secret for a service on this machine that speaks no TLS")],
};

/// Passing descriptors on.
pub const PASS: Group = Group {
    name: "pass",
    why: "handing a dialled connection or a workspace directory over",
    calls: &[only("sendmsg", &[&[without(2, FASTOPEN)]], "on descriptors that are connected")],
};

/// Files beneath its own folder.
pub const FILES: Group = Group {
    name: "files",
    why: "its own folder: databases, logs and keys, made durable",
    calls: &[
        any("fdatasync")
            .rare("a process of few writes: the record and the databases make theirs durable by it"),
        any("fsync").rare("a file that is replaced whole, and a database's own"),
        any("ftruncate").rare("a write that was torn, a journal that is done with"),
        any("getdents64").rare("a folder is listed"),
        only("mkdir", &[&[without(1, SETUID)]], "folders").rare("a folder that is not there yet"),
        only(
            "openat",
            &[&[without(2, CREATES)], &[without(3, SETUID)]],
            "no file that lends its owner's rights",
        )
        .rare("a file beyond those opened before the seal"),
        any("pwrite64").rare("a database, the record"),
        any("rename").rare("a file that is replaced whole"),
        any("unlink").rare("a file that is done with"),
        only("fcntl", LOCKS, "a database's locks").rare("a process whose database is not written in a day"),
        only("fcntl", LOCKS_RARE, "a database's locks")
            .rare("another process holds a database's lock: a backup of it"),
        any("access").rare("a database looks for the journal of a killed life"),
        any("clock_nanosleep")
            .rare("a database that another process has locked; a bundle that is being replaced"),
        any("faccessat2").rare("a C library that makes it of access"),
        any("fallocate").rare("room that is set aside before it is written"),
        only("fchmod", &[&[without(1, SETUID)]], "no file that lends its owner's rights")
            .rare("a key file is made"),
        any("getcwd").rare("a database is opened by a name without a folder"),
        any("geteuid").rare("a database is opened as root, in mode flat"),
        any("lstat").rare("a C library that makes no newfstatat of it"),
        only("mkdirat", &[&[without(2, SETUID)]], "folders").rare("an architecture without mkdir"),
        only(
            "open",
            &[&[without(1, CREATES)], &[without(2, SETUID)]],
            "no file that lends its owner's rights",
        )
        .rare("a C library that makes no openat of it"),
        any("readlink").rare("a database resolves its own name"),
        any("renameat").rare("an architecture without rename"),
        any("renameat2").rare("an architecture without rename"),
        any("stat").rare("a C library that makes no newfstatat of it"),
        any("unlinkat").rare("an architecture without unlink, and a folder that is removed"),
    ],
};

/// Making what was written durable while others are served.
pub const FLUSH: Group = Group {
    name: "flush",
    why: "the record is flushed while appends go on; of what else it can do, nothing that read, write and fsync cannot",
    calls: &[
        any("io_getevents").rare("appends that come at once, or a bundle of the record that is full"),
        any("io_submit").rare("appends that come at once, or a bundle of the record that is full"),
    ],
};

/// `O_CREAT` and the bit that only `O_TMPFILE` has: with either the kernel reads the mode.
pub(super) const CREATES: u64 = 0o100 | 0o20_000_000;

/// Accepting on a listener that `agentd` made.
pub const ACCEPT: Group = Group {
    name: "accept",
    why: "its inherited listener, and who is at the other end",
    calls: &[
        any("accept4"),
        only(
            "getsockopt",
            &[&[equal(1, SOL_SOCKET), equal(2, SO_PEERCRED)]],
            "who asks, by the kernel's word",
        ),
    ],
};

/// Serving clients that came over TCP.
pub const NODELAY: Group = Group {
    name: "nodelay",
    why: "an answer's parts leave as they are written: held back for an acknowledgement each would be 40 ms late",
    calls: &[only(
        "setsockopt",
        &[&[equal(1, IPPROTO_TCP), equal(2, TCP_NODELAY)]],
        "no delay; nothing else of a connection is changed",
    )
    .rare("a host that listens on TCP, which it does only where it is configured")],
};

const STREAM: u64 = 1;
const DATAGRAM: u64 = 2;
/// `SOCK_CLOEXEC` and `SOCK_NONBLOCK`, which a type carries.
const TYPE_FLAGS: u64 = 0x8_0800;
const TYPE: u64 = 0xffff_ffff & !TYPE_FLAGS;

/// Family, type and protocol together: TCP and UDP of both families. Protocol 0 is theirs, and 6 TCP by name; 262,
/// MPTCP, which landlock's rules for TCP do not see, is not.
const SOCKETS: &[&[When]] = &[
    &[equal(0, 2), bits(1, TYPE, STREAM), equal(2, IPPROTO_TCP)],
    &[equal(0, 10), bits(1, TYPE, STREAM), equal(2, IPPROTO_TCP)],
    &[equal(0, 2), bits(1, TYPE, STREAM), equal(2, 0)],
    &[equal(0, 10), bits(1, TYPE, STREAM), equal(2, 0)],
    &[equal(0, 2), bits(1, TYPE, DATAGRAM), equal(2, 0)],
    &[equal(0, 10), bits(1, TYPE, DATAGRAM), equal(2, 0)],
];
/// Lengths of `sockaddr_in` and `sockaddr_in6`.
const ADDRESS: &[&[When]] = &[&[equal(2, 16)], &[equal(2, 28)]];
const IPPROTO_TCP: u64 = 6;
const TCP_NODELAY: u64 = 1;

/// Sockets of the one process with a network.
pub const DIAL: Group = Group {
    name: "dial",
    why: "DNS over UDP and TCP, and TCP connections: AF_INET and AF_INET6 only",
    calls: &[
        only("socket", SOCKETS, "TCP and UDP alone; neither MPTCP, nor raw, nor another family")
            .rare("a machine whose name servers or addresses are of one family"),
        only("connect", ADDRESS, "an address of IPv4 or IPv6").rare("a machine with addresses of one family"),
        only("bind", ADDRESS, "where name servers answer to").rare("a name that /etc/hosts does not have"),
        only(
            "setsockopt",
            &[&[equal(1, IPPROTO_TCP), equal(2, TCP_NODELAY)]],
            "no delay; not TCP_FASTOPEN_CONNECT, which makes a connection past landlock's rules",
        ),
        only(
            "sendto",
            &[&[without(3, FASTOPEN)]],
            "a question to a name server; never a connection with data in it",
        )
        .rare("a name that /etc/hosts does not have"),
        any("getsockname").rare("a name that /etc/hosts does not have"),
        any("getpeername").rare("a name server that is asked over TCP"),
    ],
};
