//! Second pass over `[agent.NAME]`: models and tools must exist, and prompts must be readable. `default` is built in, and the file
//! can change it.

use crate::asking::{is_model, sees};
use crate::engines;
use crate::files::{PROMPT_BOUND, read_prompt};
use crate::keys::{BROWSER_TOOLS, MEMORY_TOOLS, SCHEDULE_TOOLS, SEND_FILE, SERVICE_TOOLS, TOOLS, WEB_TOOLS};
use crate::network;
use crate::problem::{Problems, listed, nearest, quoted};
use crate::view::View;
use ipc_proto::config::{Agent, Model, Service};
use ipc_proto::engine::Engine;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The agent that always exists.
pub const DEFAULT: &str = "default";

const NO_MEMORY: &str = "needs a memory, and `memory.provider` is \"none\"";
const NO_WEB: &str = "needs the web, and `web.provider` or `credproxy.provider` is \"none\"";
const NO_SERVICE: &str = "needs a `[service.NAME]` that names this agent in `agents`";
const NO_LOGIN: &str = "needs a `[service.NAME]` with `oauth` that names this agent in `agents`";
const NO_SCHEDULER: &str = "jobs of an agent need `scheduler.enabled` true";
const NOT_PROACTIVE: &str =
    "the profile paranoid starts nothing by itself; give the agent the profile standard";
const NO_CHANNEL: &str = "needs a `[channel.NAME]`";

/// The facts that agents are checked against.
#[derive(Debug)]
pub struct Known<'a> {
    /// Every `provider/model` except the scripted ones, and the tasks.
    pub models: &'a [String],
    /// The known properties of these.
    pub asked: &'a Model,
    /// True if there is a memory.
    pub memory: bool,
    /// True if there is the web.
    pub web: bool,
    /// True if there is a channel.
    pub channels: bool,
    /// True if there is a scheduler.
    pub scheduler: bool,
    /// The configured services.
    pub services: &'a BTreeMap<String, Service>,
    /// The configured engines.
    pub engines: &'a BTreeMap<String, Engine>,
    /// The folder of relative paths.
    pub folder: &'a Path,
}

/// Reads them.
#[must_use]
pub fn resolve(file: &View<'_>, known: &Known<'_>, problems: &mut Problems) -> BTreeMap<String, Agent> {
    let agents = file.table("agent");
    let mut names = agents.names();
    if !names.contains(&DEFAULT) {
        names.push(DEFAULT);
    }
    let mut read = |name: &str| (name.to_owned(), agent(name, &agents.named("NAME", name), known, problems));
    let read: BTreeMap<String, Agent> = names.iter().map(|name| read(name)).collect();
    for name in &names {
        check_delegates(&agents.named("NAME", name), &read, problems);
    }
    read
}

/// Tasks are handed to agents that there are, each named once.
fn check_delegates(view: &View<'_>, agents: &BTreeMap<String, Agent>, problems: &mut Problems) {
    let known: Vec<&String> = agents.keys().collect();
    let mut seen = Vec::new();
    for (n, (line, name)) in view.texts("delegates").into_iter().enumerate() {
        let what = if seen.contains(&name) {
            format!("{} is listed twice", quoted(&name))
        } else if agents.contains_key(&name) {
            seen.push(name);
            continue;
        } else {
            format!("there is no agent {}{}", quoted(&name), nearest(&name, &known))
        };
        problems.add(line, &format!("{}[{n}]", view.key("delegates")), what, listed(&known));
    }
}

fn agent(name: &str, view: &View<'_>, known: &Known<'_>, problems: &mut Problems) -> Agent {
    let (model, engine) = (model(view, known, problems), engines::of_agent(view, known.engines, problems));
    Agent {
        sees: engine.is_none() && sees(&model, known.asked),
        model,
        prompt: prompt(view, known, problems),
        tools: tools(name, view, known, problems),
        delegates: view.texts("delegates").into_iter().map(|(_, name)| name).collect(),
        profile: view.word("profile"),
        blocks_own_words: view.word("own_words") == "block",
        memory: memory(view, known, problems),
        memory_tokens: view.number("memory_tokens"),
        limits: view.table("limits").section(problems),
        engine,
        network: network::of_agent(view),
        browser_isolate: isolates(view),
    }
}

