//! The section of `curator`: `[curator]`. Pure data.

use crate::config::key::{decimal, flag, number, section, text};

section! {
    /// `[curator]`.
    pub struct Curator in "curator", read by [Curator] {
        /// If true, observations are made of the captures of hooks. The captures are kept unchanged in either case.
        compression_enabled: bool = flag(true),
        /// The model for background work. Without one, nothing is sent to any model: observations get their title and files
        /// from the capture, and summaries are counts.
        model: Option<String> = text("model"),
        /// The most tokens of one answer.
        max_tokens_per_compression: u32 = number(64..=32_768, 1024),
        /// The most jobs that are fetched from memory at once.
        batch_size: u16 = number(1..=16, 5),
        /// Milliseconds between two fetches of jobs; less if the last fetch was full, and none after `agentctl curator run`.
        batch_interval_ms: u32 = number(100..=3_600_000, 30_000),
        /// If true, sessions that have ended are summarized, if they have at least two observations.
        summaries: bool = flag(true),
        /// If true, a new observation is compared with similar ones: one with the same content is marked as a duplicate, and
        /// between the two bounds below a model decides if it replaces another.
        resolve_conflicts: bool = flag(false),
        /// The similarity from which on a model decides.
        conflict_low: u32 = decimal(1, 700_000),
        /// The similarity from which on the observation is a duplicate without asking a model.
        conflict_high: u32 = decimal(1, 920_000),
        /// If true, the model also names the subjects of an observation (technologies, libraries, patterns, files, people,
        /// projects) and their relations. Names become tags and relations facts of the observation.
        extract_entities: bool = flag(false),
        /// The most tokens of background work in a day (UTC), besides `[budget]`; then it waits for the next day, and
        /// `agentctl curator list` says so. `0` is no limit.
        tokens_per_day: u32 = number(0..=1_000_000_000, 1_000_000),
        /// How often a job is tried before it is given up and shown with its reason. It waits 2 s, 4 s and so on up to 30 s
        /// between attempts, or as long as the provider asks.
        attempts: u32 = number(1..=100, 8),
        ..
        /// `[memory] embedder`, if it is a model's.
        embedder: Option<String>,
    }
}
