//! The acts themselves. The order is their numbers, which only the programs of one release say to each other.

use super::Moment::{Apart, Jailed, Sealed};
use super::Right::{Call, Client, Flat, Loopback, OwnFolder, Programs};
use super::Whom::{Actors, All, Runner};
use super::{Act, Moment, Right, Whom};

type Contained = &'static [(Right, &'static str)];

const fn act(id: &'static str, tries: &'static str, moment: Moment, whom: Whom, contained: Contained) -> Act {
    Act { id, tries, moment, whom, contained }
}

/// Sealed, by every row, and refused to each.
const fn all(id: &'static str, tries: &'static str) -> Act {
    act(id, tries, Sealed, All, &[])
}

const DIALS: Contained = &[(Client, "to dial is its duty; what it dials is checked before")];
/// Loopback is the jail's own as well: what is reached is the jail itself.
const CONNECTS: Contained = &[
    (Client, "to dial is its duty; what it dials is checked before"),
    (Loopback, "the loopback is the jail's own: nobody but the jail itself is there"),
];
const LISTENS: Contained =
    &[(Loopback, "the loopback is the jail's own: nobody but the jail itself is there")];
const OWN: Contained =
    &[(Programs, "the workspace is its own, and no process of the host runs what is in it")];
const TOOLS: Contained = &[(Programs, "tools are programs, and each is under the same seal")];
const JIT: Contained = &[(Programs, "node compiles to memory; what runs there is under the same seal")];

