//! Every process of the host, in downhill order: a caller stands after its callee, so a cycle of waiting
//! cannot exist.

/// One process of the host. The order is the order of start; stopping goes backwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Process {
    /// The supervisor. It has no row: it is what enforces the rows.
    Agentd = 0,
    /// Appends to and proves the record.
    Audit = 1,
    /// Connects to checked addresses and passes the connection on.
    Dialer = 2,
    /// Keeps secrets and puts them into requests on the way out.
    Credproxy = 3,
    /// Finds injections, secrets, personal data and canaries in text.
    Scanner = 4,
    /// The one memory store.
    Memory = 5,
    /// Fetches and searches the public web.
    Web = 6,
    /// Model adapters.
    Model = 7,
    /// Users, sessions, inbox, transcript, outbox.
    Router = 8,
    /// Makes vectors of texts by a model of this machine.
    Embedder = 9,
    /// The reference monitor.
    Gate = 10,
    /// The queue of background model work.
    Curator = 11,
    /// Serves the API over HTTP.
    Gateway = 12,
    /// Serves `agentctl`.
    Control = 13,
    /// One agent turn in a jail.
    Runner = 14,
    /// A program that asks models by itself, in a jail with a loopback of its own.
    AgentRunner = 15,
}

impl Process {
    /// All processes, the supervisor first.
    pub const ALL: [Self; 16] = [
        Self::Agentd,
        Self::Audit,
        Self::Dialer,
        Self::Credproxy,
        Self::Scanner,
        Self::Memory,
        Self::Web,
        Self::Model,
        Self::Router,
        Self::Embedder,
        Self::Gate,
        Self::Curator,
        Self::Gateway,
        Self::Control,
        Self::Runner,
        Self::AgentRunner,
    ];

    /// The name that `ps`, `agentctl` and the configuration use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agentd => "agentd",
            Self::Audit => "audit",
            Self::Dialer => "dialer",
            Self::Credproxy => "credproxy",
            Self::Scanner => "scanner",
            Self::Memory => "memory",
            Self::Web => "web",
            Self::Model => "model",
            Self::Router => "router",
            Self::Embedder => "embedder",
            Self::Gate => "gate",
            Self::Curator => "curator",
            Self::Gateway => "gateway",
            Self::Control => "control",
            Self::Runner => "runner",
            Self::AgentRunner => "runner@agent",
        }
    }

    /// Whether it is one that lives in a throw-away jail, whichever.
    #[must_use]
    pub const fn is_runner(self) -> bool {
        matches!(self, Self::Runner | Self::AgentRunner)
    }

    /// The process with this number, as it stands in a fixed-size command.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The number that stands for this process in a fixed-size command.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Its place among the host's ids where no users are installed for it, from 1. It is not its number: that follows the
    /// table's order and shifts when a process comes between, and then files would belong to another process.
    #[must_use]
    pub const fn id(self) -> u8 {
        match self {
            Self::Gate => 9,
            Self::Control => 10,
            Self::Runner => 11,
            Self::Gateway => 12,
            Self::AgentRunner => 13,
            Self::Curator => 14,
            Self::Embedder => 15,
            _ => self.number(),
        }
    }
}

/// Who may be asked by hand: `agentctl restart`, `hold`, `release`. The supervisor is not restarted by itself.
#[must_use]
pub const fn is_actor(process: Process) -> bool {
    !matches!(process, Process::Agentd | Process::Runner | Process::AgentRunner)
}
