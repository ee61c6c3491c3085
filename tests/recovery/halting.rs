//! kill -9 in the middle of what a person asks of the queue: what was asked holds, once, and nothing comes back.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use tests::{Host, Setup, text};

/// Longer than any test waits: only a stop ends it.
const SLOW: &str = "run: sleep 600; echo never";

/// A host whose router dies at this point in its first life.
fn dying_at(point: &str, config: &str) -> Host {
    Setup::default().config(config).arguments(&["--fault", &format!("router:{point}")]).start()
}

fn died(host: &Host, point: &str) {
    host.wait_for(&format!("the router is back after {point}"), || {
        let router = host.process("router");
        router["restarts"] == 1 && router["state"] == "ready"
    });
}

fn messages(host: &Host) -> Vec<Value> {
    host.json(&["message", "list"])["messages"].as_array().cloned().unwrap_or_default()
}

fn all_in(host: &Host, states: &[&str]) -> bool {
    messages(host).iter().all(|it| it["state"].as_str().is_some_and(|state| states.contains(&state)))
}

// Holds P7-53.
#[test]
fn a_recalled_message_stays_so_at_whatever_step_router_dies() {
    for point in ["router.end.decided", "router.finish.recorded", "router.finish.committed"] {
        let host = dying_at(point, "");
        let _ = host.json(&["pause"]);
        let turn = host.say("s", "run: echo done > ledger");
        host.wait_for("it waits", || messages(&host).len() == 1 && all_in(&host, &["queued"]));
        let id = text(&messages(&host)[0], "id");
        assert_eq!(host.json(&["message", "recall", &id])["text"], "run: echo done > ledger", "{point}");
        died(&host, point);
        let _ = host.json(&["resume"]);
        assert_eq!(turn.ended()["end"], "recalled", "{point}");
        assert!(all_in(&host, &["recalled"]), "{point}: {:?}", messages(&host));
        assert_eq!(host.recorded("turn_started").len(), 0, "{point}");
        assert!(!host.chat("s", "read ledger").contains("done"), "{point}");
    }
}

// Holds P7-53.
#[test]
fn what_was_stopped_stays_so_whatever_step_of_it_the_router_dies_at() {
    for point in ["router.stop.committed", "router.finish.recorded", "router.finish.committed"] {
        let host = dying_at(point, "");
        let running = host.say("s", SLOW);
        host.wait_for("it runs", || messages(&host).len() == 1 && all_in(&host, &["running"]));
        let waiting = host.say("s", "run: echo done > ledger");
        host.wait_for("another waits", || host.json(&["queue"])["queue"]["waiting"] == 1);
        let _ = host.json(&["stop", "--session", "s"]);
        died(&host, point);
        for turn in [running, waiting] {
            assert_eq!(turn.ended()["end"], "cancelled", "{point}");
        }
        assert!(all_in(&host, &["cancelled"]), "{point}: {:?}", messages(&host));
        host.wait_for("no runner is left", || host.runners().is_empty());
        // An end that was on the record when the router died, and not durable yet, is recorded once more.
        let ends: BTreeSet<String> =
            host.recorded("turn_ended").iter().map(|end| text(end, "turn")).collect();
        assert_eq!(ends.len(), 2, "{point}");
        assert!(!host.chat("s", "read ledger").contains("done"), "{point}");
    }
}

// Holds P7-53.
#[test]
fn a_pause_holds_though_the_router_died_as_it_was_kept() {
    let point = "router.pause.committed";
    let host = dying_at(point, "");
    let _ = host.json(&["pause"]);
    died(&host, point);
    assert_eq!(host.json(&["queue"])["queue"]["paused"], true);
    let turn = host.say("s", "echo: x");
    host.wait_for("it waits", || messages(&host).len() == 1 && all_in(&host, &["queued"]));
    let _ = host.json(&["resume"]);
    assert_eq!(turn.ended()["end"], "answered");
}

// Holds P7-53.
#[test]
fn a_dead_letter_is_requeued_once_though_router_died_meanwhile() {
    let point = "router.requeue.committed";
    let host = dying_at(point, "[agent.default]\nmodel = \"scripted/broken\"\n");
    host.script(
        "broken",
        &[
            json!({ "match": "mended", "pieces": [{ "text": "all is well" }] }),
            json!({ "pieces": [{ "error": "invalid_json" }] }),
        ],
    );
    let failed = host.ask(&["chat", "--session", "s", "-m", "a broken text"]);
    assert_eq!(failed["end"], "failed", "{failed}");
    let id = text(&host.json(&["message", "list", "--dead"])["messages"][0], "id");
    let requeued = host.json(&["message", "requeue", &id, "--text", "a mended text"]);
    died(&host, point);
    host.wait_for("it is answered", || all_in(&host, &["requeued", "answered", "delivered"]));
    let found = messages(&host);
    assert_eq!((found.len(), &found[0]["id"]), (2, &requeued["message"]), "{found:?}");
    assert_eq!(host.recorded("message_accepted").len(), 2);
}
