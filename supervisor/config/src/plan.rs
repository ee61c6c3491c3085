//! The whole configuration, checked: agentd's settings and each process's section, and the document that carries them.

use crate::agents::{self, Known};
use crate::asking;
use crate::audit;
use crate::channels::{self, Channels};
use crate::curator;
use crate::embedding;
use crate::engines;
use crate::gateway::{self, Served};
use crate::host::Host;
use crate::keys::LOGGING;
use crate::machine::Machine;
use crate::mcp;
use crate::network;
use crate::policy;
use crate::problem::Problems;
use crate::providers::{self, Outside};
use crate::services;
use crate::shape::Value;
use crate::tools;
use crate::users;
use crate::view::View;
use crate::web::{self, Reach};
use ipc_proto::capability::Capability;
use ipc_proto::config::{
    Agent, Audit, Control, Curator, Egress, Embedder, Finding, Gate, Ingress, Log, LogFormat, McpServer,
    Memory, NoKeys, Policy, RelayLimits, Router, Scheduler, Section, Service, User,
};
use ipc_proto::router::{DEPTH, PLACES};
use manifest::Process;
use manifest::settings::{self, Refused, Settings, WALL_MS};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Slots of servers, which run for longer than a turn.
const SERVER_SLOTS: u16 = 16;

/// The reason why a checked configuration could not be written.
#[derive(Debug, thiserror::Error)]
pub enum PlanFault {
    /// A section could not be written as JSON.
    #[error("the section of {process} cannot be written: {cause}")]
    Section {
        /// The process of the section.
        process: &'static str,
        /// The cause.
        cause: serde_json::Error,
    },
    /// The document breaks a rule of its own.
    #[error(transparent)]
    Document(#[from] Refused),
}

/// A checked configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// `[host]`.
    pub host: Host,
    /// `[log]` format.
    pub format: LogFormat,
    /// The level of each process that logs.
    pub levels: BTreeMap<&'static str, String>,
    /// `[log] rotate_bytes`.
    pub rotate_bytes: u32,
    /// `[audit]`.
    pub audit: Audit,
    /// Providers, their models and hosts.
    pub outside: Outside,
    /// The section of memory; none without a memory.
    pub memory: Option<Memory>,
    /// How memory is searched.
    pub finding: Finding,
    /// The web, and the hosts that may be reached.
    pub web: Reach,
    /// `[curator]`.
    pub curator: Curator,
    /// `[scheduler]`.
    pub scheduler: Scheduler,
    /// `[embedder]`; none without a model, or without a memory.
    pub local: Option<Embedder>,
    /// `[gateway]`.
    pub gateway: Served,
    /// `[policy]`.
    pub policy: Policy,
    /// `[tool.TOOL]`.
    pub tools: BTreeMap<String, Capability>,
    /// The part of `[gateway]` that gate gets.
    pub relay: RelayLimits,
    /// `[service.NAME]`.
    pub services: BTreeMap<String, Service>,
    /// `[mcp.NAME]`.
    pub servers: BTreeMap<String, McpServer>,
    /// The section of router; users, agents and channels are here.
    pub router: Router,
    /// `[channel.NAME]`, as the processes of the platforms get it.
    pub channels: Channels,
    /// The state directory.
    pub state_dir: String,
    /// The file, for messages that name it.
    pub file: String,
    /// The section of egress; none where no agent has a way out.
    pub egress: Option<Egress>,
}

