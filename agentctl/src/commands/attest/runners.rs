//! Runners, idle and busy: each is compared with the jail of its row. Pure but for [`seen`], which reads agentd's children
//! from the kernel, since a process chooses its own name.
//!
//! Processes below a runner are not judged: they have the runner's rights and no way to gain others.

use super::Seen;
use super::descriptors;
use super::findings::{Finding, Verdict, finding, of};
use super::jail_limits::{HOST, RUNNERS};
use super::judge;
use super::scene::{Mode, Scene};
use crate::kernel::{self, Mount, NAMESPACES, ProcessFacts, Reading};
use manifest::settings::{FIRST_SLOT, MAX_SLOTS};
use manifest::{Network, Process, Row};
use std::collections::{BTreeMap, BTreeSet};

/// Uid and gid of a runner as it sees them itself.
const INSIDE: u32 = 1000;
/// The most CPU seconds that a runner can be given.
const CPU_SECONDS: u64 = 3600;
/// The program of every runner's row.
const PROGRAM: &str = "runner";
/// The mount point of a workspace during a turn.
const WORKSPACE: &str = "/ws/s";
/// That of the files of a server.
const FILES: &str = "/sv/s";
/// Device nodes, each by itself.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
/// Roots of the system's files, mounted read-only.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc"];

/// Every child of agentd's that control does not name.
pub(super) fn seen(agentd: u32, named: &[u32]) -> Vec<Seen> {
    let mut unnamed = kernel::children(agentd);
    unnamed.retain(|pid| !named.contains(pid));
    let read = |pid| {
        let facts = kernel::process_facts(pid)?;
        let known = Process::RUNNERS.iter().find(|runner| facts.name.as_deref() == Ok(runner.name()));
        let row = manifest::row(known.copied().unwrap_or(Process::Runner))?;
        Some(Seen { row, facts, pid })
    };
    let mut seen: Vec<Seen> = unnamed.into_iter().filter_map(read).collect();
    seen.sort_by_key(|seen| (seen.row.process, seen.pid));
    seen
}

/// The number of processes in each namespace.
pub(super) fn inhabited<'a>(all: impl Iterator<Item = &'a ProcessFacts>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for namespace in all.flat_map(|facts| facts.namespaces.values().flatten()) {
        *counts.entry(namespace.clone()).or_default() += 1;
    }
    counts
}

/// Drops differences of a runner that are new: a runner that agentd is starting or binding changes while it is read.
pub(super) fn standing(mut findings: Vec<Finding>, before: &[Finding]) -> Vec<Finding> {
    let differs = |finding: &Finding| finding.verdict == Verdict::Different && finding.is_of_a_runner();
    let known: BTreeSet<(Option<u32>, &str)> =
        before.iter().filter(|it| differs(it)).map(|it| (it.pid, it.property)).collect();
    findings.retain(|it| !differs(it) || known.contains(&(it.pid, it.property)));
    findings
}

/// Every property of one.
pub(super) fn judge(row: &Row, pid: u32, facts: &ProcessFacts, scene: &Scene) -> Vec<Finding> {
    let apart = scene.mode != Mode::Flat;
    let mut findings = identity(row, facts, scene);
    findings.extend(judge::powers(row, facts, scene));
    findings.push(threads(row, facts, apart));
    findings.extend(judge::limits(row, facts));
    findings.extend(own_limits(row, facts, apart));
    findings.extend(namespaces(row, pid, facts, scene));
    findings.extend(maps(row, facts, scene));
    findings.push(judge::routes(row, facts, scene));
    findings.push(mounts(row, facts, apart));
    findings.push(judge::program(row, facts, PROGRAM));
    findings.extend(descriptors::of_runner(row, facts, scene));
    findings.push(judge::dumpable(row, facts, scene));
    findings.push(judge::landlock(row));
    findings.push(place(row, facts, scene));
    of(pid, findings)
}

