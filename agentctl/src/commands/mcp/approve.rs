//! Approving tools of a server: each is shown whole, and is approved as it was shown, by its hash.

use super::show::{fetch, tool_document, whole};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::in_place::InPlace;
use crate::text;
use ipc_proto::control::{ControlError, method};
use ipc_proto::mcp::{Approving, Installed, McpError, PinState, ServerView, ToolView, Trouble};
use ipc_proto::{List, Name};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How often the line of an installation is renewed.
const TICK: Duration = Duration::from_millis(200);

/// The arguments of `mcp approve`.
#[derive(clap::Args)]
pub(super) struct Approve {
    /// The server's name in the configuration
    #[arg(value_parser = crate::arguments::text::<64>)]
    name: Name,
    /// Only these tools, by the server's own names; a tool that the scanner suspects has to be named
    #[arg(value_name = "TOOL")]
    tools: Vec<String>,
    /// Approve without a question
    #[arg(long)]
    yes: bool,
    /// Install the package again
    #[arg(long)]
    install: bool,
}

/// Approves.
pub(super) async fn approve(app: &App, arguments: Approve) -> Outcome {
    let name = &arguments.name;
    if arguments.install {
        install(app, name).await?;
    }
    let view = started(app, name).await?;
    let chosen = chosen(&view, &arguments.tools)?;
    if !app.out.json {
        for tool in &chosen {
            whole(app, name, tool)?;
        }
        for tool in view.tools.iter().filter(|tool| tool.suspect && arguments.tools.is_empty() && waits(tool))
        {
            app.out.remark(&format!(
                "{} is left out, since the scanner suspects it; to approve it all the same: agentctl mcp approve {name} {}",
                tool.tool.name, tool.tool.name
            ));
        }
    }
    if chosen.is_empty() {
        return Ok(app
            .out
            .done(json!({ "server": name, "approved": [] }), "no tool waits to be approved")?);
    }
    if !arguments.yes && !confirmed(app, name, chosen.len())? {
        return Ok(app.out.done(json!({ "server": name, "approved": [] }), "nothing was approved")?);
    }
    let wanted: Vec<Approving> = chosen.iter().map(|view| (view.tool.name.clone(), view.hash)).collect();
    let approved = app.link.ask(&method::mcp_approve, async |c, cx| {
        c.mcp_approve(cx, name.clone(), List::clip(wanted.iter().cloned())).await
    });
    let approved = approved.await?;
    if app.out.json {
        let tools: Vec<Value> = chosen.iter().map(|view| tool_document(view)).collect();
        app.out.document(json!({ "server": name, "approved": approved, "tools": tools }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let tools = text::count(approved.len(), "tool is", "tools are");
    app.out.line(&format!("{tools} approved; the agents of {name} have them from the next turn on"))?;
    Ok(ExitCode::SUCCESS)
}

fn waits(view: &ToolView) -> bool {
    matches!(view.state, PinState::New | PinState::Changed)
}

/// The tools to approve: those that are named, or all that wait and are not suspect.
fn chosen<'a>(view: &'a ServerView, named: &[String]) -> Result<Vec<&'a ToolView>, Failure> {
    if named.is_empty() {
        return Ok(view.tools.iter().filter(|tool| waits(tool) && !tool.suspect).collect());
    }
    let find = |name: &String| {
        let found = view.tools.iter().find(|tool| *tool.tool.name == **name && tool.state != PinState::Gone);
        found.ok_or_else(|| {
            let names: Vec<&str> = view.tools.iter().map(|tool| tool.tool.name.as_str()).collect();
            Failure::Usage(format!("the server has no tool {name}; it has: {}", names.join(", ")))
        })
    };
    named.iter().map(find).collect()
}

fn confirmed(app: &App, name: &Name, count: usize) -> Result<bool, Failure> {
    if !app.out.can_ask() {
        return Err(Failure::Usage(format!(
            "look at them and say --yes: agentctl mcp tools {name}, then agentctl mcp approve {name} --yes"
        )));
    }
    let these = if count == 1 { "this tool".to_owned() } else { format!("these {count} tools") };
    app.out.ask(&format!("let the agents of {name} have {these}? [y/N] "))?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// The server, started; its package is installed first where it is not.
async fn started(app: &App, name: &Name) -> Result<Box<ServerView>, Failure> {
    match fetch(app, name, true).await {
        Err(Failure::Control(ControlError::Mcp(McpError::Trouble { trouble: Trouble::NotYet, .. }))) => {
            install(app, name).await?;
            fetch(app, name, true).await
        }
        view => view,
    }
}

/// Installs the package, with the time that it takes.
async fn install(app: &App, name: &Name) -> Result<Installed, Failure> {
    let (begun, mut line) = (Instant::now(), InPlace::new(app.out.json));
    let installing = async {
        loop {
            let asked =
                app.link.ask(&method::mcp_install, async |c, cx| c.mcp_install(cx, name.clone()).await);
            if let Some(installed) = asked.await? {
                return Ok::<_, Failure>(installed);
            }
        }
    };
    tokio::pin!(installing);
    let installed = loop {
        tokio::select! {
            installed = &mut installing => break installed,
            () = tokio::time::sleep(TICK) => {
                line.show(&format!("installing {name} in a jail ... {} s", begun.elapsed().as_secs()));
            }
        }
    };
    line.clear();
    let installed = installed?;
    app.out.remark(&format!(
        "{name}: {} installed, SHA-256 {}",
        text::count(u64::from(installed.files), "file", "files"),
        text::hex(&installed.tree)
    ));
    Ok(installed)
}
