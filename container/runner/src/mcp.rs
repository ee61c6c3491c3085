//! The bridge to a server of the Model Context Protocol, in the server's own jail. It speaks the protocol with the server, by the
//! official SDK, and gives the gate bounded values. Whatever it says is a stranger's: it shares the jail with the server and decides
//! nothing.

mod answer;
mod connection;
mod files;
mod http;
mod install;
mod lines;
mod offer;
mod program;
mod questions;
mod requests;

use crate::RunnerFault;
use crate::egress;
use crate::gate::Gate;
use crate::places::Places;
use connection::Connection;
use ipc_proto::Text;
use ipc_proto::mcp::{Report, START_SECONDS, Start, Terms, Trouble};
use std::path::Path;
use std::time::Duration;

/// Variables of a server's program, by name.
type Environment = Vec<(&'static str, String)>;

/// Starts the server and passes on what the gate asks of it, until one of them ends; or installs a package.
pub(crate) async fn run(gate: &Gate, places: &Places) -> Result<(), RunnerFault> {
    let terms = gate.server_terms().await?;
    let environment = environment(gate, &terms, places).await?;
    if let Start::Install(package) = &terms.start {
        let report = match install::install(package, &environment).await {
            Ok(installed) => Report::Installed(installed),
            Err(trouble) => Report::Failed(trouble),
        };
        return gate.server_report(report).await;
    }
    let trouble = match begin(gate, &terms, &environment).await {
        Ok(connection) => connection.serve(gate).await?,
        Err(trouble) => trouble,
    };
    gate.server_report(Report::Failed(trouble)).await
}

/// The server, once it has said what it offers. Its files are compared before any of its code runs.
async fn begin(gate: &Gate, terms: &Terms, environment: &Environment) -> Result<Connection, Trouble> {
    if let Some(tree) = terms.tree
        && files::hash().map(|files| files.tree) != Ok(tree)
    {
        return Err(Trouble::OtherFiles);
    }
    let started = async {
        match &terms.start {
            Start::Program(argv) => Connection::to_program(argv, environment).await,
            Start::Url { origin, path } => Connection::to_url(gate, &terms.server, origin, path).await,
            Start::Install(_) | Start::Browser => Err(Trouble::NotStarted(Text::clip("it is no server"))),
        }
    };
    let started = tokio::time::timeout(Duration::from_secs(START_SECONDS.into()), started);
    started.await.unwrap_or(Err(Trouble::TooSlow))
}

/// The variables of programs in the jail.
async fn environment(gate: &Gate, terms: &Terms, places: &Places) -> Result<Environment, RunnerFault> {
    let shown = |path: &Path| path.display().to_string();
    let mut variables = vec![
        ("PATH", format!("{}:{}", files::PROGRAMS.join(":"), crate::command::PATH)),
        ("HOME", shown(&places.tmp)),
        ("TMPDIR", shown(&places.tmp)),
        ("LANG", "C.UTF-8".to_owned()),
        ("PYTHONPATH", files::PYTHON.to_owned()),
        ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
        ("PYTHONUNBUFFERED", "1".to_owned()),
    ];
    if terms.network {
        let authority = egress::open(gate, &places.tmp, &terms.opaque).await?;
        variables.extend(egress::environment(&authority));
    }
    Ok(variables)
}