/// Its identity: agentd's child, with the ids of a slot where slots have ids.
fn identity(row: &Row, facts: &ProcessFacts, scene: &Scene) -> Vec<Finding> {
    let me = row.process;
    let field = |name| judge::status_field(&facts.status, name);
    let slot = scene.mode == Mode::System;
    // If nothing is mapped and agentd is root, it has the ids of its workspace's owner.
    let owners = scene.mode == Mode::Flat && scene.has_own_uids();
    let (uid, gid) = judge::expected_ids(row, scene);
    let (expected, gids) = if slot {
        ("a slot's own".to_owned(), "its uid".to_owned())
    } else if owners {
        ("its workspace's owner".to_owned(), "its workspace's group".to_owned())
    } else {
        (judge::four(uid), judge::four(gid))
    };
    let own = judge::id(facts, "Uid");
    let fits = own.is_some_and(|uid| match scene.mode {
        Mode::System => is_of_a_slot(uid, scene),
        Mode::Flat => !owners || (uid != 0 && scene.uids.values().all(|other| *other != uid)),
        Mode::User => true,
    });
    let (uids, gids_are) = match own {
        Some(own) if slot => (own, own),
        Some(own) if owners => (own, judge::id(facts, "Gid").unwrap_or(gid)),
        _ => (uid, gid),
    };
    vec![
        judge::field(me, &facts.status, "PPid", scene.agentd_pid.to_string()),
        finding(me, "Uid", expected, field("Uid"), |found| found == judge::four(uids) && fits),
        finding(me, "Gid", gids, field("Gid"), |found| found == judge::four(gids_are)),
        judge::groups(me, facts, scene, gids_are),
    ]
}

/// The id is nobody else's and, if the host numbers its ids, within the range of slots.
fn is_of_a_slot(uid: u32, scene: &Scene) -> bool {
    let first = judge::base(scene).saturating_add(FIRST_SLOT);
    let numbered = scene.installed.is_empty();
    let others = scene.uids.values().chain(scene.installed.values().map(|(uid, _)| uid));
    uid != 0
        && !others.into_iter().any(|other| *other == uid)
        && scene.slots.iter().filter(|slot| **slot == uid).count() < 2
        && (!numbered || (first..first.saturating_add(MAX_SLOTS.into())).contains(&uid))
}

/// An idle runner has one thread.
fn threads(row: &Row, facts: &ProcessFacts, apart: bool) -> Finding {
    let bare = facts.mounts.as_ref().is_ok_and(|mounts| mounts.iter().all(|mount| mount.at != WORKSPACE));
    // Only agents' runners wait for a turn.
    let waits = apart && bare && row.process == Process::Runner;
    let reading = judge::status_field(&facts.status, "Threads");
    let expected = if waits { "1" } else { "any" };
    finding(row.process, "Threads", expected, reading, |found| !waits || found == "1")
}

/// Processes of the jail, which only a user namespace of its own counts apart, and CPU time of each.
fn own_limits(row: &Row, facts: &ProcessFacts, apart: bool) -> [Finding; 2] {
    let both = |name: &str| judge::limit(facts, name).map(|(soft, hard)| format!("{soft} (hard {hard})"));
    let within = |soft: &str, hard: &str| {
        let (soft, hard) = (soft.parse::<u64>().ok()?, hard.parse::<u64>().ok()?);
        Some(soft <= CPU_SECONDS && hard == soft.saturating_add(1))
    };
    let cpu =
        judge::limit(facts, "Max cpu time").is_ok_and(|(soft, hard)| within(&soft, &hard) == Some(true));
    let most = row.limits.processes.to_string();
    let counted = format!("{most} (hard {most})");
    let expected = if apart { counted.as_str() } else { "any" };
    [
        finding(row.process, "Max processes", expected, both("Max processes"), |found| {
            !apart || found == counted
        }),
        finding(row.process, "Max cpu time", "at most 3600, and one more", both("Max cpu time"), |_| cpu),
    ]
}

/// Each namespace is its own: not the reader's, not agentd's, and nobody else's. Without tracing, the kernel still shows
/// that the process is the first of its own pid namespace.
fn namespaces(row: &Row, pid: u32, facts: &ProcessFacts, scene: &Scene) -> Vec<Finding> {
    let apart = scene.mode != Mode::Flat;
    let others = [Some(&scene.own), scene.agentd.as_ref().map(|facts| &facts.namespaces)];
    let shared = |name: &str, found: &str| {
        others.iter().flatten().any(|of| of.get(name).is_some_and(|reading| reading.as_deref() == Ok(found)))
    };
    let compare = |name: &'static str| {
        let reading = facts.namespaces.get(name).cloned().unwrap_or_else(|| Err("not looked at".to_owned()));
        finding(row.process, name, if apart { "its own" } else { "any" }, reading, |found| {
            let alone = scene.inhabited.get(found).copied().unwrap_or_default() < 2;
            !apart || (alone && !shared(name, found))
        })
    };
    let numbers = judge::status_field(&facts.status, "NSpid");
    let first = if apart { format!("{pid} 1") } else { "any".to_owned() };
    let compared = first.clone();
    let numbers = finding(row.process, "NSpid", first, numbers, |found| !apart || found == compared);
    NAMESPACES.map(compare).into_iter().chain([numbers]).collect()
}

