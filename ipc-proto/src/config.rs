//! The sections of `cordon.toml`, as each process is handed its own: JSON of these types in a sealed memfd.
//!
//! They are written by agentd's configuration child, which has checked every value; a process that finds its
//! section unreadable ends. Unknown keys are refused on both sides.

mod audit;
mod channels;
mod curator;
mod gateway;
mod key;
mod limits;
mod mcp;
mod memory;
mod models;
mod policy;
mod reach;
mod router;
mod scheduler;

pub use crate::credproxy::KeySource;
pub use crate::role::UserRole;
pub use audit::{AlertRule, Alerts, Audit, Checkpoint, RetentionDays};
pub use channels::{
    ChannelAccount, ChannelApprovals, ChannelRules, Channels, DmPolicy, Ingress, MailAccount, MailServer,
    Streaming,
};
pub use curator::Curator;
pub use gateway::{Gateway, RelayLimits};
pub use key::{Key, Keyed, Rule};
pub use limits::AgentLimits;
pub use mcp::{McpScope, McpServer, McpStart};
pub use memory::{Embedder, Finding, Memory};
pub use models::{Asking, AtLimit, Budget, Model, Prices, Provider, ProviderKind, ProviderModel};
pub use policy::Policy;
pub use reach::ChannelReach;
pub use router::Router;
pub use scheduler::Scheduler;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `[log]`: what every process is handed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// `text` or `json`.
    pub format: LogFormat,
    /// `error`, `warn`, `info`, `debug` or `trace`; this process's own level, resolved.
    pub level: String,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One line of words.
    Text,
    /// One JSON object a line.
    Json,
}

/// The configuration that one process receives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section<T> {
    /// `[log]`, resolved for this process.
    pub log: Log,
    /// Its own part.
    pub own: T,
}

/// The configuration of `dialer`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialer {
    /// `host:port` that credproxy may reach: every provider's, and `[credproxy] hosts`.
    pub credproxy_hosts: Vec<String>,
    /// `host:port` on loopback that may be reached although not public: `[credproxy] plain_http`.
    pub loopback_hosts: Vec<String>,
    /// `host:port` that web may reach although not public: `[web] private_hosts`.
    pub web_private_hosts: Vec<String>,
    /// `host:port` that egress may reach although not public: `[egress] private_hosts`.
    #[serde(default)]
    pub egress_private_hosts: Vec<String>,
    /// `host:port` that credproxy may reach although not public, over TLS alone: `[credproxy] private_hosts`.
    #[serde(default)]
    pub credproxy_private_hosts: Vec<String>,
    /// Hosts of the platforms that have a channel, as `HostPattern` reads them.
    #[serde(default)]
    pub channel_hosts: Vec<String>,
}

/// `[credproxy]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credproxy {
    /// `host:port` to which plain HTTP is allowed; loopback only.
    pub plain_http: Vec<String>,
    /// The secret that web may use: `[web.search] secret`.
    pub web_secret: Option<String>,
    /// The secrets that model may use: those of every `[provider.NAME]`.
    pub model_secrets: Vec<String>,
    /// The secrets that gate may use: those of every `[service.NAME]`.
    pub gate_secrets: Vec<String>,
    /// The reach of every `[channel.NAME]`.
    #[serde(default)]
    pub channels: Vec<ChannelReach>,
    /// Where the vault's key comes from.
    pub key: KeySource,
}

/// The section of a process that has no keys of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoKeys {}

/// `[web]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// `host:port` that may be reached although not public, by name or address.
    pub private_hosts: Vec<String>,
    /// `[web.search]`.
    pub search: WebSearch,
}

/// `[web.search]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebSearch {
    /// The search service.
    pub provider: SearchProvider,
    /// Base URL, for `searxng` or instead of the provider's own.
    pub base_url: Option<String>,
    /// The secret that holds the provider's key.
    pub secret: Option<String>,
}

/// A search service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchProvider {
    /// Nobody.
    #[default]
    None,
    /// Brave.
    Brave,
    /// Tavily.
    Tavily,
    /// A SearXNG instance; it needs no key.
    Searxng,
}

/// `[web]` as the gate is handed it: what `web_fetch` may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebReach {
    /// How the lists are meant; `None`: by the agent's profile (paranoid: allowlist, standard: blocklist,
    /// power-user: unrestricted).
    pub mode: Option<crate::web::Mode>,
    /// Host globs.
    pub allow: Vec<String>,
    /// Host globs.
    pub block: Vec<String>,
    /// `host:port` that may be reached although not public: `[web] private_hosts`.
    pub private_hosts: Vec<String>,
}

