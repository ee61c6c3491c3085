//! Standing still: what every process does while the state is copied, and what becomes of it however that ends.

use crate::control::ask;
use ipc_proto::control::{Answer, ControlError};
use serde_json::Value;
use std::fs;
use std::time::Duration;
use tests::{Host, kill};

fn freeze(host: &Host, ms: u32) -> Answer<()> {
    ask(host, async |control, context| control.freeze(context, ms).await)
}

fn thaw(host: &Host) -> bool {
    ask(host, async |control, context| control.thaw(context).await).unwrap()
}

/// The kernel's letter for what a process does; `None` if there is none.
fn state(pid: i32) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(") ")?.1.chars().next()
}

fn named(status: &Value) -> Vec<(String, i32)> {
    let named = |process: &Value| {
        let pid = i32::try_from(process["pid"].as_i64().unwrap()).unwrap();
        (process["name"].as_str().unwrap().to_owned(), pid)
    };
    status["processes"].as_array().unwrap().iter().map(named).collect()
}

/// Every process but control.
fn others(host: &Host) -> Vec<(String, i32)> {
    named(&host.json(&["status"])).into_iter().filter(|(name, _)| name != "control").collect()
}

fn stand(processes: &[(String, i32)]) -> bool {
    processes.iter().all(|(_, pid)| state(*pid) == Some('T'))
}

fn go(processes: &[(String, i32)]) -> bool {
    processes.iter().all(|(_, pid)| state(*pid).is_some_and(|state| state != 'T'))
}

#[test]
fn every_process_but_control_is_frozen_until_thawed_recorded_first() {
    let host = Host::start();
    let (all, control) = (others(&host), host.pid("control"));
    freeze(&host, 20_000).unwrap();
    assert!(stand(&all), "{all:?}");
    assert_ne!(state(control), Some('T'));
    assert_eq!(freeze(&host, 1_000), Err(ControlError::Frozen), "a second copy must wait");
    assert!(stand(&all), "the refused one changes nothing");
    assert!(thaw(&host));
    assert!(!thaw(&host), "nothing stands still any more");
    assert_eq!(host.chat("s", "echo: on we go"), "on we go");
    assert_eq!(host.recorded("state_frozen").len(), 1);
    assert_eq!(others(&host), all, "nobody was restarted for it");
}

// Holds B-29, P7-72.
#[test]
fn they_go_on_by_themselves_when_nobody_says_so() {
    let host = Host::start();
    let all = others(&host);
    freeze(&host, 1_500).unwrap();
    host.wait_for("they go on", || go(&all));
    assert!(!thaw(&host), "who asked is told that they did not stand still until now");
    assert_eq!(host.chat("s", "echo: by ourselves"), "by ourselves");
}

#[test]
fn a_jail_stands_still_with_everything_that_runs_in_it() {
    let host = Host::start();
    let script = "sleep 1 & i=0; while [ $i -lt 40 ]; do i=$((i+1)); sleep 0.05; done; echo counted $i";
    let mut command = host.command(&["sandbox", "run", "--", "sh", "-c", script]);
    let turn = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let jail = || -> Vec<i32> { runners(host.agentd()).into_iter().flat_map(descendants).collect() };
    host.wait_for("the script runs", || jail().len() > 2);
    freeze(&host, 20_000).unwrap();
    let still = jail();
    assert!(still.len() > 1, "{still:?}");
    for pid in &still {
        assert!(matches!(state(*pid), Some('T' | 'Z')), "{pid}: {:?}", state(*pid));
    }
    assert!(thaw(&host));
    let output = turn.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("counted 40"), "{output:?}");
}

/// Runners that agentd started.
fn runners(agentd: i32) -> Vec<i32> {
    let listed = fs::read_to_string(format!("/proc/{agentd}/task/{agentd}/children")).unwrap_or_default();
    let runner = |pid: &i32| {
        fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with("runner"))
    };
    listed.split_whitespace().filter_map(|pid| pid.parse().ok()).filter(runner).collect()
}