impl Plan {
    /// Reads the checked tree; errors between keys go to `problems`.
    #[must_use]
    pub fn resolve(file: &View<'_>, folder: &Path, machine: &Machine, problems: &mut Problems) -> Self {
        let host = Host::resolve(file, machine, problems);
        let audit = audit::resolve(file, problems);
        let mut outside = providers::resolve(file, problems);
        let memory = file.table("memory");
        let local = embedding::local(&file.table("embedder"), folder, host.own_ids, problems);
        let embedder = embedding::embedder(&memory, &outside, local.as_ref(), problems);
        let memory = remembering(&memory, embedder.clone(), &machine.state_dir, problems);
        let web = web::resolve(file, &mut outside, problems);
        let services = services::resolve(file, &mut outside, problems);
        let gateway = gateway::resolve(file, problems);
        outside.model.asking = asking::asking(file, &outside.names, problems);
        outside.model.budget = asking::budget(file, &outside.names, problems);
        outside.names.extend(asking::tasks(&outside.model.asking));
        let curator = Curator { embedder, ..curator::resolve(file, &outside.names, problems) };
        let engines = engines::resolve(file, problems);
        let scheduler = scheduler(file, &host, problems);
        let known = Known {
            models: &outside.names,
            asked: &outside.model,
            memory: memory.is_some(),
            web: web.web,
            channels: !file.table("channel").names().is_empty(),
            scheduler: scheduler.enabled,
            services: &services,
            engines: &engines,
            folder,
        };
        let agents = agents::resolve(file, &known, problems);
        let (servers, egress) = ways_out(file, &agents, &services, &mut outside, folder, problems);
        users::run_by(machine.owner, file, problems);
        let users = users::resolve(file, &host, problems);
        let channels = channels::resolve(file, &agents, gateway.listen, &mut outside, problems);
        let own = router(file, host.slots, machine.owner, (users, agents), problems);
        let router = Router { channels: channels.rules.clone(), ..own };
        let log = file.table("log");
        Self {
            host,
            format: if log.word("format") == "json" { LogFormat::Json } else { LogFormat::Text },
            levels: levels(&log),
            rotate_bytes: log.number("rotate_bytes"),
            audit,
            outside,
            local: local.filter(|_| memory.is_some()),
            memory,
            finding: finding(&file.table("memory"), &curator, problems),
            web,
            curator,
            scheduler,
            gateway,
            policy: policy::resolve(file, problems),
            tools: tools::resolve(file, problems),
            relay: relay(file, problems),
            services,
            servers,
            router,
            channels,
            state_dir: machine.state_dir.clone(),
            file: machine.file.clone(),
            egress,
        }
    }

    /// Returns true if `process` is started. One whose row is optional is started only where a section asks for it.
    #[must_use]
    pub fn enabled(&self, process: Process) -> bool {
        match process {
            Process::Agentd => false,
            Process::Memory | Process::Curator => self.memory.is_some(),
            Process::Embedder => self.local.is_some(),
            Process::Scheduler => self.scheduler.enabled,
            Process::Credproxy | Process::Dialer => self.outside.credproxy,
            Process::Web => self.web.web,
            Process::Egress => self.egress.is_some() && self.outside.credproxy,
            Process::Gateway => self.gateway.gateway,
            Process::Ingress => self.channels.ingress.is_some(),
            channel if channel.is_channel() => self.channels.accounts.contains_key(&channel),
            other => manifest::row(other).is_some_and(|row| !row.optional),
        }
    }

    /// The slots of runners, and those of servers besides.
    fn slots(&self) -> u16 {
        let servers = if self.servers.is_empty() { 0 } else { SERVER_SLOTS };
        self.host.slots.saturating_add(servers).min(settings::MAX_SLOTS)
    }

