//! The comparison: the table's word against the kernel's. Pure: everything that was read is an argument.

use super::descriptors;
pub(crate) use super::findings::{Finding, Verdict};
pub(super) use super::findings::{finding, of};
use crate::kernel::{Said, Status, Word};
use crate::rows;
use manifest::{Network, Process, Row};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What the kernel says behind the name of a file that is no longer there.
pub(super) const DELETED: &str = " (deleted)";

/// How the host confines, as far as the comparison depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Own uid per process, namespaces.
    System,
    /// One uid, namespaces.
    User,
    /// One uid, no namespaces.
    Flat,
}

impl Mode {
    /// The mode of this name; the strictest for an unknown one.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "user" => Self::User,
            "flat" => Self::Flat,
            _ => Self::System,
        }
    }
}

/// What one process's properties are compared against besides its row.
pub(crate) struct Scene {
    /// How the host confines.
    pub(crate) mode: Mode,
    /// Where the state directory shows: its own path, and in system mode its place in the processes' own mounts.
    pub(crate) state_dirs: Vec<PathBuf>,
    /// The pid of who made the control socket.
    pub(crate) agentd_pid: u32,
    /// Their uid.
    pub(crate) agentd_uid: u32,
    /// The kernel's word on agentd.
    pub(crate) agentd: Option<Word>,
    /// The reader's own namespaces.
    pub(crate) own: BTreeMap<&'static str, Said<String>>,
    /// The uid of every running actor.
    pub(crate) uids: BTreeMap<Process, u32>,
    /// Uid and gid of every row's user; none where one is not installed.
    pub(crate) installed: BTreeMap<Process, (u32, u32)>,
    /// True if a cgroup holds the limits of jails.
    pub(crate) by_cgroup: bool,
    /// The uid of every runner.
    pub(crate) slots: Vec<u32>,
    /// How many of the processes that are looked at are in each namespace.
    pub(crate) inhabited: BTreeMap<String, usize>,
}

impl Scene {
    /// Root gives every process a uid of its own; an ordinary user has one for all.
    pub(super) fn has_own_uids(&self) -> bool {
        self.mode == Mode::System || self.agentd_uid == 0
    }
}

/// The real one of a process's uids or gids, as this field of its `status` file names them.
pub(super) fn id(word: &Word, name: &str) -> Option<u32> {
    word.status.as_ref().ok()?.get(name)?.split(' ').next()?.parse().ok()
}

/// A finding that a field of the `status` file is exactly this.
pub(super) fn field(
    process: Process,
    status: &Said<Status>,
    property: &'static str,
    expected: String,
) -> Finding {
    let said = status_field(status, property);
    let compared = expected.clone();
    finding(process, property, expected, said, |found| found == compared)
}

pub(super) fn status_field(status: &Said<Status>, name: &str) -> Said<String> {
    let status = status.as_ref().map_err(Clone::clone)?;
    status.get(name).cloned().ok_or_else(|| format!("this kernel has no {name}"))
}

/// A soft and a hard limit.
pub(super) fn limit(word: &Word, name: &str) -> Said<(String, String)> {
    let limits = word.limits.as_ref().map_err(Clone::clone)?;
    limits.get(name).cloned().ok_or_else(|| format!("this kernel has no {name}"))
}

