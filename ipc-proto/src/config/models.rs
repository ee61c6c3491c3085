//! The configuration of `model`: `[model]`, `[budget]` and every `[provider.NAME]`. Pure data.

use crate::config::key::{flag, number, section, texts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `[model]`, `[budget]` and every `[provider.NAME]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Providers by name.
    pub providers: BTreeMap<String, Provider>,
    /// `[model]`.
    pub asking: Asking,
    /// `[budget]`.
    pub budget: Budget,
}

section! {
    /// `[model]`: how models are asked.
    pub struct Asking in "model", read by [Model] {
        /// If true, `offline/reader` answers for a task whose models have all failed, and the answer says so. It is not a chat
        /// model.
        offline_fallback: bool = flag(false),
        /// How often a request is repeated after a transient failure: after 1 second, doubling to 30, or when the provider
        /// says. Text of a failed attempt is void.
        retries: u32 = number(0..=10, 3),
        /// Seconds within which an answer must begin, all attempts with one model together, and within which its next piece
        /// must come.
        timeout_s: u32 = number(1..=120, 120),
        /// The most tokens of an answer if the request sets no limit; at most the model's own limit.
        output_tokens: u32 = number(256..=200_000, 4096),
        /// Stop texts of requests that set none.
        stop: Vec<String> = texts("stop", 8),
        ..
        /// `[model.route]`: the models of each task, in the order in which they are asked.
        route: BTreeMap<String, Vec<String>>,
        /// The temperature, in thousandths, of a request that sets none; none for the provider's own.
        temperature: Option<u16>,
    }
}

/// `[budget]`: what may be spent, millionths of a US dollar; what has no bound may cost what it costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// By the whole host in a day (UTC).
    pub day: Option<u64>,
    /// By the whole host in a month (UTC).
    pub month: Option<u64>,
    /// By each session in its life.
    pub session: Option<u64>,
    /// By each agent in a day (UTC).
    pub agent: Option<u64>,
    /// By these agents, in its place: `[agent.NAME.limits] day_usd`.
    pub agents: BTreeMap<String, u64>,
    /// The behaviour at a bound.
    pub at_limit: AtLimit,
    /// The model that answers at a bound with [`AtLimit::Cheaper`].
    pub cheaper_model: Option<String>,
    /// The share of a bound, in millionths, from which on the log warns.
    pub warn_at: u64,
    /// True if a model may be asked under a budget although nobody knows what it costs.
    pub unpriced: bool,
}

impl Budget {
    /// The share at which the log warns, in millionths.
    pub const WARN_AT: u64 = 800_000;
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            day: None,
            month: None,
            session: None,
            agent: None,
            agents: BTreeMap::new(),
            at_limit: AtLimit::Block,
            cheaper_model: None,
            warn_at: Self::WARN_AT,
            unpriced: false,
        }
    }
}

/// The behaviour where a budget is used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AtLimit {
    /// The request is refused.
    #[default]
    Block,
    /// The log says so, and the request is made.
    Warn,
    /// Another model answers.
    Cheaper,
}

/// `[provider.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// How it is spoken to.
    pub kind: ProviderKind,
    /// Base URL up to and without the path of a method, such as `/chat/completions`.
    pub base_url: String,
    /// The secret that holds its key; none for a server without keys.
    pub secret: Option<String>,
    /// Its models by name.
    pub models: BTreeMap<String, ProviderModel>,
}

/// How a provider is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// OpenAI's chat completions, which most servers speak.
    #[default]
    Openai,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
    /// Ollama's own chat.
    Ollama,
}

/// The facts about a model: `[provider.NAME.models.MODEL]` over the built-in table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderModel {
    /// Tokens it can take in.
    pub context: u32,
    /// Tokens it can give out.
    pub output: u32,
    /// True if it can ask for tools.
    pub tools: bool,
    /// True if it can see images.
    pub vision: bool,
    /// True if it embeds texts rather than answers.
    pub embeds: bool,
    /// True if it takes temperature, nucleus and stop sequences; some reasoning models refuse them.
    pub sampling: bool,
    /// True if it can be made to ask for a tool; some reasoning models refuse that.
    pub forced: bool,
    /// Its prices; unknown if none.
    pub prices: Option<Prices>,
    /// The prices of requests that read more than this many tokens, where they differ.
    pub long: Option<(u32, Prices)>,
}

/// Prices of a million tokens, millionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Read and put into the provider's cache.
    pub cache_write: u64,
}
