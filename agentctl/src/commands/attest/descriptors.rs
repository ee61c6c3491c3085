//! Open descriptors: every descriptor must be of a kind that the row explains, with no more sockets than edges.

use super::findings::{Finding, finding};
use super::scene::{Mode, Scene};
use crate::kernel::{DELETED, ProcessFacts, Reading};
use manifest::{Place, Process, Row, TABLE};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Sockets that tokio opens to itself for signals.
const EVENT_LOOP: usize = 2;

/// Every descriptor is of a kind that the row explains.
pub(super) fn judge(row: &Row, pid: u32, facts: &ProcessFacts, scene: &Scene) -> Vec<Finding> {
    let expected = "sockets, polls, pipes, sealed memory, own files";
    let shown = facts.descriptors.as_ref().map_err(Clone::clone);
    let known = known(row, expected, shown, |target| kind(target, row, pid, scene));
    [known].into_iter().chain(sockets(row.process, facts, scene)).collect()
}

/// Judges a runner: every descriptor is of a kind that it makes itself, or of a file within its jail. Its one socket was
/// handed over; a person's program also opens connections of its own, which come and go.
pub(super) fn of_runner(row: &Row, facts: &ProcessFacts, scene: &Scene) -> Vec<Finding> {
    let kind = |target: &str| {
        made(target, &RUNNERS_OWN).or_else(|| is_in_jail(target, facts, scene).then_some("file of its own"))
    };
    let shown = facts.descriptors.as_ref();
    // Without its mounts, a file of its own cannot be distinguished from another.
    let shown = if scene.mode == Mode::Flat { shown } else { facts.foreign.as_ref().and(shown) };
    let expected = "sockets, polls, pipes, files of its jail";
    let known = known(row, expected, shown.map_err(Clone::clone), kind);
    [known].into_iter().chain(sockets(row.process, facts, scene)).collect()
}

/// A finding that every shown descriptor is of a known kind.
fn known(
    row: &Row,
    expected: &str,
    shown: Reading<&Vec<String>>,
    kind: impl Fn(&str) -> Option<&'static str>,
) -> Finding {
    let whole = shown.iter().copied().flatten().all(|target| kind(target).is_some());
    finding(row.process, "descriptors", expected, shown.map(|targets| summary(targets, kind)), |_| whole)
}

/// Kinds of descriptors that every process opens or inherits.
const KINDS: [(&str, &str); 4] = [
    ("socket:[", "socket"),
    ("pipe:[", "pipe"),
    ("anon_inode:[eventpoll]", "poll"),
    ("anon_inode:[eventfd]", "eventfd"),
];
/// Further kinds of an actor.
const ACTORS_OWN: [(&str, &str); 2] = [("/memfd:", "memfd"), ("/secretmem", "memfd")];
/// Further kinds of a runner: only `/dev/null` is a file.
const RUNNERS_OWN: [(&str, &str); 2] = [("anon_inode:[pidfd]", "pidfd"), ("/dev/null", "null")];

/// The kind of a descriptor that every process has, or that this one has besides.
fn made(target: &str, own: &[(&str, &'static str)]) -> Option<&'static str> {
    let made = KINDS.iter().chain(own).find(|(prefix, _)| target.starts_with(prefix));
    made.map(|(_, kind)| *kind)
}

/// Returns true for a file on one of its own mounts. In mode flat these are the host's, and the path decides.
fn is_in_jail(target: &str, facts: &ProcessFacts, scene: &Scene) -> bool {
    if scene.mode != Mode::Flat {
        return target.starts_with('/')
            && facts.foreign.as_ref().is_ok_and(|foreign| !foreign.contains(target));
    }
    let within = |folder: &Path, name: &str| Path::new(target).starts_with(folder.join(name));
    target.starts_with('/')
        && !scene.state_dirs.iter().any(|state| within(state, "") && !within(state, Process::Runner.name()))
}

/// A finding that there are no more inherited sockets than edges; sockets of its own belong to its event loop. `None` for
/// processes whose sockets come and go: dialled connections, runners, connections of `agentctl` and of API clients.
fn sockets(me: Process, facts: &ProcessFacts, scene: &Scene) -> Option<Finding> {
    let most = most_sockets(me)?;
    // Without a network namespace of its own, its own sockets cannot be distinguished from inherited ones.
    let made = facts.made.as_ref().ok().filter(|_| scene.mode != Mode::Flat);
    let held = facts.descriptors.as_ref().map_err(Clone::clone).map(|targets| {
        targets.iter().filter(|target| target.starts_with("socket:")).collect::<BTreeSet<_>>()
    });
    let counts = held.map(|held| {
        let own = held.iter().filter(|socket| made.is_some_and(|made| made.contains(**socket))).count();
        (held.len() - own, own)
    });
    let (most, own_most) = if made.is_some() { (most, EVENT_LOOP) } else { (most + EVENT_LOOP, 0) };
    let expected = format!("at most {most} handed over and {own_most} of its own");
    let within = counts.as_ref().is_ok_and(|(handed, own)| *handed <= most && *own <= own_most);
    let reading = counts.map(|(handed, own)| format!("{handed} handed over and {own} of its own"));
    Some(finding(me, "sockets", expected, reading, |_| within))
}

/// The kind of a descriptor by its target; `None` if the row does not explain it.
fn kind(target: &str, row: &Row, pid: u32, scene: &Scene) -> Option<&'static str> {
    if let Some(kind) = made(target, &ACTORS_OWN) {
        return Some(kind);
    }
    if target == "/dev/null" {
        return Some("null");
    }
    let statistics = target.strip_prefix("/proc/").and_then(|rest| rest.strip_prefix(&pid.to_string()));
    if matches!(statistics, Some("/smaps_rollup" | "/stat")) {
        return Some("own statistics");
    }
    let path = Path::new(target.strip_suffix(DELETED).unwrap_or(target));
    let beneath = |folder: &str| scene.state_dirs.iter().any(|state| path.starts_with(state.join(folder)));
    let granted = row.opens.iter().any(|open| match open.place {
        Place::Own => beneath(row.process.name()),
        Place::State(folder) => beneath(folder),
        Place::System(file) => match file.strip_prefix("/proc/self/") {
            Some(own) => path == Path::new("/proc").join(pid.to_string()).join(own),
            None => path.starts_with(file),
        },
        Place::Named(names) => names.iter().any(|name| path.file_name().is_some_and(|is| is == *name)),
    });
    granted.then_some("own file")
}

/// The number of each kind, and the names of targets of no kind.
fn summary(targets: &[String], kind: impl Fn(&str) -> Option<&'static str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for target in targets {
        *counts.entry(kind(target).unwrap_or(target)).or_default() += 1;
    }
    counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
}

/// The control descriptor, one socket per edge, and the descriptor channels.
fn most_sockets(me: Process) -> Option<usize> {
    let changing = [
        Process::Dialer,
        Process::Credproxy,
        Process::Gate,
        Process::Gateway,
        Process::Ingress,
        Process::Control,
        Process::AgentRunner,
        Process::NetRunner,
        Process::McpRunner,
        Process::BrowserRunner,
    ];
    if changing.contains(&me) {
        return None;
    }
    if me == Process::Runner {
        return Some(1);
    }
    let others = TABLE.iter().map(|row| row.process);
    let edges = others.map(|other| {
        usize::from(manifest::edge(me, other))
            + usize::from(manifest::edge(other, me))
            + usize::from(manifest::carries_descriptors(me, other))
    });
    Some(1 + edges.sum::<usize>())
}
