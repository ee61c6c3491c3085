//! The comparison of the table with the kernel's facts. Pure: everything that was read is an argument.

use super::descriptors;
use super::findings::{Finding, Verdict, finding, of};
use super::scene::{Mode, Scene};
use crate::commands::rows;
use crate::kernel::{DELETED, ProcessFacts, Reading, Status};
use manifest::{Network, Process, Row};
use std::collections::BTreeMap;
use std::path::Path;

/// The real uid or gid of a process, by this field of its `status` file.
pub(super) fn id(facts: &ProcessFacts, name: &str) -> Option<u32> {
    facts.status.as_ref().ok()?.get(name)?.split(' ').next()?.parse().ok()
}

/// A finding that a field of the `status` file is exactly this.
pub(super) fn field(
    process: Process,
    status: &Reading<Status>,
    property: &'static str,
    expected: String,
) -> Finding {
    let reading = status_field(status, property);
    let compared = expected.clone();
    finding(process, property, expected, reading, |found| found == compared)
}

pub(super) fn status_field(status: &Reading<Status>, name: &str) -> Reading<String> {
    let status = status.as_ref().map_err(Clone::clone)?;
    status.get(name).cloned().ok_or_else(|| format!("this kernel has no {name}"))
}

/// A soft and a hard limit.
pub(super) fn limit(facts: &ProcessFacts, name: &str) -> Reading<(String, String)> {
    let limits = facts.limits.as_ref().map_err(Clone::clone)?;
    limits.get(name).cloned().ok_or_else(|| format!("this kernel has no {name}"))
}

/// Judges the supervisor's identity. Its descriptors are not judged.
pub(crate) fn agentd(scene: &Scene, claimed_pid: u32) -> Vec<Finding> {
    let me = Process::Agentd;
    let pid = scene.agentd_pid.to_string();
    let status = scene.agentd.as_ref().map_or_else(
        || Err("the process that made the control socket is not there".to_owned()),
        |facts| facts.status.clone(),
    );
    let uid = if scene.mode == Mode::System { 0 } else { scene.agentd_uid };
    let findings = vec![
        finding(me, "pid", claimed_pid.to_string(), Ok(pid), |found| found == claimed_pid.to_string()),
        field(me, &status, "Uid", four(uid)),
    ];
    of(scene.agentd_pid, findings)
}

fn none_if_empty(found: String) -> String {
    if found.is_empty() { "none".to_owned() } else { found }
}

pub(super) fn four(id: u32) -> String {
    format!("{id} {id} {id} {id}")
}

/// Every property of one process.
pub(crate) fn process(row: &Row, pid: u32, facts: &ProcessFacts, scene: &Scene) -> Vec<Finding> {
    let mut findings = identity(row, facts, scene);
    findings.extend(powers(row, facts, scene));
    findings.push(field(row.process, &facts.status, "Threads", "1".to_owned()));
    findings.extend(limits(row, facts));
    findings.extend(namespaces(row, facts, scene));
    findings.extend(maps(row, facts, scene));
    findings.push(routes(row, facts, scene));
    findings.push(program(row, facts, row.process.program()));
    findings.extend(descriptors::judge(row, pid, facts, scene));
    findings.push(dumpable(row, facts, scene));
    findings.push(landlock(row));
    of(pid, findings)
}

pub(super) fn landlock(row: &Row) -> Finding {
    let reading = Err("not shown by the kernel".to_owned());
    finding(row.process, "landlock", "restricted", reading, |_| false)
}

/// Its identity: parent, uids, gids, groups.
fn identity(row: &Row, facts: &ProcessFacts, scene: &Scene) -> Vec<Finding> {
    let me = row.process;
    let (uid, gid) = expected_ids(row, scene);
    let mut own_uid = field(me, &facts.status, "Uid", four(uid));
    if scene.has_own_uids() && own_uid.verdict == Verdict::Equal {
        let shared = scene.uids.iter().find(|(other, theirs)| **other != me && **theirs == uid);
        if let Some((other, _)) = shared {
            own_uid.verdict = Verdict::Different;
            own_uid.reason = format!("shared with {}", other.name());
        } else if uid == 0 {
            own_uid.verdict = Verdict::Different;
            own_uid.reason = "root".to_owned();
        }
    }
    vec![
        field(me, &facts.status, "PPid", scene.agentd_pid.to_string()),
        own_uid,
        field(me, &facts.status, "Gid", four(gid)),
        groups(me, facts, scene, gid),
    ]
}