    /// agentd's own settings.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let longest = self.router.agents.values().map(|agent| agent.limits.seconds).max().unwrap_or(1);
        Settings {
            mode: self.host.mode,
            log_json: self.format == LogFormat::Json,
            runner_slots: self.slots(),
            warm_runners: self.host.warm,
            enabled: Process::ALL.into_iter().filter(|p| self.enabled(*p)).map(settings::bit).sum(),
            slot_base: self.host.slot_base(),
            wall_ms: longest.saturating_mul(1000).clamp(WALL_MS.0, WALL_MS.1),
            rotate_bytes: self.rotate_bytes,
            disk_reserve: self.host.disk_reserve,
            inode_reserve: self.host.inode_reserve,
            listen: self.gateway.listen,
            ingress: self.channels.ingress,
            uids: self.host.ids.map(|(uid, _)| uid),
            gids: self.host.ids.map(|(_, gid)| gid),
        }
    }

    /// The document for agentd.
    ///
    /// # Errors
    /// [`PlanFault`] if it would break a bound of the document.
    pub fn document(&self) -> Result<Vec<u8>, PlanFault> {
        let mut sections = Vec::new();
        for process in Process::ALL.into_iter().filter(|p| self.enabled(*p)) {
            let name = process.name();
            let written = self.section(process);
            let written = written.map_err(|cause| PlanFault::Section { process: name, cause })?;
            sections.extend(written.map(|json| (process, json)));
        }
        Ok(settings::encode(&self.settings(), &sections)?)
    }

    /// The JSON of `process`'s section; none for a runner, which has no configuration.
    fn section(&self, process: Process) -> Result<Option<Vec<u8>>, serde_json::Error> {
        match process {
            Process::Agentd => Ok(None),
            runner if runner.is_runner() => Ok(None),
            Process::Audit => self.json(process, self.audit),
            Process::Dialer => self.json(process, self.outside.dialer.clone()),
            Process::Credproxy => self.json(process, self.outside.proxy.clone()),
            Process::Memory => self.json(process, self.memory.clone().unwrap_or_default()),
            Process::Web => self.json(process, self.web.own.clone()),
            Process::Egress => self.json(process, self.egress.clone().unwrap_or_default()),
            Process::Model => self.json(process, self.outside.model.clone()),
            Process::Router => self.json(process, self.router.clone()),
            Process::Gate => self.json(process, self.gate()),
            Process::Embedder => match &self.local {
                Some(local) => self.json(process, local.clone()),
                None => Ok(None),
            },
            Process::Curator => self.json(process, self.curator.clone()),
            Process::Scheduler => self.json(process, self.scheduler.clone()),
            channel if channel.is_channel() => {
                self.json(process, self.channels.accounts.get(&process).cloned().unwrap_or_default())
            }
            Process::Gateway => self.json(process, self.gateway.own.clone()),
            Process::Ingress => self.json(process, Ingress { hooks: self.channels.hooks() }),
            Process::Control => {
                let owner_uid = self.router.owner_uid;
                let (state_dir, file) = (self.state_dir.clone(), self.file.clone());
                self.json(process, Control { state_dir, file, owner_uid, finding: self.finding.clone() })
            }
            _ => self.json(process, NoKeys {}),
        }
    }

    fn gate(&self) -> Gate {
        Gate {
            agents: self.router.agents.clone(),
            web: self.web.gate.clone(),
            policy: self.policy.clone(),
            tools: self.tools.clone(),
            relay: self.relay,
            services: self.services.clone(),
            mcp: self.servers.clone(),
            finding: self.finding.clone(),
            time_zone: self.host.time_zone.clone(),
            egress_private_hosts: self.outside.dialer.egress_private_hosts.clone(),
        }
    }

    fn json<T: Serialize>(&self, process: Process, own: T) -> Result<Option<Vec<u8>>, serde_json::Error> {
        let level = self.levels.get(process.name()).cloned().unwrap_or_default();
        serde_json::to_vec(&Section { log: Log { format: self.format, level }, own }).map(Some)
    }
}

/// The servers, and the section of egress, which serves them and the agents with a way out.
fn ways_out(
    file: &View<'_>,
    agents: &BTreeMap<String, Agent>,
    services: &BTreeMap<String, Service>,
    outside: &mut Outside,
    folder: &Path,
    problems: &mut Problems,
) -> (BTreeMap<String, McpServer>, Option<Egress>) {
    network::private_hosts(file, outside);
    let servers = mcp::resolve(file, agents, services, outside, problems);
    let egress = network::resolve(file, (agents, &servers), outside, folder, problems);
    (servers, egress)
}

/// `[scheduler]`, with the zone of jobs that name none.
fn scheduler(file: &View<'_>, host: &Host, problems: &mut Problems) -> Scheduler {
    Scheduler { time_zone: host.time_zone.clone(), ..file.table("scheduler").section(problems) }
}

