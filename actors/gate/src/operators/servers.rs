//! The owner's commands about servers: what there is, what each offers, and what of it agents may have. An approval is on the record
//! before it holds.

use crate::state::context::GateContext;
use crate::state::mcp::{Holder, Installation, Lost};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::config::McpStart;
use ipc_proto::mcp::{
    Act, Approving, Installed, McpError, PinState, Reply, SEPARATOR, SERVER_TOOLS, SERVERS, ServerInfo,
    ServerView, TOOL_NAME, ToolView, Trouble,
};
use ipc_proto::scanner::{self, Crossing, Judgement, Subject};
use ipc_proto::{List, Name, Text};
use std::time::Duration;
use tokio::sync::watch;

/// How long one call waits for an installation.
const WAIT: Duration = Duration::from_secs(20);
/// Seconds that the owner waits for a resource or a prompt.
const SECONDS: u16 = 60;

/// Every server.
pub(crate) fn list(gate: &GateContext) -> List<ServerInfo, SERVERS> {
    List::clip(gate.mcp.servers.keys().filter_map(|name| info(gate, name)))
}

/// One server; it is started first if `start`.
pub(crate) async fn show(gate: &GateContext, name: &Name, start: bool) -> Result<Box<ServerView>, McpError> {
    let info = |gate: &GateContext| info(gate, name).ok_or_else(|| no_server(gate));
    if start {
        info(gate)?;
        let started = gate.mcp.running(name, Holder::Owner, None).await;
        started.map_err(|trouble| failed(name, trouble))?;
    }
    let mut tools = gate.mcp.views(name);
    for view in tools.iter_mut().filter(|view| view.state != PinState::Approved) {
        view.suspect = suspects(gate, view).await;
    }
    Ok(Box::new(ServerView { info: info(gate)?, offer: gate.mcp.offer(name), tools: List::clip(tools) }))
}

/// Returns true if the scanner takes what a tool says for orders to a model, or cannot be asked.
async fn suspects(gate: &GateContext, view: &ToolView) -> bool {
    let tool = &view.tool;
    let said = format!("{}\n{}\n{}\n{}", tool.name, tool.title, tool.description, tool.input);
    let verdict = gate.scanner.call(&scanner::method::scan, |scanner, context| {
        let said = Text::clip(&said);
        async move { scanner.scan(context, Subject::at(Crossing::Web), said).await }
    });
    verdict.await.map_or(true, |verdict| verdict.judgement == Judgement::Block)
}

/// Approves tools as they were looked at.
pub(crate) async fn approve(
    gate: &GateContext,
    name: &Name,
    tools: List<Approving, SERVER_TOOLS>,
    by: &Name,
) -> Result<List<Text<TOOL_NAME>, SERVER_TOOLS>, McpError> {
    info(gate, name).ok_or_else(|| no_server(gate))?;
    let tools: Vec<(String, [u8; 32])> =
        tools.into_iter().map(|(tool, hash)| (tool.to_string(), hash)).collect();
    for (tool, hash) in &tools {
        let event = Event::new(Action::ServerToolApproved, Result3::Success);
        let event = event.about(&format!("{name}{SEPARATOR}{tool}"));
        let event = Event { hash: Some(*hash), ..event.because(&format!("approved by {by}")) };
        gate.record(event).await.map_err(|_| McpError::NotDurable)?;
    }
    let approved = gate.mcp.approve(name, &tools).map_err(|cause| not_durable(&cause))?;
    Ok(List::clip(approved.iter().map(|tool| Text::clip(tool))))
}

/// Installs a package, or goes on waiting for its installation; none if it is still under way.
pub(crate) async fn install(
    gate: &GateContext,
    name: &Name,
    by: &Name,
) -> Result<Option<Installed>, McpError> {
    info(gate, name).ok_or_else(|| no_server(gate))?;
    let mut installation = gate.mcp.installation(name, || begin_installation(gate, name, by));
    let over = tokio::time::timeout(WAIT, installation.wait_for(Option::is_some)).await;
    let outcome = match over {
        Err(_) => return Ok(None),
        Ok(outcome) => outcome.map_err(|_| McpError::NoAnswer)?.clone(),
    };
    gate.mcp.end_installation(name);
    outcome.transpose().map_err(|trouble| failed(name, trouble))
}

