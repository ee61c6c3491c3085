//! Second pass over `[model]` and `[budget]`: the models of each task, and the budgets.

use crate::forms::script_holds;
use crate::problem::{Problems, listed, nearest, quoted};
use crate::view::View;
use ipc_proto::config::{Asking, AtLimit, Budget, Model};
use ipc_proto::model::TASKS;
use std::collections::BTreeMap;

/// Millionths in a thousandth.
const THOUSANDTH: u64 = 1000;

/// Returns true if there is a model of this name; `models` are all but the scripted ones.
#[must_use]
pub fn is_model(name: &str, models: &[String]) -> bool {
    name.strip_prefix("scripted/").is_some_and(script_holds) || models.iter().any(|model| model == name)
}

/// Returns true if the model of this name has vision; for a task, if any model of its chain has.
#[must_use]
pub fn sees(name: &str, asked: &Model) -> bool {
    let has_vision = |name: &str| {
        let known = name.split_once('/').and_then(|(by, model)| asked.providers.get(by)?.models.get(model));
        known.is_some_and(|model| model.vision)
    };
    if name.contains('/') {
        return has_vision(name);
    }
    let route = &asked.asking.route;
    let chain = route.get(name).or_else(|| route.get("default"));
    chain.is_some_and(|chain| chain.iter().any(|name| has_vision(name)))
}

/// Reads `[model]`.
#[must_use]
pub fn asking(file: &View<'_>, models: &[String], problems: &mut Problems) -> Asking {
    let view = file.table("model");
    let route = view.table("route");
    let chains = TASKS.into_iter().map(|task| (task.to_owned(), chain(&route, task, models, problems)));
    let temperature = view.millionths("temperature").map(|millionths| millionths / THOUSANDTH);
    Asking {
        route: chains.filter(|(_, chain)| !chain.is_empty()).collect(),
        temperature: temperature.and_then(|thousandths| u16::try_from(thousandths).ok()),
        ..view.section(problems)
    }
}

/// The tasks that can be used: those with models of their own, and all if `default` has some.
#[must_use]
pub fn tasks(asking: &Asking) -> Vec<String> {
    let is_there = |task: &&str| asking.route.contains_key(*task) || asking.route.contains_key("default");
    TASKS.into_iter().filter(is_there).map(str::to_owned).collect()
}

fn chain(route: &View<'_>, task: &str, models: &[String], problems: &mut Problems) -> Vec<String> {
    let mut chain = Vec::new();
    for (n, (line, name)) in route.texts(task).into_iter().enumerate() {
        let what = if !is_model(&name, models) {
            unknown(&name, models)
        } else if chain.contains(&name) {
            format!("{name} is listed twice")
        } else {
            chain.push(name);
            continue;
        };
        problems.add(line, &format!("{}[{n}]", route.key(task)), what, valid(models));
    }
    chain
}

/// Reads `[budget]`, and each agent's own budget.
#[must_use]
pub fn budget(file: &View<'_>, models: &[String], problems: &mut Problems) -> Budget {
    let view = file.table("budget");
    let at_limit = match view.word("at_limit").as_str() {
        "warn" => AtLimit::Warn,
        "cheaper" => AtLimit::Cheaper,
        _ => AtLimit::Block,
    };
    let cheaper_model = view.text("cheaper_model");
    if let Some(name) = cheaper_model.as_ref().filter(|name| !is_model(name, models)) {
        let key = "cheaper_model";
        problems.add(view.line(key), &view.key(key), unknown(name, models), valid(models));
    }
    if at_limit == AtLimit::Cheaper && cheaper_model.is_none() && !view.wrong("cheaper_model") {
        let what = "no `cheaper_model` is named";
        problems.add(
            view.line("at_limit"),
            &view.key("at_limit"),
            what,
            "block, warn, or cheaper with a model",
        );
    }
    Budget {
        day: view.millionths("day_usd"),
        month: view.millionths("month_usd"),
        session: view.millionths("session_usd"),
        agent: view.millionths("agent_usd"),
        agents: agents(file),
        at_limit,
        cheaper_model,
        warn_at: view.millionths("warn_at").unwrap_or(Budget::WARN_AT),
        unpriced: view.word("unpriced") == "allow",
    }
}

fn agents(file: &View<'_>) -> BTreeMap<String, u64> {
    let agents = file.table("agent");
    let own = |name: &str| agents.named("NAME", name).table("limits").millionths("day_usd");
    agents.names().into_iter().filter_map(|name| Some((name.to_owned(), own(name)?))).collect()
}

fn unknown(name: &str, models: &[String]) -> String {
    format!("there is no model {}{}", quoted(name), nearest(name, models))
}

fn valid(models: &[String]) -> String {
    format!("{}, scripted/FILE", listed(models))
}