/// Its groups are only its own; if it runs as agentd's user, also agentd's.
pub(super) fn groups(process: Process, facts: &ProcessFacts, scene: &Scene, gid: u32) -> Finding {
    let permitted = permitted_groups(scene, gid);
    let expected = if scene.has_own_uids() { "none" } else { "none beyond agentd's" };
    let reading = status_field(&facts.status, "Groups").map(none_if_empty);
    finding(process, "Groups", expected, reading, |found| {
        found == "none" || found.split_whitespace().all(|group| permitted.iter().any(|it| it == group))
    })
}

/// The expected ids: if agentd is root, the installed user's or base plus its id; else agentd's own.
pub(super) fn expected_ids(row: &Row, scene: &Scene) -> (u32, u32) {
    if !scene.has_own_uids() {
        let gid = scene.agentd.as_ref().and_then(|facts| id(facts, "Gid"));
        return (scene.agentd_uid, gid.unwrap_or(scene.agentd_uid));
    }
    if let Some(ids) = scene.installed.get(&row.process) {
        return *ids;
    }
    let own = base(scene).saturating_add(u32::from(row.process.id()));
    (own, own)
}

/// The base that most processes agree on.
pub(super) fn base(scene: &Scene) -> u32 {
    let mut votes: BTreeMap<u32, usize> = BTreeMap::new();
    for (process, uid) in &scene.uids {
        if let Some(base) = uid.checked_sub(u32::from(process.id())) {
            *votes.entry(base).or_default() += 1;
        }
    }
    votes.into_iter().max_by_key(|(_, votes)| *votes).map_or(0, |(base, _)| base)
}

fn permitted_groups(scene: &Scene, gid: u32) -> Vec<String> {
    let inherited = scene.agentd.as_ref().filter(|_| !scene.has_own_uids());
    let inherited = inherited.and_then(|facts| facts.status.as_ref().ok()?.get("Groups"));
    let inherited = inherited.map(|groups| groups.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    inherited.unwrap_or_default().into_iter().chain([gid.to_string()]).collect()
}

/// Its powers: capabilities, privileges by exec, the filter, and threads that the filter might not bind.
pub(super) fn powers(row: &Row, facts: &ProcessFacts, scene: &Scene) -> Vec<Finding> {
    let me = row.process;
    let none = "0".repeat(16);
    let mut findings: Vec<Finding> = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]
        .map(|set| field(me, &facts.status, set, none.clone()))
        .into_iter()
        .collect();
    for finding in findings.iter_mut().filter(|finding| finding.property == "CapBnd") {
        if scene.mode == Mode::Flat && scene.agentd_uid != 0 && finding.verdict == Verdict::Different {
            // Emptying it needs CAP_SETPCAP; no_new_privs keeps it without effect.
            finding.expected = "any".to_owned();
            finding.verdict = Verdict::Equal;
            finding.reason = "flat gives this up: an ordinary user cannot empty it".to_owned();
        }
    }
    for (name, value) in [("NoNewPrivs", "1"), ("Seccomp", "2")] {
        findings.push(field(me, &facts.status, name, value.to_owned()));
    }
    // Every process inherits the filters that agentd was started with, such as its unit's.
    let agentds = scene.agentd.as_ref().and_then(|facts| status_field(&facts.status, FILTERS).ok());
    let filters = OWN_FILTERS + agentds.and_then(|count| count.parse::<u32>().ok()).unwrap_or_default();
    findings.push(field(me, &facts.status, FILTERS, filters.to_string()));
    findings
}

/// How many filters bind a process, in its status.
const FILTERS: &str = "Seccomp_filters";
/// Two filters: one that notifies, and one that removes the rights that its installation needed.
const OWN_FILTERS: u32 = 2;

pub(super) fn limits(row: &Row, facts: &ProcessFacts) -> Vec<Finding> {
    let mib = |mib: u32| u64::from(mib) << 20;
    let limits = &row.limits;
    [
        ("Max open files", u64::from(limits.files)),
        ("Max data size", mib(limits.memory_mib)),
        ("Max file size", mib(limits.file_mib)),
        ("Max core file size", 0),
    ]
    .map(|(name, value)| {
        let reading = limit(facts, name)
            .map(|(soft, hard)| if soft == hard { soft } else { format!("{soft} (hard {hard})") });
        finding(row.process, name, value.to_string(), reading, |found| found == value.to_string())
    })
    .into_iter()
    .collect()
}

