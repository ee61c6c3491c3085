//! Turns: a message goes through confined processes and comes back.

use serde_json::Value;
use tests::{Host, Setup};

/// A command may take a second.
const HURRIED: &str = "[tool.bash]\neffect = \"write\"\nrelevant_args = [\"command\", \"cwd\"]\n\
    [tool.bash.execution]\nsandbox = \"container\"\ntimeout = 1000\n";

#[test]
fn an_echo_comes_back() {
    let host = Host::start();
    assert_eq!(host.chat("s", "echo: hello there"), "hello there");
}

#[test]
fn what_one_session_remembers_another_of_the_same_user_recalls() {
    let host = Host::start();
    let _ = host.chat("one", "remember: the harbour office opens at 07:40 on Tuesdays");
    assert!(host.chat("two", "recall harbour office").contains("07:40"));
}

#[test]
fn files_written_in_one_turn_are_read_and_searched_in_the_next() {
    let host = Host::start();
    let _ = host.chat("s", "write notes.md: the lighthouse keeper is called Ines");
    assert!(host.chat("s", "read notes.md").contains("Ines"));
    let answer = host.chat("s", "who is the lighthouse keeper?");
    assert!(answer.contains("Ines") && answer.contains("notes.md:1"), "{answer}");
    let other = host.chat("t", "read notes.md");
    assert!(!other.contains("Ines"), "another session's workspace was read: {other}");
}

// Holds P6-27.
#[test]
fn a_command_runs_in_the_jail_and_its_call_is_on_the_record() {
    let host = Host::start();
    let value = host.json(&["chat", "--session", "s", "-m", "run: echo $((6*7)) from $(hostname)"]);
    assert!(value["reply"].as_str().unwrap().contains("42 from AGENT"), "{value}");
    let call = &value["calls"][0];
    assert_eq!((call["tool"].as_str(), call["verdict"].as_str()), (Some("bash"), Some("run")));
    let tail = host.json(&["audit", "tail", "--from", &call["record"].to_string()]);
    let record = &tail["records"][0];
    assert_eq!((record["action"].as_str(), record["witness"].as_str()), (Some("tool_decided"), Some("gate")));
}

#[test]
fn a_person_attaches_their_directory_and_owns_what_the_agent_writes() {
    use std::os::unix::fs::MetadataExt;
    let host = Host::start();
    let folder = host.dir().join("mine");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("menu.txt"), "Thursday is soup day\n").unwrap();
    let path = folder.to_str().unwrap();
    let ask = |text: &str| {
        host.json(&["chat", "--session", "w", "--workspace", path, "-m", text])["reply"].to_string()
    };
    assert!(ask("what is on Thursday?").contains("soup day"));
    assert!(ask("write new.txt: mine").contains("new.txt"));
    let meta = std::fs::metadata(folder.join("new.txt")).unwrap();
    assert_eq!(meta.uid(), nix::unistd::geteuid().as_raw());
}

#[test]
fn a_directory_that_is_none_or_not_there_is_refused_by_name() {
    let host = Host::start();
    for path in ["/etc/hostname", "/no/such/folder"] {
        let value = host.ask(&["chat", "--workspace", path, "-m", "echo: x"]);
        assert_eq!(value["ok"], false, "{value}");
    }
}

// Holds P8-31.
#[test]
fn what_is_the_hosts_own_is_no_workspace_nor_what_has_it_in_it() {
    let host = Host::start();
    let state = host.state();
    for path in [state.as_path(), state.parent().unwrap()] {
        let refused = host.ask(&["chat", "--workspace", path.to_str().unwrap(), "-m", "echo: x"]);
        assert_eq!(refused["error"]["type"], "hosts_own", "{refused}");
    }
}

