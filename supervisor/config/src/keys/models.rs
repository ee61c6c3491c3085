//! The keys of `[model]`, `[model.route]` and `[budget]`. It holds no logic.

use super::Key;
use crate::forms::ROUTED;
use crate::kind::{Kind, Preset};
use ipc_proto::config::Budget;
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

/// The models of each task.
pub(super) const ROUTE: &[Key] = &[
    chain(
        "model.route.default",
        "The models of the task `default`, in order of preference: if one fails, the next one answers, and the answer \
         says so. Agents and clients of the API can use a task in place of a model.",
    ),
    chain("model.route.fast", "The models of the task `fast`; without any, those of `default`."),
    chain("model.route.thinking", "The models of the task `thinking`; without any, those of `default`."),
    chain("model.route.coding", "The models of the task `coding`; without any, those of `default`."),
];

/// The temperature, and `[budget]`.
pub(super) const BUDGET: &[Key] = &[
    Key {
        path: "model.temperature",
        kind: Kind::Decimal { max: 2 },
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "The temperature of requests that set none; the default is the provider's own. The precision is a \
                thousandth.",
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
