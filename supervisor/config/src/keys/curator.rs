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
        means: "Whether observations are made of what hooks captured. What was captured is kept as it is in either case.",
    },
    Key {
        path: "curator.model",
        kind: Kind::Text(&MODEL),
        preset: Preset::Nothing,
        seen_by: &[Curator],
        means: "The model that background work asks. Left out, nothing is sent to any model: observations get their title \
                and files from what was captured, and summaries count.",
    },
    Key {
        path: "curator.max_tokens_per_compression",
        kind: Kind::Number { min: 64, max: 32_768 },
        preset: Preset::Number(1024),
        seen_by: &[Curator],
        means: "Most tokens of one answer.",
    },
    Key {
        path: "curator.batch_size",
        kind: Kind::Number { min: 1, max: 16 },
        preset: Preset::Number(5),
        seen_by: &[Curator],
        means: "Most pieces of work that are taken from memory at once.",
    },
    Key {
        path: "curator.batch_interval_ms",
        kind: Kind::Number { min: 100, max: 3_600_000 },
        preset: Preset::Number(30_000),
        seen_by: &[Curator],
        means: "How long after one look for work the next is, ms; sooner where the last one found as much as it could take, \
                and at once by `agentctl curator run`.",
    },
    Key {
        path: "curator.summaries",
        kind: Kind::Flag,
        preset: Preset::Flag(true),
        seen_by: &[Curator],
        means: "Whether sessions that ended are summed up, once there are two observations of them.",
    },
    Key {
        path: "curator.resolve_conflicts",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Curator],
        means: "Whether a new observation is compared with those like it: what says the same is marked as a duplicate, and \
                between the two bounds below a model says whether it takes the place of another.",
    },
    Key {
        path: "curator.conflict_low",
        kind: Kind::Decimal { max: 1 },
        preset: Preset::Millionths(700_000),
        seen_by: &[Curator],
        means: "Likeness from which on a model is asked.",
    },
    Key {
        path: "curator.conflict_high",
        kind: Kind::Decimal { max: 1 },
        preset: Preset::Millionths(920_000),
        seen_by: &[Curator],
        means: "Likeness from which on it is a duplicate and no model is asked.",
    },
    Key {
        path: "curator.extract_entities",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Curator],
        means: "Whether the model also names what an observation is about (technologies, libraries, patterns, files, people, \
                projects) and how these hang together. Names become tags and relations facts of the observation.",
    },
    Key {
        path: "curator.tokens_per_day",
        kind: Kind::Number { min: 0, max: 1_000_000_000 },
        preset: Preset::Number(1_000_000),
        seen_by: &[Curator],
        means: "Most tokens that background work uses in a day (UTC), beside what `[budget]` says; then it waits for the next \
                day, and `agentctl curator list` says so. `0` is no bound.",
    },
    Key {
        path: "curator.attempts",
        kind: Kind::Number { min: 1, max: 100 },
        preset: Preset::Number(8),
        seen_by: &[Curator],
        means: "Times that a job is tried before it is given up and shown with its reason. Between them it waits 2 s, 4 s and \
                so on up to 30 s, or as long as the provider asks.",
    },
];