#[test]
fn unknown_sessions_agents_and_messages_are_answered_with_what_there_is() {
    let host = Host::start();
    let message = |value: Value| value["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message(host.ask(&["chat", "--agent", "nobody", "-m", "x"])).contains("default"));
    let _ = host.chat("harbour", "echo: x");
    assert!(message(host.ask(&["session", "show", "nothing"])).contains("harbour"));
}

#[test]
fn a_message_can_be_traced_through_every_state() {
    let host = Host::start();
    let _ = host.chat("s", "echo: x");
    let list = host.json(&["message", "list"]);
    let id = list["messages"][0]["id"].as_str().unwrap().to_owned();
    let trace = host.json(&["message", "trace", &id]);
    let states: Vec<&str> =
        trace["states"].as_array().unwrap().iter().filter_map(|state| state["state"].as_str()).collect();
    let expected = ["accepted", "queued", "running", "answered", "delivered"];
    assert!(expected.iter().all(|state| states.contains(state)), "{states:?}");
}

// Holds P8-15.
#[test]
fn a_canary_reaches_no_person_and_a_planted_instruction_gains_nothing() {
    let host = Host::start();
    let _ = host.chat("s", "remember: tea is at five");
    let turn = host.say("s", "run: env; cat /proc/self/environ; ls -la /proc/self/fd");
    host.approve(&host.question());
    let value = turn.ended();
    assert_eq!(value["ok"], true, "{value}");
    assert!(!value.to_string().contains("CANARY-"));
}

// Holds P5-29.
#[test]
fn a_programs_output_taints_its_session_and_later_memories_for_good() {
    let host = Host::start();
    let trust = |value: &Value| value["label"]["trust"].as_str().map(str::to_owned);
    let fresh = host.json(&["chat", "--session", "s", "-m", "echo: x"]);
    assert_eq!(trust(&fresh).as_deref(), Some("user"));
    let _ = host.chat("s", "run: echo the sky is green");
    host.kill_and_wait("router");
    let turn = host.say("s", "remember: the sky is green");
    host.approve(&host.question());
    let after = turn.ended();
    assert_eq!(trust(&after).as_deref(), Some("untrusted"));
    let recalled = host.json(&["chat", "--session", "clean", "-m", "recall sky"]);
    assert_eq!(trust(&recalled).as_deref(), Some("untrusted"), "a memory lost its label");
}

// Holds B-54.
#[test]
fn a_call_ends_by_the_time_that_its_tool_declares_and_the_turn_goes_on() {
    let host = Setup::default().config(HURRIED).start();
    let value = host.json(&[
        "chat",
        "--session",
        "s",
        "-m",
        "run: echo begun > ledger; sleep 60; echo late >> ledger",
    ]);
    assert_eq!(
        (&value["end"], &value["calls"][0]["verdict"]),
        (&"answered".into(), &"run".into()),
        "{value}"
    );
    let ledger = host.chat("s", "read ledger");
    assert!(ledger.contains("begun") && !ledger.contains("late"), "{ledger}");
}

/// The last remark on the way of the newest message.
fn waits_for(host: &Host) -> String {
    let listed = host.json(&["message", "list"]);
    let Some(id) = listed["messages"][0]["id"].as_str() else { return String::new() };
    let states = host.json(&["message", "trace", id])["states"].as_array().cloned().unwrap_or_default();
    states.last().and_then(|last| last["note"].as_str()).unwrap_or_default().to_owned()
}

// Holds P7-94.
#[test]
fn a_message_waits_for_a_held_model_and_is_answered_after_its_release() {
    let host = Host::start();
    let _ = host.json(&["hold", "model"]);
    let turn = host.say("s", "echo: at last");
    host.wait_for("the message says for what it waits", || {
        waits_for(&host).contains("agentctl release model")
    });
    assert_eq!(host.json(&["message", "list", "--dead"])["messages"], serde_json::json!([]));
    let _ = host.json(&["release", "model"]);
    assert_eq!(turn.ended()["reply"], "at last");
}

// Holds P8-27.
#[test]
fn a_turn_whose_gate_is_held_waits_and_is_answered_once_it_is_let_go() {
    let host = Host::start();
    let _ = host.chat("s", "write ledger: ");
    let _ = host.json(&["hold", "gate"]);
    let turn = host.say("s", "run: echo done >> ledger");
    host.wait_for("the message says for what it waits", || {
        waits_for(&host).contains("agentctl release gate")
    });
    host.wait_for("a turn that was begun", || {
        ["queued", "running"]
            .map(Into::into)
            .contains(&host.json(&["message", "list"])["messages"][0]["state"])
    });
    let _ = host.json(&["release", "gate"]);
    assert_eq!(turn.ended()["end"], "answered");
    assert_eq!(host.chat("s", "read ledger").matches("done").count(), 1);
}
