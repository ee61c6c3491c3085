//! The keys of `[curator]`. It holds no logic.

use super::Key;
use crate::forms::MODEL;
use crate::kind::{Kind, Preset};
use manifest::Process::Curator;

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "curator.compression_enabled",
        kind: Kind::Flag,
        preset: Preset::Flag(true),
        seen_by: &[Curator],
        means: "If true, observations are made of the captures of hooks. The captures are kept unchanged in either \
                case.",
    },
    Key {
        path: "curator.model",
        kind: Kind::Text(&MODEL),
        preset: Preset::Nothing,
        seen_by: &[Curator],
        means: "The model for background work. Without one, nothing is sent to any model: observations get their title \
                and files from the capture, and summaries are counts.",
    },
    Key {
        path: "curator.max_tokens_per_compression",
        kind: Kind::Number { min: 64, max: 32_768 },
        preset: Preset::Number(1024),
        seen_by: &[Curator],
        means: "The most tokens of one answer.",
    },
    Key {
        path: "curator.batch_size",
        kind: Kind::Number { min: 1, max: 16 },
        preset: Preset::Number(5),
        seen_by: &[Curator],
        means: "The most jobs that are fetched from memory at once.",
    },
    Key {
        path: "curator.batch_interval_ms",
        kind: Kind::Number { min: 100, max: 3_600_000 },
        preset: Preset::Number(30_000),
        seen_by: &[Curator],
        means: "Milliseconds between two fetches of jobs; less if the last fetch was full, and none after `agentctl \
                curator run`.",
    },
    Key {
        path: "curator.summaries",
        kind: Kind::Flag,
        preset: Preset::Flag(true),
        seen_by: &[Curator],
        means: "If true, sessions that have ended are summarized, if they have at least two observations.",
    },
    Key {
        path: "curator.resolve_conflicts",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Curator],
        means: "If true, a new observation is compared with similar ones: one with the same content is marked as a \
                duplicate, and between the two bounds below a model decides if it replaces another.",
    },
    Key {
        path: "curator.conflict_low",
        kind: Kind::Decimal { max: 1 },
        preset: Preset::Millionths(700_000),
        seen_by: &[Curator],
        means: "The similarity from which on a model decides.",
    },
    Key {
        path: "curator.conflict_high",
        kind: Kind::Decimal { max: 1 },
        preset: Preset::Millionths(920_000),
        seen_by: &[Curator],
        means: "The similarity from which on the observation is a duplicate without asking a model.",
    },
    Key {
        path: "curator.extract_entities",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Curator],
        means: "If true, the model also names the subjects of an observation (technologies, libraries, patterns, files, \
                people, projects) and their relations. Names become tags and relations facts of the observation.",
    },
    Key {
        path: "curator.tokens_per_day",
        kind: Kind::Number { min: 0, max: 1_000_000_000 },
        preset: Preset::Number(1_000_000),
        seen_by: &[Curator],
        means: "The most tokens of background work in a day (UTC), besides `[budget]`; then it waits for the next day, \
                and `agentctl curator list` says so. `0` is no limit.",
    },
    Key {
        path: "curator.attempts",
        kind: Kind::Number { min: 1, max: 100 },
        preset: Preset::Number(8),
        seen_by: &[Curator],
        means: "How often a job is tried before it is given up and shown with its reason. It waits 2 s, 4 s and so on \
                up to 30 s between attempts, or as long as the provider asks.",
    },
];
