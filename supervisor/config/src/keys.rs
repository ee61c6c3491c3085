//! The table of keys: every key of `cordon.toml` with its type, range, default and meaning, and who is handed it.
//!
//! Validation, defaults, the reference in `docs/configuration.md` and the one in the man page all come from here; what
//! is not here is an unknown key. It holds no logic.

use crate::forms::{BASE_URL, HOST_PORT, IDENTITY, LOOPBACK, MODEL, MODEL_PART, NAME, PATH, SECRET};
use crate::kind::{Kind, Preset};
use manifest::Process::{self, Agentd, Credproxy, Dialer, Gate, Memory, Model, Router};
use manifest::settings;

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Where it stands. A part in capitals stands for a name of the writer's choice, a part with `[]` for one table
    /// of an array.
    pub path: &'static str,
    /// Its type and range.
    pub kind: Kind,
    /// Its default.
    pub preset: Preset,
    /// Whom it reaches; empty for what no process needs to know.
    pub seen_by: &'static [Process],
    /// What it means.
    pub means: &'static str,
}

/// A part of a path that the writer names.
#[derive(Debug)]
pub struct Wildcard {
    /// How paths write it.
    pub part: &'static str,
    /// What a name may be.
    pub kind: Kind,
    /// Most tables or keys beside each other.
    pub max: usize,
}

/// The version of the format.
pub const VERSION: u32 = 1;
/// Most `[[user]]`: as many can be added by `agentctl user add`.
pub const USERS: usize = 128;
/// Most models of all providers; with the built-in ones they fit one list of the bus.
pub const MODELS: usize = 240;
/// Every tool there is.
pub const TOOLS: &[&str] = &[
    "read",
    "write",
    "edit",
    "glob",
    "grep",
    "bash",
    "memory_write",
    "memory_query",
    "memory_read",
    "memory_list",
    "memory_delete",
];
/// What the tools begin with that need the memory process.
pub const MEMORY_TOOLS: &str = "memory_";
/// Every process that writes log lines of its own.
pub const LOGGING: &[&str] =
    &["audit", "dialer", "credproxy", "scanner", "memory", "model", "router", "gate", "control"];
const LEVELS: &[&str] = &["error", "warn", "info", "debug", "trace"];
/// Beyond it a number cannot be an id with the whole range above it.
const LAST_BASE: u32 = 4_294_000_000;

/// Parts of paths that the writer names.
pub const WILDCARDS: &[Wildcard] = &[
    Wildcard { part: "NAME", kind: Kind::Text(&NAME), max: 32 },
    Wildcard { part: "MODEL", kind: Kind::Text(&MODEL_PART), max: 64 },
    Wildcard { part: "PROCESS", kind: Kind::Word(LOGGING), max: 16 },
];

