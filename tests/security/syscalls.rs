//! System calls after the seal: one that the row's groups do not list is the process's death, it comes back, and which
//! call it was is known.

use crate::probed::{Probed, actors, launch};
use confine::acts::{ACTS, Act};
use manifest::{Process, Row, syscalls};

/// Deaths of one process in one host: more would be held off for long, and in the end held.
const AT_ONCE: usize = 6;
/// A pid that is no actor's own: what it may do to itself alone, it may not do to this one.
const NOBODY: u32 = u32::MAX;

/// Returns whether one of the row's groups lists the call with these arguments.
fn listed(row: &'static Row, act: &Act) -> bool {
    syscalls::allows(row, act.call, &act.arguments, NOBODY)
}

/// The signal that must end `process`.
fn forbidden(process: Process) -> Vec<&'static str> {
    let row = manifest::row(process).unwrap();
    ACTS.iter().filter(|act| !listed(row, act)).map(|act| act.name).collect()
}

/// The acts of each process.
type Shares = Vec<(Process, Vec<&'static str>)>;

/// A host in which every actor is a probe that does one of its acts in each of its lives.
fn host(share: usize) -> Option<(Probed, Shares)> {
    let shares: Shares = actors()
        .map(|process| {
            (process, forbidden(process).into_iter().skip(share * AT_ONCE).take(AT_ONCE).collect())
        })
        .collect();
    if shares.iter().all(|(_, acts): &(Process, Vec<&str>)| acts.is_empty()) {
        return None;
    }
    let tasks: Vec<(Process, String)> =
        shares.iter().map(|(process, acts)| (*process, format!("acts\n{}", acts.join("\n")))).collect();
    let tasks: Vec<(Process, &str)> = tasks.iter().map(|(process, task)| (*process, task.as_str())).collect();
    Some((launch("", &tasks), shares))
}

// Holds P10-01, P2-16.
#[test]
fn every_unlisted_system_call_kills_the_process_and_it_comes_back() {
    let (mut share, mut done) = (0, 0);
    // A few hosts at a time, since each waits most of the while.
    loop {
        let hosts: Vec<_> = (share..share + 3).map_while(host).collect();
        if hosts.is_empty() {
            break;
        }
        share += hosts.len();
        for (probed, shares) in &hosts {
            for (process, acts) in shares {
                died_by_each(probed, *process, acts);
                done += acts.len();
            }
        }
    }
    assert!(done > actors().count() * 30, "only {done} acts");
}

fn died_by_each(probed: &Probed, process: Process, acts: &[&str]) {
    let name = process.name();
    probed.host.wait_for(&format!("{name} is back after {} deaths", acts.len()), || {
        let said = probed.said(process);
        let survived = said.iter().find(|line| line.starts_with("survived"));
        assert!(survived.is_none(), "{name} {survived:?}");
        said.iter().any(|line| *line == format!("life {}", acts.len() + 1))
    });
    for act in acts {
        assert!(probed.said(process).contains(&format!("act {act}")), "{name} did not try {act}");
    }
    let lines = |prefix: String| -> Vec<String> {
        probed
            .host
            .log()
            .lines()
            .filter_map(|line| line.split_once(&prefix))
            .map(|(_, rest)| rest.to_owned())
            .collect()
    };
    // The last filter leaves `seccomp` to the kernel, since it takes it away from itself.
    let call = |act: &&str| ACTS.iter().find(|it| it.name == *act).unwrap().call;
    let (by_kernel, by_agentd): (Vec<&str>, Vec<&str>) =
        acts.iter().map(call).partition(|call| *call == "seccomp");
    let told: Vec<String> =
        by_agentd.iter().map(|call| format!("it may not call {call} with these arguments")).collect();
    assert_eq!(lines(format!("agentd: {name} is ended: ")), told, "{name}");
    let ends = lines(format!("agentd: {name} ended: "));
    let of = |signal: &str| ends.iter().filter(|end| *end == signal).count();
    assert_eq!((of("signal SIGKILL"), of("signal SIGSYS")), (by_agentd.len(), by_kernel.len()), "{name}");
    assert_eq!(ends.len(), acts.len(), "{name}");
}
