//! `agentctl attest`: compares the kernel's facts of every running process with the table.
//!
//! Control only names the pids, and even these are checked against the parent that the kernel names. A fact that the
//! kernel withholds is `unreadable` and never counts as equal. Differences are reported to the host, for its record.

mod descriptors;
mod drift;
mod findings;
mod jail_limits;
mod judge;
mod runners;
mod scene;
#[cfg(test)]
mod tests;

use crate::app::{App, Outcome};
use crate::commands::redteam::{self, Tried};
use crate::failure::Failure;
use crate::host;
use crate::kernel::{self, ProcessFacts};
use crate::link::Peer;
use drift::Drift;
use findings::{Finding, Verdict};
use ipc_proto::control::{HostStatus, ProcessStatus};
use manifest::{Process, Row};
use scene::{Mode, Scene};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The time after which a difference is settled: an edge that is being replaced differs for a moment, and agentd's own
/// probes of its jails live for a second at most.
const STANDS: Duration = Duration::from_millis(1200);
/// The time that a restarting process has.
const SETTLE: Duration = Duration::from_millis(300);
/// The number of times that a process that restarts meanwhile is read again.
const LOOKS: usize = 5;

/// One running process: its row, its pid and the kernel's facts.
struct Seen {
    row: &'static Row,
    facts: ProcessFacts,
    pid: u32,
}

