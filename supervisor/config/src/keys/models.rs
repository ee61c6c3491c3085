//! The keys of `[model]`, `[model.route]` and `[budget]`. It holds no logic.

use super::Key;
use crate::forms::{ROUTED, STOP};
use crate::kind::{Kind, Preset};
use ipc_proto::config::{Asking, Budget};
use manifest::Process::Model;

/// The most models of one task.
const CHAIN: usize = 8;
/// The largest budget, US dollars.
const DOLLARS: Kind = Kind::Decimal { max: 1_000_000 };

const fn chain(path: &'static str, means: &'static str) -> Key {
    let kind = Kind::List { of: &Kind::Text(&ROUTED), max: CHAIN };
    Key { path, kind, preset: Preset::List(&[]), seen_by: &[Model], means }
}

const fn dollars(path: &'static str, means: &'static str) -> Key {
    Key { path, kind: DOLLARS, preset: Preset::Nothing, seen_by: &[Model], means }
}

const fn number(path: &'static str, (min, max): (u32, u32), preset: u32, means: &'static str) -> Key {
    Key { path, kind: Kind::Number { min, max }, preset: Preset::Number(preset), seen_by: &[Model], means }
}

/// The keys.
pub(super) const KEYS: &[Key] = &[
    chain(
        "model.route.default",
        "The models of the task `default`, in order of preference: if one fails, the next one answers, and the answer \
         says so. Agents and clients of the API can use a task in place of a model.",
    ),
    chain("model.route.fast", "The models of the task `fast`; without any, those of `default`."),
    chain("model.route.thinking", "The models of the task `thinking`; without any, those of `default`."),
    chain("model.route.coding", "The models of the task `coding`; without any, those of `default`."),
    Key {
        path: "model.offline_fallback",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Model],
        means: "If true, `offline/reader` answers for a task whose models have all failed, and the answer says so. It \
                is not a chat model.",
    },
    number(
        "model.retries",
        (0, 10),
        Asking::RETRIES,
        "How often a request is repeated after a transient failure: after 1 second, doubling to 30, or when the \
         provider says. Text of a failed attempt is void.",
    ),
    number(
        "model.timeout_s",
        (1, 120),
        Asking::TIMEOUT_S,
        "Seconds within which an answer must begin, all attempts with one model together, and within which its next \
         piece must come.",
    ),
    number(
        "model.output_tokens",
        (256, 200_000),
        Asking::OUTPUT_TOKENS,
        "The most tokens of an answer if the request sets no limit; at most the model's own limit.",
    ),
    Key {
        path: "model.temperature",
        kind: Kind::Decimal { max: 2 },
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "The temperature of requests that set none; the default is the provider's own. The precision is a \
                thousandth.",
    },
    Key {
        path: "model.stop",
        kind: Kind::List { of: &Kind::Text(&STOP), max: 8 },
        preset: Preset::List(&[]),
        seen_by: &[Model],
        means: "Stop texts of requests that set none.",
    },
    dollars("budget.day_usd", "US dollars that the whole host may spend on models in a day (UTC)."),
    dollars("budget.month_usd", "US dollars that the whole host may spend on models in a month (UTC)."),
    dollars("budget.session_usd", "US dollars that each session may spend on models in its life."),
    dollars(
        "budget.agent_usd",
        "US dollars that each agent may spend on models in a day (UTC); `agent.NAME.limits.day_usd` replaces it for one \
         agent.",
    ),
    Key {
        path: "budget.at_limit",
        kind: Kind::Word(&["block", "warn", "cheaper"]),
        preset: Preset::Text("block"),
        seen_by: &[Model],
        means: "The action when a budget is used up. `block`: requests that cost money are refused. `warn`: requests \
                are sent all the same, with a warning in the log and in the answer. `cheaper`: `cheaper_model` answers, \
                and the answer says so; its cost is counted, and the budget does not limit it. The budget of an API key \
                always blocks.",
    },
    Key {
        path: "budget.cheaper_model",
        kind: Kind::Text(&ROUTED),
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "The model that answers with `at_limit = \"cheaper\"`.",
    },
    Key {
        path: "budget.warn_at",
        kind: Kind::Decimal { max: 1 },
        preset: Preset::Millionths(Budget::WARN_AT),
        seen_by: &[Model],
        means: "The share of a budget at which the log warns, once for each budget.",
    },
    Key {
        path: "budget.unpriced",
        kind: Kind::Word(&["refuse", "allow"]),
        preset: Preset::Text("refuse"),
        seen_by: &[Model],
        means: "The treatment of a model with unknown cost under a budget: `refuse` it, or `allow` it and count it as \
                free.",
    },
];
