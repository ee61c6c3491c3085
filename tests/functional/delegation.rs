//! Tasks that an agent hands to another: the answer comes back with its label, nothing in the task's turn may do more than the turn above,
//! and both end together.

use serde_json::{Value, json};
use tests::{Host, Setup, call, planned, script};

/// A lead that may hand tasks to `helper`, and knows `read`, `write` and `bash`.
fn host(lead: &str, helper: &str) -> Host {
    Setup::default()
        .config(&format!(
            "[agent.lead]\nmodel = \"scripted/lead\"\nprofile = \"power-user\"\ndelegates = [\"helper\"]\n{lead}\n\
             [agent.helper]\nmodel = \"scripted/helper\"\nprofile = \"power-user\"\n{helper}\n"
        ))
        .start()
}

const WORDS: [&str; 6] = ["--agent", "lead", "--session", "s", "-m", "do it"];

fn chat(host: &Host) -> Value {
    host.ask(&[&["chat"][..], &WORDS].concat())
}

fn delegate(args: &Value) -> Value {
    call("delegate", args)
}

/// The transcript of session `s`.
fn said(host: &Host) -> String {
    host.json(&["session", "show", "s"]).to_string()
}

// Holds P7-100.
#[test]
fn an_agent_gets_the_answer_of_another_that_works_in_its_workspace() {
    let host = host("", "");
    let calls = [
        call("write", &json!({ "path": "list.txt", "content": "three boats" })),
        delegate(&json!({ "agent": "helper", "task": "what is in list.txt?" })),
    ];
    host.script("lead", &planned(&["write", "delegate"], &calls));
    host.script(
        "helper",
        &[
            json!({ "match": "three boats", "pieces": [{ "text": "It says: three boats." }] }),
            json!({ "pieces": [call("read", &json!({ "path": "list.txt" }))] }),
        ],
    );
    let ended = chat(&host);
    assert_eq!(ended["ok"], true, "{ended}\n{}", host.log());
    let said = said(&host);
    assert!(said.contains("It says: three boats."), "{said}\n{}", host.log());
    let turn = ended["turn"].as_str().unwrap_or_default().to_owned();
    let tree = host.json(&["tree", &turn]);
    let turns = tree["turns"].as_array().cloned().unwrap_or_default();
    let shown: Vec<_> = turns.iter().map(|turn| (turn["agent"].clone(), turn["depth"].clone())).collect();
    assert_eq!(shown, [(json!("lead"), json!(0)), (json!("helper"), json!(1))], "{tree}");
    assert!(host.recorded("message_accepted").iter().any(|entry| entry["reason"] == "delegation"));
}

// Holds P7-100.
#[test]
fn tasks_run_at_once_and_are_collected_by_their_handles() {
    let host = host("", "");
    let slow = |task: &str| delegate(&json!({ "agent": "helper", "task": task, "wait": false }));
    let pieces = [slow("one"), slow("two"), slow("three")];
    host.script(
        "lead",
        &[
            json!({ "match": "## ", "pieces": [{ "text": "all are there" }] }),
            json!({ "match": "The handle", "pieces": [{ "text": "nothing was collected" }] }),
            json!({ "pieces": pieces }),
        ],
    );
    host.script("helper", &[json!({ "pieces": [{ "delay_ms": 1000, "text": "done" }] })]);
    let ended = chat(&host);
    assert_eq!(ended["reply"], "nothing was collected", "{ended}\n{}", host.log());
    let said = said(&host);
    assert_eq!(said.matches("The handle, for collect").count(), 3, "{said}");
    host.wait_for("what was not collected is cancelled", || {
        let tree = host.json(&["tree", ended["turn"].as_str().unwrap_or_default()]).to_string();
        tree.matches("cancelled").count() == 3
    });
}

// Holds P5-73.
#[test]
fn a_task_may_do_no_more_than_the_turn_that_handed_it_out() {
    let host = host("tools = [\"read\"]", "");
    host.script("lead", &script(&[delegate(&json!({ "agent": "helper", "task": "write it" }))]));
    host.script("helper", &script(&[call("write", &json!({ "path": "x", "content": "y" }))]));
    let ended = chat(&host);
    assert_eq!(ended["ok"], true, "{ended}\n{}", host.log());
    assert!(said(&host).contains("that is all"), "{}\n{}", said(&host), host.log());
    let refused = host.recorded("tool_decided");
    let refused = refused.iter().filter(|entry| entry["subject"] == "write" && entry["result"] == "blocked");
    assert_eq!(refused.count(), 1);
}

// Holds P5-74.
#[test]
fn what_a_task_read_taints_the_turn_that_handed_it_out() {
    let host = host("", "");
    let calls = [
        delegate(&json!({ "agent": "helper", "task": "run it" })),
        call("write", &json!({ "path": "x", "content": "y" })),
    ];
    host.script("lead", &planned(&["delegate", "bash", "write"], &calls));
    let echo = |word: &str| call("bash", &json!({ "command": format!("echo {word}") }));
    host.script("helper", &script(&[echo("one"), echo("two")]));
    let ended = chat(&host);
    assert_eq!(ended["ok"], true, "a task has the plan of the turn above: {ended}");
    let session = host.json(&["session", "show", "s"]);
    assert_eq!(session["session"]["label"]["trust"], "untrusted", "{session}\n{}", host.log());
}

// Holds P7-101.
#[test]
fn a_cancelled_turn_ends_its_tasks_and_their_jails() {
    let host = host("", "");
    host.script("lead", &script(&[delegate(&json!({ "agent": "helper", "task": "wait" }))]));
    host.script("helper", &script(&[call("bash", &json!({ "command": "sleep 50" }))]));
    let turn = host.say_with(&WORDS);
    host.wait_for("the task's command runs", || {
        host.recorded("tool_decided").iter().any(|entry| entry["subject"] == "bash")
    });
    assert_eq!(host.ask(&["stop", "--session", "s"])["ok"], true);
    drop(turn.ended());
    host.wait_for("every message is over", || {
        let queue = host.json(&["queue"]);
        queue["queue"]["running"] == 0 && queue["queue"]["waiting"] == 0
    });
    let states: Vec<String> = host.json(&["message", "list"])["messages"]
        .as_array()
        .map(|all| all.iter().map(|one| tests::text(one, "state")).collect())
        .unwrap_or_default();
    assert_eq!(states, ["cancelled", "cancelled"]);
}

// Holds P5-74.
#[test]
fn a_task_that_read_something_foreign_asks_the_person_and_says_for_whom() {
    let host = host("", "");
    host.script(
        "lead",
        &planned(&["delegate"], &[delegate(&json!({ "agent": "helper", "task": "run it" }))]),
    );
    let echo = |word: &str| call("bash", &json!({ "command": format!("echo {word}") }));
    host.script("helper", &script(&[echo("one"), echo("two")]));
    let turn = host.say_with(&WORDS);
    let id = host.question();
    let question = host.approval(&id).to_string();
    assert!(question.contains("helper does it for lead"), "{question}");
    host.approve(&id);
    assert_eq!(turn.ended()["ok"], true);
    assert!(said(&host).contains("that is all"), "{}", said(&host));
}