/// The profile decides where the key is not set.
fn isolates(view: &View<'_>) -> bool {
    if view.given("browser_isolate").is_some() {
        view.flag("browser_isolate")
    } else {
        view.word("profile") == "paranoid"
    }
}

fn model(view: &View<'_>, known: &Known<'_>, problems: &mut Problems) -> String {
    let model = view.word("model");
    if !is_model(&model, known.models) {
        let what = format!("there is no model {}{}", quoted(&model), nearest(&model, known.models));
        let valid = format!("{}, scripted/FILE", listed(known.models));
        problems.add(view.line("model"), &view.key("model"), what, valid);
    }
    model
}

fn memory(view: &View<'_>, known: &Known<'_>, problems: &mut Problems) -> bool {
    let wanted = view.flag("memory");
    if wanted && !known.memory {
        problems.add(view.line("memory"), &view.key("memory"), NO_MEMORY.to_owned(), "false".to_owned());
    }
    wanted
}

fn prompt(view: &View<'_>, known: &Known<'_>, problems: &mut Problems) -> String {
    let Some(path) = view.text("prompt_file") else { return String::new() };
    // Root may read every file, and its agents' users would.
    let owner = nix::unistd::geteuid().is_root().then(|| known.folder.metadata().map_or(0, |at| at.uid()));
    read_prompt(&known.folder.join(&path), owner).unwrap_or_else(|fault| {
        let valid = format!("a readable file of at most {PROMPT_BOUND} bytes of text");
        problems.add(
            view.line("prompt_file"),
            &view.key("prompt_file"),
            format!("{} {fault}", quoted(&path)),
            valid,
        );
        String::new()
    })
}

fn tools(name: &str, view: &View<'_>, known: &Known<'_>, problems: &mut Problems) -> Vec<String> {
    let [keyed, logged_in] = SERVICE_TOOLS;
    let has = |oauth: bool| {
        let own = |service: &Service| service.oauth == oauth && service.agents.iter().any(|one| one == name);
        known.services.values().any(own)
    };
    let needs = |tool: &str| match tool {
        call if call == keyed && !has(false) => Some(NO_SERVICE),
        call if call == logged_in && !has(true) => Some(NO_LOGIN),
        SEND_FILE if !known.channels => Some(NO_CHANNEL),
        memory if memory.starts_with(MEMORY_TOOLS) && !known.memory => Some(NO_MEMORY),
        web if web.starts_with(WEB_TOOLS) && !known.web => Some(NO_WEB),
        _ => None,
    };
    let given = view.given("tools").is_some();
    let mut tools = Vec::new();
    for (n, (line, tool)) in view.texts("tools").into_iter().enumerate() {
        let what = if tools.contains(&tool) {
            "is listed twice"
        } else if let Some(needs) = needs(&tool) {
            needs
        } else {
            tools.push(tool);
            continue;
        };
        // The default list has every tool; only a list in the file can be wrong.
        if given {
            let valid = listed(TOOLS.iter().filter(|tool| needs(tool).is_none()));
            problems.add(line, &format!("{}[{n}]", view.key("tools")), format!("{tool} {what}"), valid);
        }
    }
    if view.flag("browser") {
        tools.extend(BROWSER_TOOLS.iter().map(|&tool| tool.to_owned()));
    }
    if view.flag("schedule") {
        let paranoid = view.word("profile") == "paranoid";
        let unfit = (!known.scheduler).then_some(NO_SCHEDULER).or(paranoid.then_some(NOT_PROACTIVE));
        if let Some(what) = unfit {
            problems.add(view.line("schedule"), &view.key("schedule"), what.to_owned(), "false".to_owned());
        }
        tools.extend(SCHEDULE_TOOLS.iter().map(|&tool| tool.to_owned()));
    }
    tools
}
