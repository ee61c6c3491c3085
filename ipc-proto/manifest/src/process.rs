//! The list of processes. Each stands here once, in downhill order: a caller stands after its callees, so a cycle of
//! waiting cannot exist. Every other list of processes is made from this one.

/// Hands the list of processes to a macro of the caller: for each the comment, the variant, the number of its user (see
/// [`Process::id`]), its name and the interfaces it serves, each as a module of `ipc-proto`, its client and its request. The order is the order of start.
#[macro_export]
macro_rules! processes {
    ($then:ident) => {
        $then! {
            /// The supervisor. It has no row: it enforces the rows.
            Agentd 0 "agentd" [];
            /// Appends to and proves the record.
            Audit 1 "audit" [audit AuditClient AuditRequest];
            /// Connects to checked addresses and passes the connection on.
            Dialer 2 "dialer" [dialer DialerClient DialerRequest];
            /// Keeps secrets and puts them into requests on the way out.
            Credproxy 3 "credproxy" [credproxy CredproxyClient CredproxyRequest];
            /// Finds injections, secrets, personal data and canaries in text.
            Scanner 4 "scanner" [scanner ScannerClient ScannerRequest];
            /// The one memory store.
            Memory 5 "memory" [memory MemoryClient MemoryRequest];
            /// Fetches and searches the public web.
            Web 6 "web" [web WebClient WebRequest];
            /// Makes the requests that jails send out.
            Egress 25 "egress" [egress EgressClient EgressRequest];
            /// Model adapters.
            Model 7 "model" [model ModelClient ModelRequest];
            /// Users, sessions, inbox, transcript, outbox.
            Router 8 "router" [router RouterClient RouterRequest];
            /// Takes hooks over HTTP and keeps each until its channel has read it.
            Ingress 22 "ingress" [ingress IngressClient IngressRequest];
            /// Speaks with Telegram for the accounts of the configuration.
            Telegram 16 "channel@telegram" [];
            /// Speaks with Discord for the accounts of the configuration.
            Discord 17 "channel@discord" [];
            /// Speaks with Slack for the accounts of the configuration.
            Slack 18 "channel@slack" [];
            /// Speaks with Matrix servers for the accounts of the configuration.
            Matrix 19 "channel@matrix" [];
            /// Reads and sends mail for the accounts of the configuration.
            Email 20 "channel@email" [];
            /// Speaks with the owner's signal-cli for the accounts of the configuration.
            Signal 21 "channel@signal" [];
            /// Speaks with WhatsApp's Cloud API for the accounts of the configuration.
            Whatsapp 23 "channel@whatsapp" [];
            /// Takes and sends signed webhooks for the accounts of the configuration.
            Webhook 24 "channel@webhook" [];
            /// Submits the messages of jobs at their times.
            Scheduler 28 "scheduler" [scheduler SchedulerClient SchedulerRequest];
            /// Makes vectors of texts by a model of this machine.
            Embedder 15 "embedder" [embedder EmbedderClient EmbedderRequest];
            /// The reference monitor.
            Gate 9 "gate" [gate GateClient GateRequest, runner_gate RunnerGateClient RunnerGateRequest];
            /// The queue of background model work.
            Curator 14 "curator" [curator CuratorClient CuratorRequest];
            /// Serves the API over HTTP.
            Gateway 12 "gateway" [];
            /// Serves `agentctl`.
            Control 10 "control" [];
            /// One agent turn in a jail.
            Runner 11 "runner" [];
            /// A program that asks models by itself, in a jail with a loopback of its own.
            AgentRunner 13 "runner@agent" [];
            /// One agent turn in a jail with a loopback, by which its commands reach the way out.
            NetRunner 27 "runner@net" [];
            /// A server of the Model Context Protocol and the bridge to it, in a jail of their own.
            McpRunner 26 "runner@mcp" [];
            /// The browser of a session and the bridge to it, in a jail of their own.
            BrowserRunner 29 "runner@browser" [];
        }
    };
}

macro_rules! define {
    ($($(#[$doc:meta])* $process:ident $id:literal $name:literal [$($interface:ident $client:ident $request:ident),*];)+) => {
        /// One process of the host. The order is the order of start; stopping goes backwards.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Process {
            $($(#[$doc])* $process,)+
        }

        impl Process {
            /// All processes, the supervisor first.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$process),+];

            /// The name that `ps`, `agentctl` and the configuration use.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$process => $name),+ }
            }

            /// Its place among the host's ids where no users are installed for it, from 1. A process keeps it when another
            /// comes between: files belong to the id. A new process takes the next free one.
            #[must_use]
            pub const fn id(self) -> u8 {
                match self { $(Self::$process => $id),+ }
            }
        }
    };
}
processes!(define);

impl Process {
    /// The jails: the last of the list, each of the program `runner`.
    pub const RUNNERS: &'static [Self] =
        &[Self::Runner, Self::AgentRunner, Self::NetRunner, Self::McpRunner, Self::BrowserRunner];

    /// Returns whether it lives in a throw-away jail.
    #[must_use]
    pub const fn is_runner(self) -> bool {
        matches!(
            self,
            Self::Runner | Self::AgentRunner | Self::NetRunner | Self::McpRunner | Self::BrowserRunner
        )
    }

    /// The file name of its program, beside agentd's own.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            runner if runner.is_runner() => Self::Runner.name(),
            other => other.platform().unwrap_or_else(|| other.name()),
        }
    }

    /// The messaging platform that it speaks with, if it does.
    #[must_use]
    pub fn platform(self) -> Option<&'static str> {
        self.name().strip_prefix("channel@")
    }

    /// Returns true if it speaks with a messaging platform.
    #[must_use]
    pub fn is_channel(self) -> bool {
        self.platform().is_some()
    }

    /// The process with this number, as it stands in a fixed-size command.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The number that stands for this process in a fixed-size command: its place in the list.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// Returns whether a process is an actor: one that `agentctl restart`, `hold` and `release` act on.
#[must_use]
pub const fn is_actor(process: Process) -> bool {
    !matches!(process, Process::Agentd) && !process.is_runner()
}
