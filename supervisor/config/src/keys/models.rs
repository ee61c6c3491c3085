//! The keys of `[model]`, `[model.route]` and `[budget]`. It holds no logic.

use super::Key;
use crate::forms::{ROUTED, STOP};
use crate::kind::{Kind, Preset};
use ipc_proto::config::{Asking, Budget};
use manifest::Process::Model;

/// Models of one task at most.
const CHAIN: usize = 8;
/// What a budget can be at most, US dollars.
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
        "The models of the task `default`, in the order in which they are asked: the next one answers where one fails, \
         and whoever reads is told. An agent and a client of the API can name a task in place of a model.",
    ),
    chain("model.route.fast", "The models of the task `fast`; those of `default` where it has none."),
    chain("model.route.thinking", "The models of the task `thinking`; those of `default` where it has none."),
    chain("model.route.coding", "The models of the task `coding`; those of `default` where it has none."),
    Key {
        path: "model.offline_fallback",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Model],
        means: "`offline/reader` answers for a task whose models have all failed, which is told. It is no chat model.",
    },
    number(
        "model.retries",
        (0, 10),
        Asking::RETRIES,
        "Times that a request is made again after a failure that may pass: after 1 second, doubling to 30, or when the \
         provider says. What an answer has said before it failed is void.",
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
        "Tokens of an answer whose request says nothing of it; at most what its model gives out.",
    ),
    Key {
        path: "model.temperature",
        kind: Kind::Decimal { max: 2 },
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "Temperature of a request that says nothing of it; left out, the provider's own. Thousandths count.",
    },
    Key {
        path: "model.stop",
        kind: Kind::List { of: &Kind::Text(&STOP), max: 8 },
        preset: Preset::List(&[]),
        seen_by: &[Model],
        means: "Texts at which an answer ends whose request names none.",
    },
    dollars("budget.day_usd", "US dollars that the whole host may spend on models in a day (UTC)."),
    dollars("budget.month_usd", "US dollars that the whole host may spend on models in a month (UTC)."),
    dollars("budget.session_usd", "US dollars that each session may spend on models in its life."),
    dollars(
        "budget.agent_usd",
        "US dollars that each agent may spend on models in a day (UTC); `agent.NAME.limits.day_usd` in its place for one.",
    ),
    Key {
        path: "budget.at_limit",
        kind: Kind::Word(&["block", "warn", "cheaper"]),
        preset: Preset::Text("block"),
        seen_by: &[Model],
        means: "What happens where a budget is used up. `block`: what costs money is refused. `warn`: it is asked all the same, \
                which the log says and whoever asks is told. `cheaper`: `cheaper_model` answers, which is told; what it costs is counted, and not held to the budget. \
                The budget of a key of the API always blocks.",
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
        means: "The share of a budget from which on the log warns, once for each.",
    },
    Key {
        path: "budget.unpriced",
        kind: Kind::Word(&["refuse", "allow"]),
        preset: Preset::Text("refuse"),
        seen_by: &[Model],
        means: "A model of which nobody knows what it costs, under a budget: `refuse` it, or `allow` it and count it as \
                free.",
    },
];
