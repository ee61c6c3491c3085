//! The keys of `[engine.NAME]`. It holds no logic.

use super::Key;
use crate::forms::{KEPT, WORD};
use crate::kind::{Kind, Preset};
use manifest::Process::{Gate, Router};

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "engine.NAME.command",
        kind: Kind::List { of: &Kind::Text(&WORD), max: 32 },
        preset: Preset::Required,
        seen_by: &[Router, Gate],
        means: "The program and its arguments, as it is found in the jail: beneath `/usr`, or in the workspace. What it is \
                to answer comes to its standard input. A table called `codex`, `claude-code` or `opencode` stands in \
                place of what is known of that program.",
    },
    Key {
        path: "engine.NAME.resume",
        kind: Kind::List { of: &Kind::Text(&WORD), max: 8 },
        preset: Preset::List(&[]),
        seen_by: &[Router, Gate],
        means: "Arguments behind those by which it goes on with a session of its own; `{token}` stands for the name that it \
                gave that. Without them it is told the conversation so far each time.",
    },
    Key {
        path: "engine.NAME.format",
        kind: Kind::Word(&["codex", "claude-code", "opencode", "text"]),
        preset: Preset::Text("text"),
        seen_by: &[Router, Gate],
        means: "How it says what it does: as `codex exec --json`, as `claude -p --output-format stream-json --verbose`, as \
                `opencode run --format json`, or in plain lines, all of which are the answer.",
    },
    Key {
        path: "engine.NAME.input",
        kind: Kind::Word(&["text", "stream-json"]),
        preset: Preset::Text("text"),
        seen_by: &[Router, Gate],
        means: "How it is asked: by a text to the end of its standard input, or by lines of JSON there, as `claude -p \
                --input-format stream-json --replay-user-messages` takes them. One that takes lines can be told more while it \
                works (`agentctl steer`); the other cannot.",
    },
    Key {
        path: "engine.NAME.profile",
        kind: Kind::Word(&["plain", "codex", "claude-code", "opencode"]),
        preset: Preset::Text("plain"),
        seen_by: &[Router, Gate],
        means: "What it needs besides the addresses of the model API, as `agentctl run --profile`.",
    },
    Key {
        path: "engine.NAME.keeps",
        kind: Kind::List { of: &Kind::Text(&KEPT), max: 8 },
        preset: Preset::List(&[]),
        seen_by: &[Router, Gate],
        means: "Files and folders beneath its home that hold what it knows of a session. They are kept from one turn of \
                the session to the next, 1 MiB of them once compressed; more is not kept, and then it is told the \
                conversation instead.",
    },
];