/// `[[user]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// The user's name.
    pub name: String,
    /// Uids that are this user.
    pub uids: Vec<u32>,
    /// The user's role.
    pub role: UserRole,
    /// `channel:platform-id`, opaque.
    pub identities: Vec<String>,
}

/// `[agent.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// `provider/model`.
    pub model: String,
    /// The text of its prompt file, read by the configuration child; empty without one.
    pub prompt: String,
    /// The tools it may use.
    pub tools: Vec<String>,
    /// The agents that it may hand tasks to.
    #[serde(default)]
    pub delegates: Vec<String>,
    /// `paranoid`, `standard` or `power-user`.
    pub profile: String,
    /// True if what the scanner blocks is blocked from the host's own people as well, at their own terminals and APIs.
    pub blocks_own_words: bool,
    /// True if each of its turns is given what is remembered.
    pub memory: bool,
    /// Most tokens of that.
    pub memory_tokens: u32,
    /// Its limits.
    pub limits: AgentLimits,
    /// True if images can be put before its model; an engine is given none.
    pub sees: bool,
    /// The program that answers in place of the host's own loop.
    pub engine: Option<crate::engine::Engine>,
    /// The way out of its jails; none without one.
    pub network: Option<Network>,
    /// Its browser shows pages of one site a launch.
    pub browser_isolate: bool,
}

/// `[agent.NAME.network]`: the way out of an agent's jails.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The origins that need no question.
    pub allow: Vec<Allowed>,
    /// The places to which connections pass through undecrypted, as HOST:PORT; each asks.
    pub opaque: Vec<String>,
}

/// An origin that programs in a jail may reach without a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allowed {
    /// The host; a leading `*.` stands for any number of labels.
    pub host: String,
    /// The port.
    pub port: u16,
    /// True if requests that send may go there as well.
    pub sends: bool,
    /// True of a registry of packages: requests with a query are not meant.
    pub packages: bool,
}

/// `[egress]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Egress {
    /// Certificate authorities that are believed besides the public ones, in PEM.
    pub authorities: String,
}

/// The configuration of `gate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// `[agent.NAME]`, the built-in `default` included.
    pub agents: BTreeMap<String, Agent>,
    /// `[web]`.
    pub web: WebReach,
    /// `[policy]`.
    pub policy: Policy,
    /// `[tool.NAME]`: what is declared of tools, in place of what they declare themselves.
    pub tools: BTreeMap<String, crate::capability::Capability>,
    /// The endpoints that a client of the API may use beside the agents.
    pub relay: RelayLimits,
    /// `[service.NAME]`.
    pub services: BTreeMap<String, Service>,
    /// `[mcp.NAME]`.
    pub mcp: BTreeMap<String, McpServer>,
    /// How memory is searched.
    pub finding: Finding,
    /// The time zone that agents are told the time in, by its IANA name.
    pub time_zone: String,
    /// `host:port` that jails may reach although not public: `[egress] private_hosts`.
    pub egress_private_hosts: Vec<String>,
}

/// `[service.NAME]`: an account of the owner's somewhere, which agents may call without seeing its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Base URL, without a slash at its end; the paths of calls stand behind it.
    pub base_url: String,
    /// The secret that it is called with, and where that goes; none for a service that asks for none.
    pub secret: Option<crate::credproxy::Placement>,
    /// The secret is a set of OAuth tokens: it is called by `oauth_call`, and by `http_call` otherwise.
    pub oauth: bool,
    /// How it may be called.
    pub verbs: Vec<crate::credproxy::Verb>,
    /// Prefixes of the path of a call, in whole segments; any path if empty.
    pub paths: Vec<String>,
    /// The agents that may call it.
    pub agents: Vec<String>,
    /// A description for the model.
    pub description: String,
    /// A header that it takes an idempotency key in.
    pub idempotency_header: Option<String>,
    /// A variable by which programs in jails with a way out find the placeholder of the secret; none where they may not use it.
    pub variable: Option<String>,
}

/// How much an agent may do by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Autonomy {
    /// Everything but reads asks.
    Readonly,
    /// A call that executes, sends, pays or deletes needs an approval.
    Supervised,
    /// The policies alone decide.
    #[default]
    Full,
}

/// The configuration of `control`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// The state directory, for messages that name it.
    pub state_dir: String,
    /// The configuration file, whole from the root, for the same; empty if there is none.
    pub file: String,
    /// The uid that the host belongs to: root and this uid see the host's state while the router is away.
    pub owner_uid: u32,
    /// How memory is searched.
    pub finding: Finding,
}