fn relay(file: &View<'_>, problems: &mut Problems) -> RelayLimits {
    let gateway = file.table("gateway");
    let requests_per_minute = gateway.number("requests_per_minute");
    RelayLimits { requests_per_minute, ..gateway.section(problems) }
}

fn levels(log: &View<'_>) -> BTreeMap<&'static str, String> {
    let all = log.word("level");
    let own = log.table("levels");
    let level = |name: &'static str| match own.given(name).map(|leaf| &leaf.value) {
        Some(Value::Text(level)) => (name, level.clone()),
        _ => (name, all.clone()),
    };
    LOGGING.iter().copied().map(level).collect()
}

fn router(
    file: &View<'_>,
    slots: u16,
    owner_uid: u32,
    (users, agents): (Vec<User>, BTreeMap<String, Agent>),
    problems: &mut Problems,
) -> Router {
    let view = file.table("router");
    let own: Router = view.section(problems);
    let mut at_most = |key: &str, number: u32, bound: u32, by: &str| {
        // A default is adapted to the values in the file.
        if view.given(key).is_some() && number > bound {
            let what = format!("{number} is over `{by}`, which is {bound}");
            problems.add(view.line(key), &view.key(key), what, format!("a whole number from 1 to {bound}"));
        }
        number.min(bound)
    };
    let turns_at_once = at_most("turns_at_once", own.turns_at_once, u32::from(slots), "host.runner_slots");
    let total = (own.queue_total, "router.queue_total");
    let queue_per_session = at_most("queue_per_session", own.queue_per_session, total.0, total.1);
    let queue_per_user = at_most("queue_per_user", own.queue_per_user, total.0, total.1);
    let turns_per_user = at_most("turns_per_user", own.turns_per_user, turns_at_once, "router.turns_at_once");
    let turns_delegated = delegated(file, u32::from(slots).saturating_sub(turns_at_once), &agents, problems);
    // Each turn that waits for a person keeps its runner, and so a slot besides those of running turns.
    let left = u32::from(slots).saturating_sub(turns_at_once).saturating_sub(turns_delegated);
    let turns_asking = left.min(turns_at_once.saturating_mul(3));
    Router {
        users,
        agents,
        owner_uid,
        queue_per_session,
        queue_per_user,
        turns_at_once,
        turns_per_user,
        turns_asking,
        turns_delegated,
        ..own
    }
}

/// Places for turns that work on tasks of others; `left` runner slots are free for them. Where an agent delegates there is one for each
/// depth at least, or a task that is handed on would wait for ever.
fn delegated(file: &View<'_>, left: u32, agents: &BTreeMap<String, Agent>, problems: &mut Problems) -> u32 {
    if agents.values().all(|agent| agent.delegates.is_empty()) {
        return 0;
    }
    if left < u32::from(DEPTH) {
        let host = file.table("host");
        let what = format!("agents delegate, and {left} slots are left for the turns of their tasks");
        let valid = format!("`router.turns_at_once` and {DEPTH} more at least");
        problems.add(host.line("runner_slots"), &host.key("runner_slots"), what, valid);
    }
    left.min(u32::try_from(PLACES).unwrap_or(u32::MAX))
}

/// The search settings for the processes that search memory for others.
fn finding(memory: &View<'_>, curator: &Curator, problems: &mut Problems) -> Finding {
    let finding: Finding = memory.section(problems);
    if finding.rerank && curator.model.is_none() {
        let what = "there is no model to do it";
        problems.add(memory.line("rerank"), &memory.key("rerank"), what, "`[curator] model` with it");
    }
    Finding { embedder: curator.embedder.clone(), ..finding }
}

/// The section of memory; none without a memory.
fn remembering(
    view: &View<'_>,
    embedder: Option<String>,
    state_dir: &str,
    problems: &mut Problems,
) -> Option<Memory> {
    let database = format!("{state_dir}/memory/memory.db");
    (view.word("provider") != "none").then(|| Memory { embedder, database, ..view.section(problems) })
}
