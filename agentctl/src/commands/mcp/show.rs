//! Servers and their tools, as they are. What a server says is a stranger's text, and is escaped.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::text;
use ipc_proto::Name;
use ipc_proto::control::method;
use ipc_proto::mcp::{PinState, SEPARATOR, ServerInfo, ServerView, Tool, ToolView};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Digits of a hash that are shown.
const DIGITS: usize = 12;

/// Lists servers.
pub(super) async fn list(app: &App) -> Outcome {
    let found = app.link.ask(&method::mcp_servers, async |c, cx| c.mcp_servers(cx).await).await?;
    let head = ["SERVER", "TOOLS", "WAITING", "RUNNING", "AGENTS", "FROM"];
    Ok(app.out.list("servers", &found, document, &head, |info| {
        vec![
            info.name.to_string(),
            info.approved.to_string(),
            if info.missing { "to install".to_owned() } else { info.waiting.to_string() },
            info.running.to_string(),
            agents(info),
            info.way.to_string(),
        ]
    })?)
}

fn agents(info: &ServerInfo) -> String {
    let agents: Vec<&str> = info.agents.iter().map(Name::as_str).collect();
    if agents.is_empty() { "none".to_owned() } else { agents.join(", ") }
}

fn document(info: &ServerInfo) -> Value {
    json!({
        "name": info.name, "from": info.way, "installed": !info.missing, "running": info.running,
        "approved": info.approved, "waiting": info.waiting, "agents": info.agents,
    })
}

/// A server with its tools.
pub(super) async fn fetch(app: &App, name: &Name, start: bool) -> Result<Box<ServerView>, Failure> {
    app.link.ask(&method::mcp_server, async |c, cx| c.mcp_server(cx, name.clone(), start).await).await
}

/// Shows one server.
pub(super) async fn show(app: &App, name: &Name) -> Outcome {
    let view = fetch(app, name, false).await?;
    let offer = &view.offer;
    let mut fields = document(&view.info);
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("calls_itself".to_owned(), json!(offer.calls_itself));
        fields.insert("protocol".to_owned(), json!(offer.protocol));
        fields.insert("left_out".to_owned(), json!(offer.left_out));
    }
    let yes = |has| if has { "yes" } else { "no" }.to_owned();
    let facts = [
        ("server", view.info.name.to_string()),
        ("from", view.info.way.to_string()),
        ("installed", yes(!view.info.missing)),
        ("calls itself", offer.calls_itself.to_string()),
        ("protocol", offer.protocol.to_string()),
        ("agents", agents(&view.info)),
        ("tools approved", view.info.approved.to_string()),
        ("tools that wait", view.info.waiting.to_string()),
        ("left out", offer.left_out.len().to_string()),
        ("resources", yes(offer.resources)),
        ("prompts", yes(offer.prompts)),
        ("jails that run", view.info.running.to_string()),
    ];
    Ok(app.out.facts(json!({ "server": fields }), &facts)?)
}

/// Shows the tools of a server.
pub(super) async fn tools(app: &App, name: &Name, refresh: bool) -> Outcome {
    let view = fetch(app, name, refresh).await?;
    if app.out.json {
        let tools: Vec<Value> = view.tools.iter().map(tool_document).collect();
        app.out.document(json!({ "server": name, "tools": tools, "left_out": view.offer.left_out }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for tool in view.tools.iter() {
        whole(app, name, tool)?;
    }
    for left_out in view.offer.left_out.iter() {
        app.out.line(&format!("left out: {left_out}"))?;
    }
    if view.tools.is_empty() {
        app.out.line(&format!("no tool is known; start the server: agentctl mcp tools {name} --refresh"))?;
    } else if view.info.waiting > 0 {
        app.out.remark(&format!("approve what waits: agentctl mcp approve {name}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a tool as a person is to look at it: all that a model will read of it, and what has changed.
pub(super) fn whole(app: &App, server: &Name, view: &ToolView) -> Result<(), Failure> {
    let ToolView { tool, state, hash, before, suspect } = view;
    let hash = text::begin(&text::hex(hash), DIGITS);
    app.out.line(&format!("{server}{SEPARATOR}{}  {}  {hash}", tool.name, state.word()))?;
    if *suspect {
        app.out.line("  THE SCANNER TAKES ITS DESCRIPTION FOR ORDERS TO A MODEL")?;
    }
    said(app, tool, "  ")?;
    if let (PinState::Changed, Some(before)) = (state, before) {
        app.out.line("  as you approved it:")?;
        said(app, before, "    ")?;
    }
    Ok(())
}

fn said(app: &App, tool: &Tool, indent: &str) -> Result<(), Failure> {
    if !tool.title.is_empty() {
        app.out.line(&format!("{indent}{}", text::line(&tool.title)))?;
    }
    for line in tool.description.lines().filter(|line| !line.trim().is_empty()) {
        app.out.line(&format!("{indent}{}", text::line(line)))?;
    }
    for argument in arguments(tool) {
        app.out.line(&format!("{indent}- {}", text::line(&argument)))?;
    }
    let hints = [
        ("says it changes nothing", tool.hints.read_only),
        ("says it may destroy", tool.hints.destructive),
        ("says it acts on the world outside", tool.hints.open_world),
    ];
    let hints: Vec<&str> =
        hints.into_iter().filter(|(_, is)| *is == Some(true)).map(|(what, _)| what).collect();
    if !hints.is_empty() {
        app.out.line(&format!("{indent}({})", hints.join("; ")))?;
    }
    Ok(())
}

/// The arguments of a tool, each with its description; for a schema of another form, the whole schema.
fn arguments(tool: &Tool) -> Vec<String> {
    let schema: Value = serde_json::from_str(&tool.input).unwrap_or_default();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return vec![tool.input.to_string()];
    };
    let argument = |(name, property): (&String, &Value)| {
        let kind = property.get("type").and_then(Value::as_str).unwrap_or("any");
        match property.get("description").and_then(Value::as_str) {
            Some(description) => format!("{name} ({kind}): {description}"),
            None => format!("{name} ({kind})"),
        }
    };
    properties.iter().map(argument).collect()
}

pub(super) fn tool_document(view: &ToolView) -> Value {
    json!({
        "name": view.tool.name, "state": view.state.word(), "sha256": text::hex(&view.hash), "title": view.tool.title,
        "description": view.tool.description, "schema": serde_json::from_str::<Value>(&view.tool.input).ok(),
        "suspect": view.suspect,
    })
}

/// Starts a server and says if it answers.
pub(super) async fn doctor(app: &App, name: &Name) -> Outcome {
    let begun = std::time::Instant::now();
    let view = fetch(app, name, true).await?;
    let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let tools = text::count(view.tools.len(), "tool", "tools");
    let sentence = format!(
        "{name} answers after {ms} ms in version {} of the protocol, with {tools}, of which {} are approved",
        view.offer.protocol, view.info.approved
    );
    Ok(app.out.done(json!({ "server": name, "ms": ms, "tools": view.tools.len() }), &sentence)?)
}
