//! System calls that the host's own processes may make. Every group but `BASE` and `LINKS` is for few.

use super::Condition::{
    Aborts, Faults, Ipv6, LargeBlock, ListensOnTcp, NameServer, NoVdso, OfSome, OtherLibrary, PlainService,
    TileFilled, TornAndStopped, WriteTorn,
};
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

/// `F_GETFD`, `F_GETFL` and `F_DUPFD_CLOEXEC`, `linux/fcntl.h`.
const FLAGS: &[&[When]] = &[&[equal(1, 1)], &[equal(1, 3)]];
const COPY: &[&[When]] = &[&[equal(1, 1030)]];
/// `F_SETLK`.
const LOCKS: &[&[When]] = &[&[equal(1, 6)]];

/// Calls that every process needs to live, wait and end.
pub const BASE: Group = Group {
    name: "base",
    why: "the runtime: memory without code, waiting, what it holds, ending",
    calls: &[
        any("brk"),
        any("close"),
        any("epoll_ctl"),
        any("epoll_wait"),
        // C libraries use it for `epoll_wait` where the architecture has none.
        #[cfg(not(target_arch = "x86_64"))]
        any("epoll_pwait"),
        any("exit_group"),
        any("futex"),
        any("getrandom"),
        any("munmap"),
        any("pread64"),
        any("sigaltstack"),
        any("write"),
        only("fcntl", FLAGS, "a descriptor's own flags; not whom it signals, nor leases"),
        only("ioctl", &[&[equal(1, FIONBIO)]], "a socket that does not block; no terminal, no file system"),
        only(
            "madvise",
            &[&[equal(2, DONTNEED)]],
            "giving memory back, and nothing that merges or poisons pages",
        ),
        only("fcntl", COPY, "the same descriptor once more").rare(OfSome),
        only("mmap", &[&[whole(without(2, PROT_EXEC))]], "memory, and never code").rare(LargeBlock),
        any("mremap").rare(LargeBlock),
        any("clock_gettime").rare(NoVdso),
        any("getpid").rare(Aborts),
        any("gettid").rare(Aborts),
        any("rt_sigprocmask").rare(Aborts),
        only(
            "tgkill",
            &[&[own_pid(0), equal(2, SIGABRT)]],
            "to end itself by abort, and to signal nobody else",
        )
        .rare(Aborts),
        any("rt_sigaction").rare(Faults),
        any("rt_sigreturn").rare(Faults),
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
        any("shutdown").rare(OfSome),
    ],
};

/// Speaking over a connection that dialer made.
pub const DIALLED: Group = Group {
    name: "dialled",
    why: "who is at the other end: a secret that is sent without TLS goes to this machine alone",
    calls: &[any("getpeername").rare(PlainService)],
};

/// Passing descriptors on.
pub const PASS: Group = Group {
    name: "pass",
    why: "handing a dialled connection or a workspace directory over",
    calls: &[only("sendmsg", &[&[without(2, FASTOPEN)]], "on descriptors that are connected")],
};

/// Speaking HTTP.
pub const HTTP: Group =
    Group { name: "http", why: "a head and a body leave together", calls: &[any("writev").rare(OfSome)] };

/// Opening what is there, beneath what landlock lets it see.
pub const OPEN: Group = Group {
    name: "open",
    why: "a file or folder that is there is opened, to be read, written or made durable",
    calls: &[only("openat", &[&[without(2, CREATES)]], "what is there, and nothing new").rare(OfSome)],
};

/// How long a file is that it has open.
pub const LENGTH: Group = Group {
    name: "length",
    why: "how long a file is before it is read",
    calls: &[any("statx").rare(OfSome)],
};

/// Reading files from their beginning.
pub const READ: Group = Group {
    name: "read",
    why: "a small file is read whole; what comes over edges is received, and the like of memory statistics read in place",
    calls: &[any("read").rare(OfSome)],
};

/// Listing folders.
pub const LIST: Group =
    Group { name: "list", why: "what there is in a folder of its own", calls: &[any("getdents64")] };

/// Making files of its own folder durable, and removing them.
pub const FILES: Group = Group {
    name: "files",
    why: "its own folder: databases, logs and keys, made durable, and what is done with removed",
    calls: &[
        any("fsync"),
        any("unlink"),
        #[cfg(not(target_arch = "x86_64"))]
        any("unlinkat"),
    ],
};

/// Files that are replaced whole.
pub const REPLACE: Group = Group {
    name: "replace",
    why: "a file is written anew beside its name and renamed, so that it is whole or the former at every moment",
    calls: &[
        only("openat", &[&[without(3, SETUID)]], "no file that lends its owner's rights"),
        any("rename"),
        #[cfg(not(target_arch = "x86_64"))]
        any("renameat"),
    ],
};

/// Sets the mode of a key file and of a public one.
pub const MODES: Group = Group {
    name: "modes",
    why: "a key is its owner's alone to read, and what is public everybody's",
    calls: &[only("fchmod", &[&[without(1, SETUID)]], "no file that lends its owner's rights")],
};

/// A database. It is opened before the seal, with its log, under a lock that is never let go of; it looks for no other
/// file after that, waits for nobody's lock, and keeps what it sorts in memory.
pub const DATABASE: Group = Group {
    name: "database",
    why: "pages are written in place, the log is cut, and a lock says that nobody else writes",
    calls: &[
        only("fcntl", LOCKS, "a database's locks"),
        any("ftruncate"),
        any("pwrite64"),
        any("newfstatat").rare(OtherLibrary),
        any("fstat").rare(OtherLibrary),
    ],
};