/// Every key.
pub const KEYS: &[Key] = &[
    Key {
        path: "version",
        kind: Kind::Version(VERSION),
        preset: Preset::Number(VERSION),
        seen_by: &[],
        means: "The version of this file's format. A file of a newer version is refused rather than half understood.",
    },
    Key {
        path: "host.mode",
        kind: Kind::Word(&["auto", "system", "user", "flat"]),
        preset: Preset::Text("auto"),
        seen_by: &[Agentd],
        means: "How processes are confined. `system`: started as root, every process and every runner slot has a uid \
                of its own. `user`: an ordinary user, with user namespaces. `flat`: no namespaces; it gives up what \
                they protect, so it must be asked for. `auto`: `system` as root, else `user`. A mode whose layers the \
                kernel does not grant refuses to start.",
    },
    Key {
        path: "host.uid_base",
        kind: Kind::Number { min: 1000, max: LAST_BASE },
        preset: Preset::Number(780_000),
        seen_by: &[Agentd],
        means: "The first of 256 uids and gids that belong to this host in mode `system`: the processes' where the \
                `cordon-*` users are not installed, and from the 65th on the runner slots'. None of them may be in \
                `/etc/passwd`, `/etc/group`, `/etc/subuid` or `/etc/subgid`.",
    },
    Key {
        path: "host.runner_slots",
        kind: Kind::Number { min: 1, max: settings::MAX_SLOTS as u32 },
        preset: Preset::Number(64),
        seen_by: &[Agentd],
        means: "How many runners there can be at once; in mode `system` each has a uid that no other has.",
    },
    Key {
        path: "log.format",
        kind: Kind::Word(&["text", "json"]),
        preset: Preset::Text("text"),
        seen_by: ALL,
        means: "Log lines as words, or as one JSON object a line. Neither holds content or secrets.",
    },
    Key {
        path: "log.level",
        kind: Kind::Word(LEVELS),
        preset: Preset::Text("info"),
        seen_by: ACTORS,
        means: "The least grave lines that are written.",
    },
    Key {
        path: "log.rotate_bytes",
        kind: Kind::Number { min: settings::ROTATE_BYTES.0, max: settings::ROTATE_BYTES.1 },
        preset: Preset::Number(8 << 20),
        seen_by: &[Agentd],
        means: "Bytes of a log file before it is put aside and a new one begun. Unused where the journal takes the lines.",
    },
    Key {
        path: "log.levels.PROCESS",
        kind: Kind::Word(LEVELS),
        preset: Preset::Nothing,
        seen_by: ACTORS,
        means: "The level of one process, instead of `log.level`.",
    },
    Key {
        path: "user[].name",
        kind: Kind::Text(&NAME),
        preset: Preset::Required,
        seen_by: &[Router],
        means: "The user's name, which no other has.",
    },
    Key {
        path: "user[].role",
        kind: Kind::Word(&["owner", "user", "guest"]),
        preset: Preset::Required,
        seen_by: &[Router],
        means: "`guest`: may talk to agents. `user`: the same, with sessions, memory and workspaces of their own. \
                `owner`: everything.",
    },
    Key {
        path: "user[].uids",
        kind: Kind::List { of: &Kind::Number { min: 0, max: u32::MAX }, max: 16 },
        preset: Preset::List(&[]),
        seen_by: &[Router],
        means: "Uids of this machine that are this user. Root and whoever runs the host are owners without being listed.",
    },
    Key {
        path: "user[].channels",
        kind: Kind::List { of: &Kind::Text(&IDENTITY), max: 16 },
        preset: Preset::List(&[]),
        seen_by: &[Router],
        means: "Who this user is on messaging platforms. Nobody else may be listed with the same.",
    },
    Key {
        path: "agent.NAME.model",
        kind: Kind::Text(&MODEL),
        preset: Preset::Text("offline/reader"),
        seen_by: &[Router, Gate],
        means: "Which model answers: `offline/reader`, `offline/hijackable` (for tests), `scripted/FILE` (a file of \
                replies in the model process's own folder), or a provider's name and its model's.",
    },
    Key {
        path: "agent.NAME.prompt_file",
        kind: Kind::Text(&PATH),
        preset: Preset::Nothing,
        seen_by: &[Router, Gate],
        means: "A file of at most 60 KiB of text that the model is told after the base rules. It is read once, at \
                start; nobody else may be able to write it.",
    },
    Key {
        path: "agent.NAME.tools",
        kind: Kind::List { of: &Kind::Word(TOOLS), max: 64 },
        preset: Preset::List(TOOLS),
        seen_by: &[Router, Gate],
        means: "The tools it may use; an empty list is none. The `memory_*` tools are there only with a memory.",
    },
    Key {
        path: "agent.NAME.profile",
        kind: Kind::Word(&["paranoid", "standard", "power-user"]),
        preset: Preset::Text("paranoid"),
        seen_by: &[Router, Gate],
        means: "Which policy it is held to.",
    },
    Key {
        path: "agent.NAME.limits.tool_calls",
        kind: Kind::Number { min: 1, max: 1000 },
        preset: Preset::Number(50),
        seen_by: &[Router, Gate],
        means: "Tool calls in one turn.",
    },
    Key {
        path: "agent.NAME.limits.tool_failures",
        kind: Kind::Number { min: 1, max: 50 },
        preset: Preset::Number(3),
        seen_by: &[Router, Gate],
        means: "Failures in a row of one tool after which it is refused for the rest of the turn.",
    },
    Key {
        path: "agent.NAME.limits.seconds",
        kind: Kind::Number { min: 1, max: 3600 },
        preset: Preset::Number(120),
        seen_by: &[Agentd, Router, Gate],
        means: "Wall clock of a turn, seconds. The largest of all agents is the longest that any runner lives.",
    },
    Key {
        path: "agent.NAME.limits.output_tokens",
        kind: Kind::Number { min: 256, max: 200_000 },
        preset: Preset::Number(4096),
        seen_by: &[Router, Gate],
        means: "Tokens of one answer.",
    },
    Key {
        path: "agent.NAME.limits.model_calls_per_hour",
        kind: Kind::Number { min: 1, max: 100_000 },
        preset: Preset::Number(600),
        seen_by: &[Router, Gate],
        means: "Model calls of one session in an hour.",
    },
    Key {
        path: "provider.NAME.kind",
        kind: Kind::Word(&["openai", "none"]),
        preset: Preset::Text("openai"),
        seen_by: &[],
        means: "`openai`: an OpenAI-compatible server. `none`: as if this provider were not written here.",
    },
    Key {
        path: "provider.NAME.base_url",
        kind: Kind::Text(&BASE_URL),
        preset: Preset::Nothing,
        seen_by: &[Model, Dialer],
        means: "Where the server is; required unless the kind is `none`. Dialer hears the host and port alone.",
    },
    Key {
        path: "provider.NAME.secret",
        kind: Kind::Text(&SECRET),
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "The name of the secret that holds the key; left out for a server without keys. The secret itself \
                never stands in this file.",
    },
    Key {
        path: "provider.NAME.models.MODEL.context",
        kind: Kind::Number { min: 1024, max: 10_000_000 },
        preset: Preset::Number(128_000),
        seen_by: &[Model],
        means: "Tokens the model can take in. A table for each model that may be used, even if it is empty.",
    },
    Key {
        path: "provider.NAME.models.MODEL.output",
        kind: Kind::Number { min: 256, max: 200_000 },
        preset: Preset::Number(4096),
        seen_by: &[Model],
        means: "Tokens the model can give out.",
    },
    Key {
        path: "credproxy.provider",
        kind: Kind::Word(&["vault", "none"]),
        preset: Preset::Text("vault"),
        seen_by: &[Agentd],
        means: "`vault`: secrets are kept sealed, with a key file. `none`: neither credproxy nor dialer is started, so \
                nothing of the host has a network; only the offline and scripted models are left.",
    },
    Key {
        path: "credproxy.plain_http",
        kind: Kind::List { of: &Kind::Text(&LOOPBACK), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Credproxy, Dialer],
        means: "Servers on this machine that may be asked over plain HTTP.",
    },
    Key {
        path: "credproxy.hosts",
        kind: Kind::List { of: &Kind::Text(&HOST_PORT), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Dialer],
        means: "Hosts that credproxy may reach besides the providers'.",
    },
    Key {
        path: "memory.provider",
        kind: Kind::Word(&["sqlite", "none"]),
        preset: Preset::Text("sqlite"),
        seen_by: &[Agentd],
        means: "`sqlite`: one database. `none`: the memory process is not started, and no agent has `memory_*` tools.",
    },
    Key {
        path: "memory.max_rows",
        kind: Kind::Number { min: 1, max: 10_000_000 },
        preset: Preset::Number(100_000),
        seen_by: &[Memory],
        means: "Most rows that one user may have; the next write is refused.",
    },
    Key {
        path: "router.queue_per_session",
        kind: Kind::Number { min: 1, max: 1024 },
        preset: Preset::Number(32),
        seen_by: &[Router],
        means: "Messages that may wait in one session; the next is refused before it is accepted.",
    },
    Key {
        path: "router.queue_total",
        kind: Kind::Number { min: 1, max: 65_536 },
        preset: Preset::Number(4096),
        seen_by: &[Router],
        means: "Messages that may wait in all; at least `queue_per_session`.",
    },
    Key {
        path: "router.turns_at_once",
        kind: Kind::Number { min: 1, max: settings::MAX_SLOTS as u32 },
        preset: Preset::Number(8),
        seen_by: &[Router],
        means: "Turns that may run at once; at most `host.runner_slots`.",
    },
];

