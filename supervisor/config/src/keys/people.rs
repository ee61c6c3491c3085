//! The keys of `[[user]]` and `[agent.NAME]`. It holds no logic.

use super::{Key, TOOLS};
use crate::forms::{IDENTITY, MODEL, NAME, PATH, USER};
use crate::kind::{Kind, Preset};
use manifest::Process::{Agentd, Gate, Model, Router};

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
                at start; only its owner may be able to write it.",
    },
    Key {
        path: "agent.NAME.tools",
        kind: Kind::List { of: &Kind::Word(TOOLS), max: 64 },
        preset: Preset::List(TOOLS),
        seen_by: &[Router, Gate],
        means: "The tools that the agent may use; an empty list allows none. The `memory_*` tools exist only with a \
                memory, `http_call` and `oauth_call` only with a service that names the agent.",
    },
    Key {
        path: "agent.NAME.profile",
        kind: Kind::Word(&["paranoid", "standard", "power-user"]),
        preset: Preset::Text("paranoid"),
        seen_by: &[Router, Gate],
        means: "The policy profile of the agent.",
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
    Key {
        path: "agent.NAME.limits.tool_calls",
        kind: Kind::Number { min: 1, max: 1000 },
        preset: Preset::Number(50),
        seen_by: &[Router, Gate],
        means: "The most tool calls in one turn.",
    },
    Key {
        path: "agent.NAME.limits.tool_failures",
        kind: Kind::Number { min: 1, max: 50 },
        preset: Preset::Number(3),
        seen_by: &[Router, Gate],
        means: "The number of failures in a row after which a tool is refused for the rest of the turn.",
    },
    Key {
        path: "agent.NAME.limits.seconds",
        kind: Kind::Number { min: 1, max: 3600 },
        preset: Preset::Number(120),
        seen_by: &[Agentd, Router, Gate],
        means: "Wall clock of a turn, seconds. The largest value of all agents is the longest life of a runner.",
    },
    Key {
        path: "agent.NAME.limits.cpu_seconds",
        kind: Kind::Number { min: 1, max: 3600 },
        preset: Preset::Number(60),
        seen_by: &[Router, Gate],
        means: "CPU time of all processes in a turn's jail together, seconds.",
    },
    Key {
        path: "agent.NAME.limits.run_seconds",
        kind: Kind::Number { min: 1, max: 86_400 },
        preset: Preset::Number(14_400),
        seen_by: &[Router, Gate],
        means: "Wall clock of a program that a person runs with the agent (`agentctl run`), and of a turn of its \
                engine, seconds.",
    },
    Key {
        path: "agent.NAME.limits.run_cpu_seconds",
        kind: Kind::Number { min: 1, max: 3600 },
        preset: Preset::Number(3600),
        seen_by: &[Router, Gate],
        means: "CPU time of all processes in the jail of such a program together, seconds.",
    },
    Key {
        path: "agent.NAME.limits.idle_seconds",
        kind: Kind::Number { min: 5, max: 86_400 },
        preset: Preset::Number(600),
        seen_by: &[Router, Gate],
        means: "Seconds without a line from the engine's program after which the program and the turn are ended.",
    },
    Key {
        path: "agent.NAME.limits.output_tokens",
        kind: Kind::Number { min: 256, max: 200_000 },
        preset: Preset::Number(4096),
        seen_by: &[Router, Gate],
        means: "The most tokens of one answer.",
    },
    Key {
        path: "agent.NAME.limits.model_calls_per_hour",
        kind: Kind::Number { min: 1, max: 100_000 },
        preset: Preset::Number(600),
        seen_by: &[Router, Gate],
        means: "The most model calls of one session in an hour.",
    },
    Key {
        path: "agent.NAME.limits.same_call",
        kind: Kind::Number { min: 1, max: 1000 },
        preset: Preset::Number(3),
        seen_by: &[Router, Gate],
        means: "How often a turn may call one tool with the same arguments; the next such call is refused, and the \
                model gets the reason. If the model repeats the call at once, its turn ends.",
    },
    Key {
        path: "agent.NAME.limits.day_usd",
        kind: Kind::Decimal { max: 1_000_000 },
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "US dollars that the agent may spend on models in a day (UTC), in place of `budget.agent_usd`.",
    },
];
