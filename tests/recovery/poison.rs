//! A message whose turn kills whatever answers it, and calls whose outcome was lost with their runner.

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use tests::{Host, Setup, kill, text};

/// Runners that may die of a message before it is given up.
const ATTEMPTS: u64 = 3;

fn shown(host: &Host, id: &str) -> Value {
    host.json(&["message", "show", id])["message"].clone()
}

fn dead(host: &Host) -> Vec<Value> {
    host.json(&["message", "list", "--dead"])["messages"].as_array().cloned().unwrap_or_default()
}

/// Kills the one runner there is, and waits until it is gone.
fn kill_runner(host: &Host) {
    host.wait_for("a runner", || !host.runners().is_empty());
    let pid = host.runners()[0];
    kill(pid);
    host.wait_for("it is gone", || !host.runners().contains(&pid));
}

// Holds P7-52.
#[test]
fn a_message_that_every_runner_dies_of_is_kept_and_its_person_can_mend_it() {
    let host = Setup::default().config("[agent.default]\nmodel = \"scripted/poison\"\n").start();
    host.script(
        "poison",
        &[
            json!({ "match": "mended", "pieces": [{ "text": "all is well" }] }),
            json!({ "pieces": [{ "delay_ms": 600_000 }, { "text": "never" }] }),
        ],
    );
    let turn = host.say("s", "a poisonous text");
    for _ in 0..ATTEMPTS {
        kill_runner(&host);
    }
    let ended = turn.ended();
    assert_eq!((&ended["ok"], &ended["end"]), (&json!(false), &json!("quarantined")), "{ended}");
    assert_eq!(ended["attempts"], ATTEMPTS, "{ended}");
    let letters = dead(&host);
    assert_eq!((letters.len(), &letters[0]["state"]), (1, &json!("quarantined")), "{letters:?}");
    let id = text(&letters[0], "id");
    assert_eq!(text(&shown(&host, &id), "text"), "a poisonous text");
    assert_eq!(host.recorded("message_quarantined").len(), 1);
    host.kill_and_wait("router");
    assert_eq!(text(&shown(&host, &id), "state"), "quarantined", "it does not come back by itself");

    let successor = requeue_edited(&host, &id, "sed -i s/poisonous/mended/ \"$1\"");
    host.wait_for("it is answered", || {
        ["answered", "delivered"].contains(&text(&shown(&host, &successor), "state").as_str())
    });
    let view = shown(&host, &successor);
    assert_eq!((&view["text"], &view["stands_for"]), (&json!("a mended text"), &json!(id)), "{view}");
    assert_eq!(view["finished"]["reply"], "all is well", "{view}");
    let old = shown(&host, &id);
    assert_eq!((&old["state"], &old["replaced_by"]), (&json!("requeued"), &json!(successor)), "{old}");
    assert!(dead(&host).is_empty());
    // A repeated request is answered with the same message.
    assert_eq!(text(&host.json(&["message", "requeue", &id]), "message"), successor);
    assert_eq!(host.recorded("message_requeued").len(), 1);
}

/// Requeues with an editor that does this, and gives the new message.
fn requeue_edited(host: &Host, id: &str, does: &str) -> String {
    let editor = host.dir().join("editor");
    std::fs::write(&editor, format!("#!/bin/sh\n{does}\n")).unwrap();
    std::fs::set_permissions(&editor, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = host.command(&["message", "requeue", id, "--edit", "--json"]);
    let output = command.env("VISUAL", &editor).output().unwrap();
    let accepted: Value = serde_json::from_slice(&output.stdout).unwrap();
    text(&accepted, "message")
}

// Holds P7-52.
#[test]
fn a_call_whose_outcome_was_lost_is_shown_as_unknown_with_what_to_do() {
    let host = Host::start();
    let turn = host.say("s", "run: echo once >> ledger; sleep 600");
    let mut id = String::new();
    host.wait_for("its call is under way", || {
        let listed = host.json(&["message", "list"]);
        id = listed["messages"][0]["id"].as_str().unwrap_or_default().to_owned();
        !id.is_empty() && shown(&host, &id)["calls"][0]["effect"] == "running"
    });
    kill_runner(&host);
    let ended = turn.ended();
    assert!(text(&ended, "reply").contains("not known"), "{ended}");
    let view = shown(&host, &id);
    let effects: Vec<&Value> = view["calls"].as_array().unwrap().iter().map(|call| &call["effect"]).collect();
    assert_eq!(effects, [&json!("unknown")], "{view}");
    assert!(text(&view["calls"][0], "advice").contains("may have taken effect"), "{view}");
    let output = host.ctl(&["message", "show", &id]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("may have taken effect"));
    assert!(host.chat("s", "read ledger").matches("once").count() <= 1);
}