/// Every process that is handed a section, and agentd.
const ALL: &[Process] = &[
    Agentd,
    Process::Audit,
    Dialer,
    Credproxy,
    Process::Scanner,
    Memory,
    Model,
    Router,
    Gate,
    Process::Control,
];

/// The same without agentd.
const ACTORS: &[Process] = match ALL.split_first() {
    Some((_, actors)) => actors,
    None => &[],
};

/// The key at `path`, which is written as the table writes it.
#[must_use]
pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// The parts that may follow `pattern` in a path, each once, in the table's order.
#[must_use]
pub fn parts_after(pattern: &str) -> Vec<&'static str> {
    let mut parts = Vec::new();
    for key in KEYS {
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
        for (n, key) in KEYS.iter().enumerate() {
            assert!(KEYS[..n].iter().all(|other| other.path != key.path), "{}", key.path);
            for part in key.path.split('.') {
                let capitals = part.chars().all(|c| c.is_ascii_uppercase());
                assert_eq!(capitals, wildcard(part).is_some(), "{}", key.path);
            }
            assert!(key.means.ends_with('.'), "{}", key.path);
        }
    }

    #[test]
    fn every_default_is_itself_valid() {
        for key in KEYS {
            let holds = match (key.kind, key.preset) {
                (Kind::Number { min, max }, Preset::Number(n)) => (min..=max).contains(&n),
                (Kind::Version(known), Preset::Number(n)) => n == known,
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
        let rows = manifest::TABLE.iter().map(|row| row.process).filter(|p| *p != Process::Runner);
        assert_eq!(rows.clone().collect::<Vec<_>>(), ACTORS);
        assert_eq!(rows.map(Process::name).collect::<Vec<_>>(), LOGGING);
    }

    #[test]
    fn the_parts_after_a_pattern_are_found_once_each() {
        assert_eq!(parts_after("log"), ["format", "level", "rotate_bytes", "levels"]);
        assert_eq!(parts_after("agent"), ["NAME"]);
        assert_eq!(parts_after("agent.NAME"), ["model", "prompt_file", "tools", "profile", "limits"]);
        assert!(parts_after("").contains(&"user[]") && parts_after("lo").is_empty());
    }
}