/// What is said of the supervisor: who it is. Its descriptors are its own affair.
pub(crate) fn agentd(scene: &Scene, claimed_pid: u32) -> Vec<Finding> {
    let me = Process::Agentd;
    let pid = scene.agentd_pid.to_string();
    let status = scene.agentd.as_ref().map_or_else(
        || Err("the process that made the control socket is not there".to_owned()),
        |word| word.status.clone(),
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
pub(crate) fn process(row: &Row, pid: u32, word: &Word, scene: &Scene) -> Vec<Finding> {
    let mut findings = identity(row, word, scene);
    findings.extend(powers(row, word, scene));
    findings.push(field(row.process, &word.status, "Threads", "1".to_owned()));
    findings.extend(limits(row, word));
    findings.extend(namespaces(row, word, scene));
    findings.extend(maps(row, word, scene));
    findings.push(routes(row, word, scene));
    findings.push(program(row, word, row.process.name()));
    findings.extend(descriptors::judge(row, pid, word, scene));
    findings.push(dumpable(row, word, scene));
    findings.push(landlock(row));
    of(pid, findings)
}

pub(super) fn landlock(row: &Row) -> Finding {
    let said = Err("not shown by the kernel".to_owned());
    finding(row.process, "landlock", "restricted", said, |_| false)
}

/// Who it is: parent, uids, gids, groups.
fn identity(row: &Row, word: &Word, scene: &Scene) -> Vec<Finding> {
    let me = row.process;
    let (uid, gid) = expected_ids(row, scene);
    let mut own_uid = field(me, &word.status, "Uid", four(uid));
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
        field(me, &word.status, "PPid", scene.agentd_pid.to_string()),
        own_uid,
        field(me, &word.status, "Gid", four(gid)),
        groups(me, word, scene, gid),
    ]
}

/// Its groups are none but its own, and where it is agentd's user, agentd's.
pub(super) fn groups(process: Process, word: &Word, scene: &Scene, gid: u32) -> Finding {
    let permitted = permitted_groups(scene, gid);
    let expected = if scene.has_own_uids() { "none" } else { "none beyond agentd's" };
    let said = status_field(&word.status, "Groups").map(none_if_empty);
    finding(process, "Groups", expected, said, |found| {
        found == "none" || found.split_whitespace().all(|group| permitted.iter().any(|it| it == group))
    })
}

/// Where agentd is root, the installed user's, else base and its id; else agentd's own.
pub(super) fn expected_ids(row: &Row, scene: &Scene) -> (u32, u32) {
    if !scene.has_own_uids() {
        let gid = scene.agentd.as_ref().and_then(|word| id(word, "Gid"));
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
    let inherited = inherited.and_then(|word| word.status.as_ref().ok()?.get("Groups"));
    let inherited = inherited.map(|groups| groups.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    inherited.unwrap_or_default().into_iter().chain([gid.to_string()]).collect()
}

/// What it could do: capabilities, privileges by exec, the filter, threads the filter might not bind.
pub(super) fn powers(row: &Row, word: &Word, scene: &Scene) -> Vec<Finding> {
    let me = row.process;
    let none = "0".repeat(16);
    let mut findings: Vec<Finding> = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]
        .map(|set| field(me, &word.status, set, none.clone()))
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
        findings.push(field(me, &word.status, name, value.to_owned()));
    }
    // What agentd was started under, such as its unit's own filters, all have as well.
    let agentds = scene.agentd.as_ref().and_then(|word| status_field(&word.status, FILTERS).ok());
    let filters = OWN_FILTERS + agentds.and_then(|count| count.parse::<u32>().ok()).unwrap_or_default();
    findings.push(field(me, &word.status, FILTERS, filters.to_string()));
    findings
}

/// How many filters bind a process, in its status.
const FILTERS: &str = "Seccomp_filters";
/// One that listens, and one that takes away what the first needed to be handed over.
const OWN_FILTERS: u32 = 2;

pub(super) fn limits(row: &Row, word: &Word) -> Vec<Finding> {
    let mib = |mib: u32| u64::from(mib) << 20;
    let limits = &row.limits;
    [
        ("Max open files", u64::from(limits.files)),
        ("Max data size", mib(limits.memory_mib)),
        ("Max file size", mib(limits.file_mib)),
        ("Max core file size", 0),
    ]
    .map(|(name, value)| {
        let said = limit(word, name)
            .map(|(soft, hard)| if soft == hard { soft } else { format!("{soft} (hard {hard})") });
        finding(row.process, name, value.to_string(), said, |found| found == value.to_string())
    })
    .into_iter()
    .collect()
}

/// Own namespaces are other ones than the reader's and agentd's. The dialer's network is the host's.
fn namespaces(row: &Row, word: &Word, scene: &Scene) -> Vec<Finding> {
    let agentd = |name: &str| scene.agentd.as_ref()?.namespaces.get(name)?.as_ref().ok();
    let own = |name: &str| scene.own.get(name)?.as_ref().ok();
    let compare = |name: &'static str| {
        let said = word.namespaces.get(name).cloned().unwrap_or_else(|| Err("not looked at".to_owned()));
        let judged = matches!(name, "net" | "mnt" | "ipc" | "uts") && scene.mode != Mode::Flat;
        if !judged {
            return finding(row.process, name, "any", said, |_| true);
        }
        if name == "net" && row.network == Network::Client {
            let host = agentd(name).or_else(|| own(name));
            return finding(row.process, name, "the host's", said, |found| {
                host.is_none_or(|host| host == found)
            });
        }
        let foreign = [own(name), agentd(name).filter(|_| name == "net")];
        finding(row.process, name, "its own", said, |found| {
            foreign.iter().flatten().all(|other| *other != found)
        })
    };
    crate::kernel::NAMESPACES.map(compare).into_iter().collect()
}

/// Whom its user namespace maps is whom agentd's maps: only jails have one of their own.
pub(super) fn maps(row: &Row, word: &Word, scene: &Scene) -> Vec<Finding> {
    let agentds = |at: usize| scene.agentd.as_ref()?.maps.get(at)?.as_ref().ok();
    let compare = |(at, (name, said)): (usize, (&'static str, &Said<String>))| {
        let expected = agentds(at).map_or("agentd's", String::as_str);
        finding(row.process, name, expected, said.clone(), |found| agentds(at).is_none_or(|map| map == found))
    };
    ["uid_map", "gid_map"].into_iter().zip(&word.maps).enumerate().map(compare).collect()
}

/// Even where the namespace itself is withheld, the kernel shows what can be reached from it.
pub(super) fn routes(row: &Row, word: &Word, scene: &Scene) -> Finding {
    let said =
        word.routes.clone().map(|names| if names.is_empty() { "none".to_owned() } else { names.join(" ") });
    if row.network != Network::Client && scene.mode != Mode::Flat {
        return finding(row.process, "routes", "none", said, |found| found == "none");
    }
    let expected = if row.network == Network::Client { rows::network(row.network) } else { "any" };
    finding(row.process, "routes", expected, said, |_| true)
}

pub(super) fn program(row: &Row, word: &Word, name: &str) -> Finding {
    let said = word.program.clone().map(|program| program.to_string_lossy().into_owned());
    let mut found = finding(row.process, "program", name, said, |found| {
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
pub(super) fn dumpable(row: &Row, word: &Word, scene: &Scene) -> Finding {
    let said = match (word.files_of.clone(), id(word, "Uid")) {
        (Err(reason), _) => Err(reason),
        (Ok(_), None | Some(0)) => Err("a process of root's shows no difference".to_owned()),
        (Ok(0), Some(_)) => Ok("no".to_owned()),
        (Ok(owner), Some(uid)) if owner == uid && scene.mode == Mode::User => {
            Err("in mode user the root of its namespace is its own user, and no difference shows".to_owned())
        }
        (Ok(owner), Some(uid)) if owner == uid => Ok("yes".to_owned()),
        (Ok(_), Some(_)) => Err("its files belong to neither root nor itself".to_owned()),
    };
    finding(row.process, "dumpable", "no", said, |found| found == "no")
}
