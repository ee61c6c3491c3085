//! What a process holds open: every descriptor of a kind that its row explains, and no more sockets than edges.

use super::judge::{DELETED, Finding, Mode, Scene, finding};
use crate::kernel::{Said, Word};
use manifest::{Place, Process, Row, TABLE};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Sockets that tokio makes to itself, to be woken by signals.
const EVENT_LOOP: usize = 2;

/// Every descriptor is of a kind that the row explains.
pub(super) fn judge(row: &Row, pid: u32, word: &Word, scene: &Scene) -> Vec<Finding> {
    let expected = "sockets, polls, pipes, sealed memory, own files";
    let shown = word.descriptors.as_ref().map_err(Clone::clone);
    let known = known(row, expected, shown, |target| kind(target, row, pid, scene));
    [known].into_iter().chain(sockets(row.process, word, scene)).collect()
}

/// Of a runner every descriptor is of a kind that it makes itself, or of a file within its jail. Its one socket was handed
/// over; a person's program has connections of its own besides, which come and go.
pub(super) fn of_runner(row: &Row, word: &Word, scene: &Scene) -> Vec<Finding> {
    let kind = |target: &str| {
        made(target, &RUNNERS_OWN).or_else(|| is_in_jail(target, word, scene).then_some("file of its own"))
    };
    let shown = word.descriptors.as_ref();
    // Where it is not shown what its mounts are, a file of its own cannot be told from another.
    let shown = if scene.mode == Mode::Flat { shown } else { word.foreign.as_ref().and(shown) };
    let expected = "sockets, polls, pipes, files of its jail";
    let known = known(row, expected, shown.map_err(Clone::clone), kind);
    [known].into_iter().chain(sockets(row.process, word, scene)).collect()
}

/// A finding that of what is shown each is of a kind.
fn known(
    row: &Row,
    expected: &str,
    shown: Said<&Vec<String>>,
    kind: impl Fn(&str) -> Option<&'static str>,
) -> Finding {
    let whole = shown.iter().copied().flatten().all(|target| kind(target).is_some());
    finding(row.process, "descriptors", expected, shown.map(|targets| summary(targets, kind)), |_| whole)
}

/// What every process makes, or was given.
const KINDS: [(&str, &str); 4] = [
    ("socket:[", "socket"),
    ("pipe:[", "pipe"),
    ("anon_inode:[eventpoll]", "poll"),
    ("anon_inode:[eventfd]", "eventfd"),
];
/// And what an actor does besides.
const ACTORS_OWN: [(&str, &str); 2] = [("/memfd:", "memfd"), ("/secretmem", "memfd")];
/// And what a runner does besides: of these only `/dev/null` is a file.
const RUNNERS_OWN: [(&str, &str); 2] = [("anon_inode:[pidfd]", "pidfd"), ("/dev/null", "null")];

/// The kind of what every process makes, and of what this one does besides.
fn made(target: &str, own: &[(&str, &'static str)]) -> Option<&'static str> {
    let made = KINDS.iter().chain(own).find(|(prefix, _)| target.starts_with(prefix));
    made.map(|(_, kind)| *kind)
}

/// Opened on one of its own mounts. In mode flat these are the host's, and what is the host's own is told by its place.
fn is_in_jail(target: &str, word: &Word, scene: &Scene) -> bool {
    if scene.mode != Mode::Flat {
        return target.starts_with('/')
            && word.foreign.as_ref().is_ok_and(|foreign| !foreign.contains(target));
    }
    let within = |folder: &Path, name: &str| Path::new(target).starts_with(folder.join(name));
    target.starts_with('/')
        && !scene.state_dirs.iter().any(|state| within(state, "") && !within(state, Process::Runner.name()))
}

/// Sockets that were handed over are no more than edges; those it made itself belong to its event loop. None where
/// sockets come and go with what the process does: dialled connections, runners, connections of `agentctl` and of clients of the API.
fn sockets(me: Process, word: &Word, scene: &Scene) -> Option<Finding> {
    let most = most_sockets(me)?;
    // Where there is no own network namespace, what it made cannot be told from what it was handed.
    let made = word.made.as_ref().ok().filter(|_| scene.mode != Mode::Flat);
    let held = word.descriptors.as_ref().map_err(Clone::clone).map(|targets| {
        targets.iter().filter(|target| target.starts_with("socket:")).collect::<BTreeSet<_>>()
    });
    let counts = held.map(|held| {
        let own = held.iter().filter(|socket| made.is_some_and(|made| made.contains(**socket))).count();
        (held.len() - own, own)
    });
    let (most, own_most) = if made.is_some() { (most, EVENT_LOOP) } else { (most + EVENT_LOOP, 0) };
    let expected = format!("at most {most} handed over and {own_most} of its own");
    let within = counts.as_ref().is_ok_and(|(handed, own)| *handed <= most && *own <= own_most);
    let said = counts.map(|(handed, own)| format!("{handed} handed over and {own} of its own"));
    Some(finding(me, "sockets", expected, said, |_| within))
}

/// The kind of a descriptor by what it points to; none for what the row does not explain.
fn kind(target: &str, row: &Row, pid: u32, scene: &Scene) -> Option<&'static str> {
    if let Some(kind) = made(target, &ACTORS_OWN) {
        return Some(kind);
    }
    if target == "/dev/null" {
        return Some("null");
    }
    if target == format!("/proc/{pid}/smaps_rollup") {
        return Some("own statistics");
    }
    let path = Path::new(target.strip_suffix(DELETED).unwrap_or(target));
    let beneath = |folder: &str| scene.state_dirs.iter().any(|state| path.starts_with(state.join(folder)));
    let granted = row.opens.iter().any(|open| match open.place {
        Place::Own => beneath(row.process.name()),
        Place::State(folder) => beneath(folder),
        Place::System(file) => path.starts_with(file),
        Place::Named(names) => names.iter().any(|name| path.file_name().is_some_and(|is| is == *name)),
    });
    granted.then_some("own file")
}

/// How many of each kind, and whatever is of no kind by name.
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
        Process::Control,
        Process::AgentRunner,
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
