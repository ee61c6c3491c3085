//! `agentctl doctor`: checks that this machine and the installation are as a host needs them, one row a check.
//!
//! It needs no running host, reads only files that its caller may read, and reports the rest as unreadable. agentd's own
//! checks before a start are run as `agentd check` and not repeated here. With `--fix` it changes modes and owners of the
//! host's own folders and nothing else of theirs; it must never read a database, a secret or the record.

mod channels;
mod contents;
mod files;
mod machine;
mod programs;
mod reach;
mod repair;
mod resources;
mod service;
#[cfg(test)]
mod tests;

use crate::app::{App, Outcome};
use crate::commands::attest;
use crate::commands::setup::is_same;
use crate::failure::Failure;
use crate::{host, places, text};
use ipc_proto::control::HostStatus;
use manifest::Process;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The configuration of the system's host.
const SYSTEM_CONFIG: &str = "/etc/cordon/cordon.toml";

/// `doctor`.
#[derive(clap::Args)]
pub(crate) struct Doctor {
    /// Repair what is safe to repair: modes and owners of the host's own folders and keys, a missing state directory, a
    /// socket with no listener
    #[arg(long)]
    fix: bool,
    /// The state directory; by default the running host's, else the usual one
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Check the channels instead, by what the running host knows of them
    #[arg(long, conflicts_with_all = ["fix", "state_dir", "config"])]
    channels: bool,
    /// With --channels: have each messenger be asked now
    #[arg(long, requires = "channels")]
    deep: bool,
    /// The configuration file; by default that of the running host, if it has this state directory, else the usual one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// In order.
    Pass,
    /// A host runs, with less protection or function than it could have.
    Warn,
    /// A host does not run, or is not safe.
    Fail,
}

impl Status {
    const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One check. Its id does not change between releases.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// For programs.
    pub(crate) id: &'static str,
    /// For people.
    pub(crate) name: Cow<'static, str>,
    /// How it came out.
    pub(crate) status: Status,
    /// The finding, and what to do about it.
    pub(crate) message: String,
    /// The repairs that `--fix` made.
    pub(crate) mended: Vec<String>,
}

impl Row {
    fn new(
        id: &'static str,
        name: impl Into<Cow<'static, str>>,
        status: Status,
        message: impl Into<String>,
    ) -> Self {
        Self { id, name: name.into(), status, message: message.into(), mended: Vec::new() }
    }

    fn json(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "status": self.status.word(),
            "message": self.message,
            "mended": self.mended,
        })
    }
}

/// The facts that every check uses.
pub(crate) struct Scene {
    /// The uid of agentd.
    uid: u32,
    state: PathBuf,
    config: Option<PathBuf>,
    socket: PathBuf,
    /// The state of the running host.
    host: Option<HostStatus>,
    /// Uid and gid of the users that are installed for the processes.
    installed: BTreeMap<Process, (u32, u32)>,
    /// True if a host answered that it does not know this user.
    refused: bool,
    /// True with `--fix`.
    fix: bool,
}

impl Scene {
    async fn look(app: &App, doctor: &Doctor) -> Self {
        let answer = host::status(app).await;
        let refused = answer.as_ref().is_err_and(|failure| failure.kind() == "not_allowed");
        let host = answer.ok();
        let own = nix::unistd::geteuid().as_raw();
        let running = host.as_ref().map(|host| PathBuf::from(host.state_dir.as_str()));
        let state = doctor.state_dir.clone().or(running).unwrap_or_else(|| usual_state(own));
        let owner = std::fs::metadata(&state).map_or(own, |about| about.uid());
        let uid = app.link.peer().map_or(owner, |peer| peer.uid);
        // The configuration of the host that answers here says nothing about another host's state.
        let its_own = host.as_ref().filter(|host| is_same(Path::new(host.state_dir.as_str()), &state));
        let read = its_own.and_then(host::config);
        let config = doctor.config.clone().or(read).or_else(|| usual_config(&state, own));
        let (socket, installed) = (app.link.path().to_owned(), attest::all_installed());
        Self { uid, state, config, socket, host, installed, refused, fix: doctor.fix }
    }

    /// Returns true if every process has a uid of its own: root's hosts, unless they say otherwise.
    fn has_own_uids(&self) -> bool {
        self.uid == 0
    }
}

fn of_user(variable: &str, beneath_home: &str) -> PathBuf {
    let without_home = || Path::new("/").join(beneath_home).join("cordon");
    places::of_user(variable, beneath_home).unwrap_or_else(without_home)
}

/// agentd's state directory by default: for root the system's, since its unit starts it.
fn usual_state(own: u32) -> PathBuf {
    if own == 0 { PathBuf::from(places::SYSTEM_STATE) } else { of_user("XDG_STATE_HOME", ".local/state") }
}

/// The configuration of a host at its usual place. Another host's configuration may be anywhere.
fn usual_config(state: &Path, own: u32) -> Option<PathBuf> {
    let file = if state == Path::new(places::SYSTEM_STATE) {
        PathBuf::from(SYSTEM_CONFIG)
    } else if state == usual_state(own) {
        of_user("XDG_CONFIG_HOME", ".config").join("cordon.toml")
    } else {
        return None;
    };
    file.exists().then_some(file)
}

