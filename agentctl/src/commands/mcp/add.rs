//! Adding a server to the configuration, and taking it out. What its tools may be used for is decided by `approve`.

use super::edit::{Written, with, without};
use super::login;
use crate::app::{App, Outcome};
use crate::commands::config;
use crate::commands::setup::place;
use crate::failure::Failure;
use ipc_proto::Name;
use ipc_proto::control::{ControlError, method};
use ipc_proto::mcp::{McpError, Package};
use serde_json::json;
use std::path::PathBuf;

/// Programs that fetch a package at each start, of whichever version there is then.
const FETCHERS: [&str; 5] = ["npx", "bunx", "pnpx", "uvx", "pipx"];

/// Those that share a running server.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Scope {
    /// The turns of a session
    Session,
    /// The sessions of a user
    User,
    /// Everybody
    Host,
}

/// The arguments of `mcp add`.
#[derive(clap::Args)]
pub(super) struct Add {
    /// The server's name: its tools are called NAME__TOOL
    #[arg(value_parser = crate::arguments::text::<64>)]
    name: Name,
    /// An agent that may use it; may be given again
    #[arg(long = "agent", value_name = "AGENT", default_value = "default")]
    agents: Vec<String>,
    /// A server elsewhere, which speaks over HTTP
    #[arg(long, value_name = "URL", conflicts_with = "way")]
    url: Option<String>,
    /// With --url: the [service.NAME] of the configuration whose secret its requests carry
    #[arg(long, value_name = "NAME", requires = "url")]
    service: Option<String>,
    /// A host that the server may reach, as HOST:PORT or `HOST:PORT send`; may be given again
    #[arg(long = "network", value_name = "HOST")]
    network: Vec<String>,
    /// Those that share one running server
    #[arg(long, value_enum, default_value = "session")]
    scope: Scope,
    /// Show it the session's workspace, to read and to write
    #[arg(long)]
    workspace: bool,
    /// The configuration to change; by default the one that the running host reads, else the usual one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A package of one version, pypi:NAME==VERSION or npm:NAME@VERSION, and arguments of its program; or a command
    #[arg(last = true, value_name = "PACKAGE|COMMAND")]
    way: Vec<String>,
}

/// The arguments of `mcp remove`.
#[derive(clap::Args)]
pub(super) struct Remove {
    /// The server's name in the configuration
    #[arg(value_parser = crate::arguments::text::<64>)]
    name: Name,
    /// The configuration to change; by default the one that the running host reads, else the usual one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Adds a server.
pub(super) async fn add(app: &App, add: Add) -> Outcome {
    let (package, command) = way(&add)?;
    let scope = match add.scope {
        Scope::Session => "session",
        Scope::User => "user",
        Scope::Host => "host",
    };
    let mut texts = vec![("scope", scope)];
    texts.extend(package.as_deref().map(|package| ("package", package)));
    texts.extend(add.url.as_deref().map(|url| ("url", url.trim_end_matches('/'))));
    texts.extend(add.service.as_deref().map(|service| ("service", service)));
    let lists: [(&str, &[String]); 3] =
        [("command", command), ("agents", &add.agents), ("network", &add.network)];
    let written = Written { name: &add.name, texts: &texts, lists: &lists, workspace: add.workspace };
    let path = config::file(app, add.config.clone()).await;
    let changed = place::change(&path, |old| with(old, &written).map_err(|fault| fault.to_string()))?;
    let shown = path.display().to_string();
    let mut sentence = match changed {
        Some(_) => format!("{shown} has the server {}; restart the host: {}", add.name, place::restart()),
        None => format!("{shown} had the server {} already", add.name),
    };
    sentence
        .push_str(&format!("\nthen look at its tools and approve them: agentctl mcp approve {}", add.name));
    Ok(app
        .out
        .done(json!({ "server": add.name, "config": shown, "changed": changed.is_some() }), &sentence)?)
}

/// The package, if it is one, and the words of the command or the arguments of the package's program.
fn way(add: &Add) -> Result<(Option<String>, &[String]), Failure> {
    let usage = |what: String| Err(Failure::Usage(what));
    let Some((first, rest)) = add.way.split_first() else {
        return match add.url {
            Some(_) => Ok((None, &[])),
            None => usage("give a package or a command after --, or --url URL".to_owned()),
        };
    };
    if first.starts_with("pypi:") || first.starts_with("npm:") {
        return match first.parse::<Package>() {
            Ok(package) => Ok((Some(package.to_string()), rest)),
            Err(why) => usage(format!("{first}: {why}")),
        };
    }
    let program = first.rsplit('/').next().unwrap_or_default();
    if FETCHERS.contains(&program) {
        let registry = if program.starts_with("uv") || program.starts_with("pip") {
            "pypi:NAME==VERSION"
        } else {
            "npm:NAME@VERSION"
        };
        return usage(format!(
            "{program} fetches whichever version there is at each start, and jails have no network; give one version, which is \
             installed once: agentctl mcp add {} -- {registry}",
            add.name
        ));
    }
    Ok((None, &add.way))
}

/// Forgets a server and takes it out of the configuration.
pub(super) async fn remove(app: &App, remove: &Remove) -> Outcome {
    let name = &remove.name;
    let forgotten =
        app.link.ask(&method::mcp_forget, async |c, cx| c.mcp_forget(cx, name.clone()).await).await;
    match forgotten {
        // The host that runs does not know it.
        Ok(()) | Err(Failure::Control(ControlError::Mcp(McpError::NoServer(_)))) => {}
        Err(failure) => return Err(failure),
    }
    if let Err(failure) = login::forget(app, name).await {
        app.out.remark(&format!("a login there could not be forgotten: {failure}"));
    }
    let path = config::file(app, remove.config.clone()).await;
    let changed = place::change(&path, |old| without(old, name).map_err(|fault| fault.to_string()))?;
    let shown = path.display();
    let sentence = match changed {
        Some(_) => format!("{name} is out of {shown}; restart the host: {}", place::restart()),
        None => format!("{shown} has no server {name}"),
    };
    Ok(app.out.done(json!({ "server": name, "removed": changed.is_some() }), &sentence)?)
}
