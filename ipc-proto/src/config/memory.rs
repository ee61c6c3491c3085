//! The sections that `[memory]` and `[embedder]` become: what memory stores, how others search it, and a model of this machine.

use crate::config::key::{flag, number, section, texts};
use crate::memory::{Manner, Question};

section! {
    /// The section of `memory`.
    pub struct Memory in "memory", read by [Memory] {
        /// The most rows of one user, including superseded ones; the next write is refused.
        max_rows: u32 = number(1..=10_000_000, 100_000),
        /// The most episodic rows of one user; the next one replaces the oldest.
        max_episodic: u32 = number(1..=10_000_000, 10_000),
        /// The most facts, preferences and instructions of one user; the next is refused.
        max_semantic: u32 = number(1..=1_000_000, 1000),
        /// Days after which an episodic row without an expiry of its own is forgotten; 0 is never.
        episodic_days: u32 = number(0..=36_500, 90),
        /// Days after which observations, and superseded and removed rows, are forgotten; 0 is never. Notes, facts and
        /// summaries stay.
        retention_days: u32 = number(0..=36_500, 90),
        /// The largest size of the database, MiB. To stay below it, superseded and removed rows are deleted first, then the
        /// oldest observations; if nothing is left to delete, the next write is refused.
        max_mib: u32 = number(16..=4000, 500),
        /// The largest size of one user's rows in the database without indexes, MiB. To stay below it, the user's superseded
        /// and removed rows are deleted first, then the oldest observations; then the user's next write is refused. With
        /// several users, `max_mib` divided by their number leaves each a share that no other can take.
        max_owner_mib: u32 = number(1..=4000, 250),
        /// Tools of coding agents whose outputs hooks do not capture.
        ignored_tools: Vec<String> = texts("name", 64),
        /// The shortest output of a tool that hooks capture, characters.
        min_output_length: u32 = number(0..=50_000, 50),
        /// The most memories in the index that a model gets: in an agent's turn, from a hook and from `agentctl memory
        /// context`.
        max_index_entries: u16 = number(1..=100, 50),
        /// Patterns of text that is never stored: each match becomes `[REDACTED]` before the text is scanned and stored.
        sensitive_patterns: Vec<String> = texts("pattern", 32),
        ..
        /// The model whose vectors of the rows are stored.
        embedder: Option<String>,
        /// The path of the database as every process but memory sees it, for its log.
        database: String,
    }
}

section! {
    /// The part of `[memory]` that decides how it is searched.
    pub struct Finding in "memory", read by [Gate, Control] {
        /// If true, the model of `[curator]` orders the first results of every search: by agents, MCP clients and `agentctl
        /// memory search`. It gets results only as their labels allow. If it fails, the order is unchanged and the answer
        /// says so.
        rerank: bool = flag(false),
        /// The number of results that the model orders.
        rerank_top: u8 = number(2..=20, 20),
        /// Seconds after which a search answers without the model's order.
        rerank_seconds: u8 = number(1..=15, 8),
        ..
        /// The model that makes a vector of a query: `[memory] embedder`.
        embedder: Option<String>,
    }
}

section! {
    /// The section of `embedder`.
    pub struct Embedder in "embedder", read by [Embedder] {
        /// Seconds without a request after which the model is unloaded; the next request loads it again.
        idle_seconds: u32 = number(1..=86_400, 600),
        ..
        /// The folder of the model.
        folder: String,
        /// The name that marks vectors of this very model: [`crate::embedder::LOCAL`] and a part of the hash of its files.
        name: String,
    }
}

impl Finding {
    /// Returns true if a vector is made of the text of a question.
    #[must_use]
    pub fn embeds(&self, question: &Question) -> bool {
        let by_meaning = !matches!(question.manner, Manner::Words | Manner::Plain);
        by_meaning && self.embedder.is_some() && !question.words.trim().is_empty()
    }

    /// Returns true if a model orders the results of a question. The plain manner, which others are measured against, is ordered
    /// only if the question asks for it.
    #[must_use]
    pub fn reorders(&self, question: &Question) -> bool {
        let asks = question.reorder || (self.rerank && question.manner != Manner::Plain);
        asks && !question.words.trim().is_empty()
    }
}