/// Its user namespace maps only its own uid. The kernel shows the maps even if the namespace is withheld.
fn maps(row: &Row, facts: &ProcessFacts, scene: &Scene) -> Vec<Finding> {
    if scene.mode == Mode::Flat {
        return judge::maps(row, facts, scene);
    }
    let own =
        judge::id(facts, "Uid").map_or_else(|| "its own uid".to_owned(), |uid| format!("{INSIDE} {uid} 1"));
    let own_group = if scene.mode == Mode::System {
        own.clone()
    } else {
        format!("{INSIDE} {} 1", judge::expected_ids(row, scene).1)
    };
    let expected = [("uid_map", own), ("gid_map", own_group)];
    let compare = |((name, expected), reading): ((&'static str, String), &Reading<String>)| {
        let compared = expected.clone();
        finding(row.process, name, expected, reading.clone(), |found| found == compared)
    };
    expected.into_iter().zip(&facts.maps).map(compare).collect()
}

/// A read-only system, devices, its own `/proc` and `/tmp`, perhaps the workspace: nothing else is there.
fn mounts(row: &Row, facts: &ProcessFacts, apart: bool) -> Finding {
    let mounts = || facts.mounts.iter().flatten();
    let strange: Vec<String> =
        mounts().filter(|mount| apart && !explained(mount, row)).map(said_of).collect();
    let has = |at: &str| mounts().any(|mount| mount.at == at);
    let whole = !apart || (strange.is_empty() && ["/", "/proc", "/tmp"].into_iter().all(has));
    let reading = facts.mounts.as_ref().map_err(Clone::clone).map(|mounts| {
        if strange.is_empty() {
            format!("{} mounts, each of these", mounts.len())
        } else {
            strange.join(", ")
        }
    });
    let expected = if apart { "a read-only system, devices, own /proc and /tmp, a workspace" } else { "any" };
    finding(row.process, "mounts", expected, reading, |_| whole)
}

/// Returns true if a jail of this row has such a mount.
fn explained(mount: &Mount, row: &Row) -> bool {
    let is = |names: &[&str]| names.iter().all(|name| mount.attributes.contains(*name));
    let beneath = |folder: &str| {
        mount.at.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match mount.at.as_str() {
        "/" => is(&["ro", "nosuid", "nodev"]) && mount.kind == "tmpfs",
        "/tmp" => is(&["nosuid", "nodev"]) && mount.kind == "tmpfs",
        "/dev/pts" => row.network == Network::Loopback && is(&["nosuid", "noexec"]) && mount.kind == "devpts",
        WORKSPACE => is(&["nosuid", "nodev"]),
        FILES => row.process == Process::McpRunner && is(&["nosuid", "nodev"]),
        at if DEVICES.contains(&at) => true,
        // In mode user the host's lies below the runner's own, with all that is mounted on it, and nobody comes to it.
        _ if beneath("/proc") => is(&["nosuid", "nodev"]),
        _ => SYSTEM.iter().any(|folder| beneath(folder)) && is(&["ro", "nosuid", "nodev"]),
    }
}

fn said_of(mount: &Mount) -> String {
    let attributes: Vec<&str> = mount.attributes.iter().map(String::as_str).collect();
    format!("{} {} {}", mount.at, mount.kind, attributes.join(","))
}

/// The limits of its jail as a whole: the cgroup of a slot, or one CPU and agentd's watch.
fn place(row: &Row, facts: &ProcessFacts, scene: &Scene) -> Finding {
    if !scene.by_cgroup {
        let reading = judge::status_field(&facts.status, "Cpus_allowed_list");
        return finding(row.process, "Cpus_allowed_list", "one", reading, |found| {
            found.parse::<u32>().is_ok()
        });
    }
    let base = scene.agentd.as_ref().and_then(|facts| facts.cgroup.as_ref().ok());
    let base = base.and_then(|path| path.strip_suffix(HOST));
    let expected = format!("{}{RUNNERS}/slot-N", base.unwrap_or_default());
    finding(row.process, "cgroup", expected, facts.cgroup.clone(), |found| {
        let slot =
            base.and_then(|base| found.strip_prefix(base)?.strip_prefix(RUNNERS)?.strip_prefix("/slot-"));
        slot.is_some_and(|slot| slot.parse::<u16>().is_ok())
    })
}
