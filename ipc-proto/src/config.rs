//! The sections of `cordon.toml`, as each process is handed its own: JSON of these types in a sealed memfd.
//!
//! They are written by agentd's configuration child, which has checked every value; a process that finds its
//! section unreadable ends. Unknown keys are refused on both sides.

mod audit;
mod models;

pub use crate::credproxy::KeySource;
use crate::memory::{Manner, Question};
pub use crate::role::UserRole;
pub use audit::{AlertRule, Alerts, Audit, Checkpoint, RetentionDays};
pub use models::{Asking, AtLimit, Budget, Model, Prices, Provider, ProviderKind, ProviderModel};
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
    /// Where the vault's key comes from.
    pub key: KeySource,
}

/// `[scanner]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scanner {}

/// `[memory]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Most rows one owner may have.
    pub max_rows: u32,
    /// Most episodic rows of one owner; the oldest go.
    pub max_episodic: u32,
    /// Most semantic rows of one owner.
    pub max_semantic: u32,
    /// Days that an episodic row is kept which does not say how long.
    pub episodic_days: u32,
    /// Days that observations, and rows that no longer hold, are kept; 0 is for ever.
    pub retention_days: u32,
    /// MiB that the database may take.
    pub max_mib: u32,
    /// MiB of it that the rows of one owner may take.
    pub max_owner_mib: u32,
    /// Tools whose outputs are not taken down.
    pub ignored_tools: Vec<String>,
    /// Characters of an output below which it is not taken down.
    pub min_output_length: u32,
    /// Most rows in the index of a block.
    pub max_index_entries: u16,
    /// Regular expressions whose matches are cut out of every text before it is stored.
    pub sensitive_patterns: Vec<String>,
    /// The model whose vectors of the rows are kept.
    pub embedder: Option<String>,
    /// The path of the database as everybody but memory sees it, for its log.
    pub database: String,
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

/// The configuration of `router`.
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
    /// Messages of one user but the owner that may wait.
    pub queue_per_user: u32,
    /// Messages that may wait in all.
    pub queue_total: u32,
    /// Turns that may run at once.
    pub turns_at_once: u32,
    /// Turns of one user but the owner that may run at once.
    pub turns_per_user: u32,
    /// Turns that may wait for a person and hold no place; each keeps its runner.
    pub turns_asking: u32,
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
    /// Wall clock of a program that a person runs with it, seconds.
    pub run_seconds: u32,
    /// CPU time of everything in such a program's jail together, seconds.
    pub run_cpu_seconds: u32,
    /// Tokens of one answer.
    pub output_tokens: u32,
    /// Model calls of one session an hour.
    pub model_calls_per_hour: u32,
    /// Times that a turn may call one tool with the same arguments; the next such call is refused.
    pub same_call: u32,
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
    /// How memory is searched.
    pub finding: Finding,
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
}

/// The part of `[gateway]` that gate holds clients of the API to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelayLimits {
    /// Requests of one key within a minute.
    pub requests_per_minute: u32,
    /// Answers that come for one key at once.
    pub streams_per_key: u16,
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
    /// A call that executes, sends, pays or deletes needs an approval.
    Supervised,
    /// The policies alone decide.
    #[default]
    Full,
}

/// `[curator]`, and what of `[memory]` curator works by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curator {
    /// Observations are made of what was captured.
    pub compression_enabled: bool,
    /// The model that is asked; none: only what works without one is done.
    pub model: Option<String>,
    /// Most tokens of one answer.
    pub max_tokens_per_compression: u32,
    /// Most jobs that are taken from memory at once.
    pub batch_size: u16,
    /// How often memory is asked for work, ms.
    pub batch_interval_ms: u32,
    /// Sessions that ended are summed up.
    pub summaries: bool,
    /// Observations are compared with those like them.
    pub resolve_conflicts: bool,
    /// Less likeness than this, in thousandths, is none.
    pub conflict_low: u16,
    /// So much, in thousandths, is the same thing said again.
    pub conflict_high: u16,
    /// Names of things, and how they hang together, are taken from what is compressed.
    pub extract_entities: bool,
    /// Most tokens of a day (UTC); 0 for no bound.
    pub tokens_per_day: u32,
    /// Times that a job is tried.
    pub attempts: u32,
    /// `[memory] embedder`, where it is a model's.
    pub embedder: Option<String>,
}

/// `[embedder]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedder {
    /// The folder of the model.
    pub folder: String,
    /// The name that marks vectors of this very model: [`crate::embedder::LOCAL`] and a part of the hash of its files.
    pub name: String,
    /// Seconds without a text after which the model is let go of.
    pub idle_seconds: u32,
}

/// `[gateway]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// Where it listens on TCP: `127.0.0.1:PORT` or `[::1]:PORT`. The listener itself is agentd's.
    pub listen: Option<String>,
    /// Origins that a page may have that asks over TCP with any key; a key may name more of its own.
    pub origins: Vec<String>,
    /// Values of `Host` that a request over TCP may have, in lower case; never empty where it listens there.
    pub hosts: Vec<String>,
    /// Most bytes of a request's body.
    pub max_body: u32,
    /// Requests of one key within a minute that gate lets through, for the headers that tell clients so.
    pub requests_per_minute: u32,
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

/// The settings of `[memory]` that decide how it is searched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// `embedder`: the model that makes a vector of what is looked for.
    pub embedder: Option<String>,
    /// `rerank`: a model puts the first of what was found into order.
    pub rerank: bool,
    /// `rerank_top`: so many of them.
    pub rerank_top: u8,
    /// `rerank_seconds`: how long that may take.
    pub rerank_seconds: u8,
}

impl Finding {
    /// Returns whether the words of a question are to be made a vector of.
    #[must_use]
    pub fn embeds(&self, question: &Question) -> bool {
        let by_meaning = !matches!(question.manner, Manner::Words | Manner::Plain);
        by_meaning && self.embedder.is_some() && !question.words.trim().is_empty()
    }

    /// Returns whether a model is to put what was found into order. What others are measured against it orders only if it is told
    /// to.
    #[must_use]
    pub fn reorders(&self, question: &Question) -> bool {
        let asks = question.reorder || (self.rerank && question.manner != Manner::Plain);
        asks && !question.words.trim().is_empty()
    }
}
