//! System calls that a runner with its own loopback and terminal may make besides: sockets that reach nothing but
//! its own network namespace, and calls that make a terminal of its own jail.

use super::Condition::{Loopback, Terminals};
use super::{FASTOPEN, Group, When, any, bits, equal, only, without};

const STREAM: u64 = 1;
/// `SOCK_CLOEXEC` and `SOCK_NONBLOCK`, which a type carries.
const TYPE: u64 = 0xffff_ffff & !0x8_0800;
const TCP: u64 = 6;

/// TCP of both families, by protocol 0 or its own; and what tells which addresses there are. MPTCP (262) is another
/// protocol. No Unix socket: an attached workspace may hold one that a process of the host listens on, and whether a
/// socket is connected to a path no filter sees.
const SOCKETS: &[&[When]] = &[&[equal(0, 2), bits(1, TYPE, STREAM), equal(2, 0)]];
const SOCKETS_RARE: &[&[When]] = &[
    &[equal(0, 10), bits(1, TYPE, STREAM), equal(2, 0)],
    &[equal(0, 2), bits(1, TYPE, STREAM), equal(2, TCP)],
    &[equal(0, 10), bits(1, TYPE, STREAM), equal(2, TCP)],
    // AF_NETLINK, SOCK_RAW, NETLINK_ROUTE.
    &[equal(0, 16), bits(1, TYPE, 3), equal(2, 0)],
];

/// Options of TCP below 16 and two others: delays, times, sizes. Never `TCP_ULP` (31), which puts other code of the kernel
/// into a socket, such as TLS or SMC; nor `TCP_REPAIR` (19) or `TCP_FASTOPEN_CONNECT` (30).
const OPTIONS: &[&[When]] = &[&[equal(1, TCP), without(2, 0xffff_fff0)]];
/// `TCP_USER_TIMEOUT` and `TCP_NOTSENT_LOWAT`; then IP and IPv6.
const OPTIONS_RARE: &[&[When]] =
    &[&[equal(1, TCP), equal(2, 18)], &[equal(1, TCP), equal(2, 25)], &[equal(1, 0)], &[equal(1, 41)]];

/// Sockets within its own network namespace, in which there is loopback and nothing else.
pub const LOOPBACK: Group = Group {
    name: "loopback",
    why: "clients reach the model API of the jail by TCP, and programs reach each other; nothing else can be reached",
    calls: &[
        only("socket", SOCKETS, "TCP and the route table alone; neither MPTCP, nor Unix, nor another family"),
        only("socket", SOCKETS_RARE, "the same").rare(Loopback),
        any("connect"),
        any("bind"),
        any("listen"),
        any("accept4"),
        any("accept").rare(Loopback),
        only(
            "sendto",
            &[&[without(3, FASTOPEN)]],
            "a question to the route table; never a connection with data in it",
        )
        .rare(Loopback),
        only("setsockopt", OPTIONS, "of TCP on its own loopback; nothing that makes it another protocol"),
        only("setsockopt", OPTIONS_RARE, "the same, and of IP and IPv6").rare(Loopback),
        only(
            "getsockopt",
            &[&[equal(1, TCP)], &[equal(1, 0)], &[equal(1, 41)]],
            "of TCP, IP and IPv6 on its own loopback",
        )
        .rare(Loopback),
    ],
};

/// `TIOCSCTTY`, `TIOCSWINSZ`, `TIOCNOTTY`, `TIOCGPTN`, `TIOCSPTLCK`, `TIOCGPTPEER`, `TIOCGPTLCK` of
/// `asm-generic/ioctls.h`. Never `TIOCSTI`.
const TERMINALS: &[&[When]] = &[&[equal(1, 0x5414)], &[equal(1, 0x8004_5430)], &[equal(1, 0x4004_5431)]];
const TERMINALS_RARE: &[&[When]] =
    &[&[equal(1, 0x540e)], &[equal(1, 0x5422)], &[equal(1, 0x5441)], &[equal(1, 0x8004_5439)]];

/// Terminals of the jail's own.
pub const TERMINAL: Group = Group {
    name: "terminal",
    why: "a pseudo-terminal for the program, of a file system that its own jail has to itself",
    calls: &[
        only(
            "ioctl",
            TERMINALS,
            "making one, and its size; a byte pushed into one (TIOCSTI) is another's input",
        )
        .rare(Terminals),
        only("ioctl", TERMINALS_RARE, "whose it is").rare(Terminals),
    ],
};
