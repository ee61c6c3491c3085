//! The table of keys: every key of `cordon.toml` with its type, range, default and meaning, and the processes that get it. A key
//! that a process reads as it stands in the file is declared with its section, below `ipc-proto/src/config`; the others stand here.
//!
//! Validation, defaults, the reference in `docs/reference/configuration.md` and the man page all come from here; a key that is not
//! here is an unknown key. It holds no logic.

mod audit;
mod calls;
mod channels;
mod egress;
mod engines;
mod gateway;
mod host;
mod ingress;
mod mcp;
mod memory;
mod models;
mod people;
mod policy;
mod services;
mod tool;
mod web;

use crate::forms::{CONTACT, MODEL, MODEL_PART, NAME, ORIGIN, PATTERN, STOP, TOOL};
use crate::kind::{Kind, Preset};
use ipc_proto::config::{self, Keyed, Rule};
use manifest::Process;
use std::sync::LazyLock;

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its path. A part in capitals stands for a name of the writer's choice, a part with `[]` for one table of an array.
    pub path: &'static str,
    /// Its type and range.
    pub kind: Kind,
    /// Its default.
    pub preset: Preset,
    /// The processes that get it; empty for a key that no process needs.
    pub seen_by: &'static [Process],
    /// Its meaning.
    pub means: &'static str,
}

/// A part of a path that the writer names.
#[derive(Debug)]
pub struct Wildcard {
    /// The part as paths write it.
    pub part: &'static str,
    /// The valid names.
    pub kind: Kind,
    /// The most tables or keys beside each other.
    pub max: usize,
}

/// The version of the format.
pub const VERSION: u32 = 1;
/// The most `[[user]]`: `agentctl user add` adds as many again.
pub const USERS: usize = 128;
/// The most models of all providers; with the built-in ones they fit one list of the bus.
pub const MODELS: usize = 240;
/// The longest that entries of the record are kept, days: a hundred years.
pub const RETENTION_DAYS: u32 = 36_500;
/// Every built-in tool.
pub const TOOLS: &[&str] = &[
    "read", "write", "edit", "glob", "grep", "bash", "memory_write", "memory_query", "memory_timeline",
    "memory_read", "memory_list", "memory_revise", "memory_delete", "web_fetch", "web_search", "http_call",
    "oauth_call", "send_file",
];
/// The tools that an agent has where its `browser` is true.
pub use toolset::browser_tools::NAMES as BROWSER_TOOLS;
/// The tools that an agent has where its `schedule` is true.
pub use toolset::schedule_tools::NAMES as SCHEDULE_TOOLS;
/// The prefix of the tools that need the memory process.
pub const MEMORY_TOOLS: &str = "memory_";
/// The prefix of the tools that need the web process.
pub const WEB_TOOLS: &str = "web_";
/// The tools that call services: with a key, and with a login.
pub const SERVICE_TOOLS: [&str; 2] = ["http_call", "oauth_call"];
/// The tool that sends a file by a channel.
pub const SEND_FILE: &str = "send_file";
/// The names of the processes that write log lines of their own: every actor.
pub const LOGGING: &[&str] = &names();
const LEVELS: &[&str] = &["error", "warn", "info", "debug", "trace"];
/// The largest base that leaves room for the whole range of ids above it.
const LAST_BASE: u32 = 4_294_000_000;

/// Parts of paths that the writer names.
pub const WILDCARDS: &[Wildcard] = &[
    Wildcard { part: "NAME", kind: Kind::Text(&NAME), max: 32 },
    Wildcard { part: "MODEL", kind: Kind::Text(&MODEL_PART), max: 64 },
    Wildcard { part: "TOOL", kind: Kind::Text(&TOOL), max: 128 },
    Wildcard { part: "PROCESS", kind: Kind::Word(LOGGING), max: 16 },
];

/// A part of the table.
enum Part {
    /// Keys of this folder.
    Own(&'static [Key]),
    /// Keys that a section declares.
    Declared(&'static [config::Key]),
}

/// Every key, in the order of the reference.
const PARTS: &[Part] = &[
    Part::Own(host::KEYS),
    Part::Own(people::KEYS),
    Part::Declared(config::AgentLimits::KEYS),
    Part::Own(people::LIMITS),
    Part::Own(egress::KEYS),
    Part::Own(engines::KEYS),
    Part::Own(services::KEYS),
    Part::Own(mcp::KEYS),
    Part::Own(channels::KEYS),
    Part::Own(memory::PROVIDER),
    Part::Declared(config::Memory::KEYS),
    Part::Own(memory::MODEL),
    Part::Declared(config::Finding::KEYS),
    Part::Own(memory::FOLDER),
    Part::Declared(config::Embedder::KEYS),
    Part::Declared(config::Router::KEYS),
    Part::Own(calls::KEYS),
    Part::Own(models::ROUTE),
    Part::Declared(config::Asking::KEYS),
    Part::Own(models::BUDGET),
    Part::Own(web::KEYS),
    Part::Declared(config::Policy::KEYS),
    Part::Own(policy::KEYS),
    Part::Declared(config::Curator::KEYS),
    Part::Declared(config::Scheduler::KEYS),
    Part::Own(gateway::KEYS),
    Part::Own(ingress::KEYS),
    Part::Declared(config::Gateway::KEYS),
    Part::Declared(config::RelayLimits::KEYS),
    Part::Own(audit::KEYS),
    Part::Own(tool::KEYS),
];

/// The forms of declared keys, by the names that those use.
const FORMS: &[(&str, Kind)] = &[
    ("contact", Kind::Text(&CONTACT)),
    ("model", Kind::Text(&MODEL)),
    ("name", Kind::Text(&NAME)),
    ("origin", Kind::Text(&ORIGIN)),
    ("pattern", Kind::Text(&PATTERN)),
    ("stop", Kind::Text(&STOP)),
];

static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let keys = PARTS.iter().map(|part| match part {
        Part::Own(keys) => keys.to_vec(),
        Part::Declared(keys) => keys.iter().map(declared).collect(),
    });
    keys.flatten().collect()
});

