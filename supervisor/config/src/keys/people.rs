//! The keys of `[[user]]` and `[agent.NAME]`. It holds no logic.

use super::{Key, TOOLS};
use crate::forms::{IDENTITY, MODEL, NAME, PATH};
use crate::kind::{Kind, Preset};
use manifest::Process::{Agentd, Gate, Model, Router};

/// The keys.
pub(super) const KEYS: &[Key] = &[
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
        means: "Uids of this machine that are this user. Root, save in mode user, where the host cannot tell it from others, and whoever runs the host are owners without being listed.",
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
                replies in the model process's own folder), a provider's name and its model's, or a task of \
                `[model.route]`.",
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
        means: "The tools it may use; an empty list is none. The `memory_*` tools are there only with a memory, `http_call` \
                and `oauth_call` only with a service that names the agent.",
    },
    Key {
        path: "agent.NAME.profile",
        kind: Kind::Word(&["paranoid", "standard", "power-user"]),
        preset: Preset::Text("paranoid"),
        seen_by: &[Router, Gate],
        means: "Which policy it is held to.",
    },
    Key {
        path: "agent.NAME.own_words",
        kind: Kind::Word(&["flag", "block"]),
        preset: Preset::Text("flag"),
        seen_by: &[Router, Gate],
        means: "What becomes of a message that looks like an attack on its model, if one of your own people sent it: an owner or \
                user, at a terminal or with an API key of their own. `flag`: it is answered, and they are told what was \
                found. `block`: it is not answered. Messages of guests and of channels are always blocked.",
    },
    Key {
        path: "agent.NAME.memory",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Router, Gate],
        means: "Whether each of its turns begins with what is remembered, chosen by the words of the message, as \
                quoted data. It is off unless you say so, since a session knows then what was remembered: with what \
                others wrote among it, the session is untrusted from its first turn.",
    },
    Key {
        path: "agent.NAME.memory_tokens",
        kind: Kind::Number { min: 500, max: 32_000 },
        preset: Preset::Number(4000),
        seen_by: &[Router, Gate],
        means: "Most tokens of that, everything counted: a quarter of its characters.",
    },
    Key {
        path: "agent.NAME.engine",
        kind: Kind::Text(&NAME),
        preset: Preset::Text("native"),
        seen_by: &[Router, Gate],
        means: "Who answers: `native`, the host's own loop; or a coding agent in a jail of its own, `codex`, `claude-code` or \
                `opencode`, or the NAME of an `[engine.NAME]`. It needs a network namespace, so not mode `flat`. Its \
                tools are its own, and all that it says is untrusted: so is a session from its first turn with it.",
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
        path: "agent.NAME.limits.cpu_seconds",
        kind: Kind::Number { min: 1, max: 3600 },
        preset: Preset::Number(60),
        seen_by: &[Router, Gate],
        means: "CPU time of everything that runs in a turn's jail, seconds.",
    },
    Key {
        path: "agent.NAME.limits.run_seconds",
        kind: Kind::Number { min: 1, max: 86_400 },
        preset: Preset::Number(14_400),
        seen_by: &[Router, Gate],
        means: "Wall clock of a program that a person runs with it (`agentctl run`), and of a turn of its engine, seconds.",
    },
    Key {
        path: "agent.NAME.limits.run_cpu_seconds",
        kind: Kind::Number { min: 1, max: 3600 },
        preset: Preset::Number(3600),
        seen_by: &[Router, Gate],
        means: "CPU time of everything that runs in the jail of such a program, seconds.",
    },
    Key {
        path: "agent.NAME.limits.idle_seconds",
        kind: Kind::Number { min: 5, max: 86_400 },
        preset: Preset::Number(600),
        seen_by: &[Router, Gate],
        means: "Seconds without a line from its engine's program after which that is ended, and the turn with it.",
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
        path: "agent.NAME.limits.same_call",
        kind: Kind::Number { min: 1, max: 1000 },
        preset: Preset::Number(3),
        seen_by: &[Router, Gate],
        means: "Times that a turn may call one tool with the same arguments; the next such call is refused, and the \
                model is told why. One that asks for it again before it asks for anything else ends its turn.",
    },
    Key {
        path: "agent.NAME.limits.day_usd",
        kind: Kind::Decimal { max: 1_000_000 },
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "US dollars that it may spend on models in a day (UTC), in place of `budget.agent_usd`.",
    },
];
