//! The vocabulary of privilege: the columns of a row. Every grant carries its reason beside it.

use crate::command::{Kind, ListenerKind};
use crate::process::Process;
use crate::syscalls::Group;

/// One process's whole authority.
#[derive(Debug)]
pub struct Row {
    /// The process that the row describes.
    pub process: Process,
    /// Its one duty, in a line.
    pub does: &'static str,
    /// The installed user it runs as in system mode; without that user, the configured base plus its id.
    pub user: &'static str,
    /// Files and folders it may open.
    pub opens: &'static [Open],
    /// A file of its own folder that everyone may read; the folder is then 0711 instead of 0700.
    pub shows: Option<&'static str>,
    /// The addresses that it can reach.
    pub network: Network,
    /// Capabilities it keeps, each with the reason. Empty everywhere so far.
    pub capabilities: &'static [Grant],
    /// Groups of system calls. What is in none of them kills an actor.
    pub syscalls: &'static [&'static Group],
    /// Resource limits, set before exec.
    pub limits: Limits,
    /// The response to an unexpected exit.
    pub restart: Backoff,
    /// The sections of `cordon.toml` it is handed; it sees no other.
    pub config: &'static [&'static str],
    /// The commands it may send agentd, besides those of every process ([`COMMON_COMMANDS`]).
    pub commands: &'static [Kind],
    /// The jails that it may have agentd launch.
    pub launches: &'static [Process],
    /// Descriptors that agentd keeps for it over its lives and hands to each.
    pub inherits: &'static [Inherited],
    /// True if a host may run without it, where its section or another that needs it is not configured.
    pub optional: bool,
    /// The methods it serves, in groups of those with the same callers for the same reason.
    pub serves: &'static [Audience],
}

impl Row {
    /// Every method it serves, with its callers.
    pub fn methods(&self) -> impl Iterator<Item = (&'static str, &'static [Process])> {
        self.serves
            .iter()
            .flat_map(|audience| audience.methods.iter().map(|method| (*method, audience.callers)))
    }

    /// Returns whether it may send agentd this command.
    #[must_use]
    pub fn may_send(&self, kind: Kind) -> bool {
        COMMON_COMMANDS.contains(&kind) || self.commands.contains(&kind)
    }
}

/// The commands that every process may send agentd.
pub const COMMON_COMMANDS: &[Kind] =
    &[Kind::Ready, Kind::Heartbeat, Kind::Measure, Kind::Failing, Kind::Listening];

/// A row that may do nothing: what a row of the table does not name, it does not have.
pub(crate) const NOTHING: Row = Row {
    process: Process::Agentd,
    does: "",
    user: "",
    opens: &[],
    shows: None,
    network: Network::None,
    capabilities: &[],
    syscalls: &[],
    limits: ACTOR,
    restart: BACKOFF,
    config: &[],
    commands: &[],
    launches: &[],
    inherits: &[],
    optional: false,
    serves: &[],
};

/// An actor's limits: measured idle use is 2 to 6 MiB; the rest is room for one full frame per peer.
pub(crate) const ACTOR: Limits = Limits { memory_mib: 256, files: 256, processes: 0, file_mib: 4096 };

/// First restart at once, then 100 ms doubling to 10 s; held after ten ends in a row within 10 s of a start.
const BACKOFF: Backoff = Backoff { first_ms: 100, max_ms: 10_000, hold_after: 10, quiet_ms: 10_000 };

/// A descriptor that agentd keeps for a process over its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inherited {
    /// A listening socket.
    Listener(ListenerKind),
    /// A page of memory that holds the vault's key over a restart.
    KeyPage,
    /// The credential of the systemd unit that the vault's key may come from.
    Credential,
}

impl Inherited {
    /// The name that `agentctl inspect` shows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Listener(ListenerKind::Unix) => "its Unix socket",
            Self::Listener(ListenerKind::Tcp) => "its TCP socket",
            Self::KeyPage => "a page for the vault's key",
            Self::Credential => "the unit's credential for the vault",
        }
    }
}

/// A capability and why it is needed.
#[derive(Debug)]
pub struct Grant {
    /// The kernel's name, such as `CAP_NET_RAW`.
    pub name: &'static str,
    /// The reason.
    pub why: &'static str,
}

/// A file or folder tree a process may open.
#[derive(Debug)]
pub struct Open {
    /// Where.
    pub place: Place,
    /// How.
    pub access: Access,
    /// The reason.
    pub why: &'static str,
}

/// The files that are read from the folder of a sentence model.
pub const MODEL_FILES: &[&str] = &["config.json", "tokenizer.json", "vocab.txt", "model.safetensors"];

impl Open {
    /// Files of these names in a folder of the configuration's, read before the seal.
    pub(crate) const fn named(names: &'static [&'static str], why: &'static str) -> Self {
        Self { place: Place::Named(names), access: Access::Read, why }
    }
}

/// Where a grant points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The process's own folder under the state directory, which `agentd` makes 0700 and its own.
    Own,
    /// A folder under the state directory that `agentd` keeps, such as the log folder.
    State(&'static str),
    /// An absolute path of the system. Missing on this machine means not granted.
    System(&'static str),
    /// Files of these names, in the folder that the process's own section names. They are opened before the seal, and
    /// nothing of that folder after it.
    Named(&'static [&'static str]),
}

/// How a grant may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read files and list folders.
    Read,
    /// Read, write, create, remove and rename beneath.
    Write,
    /// Read and execute.
    Execute,
}

/// The addresses that a process can reach over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// An empty network namespace, and no call that makes a socket.
    None,
    /// A network namespace of its own in which there is loopback and nothing else.
    Loopback,
    /// The host's network: DNS and TCP clients only.
    Client,
}

/// Resource limits. A process that would pass one gets the stated error from the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Data segment and private memory, MiB (`RLIMIT_DATA`; the address space is left alone, since
    /// runtimes such as node reserve far more of it than they use).
    pub memory_mib: u32,
    /// Open descriptors (`RLIMIT_NOFILE`).
    pub files: u32,
    /// Processes in the jail (`RLIMIT_NPROC` of its own user namespace); 0 where no fork is possible at all.
    pub processes: u32,
    /// The largest file it may write, MiB (`RLIMIT_FSIZE`).
    pub file_mib: u32,
}

/// When a process is started again.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// The first wait that is not zero, ms. The first restart after a quiet time is at once.
    pub first_ms: u32,
    /// The longest wait, ms.
    pub max_ms: u32,
    /// After this many ends in a row, each within `quiet_ms` of its start, it is held.
    pub hold_after: u32,
    /// A process that lived this long has no history, ms.
    pub quiet_ms: u32,
}

/// Methods with the same callers for the same reason.
#[derive(Debug)]
pub struct Audience {
    /// The processes that may call them.
    pub callers: &'static [Process],
    /// The reason.
    pub why: &'static str,
    /// The methods' names in the interface file.
    pub methods: &'static [&'static str],
}

/// A group of methods with the same callers.
pub(crate) const fn to(
    callers: &'static [Process],
    why: &'static str,
    methods: &'static [&'static str],
) -> Audience {
    Audience { callers, why, methods }
}

/// Its own folder, to write in.
pub(crate) const fn own(why: &'static str) -> Open {
    Open { place: Place::Own, access: Access::Write, why }
}

/// A file or folder of the system, to read.
pub(crate) const fn system(path: &'static str, why: &'static str) -> Open {
    Open { place: Place::System(path), access: Access::Read, why }
}
