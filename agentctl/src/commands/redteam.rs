//! `agentctl redteam`: tries every jail of the running host from inside, by a probe that agentd launches as it launches the
//! row itself, and by commands of the person's own in a runner's jail. One surprise is a failure.
//!
//! This program only asks and compares: the attempts and the expected results are in the table.

mod acts;
mod file;
mod jail;
#[cfg(test)]
mod tests;

pub(crate) use acts::{Finding, Tried, every_act};

use crate::app::{App, Outcome};
use crate::failure::Failure;
use manifest::acts::{ACTS, Act, Moment};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// The arguments of `redteam`.
#[derive(clap::Args)]
pub(crate) struct Redteam {
    /// Try only the jail of this process
    #[arg(long, value_name = "PROCESS", value_parser = row)]
    row: Option<&'static str>,
    /// Try only this act
    #[arg(long, value_name = "ACT", value_parser = act)]
    act: Option<&'static str>,
    /// Try the probes of this file in a runner's jail, and nothing else: JSON lines with id, command and expect
    #[arg(long, value_name = "FILE", conflicts_with_all = ["row", "act", "list"])]
    probes: Option<PathBuf>,
    /// List every act, and try none
    #[arg(long, conflicts_with_all = ["row", "act"])]
    list: bool,
}

fn row(name: &str) -> Result<&'static str, String> {
    let names = || manifest::TABLE.iter().map(|row| row.process.name());
    names()
        .find(|known| *known == name)
        .ok_or_else(|| format!("there are: {}", names().collect::<Vec<_>>().join(", ")))
}

fn act(id: &str) -> Result<&'static str, String> {
    let known = Act::named(id).map(|(_, act)| act.id);
    known.ok_or_else(|| "no such act; `agentctl redteam --list` names them".to_owned())
}

/// Tries what was asked for, and fails on any surprise.
pub(crate) async fn run(app: &App, asked: Redteam) -> Outcome {
    if asked.list {
        return list(app);
    }
    if let Some(path) = asked.probes {
        return jail::run(app, &path).await;
    }
    let wanted = |row: &str, id: &str| {
        asked.row.is_none_or(|only| only == row) && asked.act.is_none_or(|only| only == id)
    };
    let tried = every_act(app, wanted).await?;
    if tried.findings.is_empty() {
        let what = "nothing is tried by that: not this act by this process in the mode of this host";
        return Err(Failure::Usage(what.to_owned()));
    }
    if app.out.json {
        app.out.json_line(&tried.document())?;
    } else {
        table(app, tried.findings.iter())?;
        app.out.line(&format!("\n{}", tried.sentence()))?;
    }
    Ok(tried.exit())
}

fn list(app: &App) -> Outcome {
    let moment = |act: &Act| match act.moment {
        Moment::Jailed => "jailed",
        Moment::Apart => "apart",
        Moment::Sealed => "sealed",
    };
    if app.out.json {
        let acts: Vec<Value> = ACTS
            .iter()
            .map(|act| json!({ "id": act.id, "moment": moment(act), "tries": act.tries }))
            .collect();
        app.out.document(json!({ "acts": acts }))?;
    } else {
        let rows =
            ACTS.iter().map(|act| vec![act.id.to_owned(), moment(act).to_owned(), act.tries.to_owned()]);
        app.out.table(&["ACT", "MOMENT", "TRIES TO"], rows.collect())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The findings as a table.
pub(crate) fn table<'a>(app: &App, findings: impl Iterator<Item = &'a Finding>) -> std::io::Result<()> {
    app.out.table(&["PROBE", "PROFILE", "EXPECTED", "SEEN", "RESULT"], findings.map(Finding::cells).collect())
}
