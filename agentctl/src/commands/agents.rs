//! `agentctl agent` and `completions`.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::view;
use ipc_proto::Name;
use ipc_proto::control::method;
use ipc_proto::router::AgentInfo;
use serde_json::json;
use std::process::ExitCode;

/// The commands of `agent`.
#[derive(clap::Subcommand)]
pub(crate) enum Agent {
    /// List agents
    List,
    /// Show one agent
    Show {
        /// The agent
        #[arg(value_parser = crate::arguments::text::<64>)]
        name: Name,
    },
}

/// Lists agents.
pub(crate) async fn agents(app: &App) -> Outcome {
    let found = all(app).await?;
    let head = ["AGENT", "MODEL", "PROFILE", "ENGINE", "TOOLS"];
    Ok(app.out.list("agents", &found, view::agent, &head, |agent| {
        vec![
            agent.name.to_string(),
            agent.model.to_string(),
            agent.profile.to_string(),
            agent.engine.to_string(),
            tools(agent),
        ]
    })?)
}

/// Shows one agent.
pub(crate) async fn agent(app: &App, name: Name) -> Outcome {
    let found = all(app).await?;
    let Some(agent) = found.iter().find(|agent| agent.name == name) else {
        let names: Vec<_> = found.iter().map(|agent| agent.name.as_str()).collect();
        return Err(Failure::NoAgent { name: name.to_string(), there: names.join(", ") });
    };
    let (tool_calls, tool_failures, seconds, cpu_seconds, output_tokens, model_calls, same_call) =
        agent.limits;
    let facts = [
        ("agent", agent.name.to_string()),
        ("model", agent.model.to_string()),
        ("profile", agent.profile.to_string()),
        ("engine", agent.engine.to_string()),
        ("tools", tools(agent)),
        ("tool calls a turn", tool_calls.to_string()),
        ("failures in a row", tool_failures.to_string()),
        ("seconds a turn", seconds.to_string()),
        ("CPU seconds a turn", cpu_seconds.to_string()),
        ("tokens an answer", output_tokens.to_string()),
        ("model calls an hour", model_calls.to_string()),
        ("same call a turn", same_call.to_string()),
    ];
    Ok(app.out.facts(json!({ "agent": view::agent(agent) }), &facts)?)
}

/// Every agent of the host.
///
/// # Errors
/// Control's own, such as that a guest may not list them.
pub(crate) async fn all(app: &App) -> Result<Vec<AgentInfo>, Failure> {
    Ok(app.link.ask(&method::agents, async |c, cx| c.agents(cx).await).await?.into_vec())
}

fn tools(agent: &AgentInfo) -> String {
    agent.tools.iter().map(|tool| tool.as_str()).collect::<Vec<_>>().join(", ")
}

/// Prints the completions of a grammar for a shell.
pub(crate) fn completions(app: &App, shell: clap_complete::Shell, mut grammar: clap::Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut grammar, "agentctl", &mut script);
    if app.out.json {
        let script = String::from_utf8_lossy(&script).into_owned();
        app.out.document(json!({ "shell": shell.to_string(), "script": script }))?;
    } else {
        app.out.raw(&script, false)?;
    }
    Ok(ExitCode::SUCCESS)
}