/// The files of the record.
pub const RECORD: Group = Group {
    name: "record",
    why: "bundles and tiles of the record grow, are cut where a write was torn, and lie in folders of thousands",
    calls: &[
        any("fdatasync"),
        any("ftruncate"),
        only("mkdir", &[&[without(1, SETUID)]], "folders"),
        #[cfg(not(target_arch = "x86_64"))]
        only("mkdirat", &[&[without(2, SETUID)]], "folders"),
        any("pwrite64"),
        any("newfstatat").rare(OtherLibrary),
        any("fstat").rare(OtherLibrary),
        any("unlinkat").rare(TileFilled),
        any("clock_nanosleep").rare(WriteTorn),
        any("restart_syscall").rare(TornAndStopped),
    ],
};

/// Making what was written durable while others are served.
pub const FLUSH: Group = Group {
    name: "flush",
    why: "the record is flushed while appends go on; of what else it can do, nothing that read, write and fsync cannot",
    calls: &[any("io_getevents"), any("io_submit")],
};

/// `O_CREAT` and the bit that only `O_TMPFILE` has: with either the kernel reads the mode.
pub(super) const CREATES: u64 = 0o100 | 0o20_000_000;

/// Accepting on a listener that `agentd` made.
pub const ACCEPT: Group = Group { name: "accept", why: "its inherited listener", calls: &[any("accept4")] };

/// Knowing who is at the other end of a connection to a Unix socket.
pub const PEER: Group = Group {
    name: "peer",
    why: "who asks, by the kernel's word",
    calls: &[only(
        "getsockopt",
        &[&[equal(1, SOL_SOCKET), equal(2, SO_PEERCRED)]],
        "the other end's user; nothing else of a socket is asked for",
    )],
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
    .rare(ListensOnTcp)],
};

const STREAM: u64 = 1;
const DATAGRAM: u64 = 2;
/// `SOCK_CLOEXEC` and `SOCK_NONBLOCK`, which a type carries.
const TYPE_FLAGS: u64 = 0x8_0800;
const TYPE: u64 = 0xffff_ffff & !TYPE_FLAGS;

/// Family, type and protocol together: TCP by its own protocol and UDP by 0. 262, MPTCP, which landlock's rules for TCP
/// do not see, is not among them.
const SOCKETS: &[&[When]] = &[&[equal(0, 2), bits(1, TYPE, STREAM), equal(2, IPPROTO_TCP)]];
const SOCKETS_6: &[&[When]] = &[
    &[equal(0, 10), bits(1, TYPE, STREAM), equal(2, IPPROTO_TCP)],
    &[equal(0, 10), bits(1, TYPE, DATAGRAM), equal(2, 0)],
];
const SOCKETS_NAMES: &[&[When]] = &[&[equal(0, 2), bits(1, TYPE, DATAGRAM), equal(2, 0)]];
/// Lengths of `sockaddr_in` and `sockaddr_in6`.
const ADDRESS: &[&[When]] = &[&[equal(2, 16)]];
const ADDRESS_6: &[&[When]] = &[&[equal(2, 28)]];
const IPPROTO_TCP: u64 = 6;
const TCP_NODELAY: u64 = 1;

/// `SO_KEEPALIVE`, `asm-generic/socket.h`; `TCP_KEEPIDLE`, `TCP_KEEPINTVL`, `TCP_KEEPCNT` and `TCP_USER_TIMEOUT`,
/// `linux/tcp.h`.
const SO_KEEPALIVE: u64 = 9;
const TCP_KEEPIDLE: u64 = 4;
const TCP_KEEPINTVL: u64 = 5;
const TCP_KEEPCNT: u64 = 6;
const TCP_USER_TIMEOUT: u64 = 18;
const DIALLED_OPTIONS: &[&[When]] = &[
    &[equal(1, IPPROTO_TCP), equal(2, TCP_NODELAY)],
    &[equal(1, SOL_SOCKET), equal(2, SO_KEEPALIVE)],
    &[equal(1, IPPROTO_TCP), equal(2, TCP_KEEPIDLE)],
    &[equal(1, IPPROTO_TCP), equal(2, TCP_KEEPINTVL)],
    &[equal(1, IPPROTO_TCP), equal(2, TCP_KEEPCNT)],
    &[equal(1, IPPROTO_TCP), equal(2, TCP_USER_TIMEOUT)],
];

/// Sockets of the one process with a network.
pub const DIAL: Group = Group {
    name: "dial",
    why: "DNS over UDP and TCP, and TCP connections: AF_INET and AF_INET6 only",
    calls: &[
        only("socket", SOCKETS, "TCP and UDP alone; neither MPTCP, nor raw, nor another family"),
        only("socket", SOCKETS_6, "the same").rare(Ipv6),
        only("socket", SOCKETS_NAMES, "the same").rare(NameServer),
        only("connect", ADDRESS, "an address of IPv4"),
        only("connect", ADDRESS_6, "an address of IPv6").rare(Ipv6),
        only("bind", ADDRESS, "where name servers answer to").rare(NameServer),
        only("bind", ADDRESS_6, "where name servers answer to").rare(Ipv6),
        only("getsockopt", &[&[equal(1, SOL_SOCKET), equal(2, SO_ERROR)]], "why a connection failed"),
        only(
            "setsockopt",
            DIALLED_OPTIONS,
            "no delay, and an end where the other end is gone; not TCP_FASTOPEN_CONNECT, which makes a connection past \
             landlock's rules",
        ),
        only(
            "sendto",
            &[&[without(3, FASTOPEN)]],
            "a question to a name server; never a connection with data in it",
        )
        .rare(NameServer),
        // A question over TCP, after an answer that was cut: its length and itself leave together.
        any("writev").rare(NameServer),
    ],
};
