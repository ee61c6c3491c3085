//! `agentctl doctor`: whether this machine, and what is installed on it, are as a host needs them, one row a check.
//!
//! It works with no host running, reads what its caller may read, and says of the rest that it could not be read. What
//! agentd checks before a start it checks itself: this asks `agentd check` and judges nothing a second time. With
//! `--fix` it changes modes and owners of the host's own folders and nothing else of theirs; it must never look into a
//! database, a secret or the record.

mod contents;
mod files;
mod ground;
mod machine;
mod mend;
mod programs;
mod reach;
mod service;
#[cfg(test)]
mod tests;

use crate::app::{App, Outcome};
use crate::attest;
use crate::failure::Failure;
use crate::setup::is_same;
use crate::status;
use ipc_proto::control::HostStatus;
use manifest::Process;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where a host of the system keeps its state.
const SYSTEM_STATE: &str = "/var/lib/cordon";
/// Its configuration.
const SYSTEM_CONFIG: &str = "/etc/cordon/cordon.toml";

/// `doctor`.
#[derive(clap::Args)]
pub(crate) struct Doctor {
    /// Mend what is safe to mend: modes and owners of the host's own folders and keys, a missing state directory, a socket
    /// that nobody listens at
    #[arg(long)]
    fix: bool,
    /// The state directory; without it that of the running host, else the usual one
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// The configuration file; without it that of the running host whose state is looked at, else the usual one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// As it should be.
    Pass,
    /// A host runs, with less than it could have.
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

/// One check. Its id stays what it is from release to release.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// For programs.
    pub(crate) id: &'static str,
    /// For people.
    pub(crate) name: &'static str,
    /// How it came out.
    pub(crate) status: Status,
    /// What was found, and what to do about it.
    pub(crate) message: String,
    /// What `--fix` has done.
    pub(crate) mended: Vec<String>,
}