fn begin_installation(gate: &GateContext, name: &Name, by: &Name) -> Installation {
    let (done, installation) = watch::channel(None);
    let (gate, name, by) = (gate.clone(), name.clone(), by.clone());
    tokio::spawn(async move { done.send_replace(Some(fetch(&gate, &name, &by).await)) });
    installation
}

/// Installs a package; it is on the record before it is used.
async fn fetch(gate: &GateContext, name: &Name, by: &Name) -> Result<Installed, Trouble> {
    let placed = gate.mcp.fetch(name).await?;
    let installed = placed.installed.clone();
    let event = Event::new(Action::ServerInstalled, Result3::Success).about(name);
    let event = Event { hash: Some(installed.tree), ..event.because(&format!("installed by {by}")) };
    let unrecorded = |_| Trouble::NotInstalled(Text::clip("it could not be put on the record"));
    gate.record(event).await.map_err(unrecorded)?;
    gate.mcp.place(name, placed)?;
    Ok(installed)
}

/// Forgets a server.
pub(crate) async fn forget(gate: &GateContext, name: &Name, by: &Name) -> Result<(), McpError> {
    info(gate, name).ok_or_else(|| no_server(gate))?;
    let event = Event::new(Action::ServerToolApproved, Result3::Blocked).about(name);
    let event = event.because(&format!("all of it forgotten by {by}"));
    gate.record(event).await.map_err(|_| McpError::NotDurable)?;
    gate.mcp.forget(name).map_err(|cause| not_durable(&cause))
}

/// Asks a server for a resource or a prompt; no tool is called by this.
pub(crate) async fn ask(gate: &GateContext, name: &Name, act: Act) -> Result<Reply, McpError> {
    info(gate, name).ok_or_else(|| no_server(gate))?;
    if matches!(act, Act::Call { .. } | Act::Resume { .. }) {
        return Ok(Reply::Refused(Text::clip("a tool is called by an agent, whose policies decide")));
    }
    let running = gate.mcp.running(name, Holder::Owner, None).await;
    let instance = running.map_err(|trouble| failed(name, trouble))?;
    instance.ask_alone(act, SECONDS).await.map_err(|lost| match lost {
        Lost::Unknown | Lost::Unsent => McpError::NoAnswer,
    })
}

fn info(gate: &GateContext, name: &str) -> Option<ServerInfo> {
    let server = gate.mcp.servers.get(name)?;
    let views = gate.mcp.views(name);
    let count = |such: &dyn Fn(PinState) -> bool| {
        u16::try_from(views.iter().filter(|view| such(view.state)).count()).unwrap_or(u16::MAX)
    };
    let way = match &server.start {
        McpStart::Command(words) => words.join(" "),
        McpStart::Package { package, .. } => package.to_string(),
        McpStart::Url { origin, path, .. } => {
            format!("{}://{}{path}", if origin.tls { "https" } else { "http" }, origin.host_port())
        }
    };
    Some(ServerInfo {
        name: Name::clip(name),
        way: Text::clip(&way),
        missing: !gate.mcp.is_installed(name),
        running: u16::try_from(gate.mcp.launcher.count(name)).unwrap_or(u16::MAX),
        approved: count(&|state| state == PinState::Approved),
        waiting: count(&|state| matches!(state, PinState::New | PinState::Changed)),
        agents: List::clip(server.agents.iter().map(|agent| Name::clip(agent))),
    })
}

pub(super) fn no_server(gate: &GateContext) -> McpError {
    let names: Vec<&str> = gate.mcp.servers.keys().map(String::as_str).collect();
    McpError::NoServer(Text::clip(&if names.is_empty() { "none".to_owned() } else { names.join(", ") }))
}

fn failed(name: &Name, trouble: Trouble) -> McpError {
    McpError::Trouble { server: name.clone(), trouble }
}

fn not_durable(cause: &std::io::Error) -> McpError {
    tracing::error!(%cause, "what is approved of a server could not be written");
    McpError::NotDurable
}
