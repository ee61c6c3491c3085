//! The keys of `[[user]]` and `[agent.NAME]`. It holds no logic.

use super::{Key, TOOLS};
use crate::forms::{IDENTITY, MODEL, NAME, PATH, USER};
use crate::kind::{Kind, Preset};
use manifest::Process::{Gate, Model, Router};

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "user[].name",
        kind: Kind::Text(&USER),
        preset: Preset::Required,
        seen_by: &[Router],
        means: "The user's name. It is unique.",
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
        means: "The uids of this user on this machine. Root and the user who runs the host are owners without being \
                listed; in mode `user` root is not, since the host cannot distinguish it from other users.",
    },
    Key {
        path: "user[].channels",
        kind: Kind::List { of: &Kind::Text(&IDENTITY), max: 16 },
        preset: Preset::List(&[]),
        seen_by: &[Router],
        means: "The user's accounts on messaging platforms. An account belongs to one user.",
    },
    Key {
        path: "agent.NAME.model",
        kind: Kind::Text(&MODEL),
        preset: Preset::Text("offline/reader"),
        seen_by: &[Router, Gate],
        means: "The model that answers: `offline/reader`, `offline/hijackable` (for tests), `scripted/FILE` (a file of \
                replies in the model process's own folder), `PROVIDER/MODEL`, or a task of `[model.route]`.",
    },
    Key {
        path: "agent.NAME.prompt_file",
        kind: Kind::Text(&PATH),
        preset: Preset::Nothing,
        seen_by: &[Router, Gate],
        means: "A text file of at most 60 KiB that follows the base rules in the model's instructions. It is read once, \
                at start; only its owner may be able to write it. Where root reads it, everybody must be able to read it, \
                or it must be owned as this file's folder is.",
    },
    Key {
        path: "agent.NAME.tools",
        kind: Kind::List { of: &Kind::Word(TOOLS), max: 64 },
        preset: Preset::List(TOOLS),
        seen_by: &[Router, Gate],
        means: "The tools that the agent may use; an empty list allows none. The `memory_*` tools exist only with a \
                memory, `http_call` and `oauth_call` only with a service that names the agent, `send_file`
                only with a channel.",
    },
    Key {
        path: "agent.NAME.profile",
        kind: Kind::Word(&["paranoid", "standard", "power-user"]),
        preset: Preset::Text("paranoid"),
        seen_by: &[Router, Gate],
        means: "The policy profile of the agent.",
    },
    Key {
        path: "agent.NAME.browser",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Router, Gate],
        means: "True if the agent also has the `browser_*` tools. The browser runs in a jail of its own, one a session, and needs \
                Debian's package `chromium-headless-shell` and mode system or user.",
    },
    Key {
        path: "agent.NAME.browser_isolate",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Router, Gate],
        means: "True if the browser shows pages of one site alone and is launched anew for another, so that a page that took it over \
                meets no other site's pages or logins. A site is a host, with or without `www.`. The default with the profile \
                `paranoid` is true.",
    },
    Key {
        path: "agent.NAME.delegates",
        kind: Kind::List { of: &Kind::Text(&NAME), max: 16 },
        preset: Preset::List(&[]),
        seen_by: &[Router, Gate],
        means: "The agents that it may hand tasks to, by the tools `delegate` and `collect`. Each works in a turn of its own, with \
                the tools, hosts, profile and time that both agents have. A task is handed on at most twice.",
    },
    Key {
        path: "agent.NAME.schedule",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Router, Gate],
        means: "True if the agent also has the `scheduler_*` tools, by which it proposes jobs of its own; a person approves each. They \
                need `scheduler.enabled` and another profile than `paranoid`, which starts nothing by itself.",
    },
    Key {
        path: "agent.NAME.own_words",
        kind: Kind::Word(&["flag", "block"]),
        preset: Preset::Text("flag"),
        seen_by: &[Router, Gate],
        means: "The treatment of a message that looks like an attack on the model and comes from an owner or user, at a \
                terminal or with an API key of their own. `flag`: it is answered, and the sender sees the finding. \
                `block`: it is not answered. Messages of guests and of channels are always blocked.",
    },
    Key {
        path: "agent.NAME.memory",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Router, Gate],
        means: "If true, each turn begins with stored memories, chosen by the words of the message, as quoted data. The \
                default is false: a session then knows those memories, and if other people's text is among them, the \
                session is untrusted from its first turn.",
    },
    Key {
        path: "agent.NAME.memory_tokens",
        kind: Kind::Number { min: 500, max: 32_000 },
        preset: Preset::Number(4000),
        seen_by: &[Router, Gate],
        means: "The most tokens of these memories, estimated as a quarter of their characters.",
    },
    Key {
        path: "agent.NAME.engine",
        kind: Kind::Text(&NAME),
        preset: Preset::Text("native"),
        seen_by: &[Router, Gate],
        means: "The program that answers: `native`, the host's own loop; or a coding agent in a jail of its own, \
                `codex`, `claude-code` or `opencode`, or the NAME of an `[engine.NAME]`. A coding agent needs a network \
                namespace, so not mode `flat`. It uses its own tools, and all its output is untrusted: so is a session \
                from its first turn with it.",
    },
];

/// The limits of an agent that are not handed to the process with the others.
pub(super) const LIMITS: &[Key] = &[
    Key {
        path: "agent.NAME.limits.idle_seconds",
        kind: Kind::Number { min: 5, max: 86_400 },
        preset: Preset::Number(600),
        seen_by: &[Router, Gate],
        means: "Seconds without a line from the engine's program after which the program and the turn are ended.",
    },
    Key {
        path: "agent.NAME.limits.day_usd",
        kind: Kind::Decimal { max: 1_000_000 },
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "US dollars that the agent may spend on models in a day (UTC), in place of `budget.agent_usd`.",
    },
];