fn declared(key: &config::Key) -> Key {
    let (kind, preset) = match key.rule {
        Rule::Number { min, max, default } => (Kind::Number { min, max }, Preset::Number(default)),
        Rule::Decimal { max, default } => (Kind::Decimal { max }, Preset::Millionths(default.into())),
        Rule::Flag { default } => (Kind::Flag, Preset::Flag(default)),
        Rule::Text { form } => (*form_named(form), Preset::Nothing),
        Rule::Texts { form, max } => (Kind::List { of: form_named(form), max }, Preset::List(&[])),
    };
    Key { path: key.path, kind, preset, seen_by: key.seen_by, means: key.means.trim() }
}

/// The form with this name. A name that is not in the list accepts nothing, and fails a test.
fn form_named(name: &str) -> &'static Kind {
    FORMS.iter().find(|(form, _)| *form == name).map_or(&Kind::Word(&[]), |(_, kind)| kind)
}

/// Every key.
pub fn all() -> impl Iterator<Item = &'static Key> {
    KEYS.iter()
}

/// Every process that gets a section, and agentd.
pub const ALL: &[Process] = match Process::ALL.split_last_chunk::<{ Process::RUNNERS.len() }>() {
    Some((rest, [Process::Runner, ..])) => rest,
    _ => panic!("runners are the last of the list"),
};

/// The same without agentd.
pub const ACTORS: &[Process] = match ALL.split_first() {
    Some((_, actors)) => actors,
    None => &[],
};

/// The name of each actor.
const fn names() -> [&'static str; ACTORS.len()] {
    let mut names = [""; ACTORS.len()];
    let (mut slots, mut actors) = (names.as_mut_slice(), ACTORS);
    while let ([slot, rest @ ..], [actor, others @ ..]) = (slots, actors) {
        *slot = actor.name();
        (slots, actors) = (rest, others);
    }
    names
}

/// The key at `path`, as the table writes it.
#[must_use]
pub fn find(path: &str) -> Option<&'static Key> {
    all().find(|key| key.path == path)
}

/// The parts that may follow `pattern` in a path, each once, in the table's order.
#[must_use]
pub fn parts_after(pattern: &str) -> Vec<&'static str> {
    let mut parts = Vec::new();
    for key in all() {
        let rest = match pattern {
            "" => Some(key.path),
            _ => key.path.strip_prefix(pattern).and_then(|rest| rest.strip_prefix('.')),
        };
        let part = rest.and_then(|rest| rest.split('.').next());
        if let Some(part) = part.filter(|part| !parts.contains(part)) {
            parts.push(part);
        }
    }
    parts
}

/// The wildcard that `part` is.
#[must_use]
pub fn wildcard(part: &str) -> Option<&'static Wildcard> {
    WILDCARDS.iter().find(|wildcard| wildcard.part == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_stands_once_and_its_capitals_are_wildcards() {
        for (n, key) in all().enumerate() {
            assert!(all().take(n).all(|other| other.path != key.path), "{}", key.path);
            for part in key.path.split('.') {
                let capitals = part.chars().all(|c| c.is_ascii_uppercase());
                assert_eq!(capitals, wildcard(part).is_some(), "{}", key.path);
            }
            assert!(key.means.ends_with('.'), "{}", key.path);
        }
    }

    #[test]
    fn every_declared_form_has_its_check() {
        let kinds = all().map(|key| if let Kind::List { of, .. } = key.kind { *of } else { key.kind });
        assert!(kinds.into_iter().all(|kind| !matches!(kind, Kind::Word([]))));
    }

    #[test]
    fn every_default_is_itself_valid() {
        for key in all() {
            let holds = match (key.kind, key.preset) {
                (Kind::Number { min, max }, Preset::Number(n)) => (min..=max).contains(&n),
                (Kind::Version(known), Preset::Number(n)) => n == known,
                (Kind::Decimal { max }, Preset::Millionths(n)) => n <= u64::from(max) * 1_000_000,
                (Kind::Flag, Preset::Flag(_)) => true,
                (Kind::Word(_) | Kind::Text(_), Preset::Text(text)) => key.kind.take_text(text).is_ok(),
                (Kind::List { of, max }, Preset::List(items)) => {
                    items.len() <= max && items.iter().all(|item| of.take_text(item).is_ok())
                }
                (_, Preset::Required | Preset::Nothing) => true,
                _ => false,
            };
            assert!(holds, "{}: {}", key.path, key.preset.toml());
        }
    }

    #[test]
    fn the_processes_that_log_are_those_with_a_row_but_the_runner() {
        let rows = manifest::TABLE.iter().map(|row| row.process).filter(|p| !p.is_runner());
        assert_eq!(rows.clone().collect::<Vec<_>>(), ACTORS);
        assert_eq!(rows.map(Process::name).collect::<Vec<_>>(), LOGGING);
    }

    #[test]
    fn the_parts_after_a_pattern_are_found_once_each() {
        assert_eq!(parts_after("log"), ["format", "level", "rotate_bytes", "levels"]);
        assert_eq!(parts_after("agent"), ["NAME"]);
        let agent = [
            "model", "prompt_file", "tools", "profile", "browser", "browser_isolate", "delegates",
            "schedule", "own_words", "memory", "memory_tokens", "engine", "limits", "network",
        ];
        assert_eq!(parts_after("agent.NAME"), agent);
        assert!(parts_after("").contains(&"user[]") && parts_after("lo").is_empty());
    }
}