/// Every act.
pub const ACTS: &[Act] = &[
    // Files.
    all("shadow", "read /etc/shadow"),
    all("system-write", "write a program into /usr/bin"),
    act("system-write-apart", "write a program into /usr/bin, not sealed", Apart, All, &[]),
    all("home-keys", "write authorized_keys or .bashrc in somebody's home, or read the homes"),
    act("git-hook", "write .git/hooks/post-commit in the workspace", Sealed, Runner, OWN),
    act("git-config", "write core.fsmonitor into .git/config in the workspace", Sealed, Runner, OWN),
    act("link-out", "write a file outside through a symbolic link in the workspace", Sealed, Runner, &[]),
    act(
        "link-race",
        "write a file outside while a name turns from file to link and back",
        Sealed,
        Runner,
        &[],
    ),
    act("rename-out", "move a file of the workspace into /usr", Sealed, Runner, &[]),
    act("rename-in", "move a file of the system into the workspace", Sealed, Runner, &[]),
    act("hard-link-in", "make a hard link to a file outside in the workspace", Sealed, Runner, &[]),
    act("fifo", "make a FIFO in the workspace", Sealed, Runner, OWN),
    act("device-node-jailed", "make a character device, not sealed", Jailed, All, &[]),
    act("device-node", "make a character device in the workspace", Sealed, Runner, &[]),
    act(
        "setuid-file",
        "make a program of the workspace setuid",
        Sealed,
        Runner,
        &[(
            Programs,
            "it is the workspace's owner's, and setuid counts neither in the jail nor with no_new_privs",
        )],
    ),
    all("self-root", "read /etc/shadow through /proc/self/root"),
    all("init-root", "read /etc/shadow through /proc/1/root"),
    all("init-environ", "read /proc/1/environ"),
    all("agentd-environ", "read agentd's environment in /proc"),
    all("agentd-memory", "open agentd's memory in /proc"),
    all("peer-maps", "read the maps of the row's running process"),
    all("peer-memory", "open the memory of the row's running process"),
    act("peer-maps-jailed", "read the maps of the row's running process, not sealed", Jailed, Actors, &[]),
    all("kernel-log", "open the kernel's log"),
    all("core-pattern", "open /proc/sys/kernel/core_pattern for writing"),
    all("cgroup-write", "open files of /sys/fs/cgroup for writing"),
    all("sysrq", "open /proc/sysrq-trigger"),
    all("memory-device", "open /dev/mem, /dev/kmem or /dev/port"),
    all("disk-device", "open disks, FUSE, KVM or TUN"),
    act(
        "terminal",
        "open a terminal",
        Sealed,
        All,
        &[(Loopback, "the terminals it sees are of a file system that its jail has to itself")],
    ),
    all("other-folder", "list another process's folder"),
    act("folder-above", "list the state directory", Sealed, Actors, &[]),
    act("log-write", "write agentd's log", Sealed, Actors, &[]),
    act("own-folder", "list its own folder", Sealed, Actors, &[(OwnFolder, "its row grants it")]),
    // Programs and code.
    act("exec-system", "execute /bin/true", Sealed, All, TOOLS),
    act("exec-memory", "execute a program that is in memory alone", Sealed, All, TOOLS),
    all("exec-setuid", "gain a uid by a setuid program"),
    act("exec-setuid-jailed", "gain a uid by a setuid program, not sealed", Jailed, Actors, &[]),
    act("code-map", "map memory that is written and executed", Sealed, All, JIT),
    act("code-protect", "turn written memory into code", Sealed, All, JIT),
    // Sockets.
    act("tcp-connect", "connect to 127.0.0.1:22 by TCP", Sealed, All, CONNECTS),
    act("tcp-connect-apart", "connect to 127.0.0.1:22 by TCP, not sealed", Apart, All, CONNECTS),
    act("tcp-outside", "connect to an address outside by TCP", Sealed, All, DIALS),
    act("tcp-outside-apart", "connect to an address outside by TCP, not sealed", Apart, All, DIALS),
    act(
        "tcp-bind",
        "take a TCP port",
        Sealed,
        All,
        &[
            (Client, "its sockets for DNS are bound; nothing can listen"),
            (Loopback, "the loopback is the jail's own: nobody but the jail itself is there"),
        ],
    ),
    act("tcp-listen", "listen on a TCP port", Sealed, All, LISTENS),
    act("udp-send", "send a datagram to 127.0.0.1:53", Sealed, All, DIALS),
    all("tcp-fast-open", "send with TCP Fast Open, which landlock does not see"),
    all("mptcp", "make a socket of MPTCP, which landlock does not see"),
    all("raw-socket", "make a raw socket"),
    act("raw-socket-jailed", "make a raw socket, not sealed", Jailed, All, &[]),
    act(
        "socket-netlink",
        "make a socket of netlink",
        Sealed,
        All,
        &[(Loopback, "it tells of the jail's own loopback, which no capability of its can change")],
    ),
    all("socket-vsock", "make a socket of vsock"),
    all("socket-packet", "make a packet socket"),
    all("socket-unix", "make a Unix socket"),
    all("socket-others", "make a socket of any other family"),
    act(
        "path-socket",
        "connect a socket it holds to a path",
        Sealed,
        All,
        &[
            (Client, "its list has connect; it has no socket that a path would take"),
            (Loopback, "its list has connect; the one Unix socket it holds is connected already"),
        ],
    ),
    all("abstract-socket", "send to an abstract Unix socket of another domain"),
    act("datagram-pair", "make a pair of datagram sockets, which send to any path", Sealed, Runner, &[]),
    act(
        "pass-descriptor",
        "pass a descriptor over the socket it holds",
        Sealed,
        All,
        &[(Call("sendmsg"), "its row passes descriptors; the other end takes none that it did not ask for")],
    ),
    all("descriptors", "find a descriptor that was left open"),
    act("environment", "find a variable in its environment", Jailed, All, &[]),
    // Other processes.
    all("signal-agentd", "send agentd a signal"),
    all("signal-peer", "send the row's running process a signal"),
    all("signal-thread", "send a thread of agentd a signal"),
    all("signal-queue", "queue agentd a signal"),
    all("peer-trace", "trace the row's running process"),
    act("peer-trace-jailed", "trace the row's running process, not sealed", Jailed, Actors, &[]),
    all("peer-read", "read the memory of the row's running process"),
    all("peer-write", "write the memory of the row's running process"),
    act(
        "pidfd-agentd",
        "open a descriptor of agentd's process",
        Sealed,
        All,
        &[(Flat, "such a descriptor alone gives nothing: signals and its descriptors are refused")],
    ),
    all("pidfd-signal", "send agentd a signal through such a descriptor"),
    all("call-pidfd-getfd", "take a descriptor out of another process"),
    all("call-process-madvise", "advise on another process's memory"),
    all("call-kcmp", "compare kernel objects of two processes"),
    all("limits-agentd", "read agentd's limits"),
    all("priority-agentd", "change agentd's priority"),
    all("affinity-agentd", "change agentd's processors"),
    // Namespaces, mounts, ids.
    all("call-mount", "mount a file system"),
    act("mount-apart", "mount a file system in memory, not sealed", Apart, All, &[]),
    act("unmount-apart", "unmount /usr, not sealed", Apart, Runner, &[]),
    act("remount-apart", "make /usr writable, not sealed", Apart, Runner, &[]),
    all("call-umount2", "unmount a file system"),
    all("call-pivot-root", "change the root of the mount namespace"),
    all("call-move-mount", "attach a mount"),
    all("call-open-tree", "copy a mount"),
    all("call-fsopen", "begin a mount"),
    all("call-fsmount", "finish a mount"),
    all("call-mount-setattr", "change a mount"),
    all("call-unshare", "make a user namespace with unshare"),
    act("unshare-jailed", "make a mount namespace, not sealed", Jailed, All, &[]),
    all("clone-user", "make a user namespace with clone"),
    all("call-clone3", "make a user namespace with clone3"),
    all("call-setns", "enter another namespace"),
    act("init-namespace-jailed", "open the network namespace of process 1, not sealed", Jailed, Actors, &[]),
    all("chroot", "change the root directory"),
    act("chroot-jailed", "change the root directory, not sealed", Jailed, All, &[]),
    act("host-name-apart", "rename the host, not sealed", Apart, All, &[]),
    all("call-setresuid", "become root"),
    all("call-setgroups", "join groups"),
    all("call-capset", "set capabilities"),
    act("raise-limits-jailed", "raise its own limits, not sealed", Jailed, All, &[]),
    // The kernel's rarer doors.
    all("call-io-uring-setup", "make an io_uring"),
    all("call-io-uring-enter", "use an io_uring"),
    all("call-userfaultfd", "handle page faults in user space"),
    all("call-keyctl", "use the kernel's keyrings"),
    all("call-add-key", "add a key to the kernel's keyrings"),
    all("call-request-key", "have the kernel ask for a key"),
    all("call-bpf", "load a BPF program"),
    all("call-perf-event-open", "count events of the processor"),
    all("call-ptrace", "let itself be traced"),
    all("call-personality", "turn off address randomisation"),
    all("call-syslog", "read the kernel's log by syslog"),
    all("call-name-to-handle", "name a file by handle"),
    all("call-open-by-handle", "open a file by handle, past all folders"),
    all("call-finit-module", "load a module"),
    all("call-kexec-load", "load another kernel"),
    all("call-reboot", "reboot"),
    all("call-swapon", "swap to a file"),
    all("call-acct", "log processes to a file"),
    all("call-settimeofday", "set the clock"),
    all("call-iopl", "reach the ports of the machine"),
    all("call-fanotify", "watch every file"),
    all("call-memfd-secret", "hide memory from the kernel"),
    all("call-shmget", "share memory by a key of System V"),
    all("call-msgget", "make a message queue of System V"),
    all("call-semget", "make semaphores of System V"),
    all("call-mq-open", "make a message queue of POSIX"),
    all("push-input", "push input into a terminal it was given"),
    // Stacking of filters, and exhaustion. Each is bounded by itself as well.
    all("call-seccomp", "stack a seccomp filter"),
    act(
        "many-filters",
        "stack seccomp filters without end",
        Sealed,
        Runner,
        &[(Programs, "a filter only narrows; the kernel bounds their number")],
    ),
    all("call-landlock", "stack a landlock ruleset"),
    act(
        "many-processes",
        "start processes without end",
        Sealed,
        All,
        &[(Flat, "the kernel counts no jail alone there; agentd counts them")],
    ),
    all("much-memory", "take more memory than its row has"),
    all("many-descriptors", "open more descriptors than its row has"),
    all("large-file", "write a larger file than its row may"),
    act("full-tmp", "fill /tmp", Apart, Runner, &[]),
];