/// Compares, and fails on any difference.
pub(crate) async fn attest(app: &App, all: bool, probe: bool) -> Outcome {
    let findings = settled(app).await?;
    let different = count(&findings, Verdict::Different);
    let drift = drift::report(app, &drift::differing(&findings)).await;
    let tried = if probe { Some(redteam::every_act(app, |_, _| true).await?) } else { None };
    if app.out.json {
        let mut document = document(&findings, &drift);
        if let (Some(tried), Some(map)) = (&tried, document.as_object_mut()) {
            add_probes(map, tried);
        }
        app.out.json_line(&document)?;
    } else {
        print(app, &findings, all)?;
        drift.print(app)?;
        tried.iter().try_for_each(|tried| print_probes(app, tried))?;
    }
    let probed = tried.is_none_or(|tried| tried.surprises().next().is_none());
    Ok(if different == 0 && probed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Adds the results of the jails' probes; a surprise makes the whole document a failure.
fn add_probes(map: &mut Map<String, Value>, tried: &Tried) {
    let probes = tried.document();
    let error = probes.get("error").cloned();
    if let Some(error) = error {
        map.insert("ok".to_owned(), Value::Bool(false));
        map.entry("error").or_insert(error);
    }
    map.insert("probes".to_owned(), probes);
}

/// The number of acts tried in each jail, and the surprises.
fn print_probes(app: &App, tried: &Tried) -> std::io::Result<()> {
    let mut processes: Vec<(&str, [usize; 2])> = Vec::new();
    for finding in &tried.findings {
        let name = finding.row.process.name();
        if processes.last().is_none_or(|(last, _)| *last != name) {
            processes.push((name, [0; 2]));
        }
        if let Some((_, [all, surprises])) = processes.last_mut() {
            *all += 1;
            *surprises += usize::from(finding.surprises());
        }
    }
    let rows = processes.iter().map(|(name, counts)| {
        std::iter::once((*name).to_owned()).chain(counts.iter().map(ToString::to_string)).collect()
    });
    app.out.line("")?;
    app.out.table(&["PROFILE", "PROBES", "SURPRISES"], rows.collect())?;
    if tried.surprises().next().is_some() {
        app.out.line("")?;
        redteam::table(app, tried.surprises())?;
    }
    app.out.line(&format!("\n{}", tried.sentence()))
}

/// The comparison as a document, for a report. Unlike `attest`, it reports no difference to the host.
///
/// # Errors
/// No host answers, or its processes keep restarting.
pub(crate) async fn compared(app: &App) -> Result<Value, Failure> {
    Ok(document(&settled(app).await?, &Drift::default()))
}

/// The settled findings: a difference is read a second time.
async fn settled(app: &App) -> Result<Vec<Finding>, Failure> {
    let first = look(app).await?;
    if first.iter().all(|finding| finding.verdict != Verdict::Different) {
        return Ok(first);
    }
    tokio::time::sleep(STANDS).await;
    Ok(runners::standing(look(app).await?, &first))
}

/// Reads and compares everything once.
async fn look(app: &App) -> Result<Vec<Finding>, Failure> {
    let (host, seen) = see(app).await?;
    let scene = scene(&host, app.link.peer()?, &seen);
    let mut findings = judge::agentd(&scene, host.pid);
    findings.extend(jail_limits::judge(&host.limits, &jail_limits::read(scene.agentd_pid)));
    for process in &seen {
        let Seen { row, pid, facts } = process;
        findings.extend(if row.process.is_runner() {
            runners::judge(row, *pid, facts, &scene)
        } else {
            judge::process(row, *pid, facts, &scene)
        });
    }
    Ok(findings)
}

/// Reads every running process, again if one restarted meanwhile.
async fn see(app: &App) -> Result<(HostStatus, Vec<Seen>), Failure> {
    let mut looks = 0;
    loop {
        let host = host::status(app).await?;
        let running: Vec<_> =
            host.processes.iter().filter(|process| process.pid != 0).filter_map(row).collect();
        let seen: Vec<Seen> = running
            .iter()
            .filter_map(|(row, pid)| Some(Seen { row, facts: kernel::process_facts(*pid)?, pid: *pid }))
            .collect();
        looks += 1;
        if seen.len() == running.len() {
            let listed: Vec<u32> = running.iter().map(|(_, pid)| *pid).collect();
            let runners = runners::seen(app.link.peer()?.pid, &listed);
            return Ok((host, seen.into_iter().chain(runners).collect()));
        }
        if looks == LOOKS {
            let message = "a process that control lists is not there, or keeps restarting".to_owned();
            return Err(Failure::Turn { kind: "gone", message });
        }
        tokio::time::sleep(SETTLE).await;
    }
}

/// The row and pid of a process that has a row. Control does not list runners.
fn row(process: &ProcessStatus) -> Option<(&'static Row, u32)> {
    let row = manifest::row_named(&process.name)?;
    manifest::is_actor(row.process).then_some((row, process.pid))
}

fn scene(host: &HostStatus, peer: Peer, seen: &[Seen]) -> Scene {
    let mode = Mode::named(&host.mode);
    let (jailed, actors): (Vec<_>, Vec<_>) = seen.iter().partition(|process| process.row.process.is_runner());
    Scene {
        mode,
        state_dirs: state_dirs(host, mode),
        agentd_pid: peer.pid,
        agentd_uid: peer.uid,
        agentd: kernel::process_facts(peer.pid),
        own: kernel::own_namespaces(),
        uids: actors
            .iter()
            .filter_map(|process| Some((process.row.process, judge::id(&process.facts, "Uid")?)))
            .collect(),
        installed: all_installed(),
        by_cgroup: host.limits.as_str() == jail_limits::CGROUP,
        slots: jailed.iter().filter_map(|process| judge::id(&process.facts, "Uid")).collect(),
        inhabited: runners::inhabited(seen.iter().map(|process| &process.facts)),
    }
}

/// The paths of the state directory in links of `/proc`. In system mode every process sees it at a fixed place of its own
/// mounts.
fn state_dirs(host: &HostStatus, mode: Mode) -> Vec<PathBuf> {
    let named = PathBuf::from(host.state_dir.as_str());
    let inside = (mode == Mode::System).then(|| PathBuf::from("/tmp/state"));
    std::iter::once(named.canonicalize().unwrap_or(named)).chain(inside).collect()
}

/// Uid and gid of every row's installed user; none where one is missing, since then the host has numbered them all.
pub(crate) fn all_installed() -> BTreeMap<Process, (u32, u32)> {
    let all: Option<_> = manifest::TABLE.iter().map(installed).collect();
    all.unwrap_or_default()
}

/// Uid and gid of the row's installed user.
fn installed(row: &Row) -> Option<(Process, (u32, u32))> {
    let user = nix::unistd::User::from_name(row.user).ok()??;
    Some((row.process, (user.uid.as_raw(), user.gid.as_raw())))
}

fn count(findings: &[Finding], verdict: Verdict) -> usize {
    findings.iter().filter(|finding| finding.verdict == verdict).count()
}

fn document(findings: &[Finding], drift: &Drift) -> Value {
    let [equal, different, unreadable] =
        [Verdict::Equal, Verdict::Different, Verdict::Unreadable].map(|verdict| count(findings, verdict));
    let rows: Vec<Value> = findings.iter().map(Finding::json).collect();
    let mut document = json!({
        "ok": different == 0,
        "summary": { "equal": equal, "different": different, "unreadable": unreadable },
        "rows": rows,
        "recorded": drift.recorded,
        "not_recorded": drift.refused,
    });
    if let (true, Some(map)) = (different > 0, document.as_object_mut()) {
        let message = format!("{different} properties differ from the table");
        map.insert("error".to_owned(), json!({ "type": "different", "message": message }));
    }
    document
}

fn print(app: &App, findings: &[Finding], all: bool) -> std::io::Result<()> {
    let mut processes: Vec<(&str, [usize; 3])> = Vec::new();
    for finding in findings {
        if processes.iter().all(|(name, _)| *name != finding.process) {
            processes.push((finding.process, [0; 3]));
        }
        let counted = processes.iter_mut().find(|(name, _)| *name == finding.process);
        if let Some((_, [equal, different, unreadable])) = counted {
            match finding.verdict {
                Verdict::Equal => *equal += 1,
                Verdict::Different => *different += 1,
                Verdict::Unreadable => *unreadable += 1,
            }
        }
    }
    let rows = processes.iter().map(|(name, counts)| {
        std::iter::once((*name).to_owned()).chain(counts.iter().map(ToString::to_string)).collect()
    });
    app.out.table(&["PROCESS", "EQUAL", "DIFFERENT", "UNREADABLE"], rows.collect())?;
    let listed = findings.iter().filter(|finding| all || finding.verdict == Verdict::Different);
    let rows: Vec<Vec<String>> = listed.map(Finding::cells).collect();
    if !rows.is_empty() {
        app.out.line("")?;
        app.out.table(&["PROCESS", "PROPERTY", "EXPECTED", "FOUND", "VERDICT", "REASON"], rows)?;
    }
    if !all {
        print_unreadable(app, findings)?;
    }
    let different = count(findings, Verdict::Different);
    let sentence =
        if different == 0 { "no difference".to_owned() } else { format!("{different} differences") };
    app.out.line(&format!("\n{sentence}"))
}

/// Prints the properties that could not be read, grouped by reason.
fn print_unreadable(app: &App, findings: &[Finding]) -> std::io::Result<()> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.verdict == Verdict::Unreadable) {
        let properties = reasons.entry(&finding.reason).or_default();
        if !properties.contains(&finding.property) {
            properties.push(finding.property);
        }
    }
    if reasons.is_empty() {
        return Ok(());
    }
    app.out.line("")?;
    let rows = reasons
        .into_iter()
        .map(|(reason, properties)| vec!["unreadable".to_owned(), properties.join(", "), reason.to_owned()]);
    app.out.table(&[], rows.collect())
}
