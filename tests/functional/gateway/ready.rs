//! Answers to clients while a process that they need does not serve: by `/readyz`, and where an agent's turn waits.

use super::{on_tcp, said};
use nix::sys::signal::Signal;
use serde_json::json;
use tests::signal;

// Holds P7-87.
#[test]
fn whether_it_is_ready_is_said_of_every_process_that_an_answer_needs() {
    let (host, way) = on_tcp("", &[]);
    let ready = || {
        let answer = way.get("/readyz");
        (answer.status, answer.body)
    };
    host.wait_for("it is ready", || ready().0 == 200);
    for process in ["audit", "scanner", "model", "credproxy", "router", "gate"] {
        let _ = host.json(&["hold", process]);
        host.wait_for(process, || {
            let (status, body) = ready();
            status == 503 && body.starts_with("waiting for ") && body.contains(process)
        });
        let _ = host.json(&["release", process]);
        host.wait_for("it is ready again", || ready() == (200, "ready\n".to_owned()));
    }
    // One that is there and says nothing serves as little.
    let scanner = host.pid("scanner");
    signal(scanner, Signal::SIGSTOP);
    host.wait_for("scanner", || ready() == (503, "waiting for scanner\n".to_owned()));
    signal(scanner, Signal::SIGCONT);
    host.wait_for("it is ready again", || ready().0 == 200);
}

// Holds P7-91.
#[test]
fn a_client_whose_agent_waits_for_the_record_is_told_and_its_turn_kept() {
    let (host, way) = on_tcp("", &[]);
    for (path, body, code) in [
        ("/v1/chat/completions", json!({"model": "agent/default", "messages": said("echo: one")}), 503),
        (
            "/v1/messages",
            json!({"model": "agent/default", "max_tokens": 9, "stream": true, "messages": said("echo: one")}),
            529,
        ),
    ] {
        let _ = host.json(&["hold", "audit"]);
        let key = format!("Idempotency-Key: {code}\r\n");
        let told = way.post_with(path, &key, &body);
        assert_eq!(told.status, code, "{}", told.body);
        assert!(told.body.contains("waits for audit"), "{}", told.body);
        assert!(told.head.contains("x-should-retry: false"), "{}", told.head);
        let _ = host.json(&["release", "audit"]);
        let answered = way.post_with(path, &key, &body);
        assert_eq!((answered.status, answered.body.contains("one")), (200, true), "{}", answered.body);
    }
    assert_eq!(host.json(&["message", "list"])["messages"].as_array().unwrap().len(), 2);
}

// Holds P7-91.
#[test]
fn a_client_is_not_told_of_absent_processes_its_turn_does_not_need() {
    let (host, way) = on_tcp("[agent.slow]\nmodel = \"scripted/slow\"\n", &[]);
    let pieces = json!([{"delay_ms": 26_000}, {"text": "at last"}]);
    host.script("slow", &[json!({ "pieces": pieces })]);
    // A model that runs in this host needs no way out, and asks nobody else before it answers.
    let _ = host.json(&["hold", "credproxy"]);
    let answered = way.post("/v1/chat/completions", &json!({"model": "agent/slow", "messages": said("go")}));
    assert_eq!((answered.status, answered.body.contains("at last")), (200, true), "{}", answered.body);
}