/// Runs the checks, with repairs if `--fix` is set, and fails if a check fails.
pub(crate) async fn doctor(app: &App, doctor: Doctor) -> Outcome {
    let rows =
        if doctor.channels { channels::rows(app, doctor.deep).await? } else { examine(app, &doctor).await };
    let failed = count(&rows, Status::Fail);
    if app.out.json {
        app.out.json_line(&document(&rows))?;
    } else {
        print(app, &rows)?;
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The state directory of a host that does not run.
pub(crate) fn state() -> PathBuf {
    usual_state(nix::unistd::geteuid().as_raw())
}

/// The configuration at its usual place, if there is one.
pub(crate) fn config() -> Option<PathBuf> {
    usual_config(&state(), nix::unistd::geteuid().as_raw())
}

/// Every check, for a report: nothing is repaired, and no line of a configuration is included.
pub(crate) async fn rows(app: &App, config: Option<PathBuf>) -> Value {
    let mut rows =
        examine(app, &Doctor { fix: false, state_dir: None, channels: false, deep: false, config }).await;
    for row in rows.iter_mut().filter(|row| row.id == programs::CONFIGURATION && row.status == Status::Fail) {
        "agentd refuses it; `agentctl config check` says why".clone_into(&mut row.message);
    }
    document(&rows)
}

async fn examine(app: &App, doctor: &Doctor) -> Vec<Row> {
    let scene = Scene::look(app, doctor).await;
    let mut rows = programs::checked(&scene);
    rows.extend(machine::rows());
    rows.extend(resources::rows(&scene));
    rows.extend(files::rows(&scene));
    rows.extend(service::rows(&scene));
    rows.extend(reach::rows(&scene));
    rows.extend(programs::rows(&scene));
    rows.extend(scene.host.as_ref().map(|host| configured(host, scene.config.as_deref())));
    rows.extend(scene.host.as_ref().map(degraded));
    rows
}

/// The configuration that the running host read. It differs from the checked one if another is named.
fn configured(host: &HostStatus, looked_at: Option<&Path>) -> Row {
    let of =
        |status, message: String| Row::new("host.config", "running host's configuration", status, message);
    let read = host::config(host);
    let sentence =
        read.as_ref().map_or_else(|| "it read no file".to_owned(), |it| format!("it read {}", it.display()));
    match looked_at.filter(|file| read.as_deref().is_none_or(|read| !is_same(read, file))) {
        Some(file) => of(Status::Warn, format!("{sentence}, and this check used {}", file.display())),
        None => of(Status::Pass, sentence),
    }
}

/// Faults that the running host reports: a jail that did not hold, a full disk, a locked vault, a damaged memory, a
/// process that is not ready.
fn degraded(host: &HostStatus) -> Row {
    let of = |status, message: String| Row::new("host.reason", "running host", status, message);
    let check = host.self_check.as_str();
    if check.starts_with("failed") {
        return of(Status::Fail, format!("its self-check {check}"));
    }
    let away: Vec<&str> = host::degraded(host).map(|process| process.name.as_str()).collect();
    match (host.reason.as_str(), away.as_slice()) {
        ("", []) => of(Status::Pass, "the host reports no fault".to_owned()),
        ("", away) => of(Status::Warn, format!("not ready: {}", away.join(", "))),
        (reason, _) => of(Status::Warn, reason.to_owned()),
    }
}

fn count(rows: &[Row], status: Status) -> usize {
    rows.iter().filter(|row| row.status == status).count()
}

fn document(rows: &[Row]) -> Value {
    let [pass, warn, fail] = [Status::Pass, Status::Warn, Status::Fail].map(|status| count(rows, status));
    let mut document = json!({
        "ok": fail == 0,
        "summary": { "pass": pass, "warn": warn, "fail": fail },
        "rows": rows.iter().map(Row::json).collect::<Vec<_>>(),
    });
    if let (true, Some(map)) = (fail > 0, document.as_object_mut()) {
        let message = text::count(fail, "check fails", "checks fail");
        map.insert("error".to_owned(), json!({ "type": "unsound", "message": message }));
    }
    document
}

fn print(app: &App, rows: &[Row]) -> Result<(), Failure> {
    let cells = |row: &Row| {
        let mended: String = row.mended.iter().map(|what| format!("; mended: {what}")).collect();
        vec![
            row.id.to_owned(),
            row.status.word().to_owned(),
            format!("{}: {}{mended}", row.name, row.message),
        ]
    };
    app.out.table(&["CHECK", "STATUS", "FOUND"], rows.iter().map(cells).collect())?;
    let [warn, fail] = [Status::Warn, Status::Fail].map(|status| count(rows, status));
    let sentence = [
        text::count(rows.len(), "check", "checks"),
        text::count(warn, "warning", "warnings"),
        text::count(fail, "failure", "failures"),
    ];
    app.out.line(&format!("\n{}", sentence.join(", ")))?;
    Ok(())
}
