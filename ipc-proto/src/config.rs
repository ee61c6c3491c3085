//! The sections of `cordon.toml`, as each process is handed its own: JSON of these types in a sealed memfd.
//!
//! They are written by agentd's configuration child, which has checked every value; a process that finds its
//! section unreadable ends. Unknown keys are refused on both sides.

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

/// What one process is handed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section<T> {
    /// `[log]`, resolved for this process.
    pub log: Log,
    /// Its own part.
    pub own: T,
}

/// `[audit]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// `[audit.retention_days]`.
    pub retention_days: RetentionDays,
    /// `[audit.checkpoint]`.
    pub checkpoint: Checkpoint,
    /// `[audit.alerts.NAME]`.
    pub alerts: Alerts,
}

impl Audit {
    /// What holds where nothing is configured.
    pub const DEFAULT: Self = Self {
        retention_days: RetentionDays { debug: 7, info: 30, warning: 90, error: 365, auth: 365, config: 365 },
        checkpoint: Checkpoint { entries: 1024, ms: 500 },
        alerts: Alerts {
            auth_failures: AlertRule { number: 5, minutes: 5, quiet_minutes: 15 },
            network_refusals: AlertRule { number: 10, minutes: 60, quiet_minutes: 60 },
            attest_drift: AlertRule { number: 1, minutes: 60, quiet_minutes: 60 },
            quarantined: AlertRule { number: 1, minutes: 15, quiet_minutes: 15 },
            disk_low: AlertRule { number: 1, minutes: 15, quiet_minutes: 15 },
        },
    };
}

/// How many days entries are kept, by severity; those that are critical are kept for ever. A graver one is kept at
/// least as long as a lesser one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetentionDays {
    /// Steps on the way.
    pub debug: u32,
    /// What was done.
    pub info: u32,
    /// What was refused.
    pub warning: u32,
    /// What failed.
    pub error: u32,
    /// At least so long: who may do what, and secrets.
    pub auth: u32,
    /// At least so long: the host's own settings and its record.
    pub config: u32,
}

/// When a checkpoint is signed at the latest, whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// So many entries after the last.
    pub entries: u32,
    /// So long after the first entry that it does not cover, ms.
    pub ms: u32,
}

/// When audit raises alerts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alerts {
    /// The same operator is refused.
    pub auth_failures: AlertRule,
    /// The same web tool is refused, or a secret is asked for another host than its own.
    pub network_refusals: AlertRule,
    /// The kernel's word on the same process and the table differ.
    pub attest_drift: AlertRule,
    /// A message of the same session is given up.
    pub quarantined: AlertRule,
    /// Less is free on the disk than is kept.
    pub disk_low: AlertRule,
}

/// When one alert is raised, and when again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlertRule {
    /// Events of the same.
    pub number: u32,
    /// Within so many minutes.
    pub minutes: u32,
    /// Minutes for which the same is quiet afterwards.
    pub quiet_minutes: u32,
}

/// What `dialer` is handed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialer {
    /// `host:port` that credproxy may reach: every provider's, and `[credproxy] hosts`.
    pub credproxy_hosts: Vec<String>,
    /// `host:port` on loopback that may be reached although not public: `[credproxy] plain_http`.
    pub loopback_hosts: Vec<String>,
    /// `host:port` that web may reach although not public: `[web] private_hosts`.
    pub web_private_hosts: Vec<String>,
}

/// `[credproxy]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credproxy {
    /// `host:port` to which plain HTTP is allowed; loopback only.
    pub plain_http: Vec<String>,
    /// The secret that web may use: `[web.search] secret`.
    pub web_secret: Option<String>,
}

/// `[scanner]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scanner {}

/// `[memory]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Most rows one owner may have.
    pub max_rows: u32,
}

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
    /// Who is asked.
    pub provider: SearchProvider,
    /// Base URL, for `searxng` or instead of the provider's own.
    pub base_url: Option<String>,
    /// The secret that holds the provider's key.
    pub secret: Option<String>,
}

/// Who is asked for a search.
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

/// `[model]` and every `[provider.NAME]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Providers by name.
    pub providers: BTreeMap<String, Provider>,
}

/// `[provider.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// Base URL up to and without `/chat/completions`.
    pub base_url: String,
    /// The secret that holds its key; none for a server without keys.
    pub secret: Option<String>,
    /// Its models by name.
    pub models: BTreeMap<String, ProviderModel>,
}

/// `[provider.NAME.models.MODEL]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderModel {
    /// Tokens it can take in.
    pub context: u32,
    /// Tokens it can give out.
    pub output: u32,
}

/// What `router` is handed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// `[[user]]`.
    pub users: Vec<User>,
    /// `[agent.NAME]`, the built-in `default` included.
    pub agents: BTreeMap<String, Agent>,
    /// The uid that the host belongs to: root and this uid are the owner.
    pub owner_uid: u32,
    /// Messages that may wait in one session.
    pub queue_per_session: u32,
    /// Messages that may wait in all.
    pub queue_total: u32,
    /// Turns that may run at once.
    pub turns_at_once: u32,
}

/// `[[user]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// The user's name.
    pub name: String,
    /// Uids that are this user.
    pub uids: Vec<u32>,
    /// What they may do.
    pub role: UserRole,
    /// `channel:platform-id`, opaque.
    pub identities: Vec<String>,
}

/// What a user may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UserRole {
    /// Talk to agents.
    Guest,
    /// The same, with sessions, memory and workspaces of their own.
    User,
    /// Everything.
    Owner,
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
    /// `paranoid`, `standard` or `power-user`.
    pub profile: String,
    /// Its limits.
    pub limits: AgentLimits,
}

/// `[agent.NAME.limits]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentLimits {
    /// Tool calls in one turn.
    pub tool_calls: u32,
    /// Failures in a row of one tool before it is refused for the rest of the turn.
    pub tool_failures: u32,
    /// Wall clock of a turn, seconds.
    pub seconds: u32,
    /// CPU time of everything in a turn's jail together, seconds.
    pub cpu_seconds: u32,
    /// Tokens of one answer.
    pub output_tokens: u32,
    /// Model calls of one session an hour.
    pub model_calls_per_hour: u32,
}

/// What `gate` is handed.
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
}

/// `[policy]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Contacts, addresses and other values that the owner vouches for.
    pub contacts: Vec<String>,
    /// Seconds after which an approval that nobody answers is a no.
    pub approval_seconds: u32,
    /// `readonly`, `supervised` or `full`.
    pub autonomy: Autonomy,
}

/// How much an agent may do by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Autonomy {
    /// Everything but reads asks.
    Readonly,
    /// What executes, sends, pays or deletes asks.
    Supervised,
    /// What policy says.
    #[default]
    Full,
}

/// What `control` is handed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// The state directory, for messages that name it.
    pub state_dir: String,
    /// The uid that the host belongs to: root and this uid see the host's state while the router is away.
    pub owner_uid: u32,
}
