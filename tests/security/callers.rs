//! The full matrix of caller, callee and method, over each caller's real edges: what the table allows is let
//! through, what it does not say is refused, and where it has no edge no descriptor came.

use crate::probed::{Probed, actors, launch};
use ipc_proto::{Method, runner_gate};
use manifest::Process;
use std::collections::BTreeSet;
use std::time::Duration;
use tests::Host;

/// The methods that `callee` serves to actors.
fn methods(callee: Process) -> &'static [Method] {
    ipc_proto::interfaces(callee).first().copied().unwrap_or_default()
}

/// One caller's rows and columns of the matrix.
fn law(caller: Process) {
    let probed = launch("", &[(caller, "calls")]);
    probed.wait_said(caller, "done");
    // Input and output that are null, its log's pipe and its control descriptor, in this order.
    assert_eq!(
        probed.after(caller, "holds ").as_deref(),
        Some("/dev/null /dev/null pipe socket and 0 variables")
    );
    let callees: Vec<Process> = actors().filter(|callee| manifest::edge(caller, *callee)).collect();
    for callee in &callees {
        let outcomes = probed.after(caller, &format!("calls {} ", callee.name())).unwrap_or_default();
        let called: Vec<(&str, &str)> = outcomes.split(' ').filter_map(|pair| pair.split_once('=')).collect();
        let names: Vec<&str> = called.iter().map(|(name, _)| *name).collect();
        let expected: Vec<&str> = methods(*callee).iter().map(|method| method.name).collect();
        assert_eq!(names, expected, "not every method of {} was called: {outcomes}", callee.name());
        for (method, outcome) in called {
            let allowed = manifest::allowed(caller, *callee, method);
            let expected = if allowed { "answered" } else { "not-allowed" };
            assert_eq!(outcome, expected, "{} calls {}.{method}", caller.name(), callee.name());
        }
    }
    edges(&probed, caller);
}

/// Each edge of the table came, once and with its descriptors, and no other.
fn edges(probed: &Probed, me: Process) {
    let line =
        |role: &str, peer: Process, descriptors| format!("edge {role} {} with {descriptors}", peer.name());
    let count = |caller, callee| 1 + usize::from(manifest::carries_descriptors(caller, callee));
    let to =
        actors().filter(|other| manifest::edge(me, *other)).map(|other| line("to", other, count(me, other)));
    let from = actors()
        .filter(|other| manifest::edge(*other, me))
        .map(|other| line("from", other, count(other, me)));
    let expected: BTreeSet<String> = to.chain(from).collect();
    let came =
        || -> Vec<String> { probed.said(me).into_iter().filter(|line| line.starts_with("edge ")).collect() };
    probed.host.wait_for("every edge", || expected.iter().all(|edge| came().contains(edge)));
    let came = came();
    assert_eq!(came.iter().cloned().collect::<BTreeSet<_>>(), expected);
    assert_eq!(came.len(), expected.len(), "an edge came twice: {came:?}");
}

/// The test of a process; supervisor and runners have none.
macro_rules! of_process {
    (Agentd) => {};
    (Runner) => {};
    (AgentRunner) => {};
    (NetRunner) => {};
    (McpRunner) => {};
    (BrowserRunner) => {};
    ($process:ident) => {
        // Holds P3-03, P3-04, P5-16, P10-02.
        #[test]
        fn $process() {
            super::law(manifest::Process::$process);
        }
    };
}

macro_rules! of_processes {
    ($($(#[$doc:meta])* $process:ident $id:literal $name:literal [$($interface:ident $client:ident $request:ident),*];)+) => {
        $(of_process!($process);)+
    };
}

/// Each test is named as its process is in the list of processes.
mod an_actor_may_call_what_the_table_says_and_nothing_else {
    manifest::processes!(of_processes);
}

/// The output of a probe in the place of the runner, launched for a command.
fn as_runner(host: &Host, word: &str) -> String {
    let output = host.ctl(&["sandbox", "run", "--", word]);
    assert!(output.status.success(), "{word}: {output:?}\n{}", host.log());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_runner_holds_one_socket_and_no_environment() {
    let mut probed = launch("", &[(Process::Runner, "")]);
    probed.host.wait_ready();
    assert_eq!(as_runner(&probed.host, "holds"), "/dev/null /dev/null /dev/null socket and 0 variables");
}

/// Sealed before its workspace was there, it reaches that once it is, by both its names, and nothing else besides. One
/// that did not wait may have it from the beginning.
// Holds P1-09.
#[test]
fn a_runner_writes_nowhere_before_its_turn_then_in_its_workspace_alone() {
    for warm in [0, 1] {
        let config = format!("[host]\nwarm_runners = {warm}\n");
        let mut probed = launch(&config, &[(Process::Runner, "")]);
        probed.host.wait_ready();
        probed.host.wait_for("one waits", || probed.host.waiting_runners().len() == warm);
        // Until it has looked where it can write.
        std::thread::sleep(Duration::from_millis(500));
        let said = as_runner(&probed.host, "early");
        let (before, after) = said.split_once(", after ").unwrap();
        assert_eq!(after, "[\"/ws/s\", \"/workspace\"]", "{warm}");
        assert!(before == "before []" || warm == 0 && before.ends_with(after), "{warm}: {said}");
    }
}

// Holds P3-05.
#[test]
fn a_runner_may_call_every_method_of_its_gate() {
    let mut probed = launch("", &[(Process::Runner, "")]);
    probed.host.wait_ready();
    let outcomes = as_runner(&probed.host, "calls");
    let called: Vec<(&str, &str)> = outcomes.split(' ').filter_map(|pair| pair.split_once('=')).collect();
    for method in runner_gate::METHODS {
        let theirs = manifest::allowed(Process::Runner, Process::Gate, method.name);
        let apart =
            ["run_", "net_", "server_"].iter().any(|of_programs| method.name.starts_with(of_programs))
                || matches!(method.name, "engine" | "steering" | "save_engine_state");
        assert_eq!(theirs, !apart, "{}", method.name);
        let outcome = called.iter().find(|(name, _)| *name == method.name).map(|(_, outcome)| *outcome);
        // Calls that are out of turn for a command were let through and answered; `finish` ended the turn well.
        let expected = match method.name {
            "work" | "output" => Some("answered"),
            "finish" => None,
            _ if !theirs => Some("not-allowed"),
            _ => Some("out-of-turn"),
        };
        assert_eq!(outcome, expected, "{}: {outcomes}", method.name);
    }
}

// Holds P3-05.
#[test]
fn a_runner_that_sends_garbage_or_foreign_messages_loses_its_gate() {
    let mut probed = launch("", &[(Process::Runner, "")]);
    probed.host.wait_ready();
    let gate = probed.host.pid("gate");
    for attack in
        ["garbage", "oversize", "endless", "memory.stats", "router.take", "router.events", "audit.tail"]
    {
        let folder = probed.host.dir().join(attack);
        std::fs::create_dir(&folder).unwrap();
        let run = |word| {
            let output =
                probed.host.ctl(&["sandbox", "run", "--workspace", folder.to_str().unwrap(), "--", word]);
            (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
        };
        // Its command is not run again by itself; what the next one finds is its note.
        assert_eq!(run(attack), (Some(125), String::new()));
        assert_eq!(run("holds"), (Some(0), format!("{attack}: ended")));
    }
    assert_eq!(probed.host.pid("gate"), gate);
}