impl Row {
    fn new(id: &'static str, name: &'static str, status: Status, message: impl Into<String>) -> Self {
        Self { id, name, status, message: message.into(), mended: Vec::new() }
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

/// What everything is judged by.
pub(crate) struct Scene {
    /// Whose host it is: the uid of agentd.
    uid: u32,
    state: PathBuf,
    config: Option<PathBuf>,
    socket: PathBuf,
    /// What a running host says.
    host: Option<HostStatus>,
    /// Uid and gid of the users that are installed for the processes.
    installed: BTreeMap<Process, (u32, u32)>,
    /// True if a host answered that this user is none of its own.
    refused: bool,
    /// True if what is safe to mend is mended.
    fix: bool,
}

impl Scene {
    async fn look(app: &App, doctor: &Doctor) -> Self {
        let answer = status::read(app).await;
        let refused = answer.as_ref().is_err_and(|failure| failure.kind() == "not_allowed");
        let host = answer.ok();
        let own = nix::unistd::geteuid().as_raw();
        let running = host.as_ref().map(|host| PathBuf::from(host.state_dir.as_str()));
        let state = doctor.state_dir.clone().or(running).unwrap_or_else(|| usual_state(own));
        let owner = std::fs::metadata(&state).map_or(own, |about| about.uid());
        let uid = app.link.peer().map_or(owner, |peer| peer.uid);
        // What the host read that answers here says nothing of another host's state.
        let its_own = host.as_ref().filter(|host| is_same(Path::new(host.state_dir.as_str()), &state));
        let read = its_own.and_then(status::config);
        let config = doctor.config.clone().or(read).or_else(|| usual_config(&state, own));
        let (socket, installed) = (app.link.path().to_owned(), attest::all_installed());
        Self { uid, state, config, socket, host, installed, refused, fix: doctor.fix }
    }

    /// Returns whether every process has a uid of its own: root's hosts, unless they say otherwise.
    fn has_own_uids(&self) -> bool {
        self.uid == 0
    }
}

fn of_user(variable: &str, beneath_home: &str) -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").unwrap_or_else(|| PathBuf::from("/")).join(beneath_home);
    set(variable).unwrap_or_else(home).join("cordon")
}

/// Where agentd keeps its state when nothing is said: root's is the system's, since its unit is what starts it.
fn usual_state(own: u32) -> PathBuf {
    if own == 0 { PathBuf::from(SYSTEM_STATE) } else { of_user("XDG_STATE_HOME", ".local/state") }
}

/// The configuration of a host at its usual place. Of another it is not known where it lies.
fn usual_config(state: &Path, own: u32) -> Option<PathBuf> {
    let file = if state == Path::new(SYSTEM_STATE) {
        PathBuf::from(SYSTEM_CONFIG)
    } else if state == usual_state(own) {
        of_user("XDG_CONFIG_HOME", ".config").join("cordon.toml")
    } else {
        return None;
    };
    file.exists().then_some(file)
}

/// Checks, mends if that was asked for, and fails where a check does.
pub(crate) async fn doctor(app: &App, doctor: Doctor) -> Outcome {
    let rows = examine(app, &doctor).await;
    let failed = count(&rows, Status::Fail);
    if app.out.json {
        app.out.json_line(&document(&rows))?;
    } else {
        print(app, &rows)?;
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where the state of a host lies that does not run.
pub(crate) fn state() -> PathBuf {
    usual_state(nix::unistd::geteuid().as_raw())
}

/// The configuration at its usual place, if there is one.
pub(crate) fn config() -> Option<PathBuf> {
    usual_config(&state(), nix::unistd::geteuid().as_raw())
}

/// Every check, for a report: nothing is mended, and no line of a configuration is told.
pub(crate) async fn rows(app: &App, config: Option<PathBuf>) -> Value {
    let mut rows = examine(app, &Doctor { fix: false, state_dir: None, config }).await;
    for row in rows.iter_mut().filter(|row| row.id == programs::CONFIGURATION && row.status == Status::Fail) {
        "agentd refuses it; `agentctl config check` says why".clone_into(&mut row.message);
    }
    document(&rows)
}

async fn examine(app: &App, doctor: &Doctor) -> Vec<Row> {
    let scene = Scene::look(app, doctor).await;
    let mut rows = programs::checked(&scene);
    rows.extend(machine::rows());
    rows.extend(ground::rows(&scene));
    rows.extend(files::rows(&scene));
    rows.extend(service::rows(&scene));
    rows.extend(reach::rows(&scene));
    rows.extend(programs::rows(&scene));
    rows.extend(scene.host.as_ref().map(|host| configured(host, scene.config.as_deref())));
    rows.extend(scene.host.as_ref().map(degraded));
    rows
}

/// Which configuration a running host read, since that is not the one that was looked at wherever another is named.
fn configured(host: &HostStatus, looked_at: Option<&Path>) -> Row {
    let of =
        |status, message: String| Row::new("host.config", "running host's configuration", status, message);
    let read = status::config(host);
    let told =
        read.as_ref().map_or_else(|| "it read no file".to_owned(), |it| format!("it read {}", it.display()));
    match looked_at.filter(|file| read.as_deref().is_none_or(|read| !is_same(read, file))) {
        Some(file) => of(Status::Warn, format!("{told}, and {} is what was looked at here", file.display())),
        None => of(Status::Pass, told),
    }
}

/// What a running host says is amiss with it: a jail that did not hold, a full disk, a locked vault, a damaged memory, a
/// process that is not ready.
fn degraded(host: &HostStatus) -> Row {
    let of = |status, message: String| Row::new("host.reason", "running host", status, message);
    let check = host.self_check.as_str();
    if check.starts_with("failed") {
        return of(Status::Fail, format!("its self-check {check}"));
    }
    let away: Vec<&str> = status::degraded(host).map(|process| process.name.as_str()).collect();
    match (host.reason.as_str(), away.as_slice()) {
        ("", []) => of(Status::Pass, "it says that nothing is amiss".to_owned()),
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
        let message = format!("{fail} checks fail");
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
    app.out.line(&format!("\n{} checks, {warn} warnings, {fail} failures", rows.len()))?;
    Ok(())
}