/// Namespaces of its own differ from the reader's and agentd's. The dialer's network is the host's.
fn namespaces(row: &Row, facts: &ProcessFacts, scene: &Scene) -> Vec<Finding> {
    let agentd = |name: &str| scene.agentd.as_ref()?.namespaces.get(name)?.as_ref().ok();
    let own = |name: &str| scene.own.get(name)?.as_ref().ok();
    let compare = |name: &'static str| {
        let reading = facts.namespaces.get(name).cloned().unwrap_or_else(|| Err("not looked at".to_owned()));
        let judged = matches!(name, "net" | "mnt" | "ipc" | "uts") && scene.mode != Mode::Flat;
        if !judged {
            return finding(row.process, name, "any", reading, |_| true);
        }
        if name == "net" && row.network == Network::Client {
            let host = agentd(name).or_else(|| own(name));
            return finding(row.process, name, "the host's", reading, |found| {
                host.is_none_or(|host| host == found)
            });
        }
        let foreign = [own(name), agentd(name).filter(|_| name == "net")];
        finding(row.process, name, "its own", reading, |found| {
            foreign.iter().flatten().all(|other| *other != found)
        })
    };
    crate::kernel::NAMESPACES.map(compare).into_iter().collect()
}

/// Its user namespace has agentd's maps: only jails have a namespace of their own.
pub(super) fn maps(row: &Row, facts: &ProcessFacts, scene: &Scene) -> Vec<Finding> {
    let agentds = |at: usize| scene.agentd.as_ref()?.maps.get(at)?.as_ref().ok();
    let compare = |(at, (name, reading)): (usize, (&'static str, &Reading<String>))| {
        let expected = agentds(at).map_or("agentd's", String::as_str);
        finding(row.process, name, expected, reading.clone(), |found| {
            agentds(at).is_none_or(|map| map == found)
        })
    };
    ["uid_map", "gid_map"].into_iter().zip(&facts.maps).enumerate().map(compare).collect()
}

/// Even if the namespace itself is withheld, the kernel shows its routes.
pub(super) fn routes(row: &Row, facts: &ProcessFacts, scene: &Scene) -> Finding {
    let reading =
        facts.routes.clone().map(|names| if names.is_empty() { "none".to_owned() } else { names.join(" ") });
    if row.network != Network::Client && scene.mode != Mode::Flat {
        return finding(row.process, "routes", "none", reading, |found| found == "none");
    }
    let expected = if row.network == Network::Client { rows::network(row.network) } else { "any" };
    finding(row.process, "routes", expected, reading, |_| true)
}

pub(super) fn program(row: &Row, facts: &ProcessFacts, name: &str) -> Finding {
    let reading = facts.program.clone().map(|program| program.to_string_lossy().into_owned());
    let mut found = finding(row.process, "program", name, reading, |found| {
        let file = Path::new(found.strip_suffix(DELETED).unwrap_or(found)).file_name();
        file.is_some_and(|file| file == name)
    });
    if found.verdict == Verdict::Equal && found.found.ends_with(DELETED) {
        found.reason = "the file was replaced since the process was started".to_owned();
    }
    found
}

/// A process that cannot be dumped has files under `/proc` that belong to root; any other has its own. In mode user
/// the root of the processes' namespace is their user, so nothing shows; nor does it for a process of root's.
pub(super) fn dumpable(row: &Row, facts: &ProcessFacts, scene: &Scene) -> Finding {
    let reading = match (facts.files_of.clone(), id(facts, "Uid")) {
        (Err(reason), _) => Err(reason),
        (Ok(_), None | Some(0)) => Err("a process of root's shows no difference".to_owned()),
        (Ok(0), Some(_)) => Ok("no".to_owned()),
        (Ok(owner), Some(uid)) if owner == uid && scene.mode == Mode::User => {
            Err("in mode user the root of its namespace is its own user, and no difference shows".to_owned())
        }
        (Ok(owner), Some(uid)) if owner == uid => Ok("yes".to_owned()),
        (Ok(_), Some(_)) => Err("its files belong to neither root nor itself".to_owned()),
    };
    finding(row.process, "dumpable", "no", reading, |found| found == "no")
}
