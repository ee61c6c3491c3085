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
        means: "The program and its arguments, as found in the jail: beneath `/usr`, or in the workspace. The prompt \
                comes on its standard input. A table named `codex`, `claude-code` or `opencode` replaces the built-in \
                one of that program.",
    },
    Key {
        path: "engine.NAME.resume",
        kind: Kind::List { of: &Kind::Text(&WORD), max: 8 },
        preset: Preset::List(&[]),
        seen_by: &[Router, Gate],
        means: "Further arguments with which the program resumes a session of its own; `{token}` stands for the id that \
                the program gave it. Without them the program gets the conversation so far each time.",
    },
    Key {
        path: "engine.NAME.format",
        kind: Kind::Word(&["codex", "claude-code", "opencode", "text"]),
        preset: Preset::Text("text"),
        seen_by: &[Router, Gate],
        means: "The format of the program's output: that of `codex exec --json`, of `claude -p --output-format \
                stream-json --verbose`, of `opencode run --format json`, or plain lines, which are all part of the \
                answer.",
    },
    Key {
        path: "engine.NAME.input",
        kind: Kind::Word(&["text", "stream-json"]),
        preset: Preset::Text("text"),
        seen_by: &[Router, Gate],
        means: "The format of the program's input: one text up to the end of standard input, or lines of JSON, as \
                `claude -p --input-format stream-json --replay-user-messages` reads them. With lines, a running program \
                accepts further messages (`agentctl steer`); with text it does not.",
    },
    Key {
        path: "engine.NAME.profile",
        kind: Kind::Word(&["plain", "codex", "claude-code", "opencode"]),
        preset: Preset::Text("plain"),
        seen_by: &[Router, Gate],
        means: "The resources that the program needs besides the addresses of the model API, as for `agentctl run \
                --profile`.",
    },
    Key {
        path: "engine.NAME.keeps",
        kind: Kind::List { of: &Kind::Text(&KEPT), max: 8 },
        preset: Preset::List(&[]),
        seen_by: &[Router, Gate],
        means: "Files and folders beneath the program's home that hold the state of a session. They are kept from one \
                turn of the session to the next, at most 1 MiB after compression; if there is more, none is kept, and \
                the program gets the conversation instead.",
    },
];