/// A process and everything it started.
fn descendants(pid: i32) -> Vec<i32> {
    let (mut found, mut open) = (Vec::new(), vec![pid]);
    while let Some(pid) = open.pop() {
        found.push(pid);
        for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let listed = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            open.extend(listed.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
    }
    found
}

#[test]
fn a_process_that_dies_while_frozen_is_started_after_the_thaw() {
    let host = Host::start();
    let (memory, all) = (host.pid("memory"), others(&host));
    freeze(&host, 20_000).unwrap();
    kill(memory);
    let down = |status: &Value| {
        let processes = status["processes"].as_array().unwrap();
        processes.iter().any(|process| process["name"] == "memory" && process["state"] == "waiting")
    };
    host.wait_for("its end is seen", || host.try_status().is_some_and(|status| down(&status)));
    std::thread::sleep(Duration::from_millis(700));
    assert!(down(&host.json(&["status"])), "it was started before the others went on");
    let rest: Vec<_> = all.into_iter().filter(|(name, _)| name != "memory").collect();
    assert!(stand(&rest));
    assert!(thaw(&host), "what ended has written nothing since");
    host.wait_for("it is back", || {
        host.try_status().is_some_and(|status| status["host"]["state"] == "ready")
    });
    assert!(host.chat("s", "remember: back again").contains("back"));
}

#[test]
fn a_freeze_longer_than_the_heartbeat_bound_restarts_nobody() {
    let host = Host::start();
    let all = others(&host);
    freeze(&host, 12_000).unwrap();
    host.wait_for("they go on", || go(&all));
    assert_eq!(host.chat("s", "echo: all here"), "all here");
    assert_eq!(others(&host), all);
}

#[test]
fn a_host_that_is_stopped_while_they_stand_still_ends_as_always() {
    let mut host = Host::start();
    let all = others(&host);
    freeze(&host, 20_000).unwrap();
    assert_eq!(host.stop(), Some(0));
    assert!(all.iter().all(|(_, pid)| state(*pid).is_none()), "{all:?}");
}

#[test]
fn control_that_dies_meanwhile_comes_back_and_can_let_them_go_on() {
    let host = Host::start();
    let (all, control) = (others(&host), host.pid("control"));
    freeze(&host, 25_000).unwrap();
    kill(control);
    host.wait_for("control is back", || host.try_status().is_some());
    assert!(stand(&all));
    assert!(thaw(&host));
    assert_eq!(host.chat("s", "echo: again"), "again");
}

#[test]
fn an_interrupted_copy_leaves_no_file_and_no_frozen_host() {
    use nix::sys::signal::{Signal, kill as signal};
    let host = Host::start();
    let all = others(&host);
    // A workspace that takes a while to be copied.
    let big = host.state().join("runner/0123456789abcdef0123456789abcdef");
    fs::create_dir_all(&big).unwrap();
    for number in 0..20_000 {
        fs::write(big.join(number.to_string()), "x").unwrap();
    }
    for how in [Signal::SIGINT, Signal::SIGKILL] {
        let file = host.dir().join("backup");
        let mut command =
            host.command(&["backup", "create", file.to_str().unwrap(), "--recipient", super::RECIPIENT]);
        let mut child = command.spawn().unwrap();
        host.wait_for("they stand still", || stand(&all));
        signal(nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap()), how).unwrap();
        let status = child.wait().unwrap();
        assert!(!status.success() && !file.exists(), "{status:?}");
        if how == Signal::SIGINT {
            assert_eq!(status.code(), Some(130));
            assert!(go(&all), "they stood still for nobody");
        } else {
            assert!(thaw(&host));
        }
    }
    let file = host.dir().join("backup");
    let _ = host.json(&["backup", "create", file.to_str().unwrap(), "--recipient", super::RECIPIENT]);
    let left = fs::read_dir(host.dir()).unwrap().flatten();
    let left: Vec<_> =
        left.filter(|it| it.file_name().to_string_lossy().starts_with(".cordon-backup")).collect();
    assert!(left.is_empty(), "a copy in the clear is left: {left:?}");
}
