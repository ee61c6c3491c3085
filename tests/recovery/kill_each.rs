//! Every process killed, one after the other and in the middle of a turn: it comes back, and so does the answer.

use std::process::Stdio;
use std::time::Duration;
use tests::{Host, Setup, kill};

fn actors() -> impl Iterator<Item = &'static str> {
    manifest::TABLE
        .iter()
        .map(|row| row.process)
        .filter(|process| manifest::is_actor(*process))
        .map(manifest::Process::name)
}

// Holds P7-04.
#[test]
fn every_killed_process_comes_back_and_nothing_that_was_said_is_lost() {
    let host = Setup::default().every_process().start();
    let _ = host.chat("first", "remember: the harbour office opens at 07:40");
    for name in actors() {
        host.kill_and_wait(name);
        assert!(host.chat(&format!("after-{name}"), "recall harbour office").contains("07:40"), "{name}");
    }
    assert!(host.json(&["audit", "verify"])["ok"] == true);
    for name in actors() {
        assert_eq!(host.process(name)["restarts"], 1, "{name}");
    }
}

// Holds P7-04.
#[test]
fn a_turn_outlives_the_death_of_every_process_in_its_middle() {
    let host = Setup::default().every_process().start();
    for name in actors() {
        let text = format!("run: sleep 1; echo {name} was killed");
        let turn = host
            .command(&["chat", "--session", name, "-m", &text, "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(500));
        kill(host.pid(name));
        let output = turn.wait_with_output().unwrap();
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        assert_eq!(value["ok"], true, "{name}: {value}");
        let reply = value["reply"].as_str().unwrap_or_default();
        // A command that was running when its gate died is not run again: its outcome is shown as unknown.
        let expected = if name == "gate" {
            reply.contains("outcome is not known") || reply.contains("was killed")
        } else {
            reply.contains(&format!("{name} was killed"))
        };
        assert!(expected, "{name}: {reply}");
    }
}

// Holds P7-05.
#[test]
fn a_killed_runner_is_replaced_and_its_command_is_not_run_again() {
    let host = Host::start();
    let text = "run: echo once >> count; sleep 2; echo done";
    let turn = host
        .command(&["chat", "--session", "s", "-m", text, "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    host.wait_for("a runner", || !host.runners().is_empty());
    std::thread::sleep(Duration::from_millis(700));
    kill(host.runners()[0]);
    let value: serde_json::Value = serde_json::from_slice(&turn.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!((value["ok"].as_bool(), value["attempts"].as_u64()), (Some(true), Some(2)), "{value}");
    assert!(value["reply"].as_str().unwrap().contains("not known"), "{value}");
    assert_eq!(host.chat("s", "read count").matches("once").count(), 1);
}

// Holds P7-08.
#[test]
fn a_killed_host_takes_its_turns_up_again_and_answers_each_once() {
    let state = tempfile::Builder::new().prefix("cordon-state-").tempdir().unwrap();
    std::os::unix::fs::chown(state.path(), None, None).unwrap();
    let folder = state.path().join("state");
    let mut host = tests::Setup::default().state(&folder).start();
    let turns: Vec<_> = (0..4)
        .map(|n| {
            let (session, text) = (format!("s{n}"), format!("run: sleep 1; echo answer {n}"));
            host.command(&["chat", "--session", &session, "-m", &text])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    host.wait_for("four messages", || {
        host.json(&["message", "list"])["messages"].as_array().is_some_and(|list| list.len() == 4)
    });
    kill(host.agentd());
    host.wait();
    for mut turn in turns {
        drop(turn.kill());
        drop(turn.wait());
    }
    let host = tests::Setup::default().state(&folder).start();
    let terminal = ["answered", "delivered", "failed", "cancelled", "blocked"];
    host.wait_for("every message has ended", || {
        let list = host.json(&["message", "list"]);
        list["messages"]
            .as_array()
            .unwrap()
            .iter()
            .all(|message| terminal.contains(&message["state"].as_str().unwrap()))
    });
    let list = host.json(&["message", "list"]);
    let states: Vec<&str> =
        list["messages"].as_array().unwrap().iter().filter_map(|message| message["state"].as_str()).collect();
    assert!(states.len() == 4 && states.iter().all(|state| *state == "answered"), "{states:?}");
    assert!(host.json(&["audit", "verify"])["ok"] == true);
}
