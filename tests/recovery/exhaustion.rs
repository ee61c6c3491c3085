//! A jail that uses up processes or descriptors costs its own turn; the host goes on as it was.

use std::collections::BTreeMap;
use tests::{Host, Setup};

fn pids(host: &Host) -> BTreeMap<String, u64> {
    let status = host.json(&["status"]);
    let processes = status["processes"].as_array().unwrap().iter();
    processes.map(|process| (tests::text(process, "name"), process["pid"].as_u64().unwrap())).collect()
}

fn short() -> Host {
    Setup::default().config("[agent.default.limits]\nseconds = 8\n").start()
}

/// The host has the processes that it had, and answers.
fn unharmed(host: &Host, before: &BTreeMap<String, u64>) {
    assert_eq!(host.chat("after", "echo: still here"), "still here");
    assert_eq!(&pids(host), before);
}

// Holds P9-11.
#[test]
fn a_fork_bomb_of_an_agent_ends_its_own_turn_and_the_host_goes_on() {
    let host = short();
    let before = pids(&host);
    let turn = host.say("s", "run: bomb() { bomb | bomb & }; bomb; sleep 60");
    // The default profile asks before it runs such a thing.
    host.approve(&host.question());
    let ended = turn.ended();
    assert_eq!(ended["calls"][0]["verdict"], "run", "{ended}");
    // The command is ended shortly before its turn would be: there may be time left to say so.
    let end = ended["end"].as_str().unwrap_or_default();
    assert!(["answered", "timed_out"].contains(&end), "{ended}");
    unharmed(&host, &before);
}

// Holds P9-11.
#[test]
fn a_jail_that_opens_endless_descriptors_gets_those_of_its_row() {
    let host = short();
    let before = pids(&host);
    let most = u64::from(manifest::row(manifest::Process::Runner).unwrap().limits.files);
    // Each of many programs at once, so that it is not only one program's bound that holds.
    let script = "open() { n=0; while exec {fd}</dev/null; do n=$((n+1)); done 2>/dev/null; echo $n; sleep 2; }; \
        for k in 1 2 3 4 5 6 7 8; do open & done; wait";
    let output = host.ctl(&["sandbox", "run", "--", "bash", "-c", script]);
    let opened: Vec<u64> =
        String::from_utf8_lossy(&output.stdout).lines().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(opened.len(), 8, "{output:?}");
    assert!(opened.iter().all(|count| *count > 0 && *count < most), "{opened:?} of {most}");
    unharmed(&host, &before);
}
