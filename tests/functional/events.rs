//! Events for observers: each named event, and each entry of the record that stands for an observer's event, of the
//! act itself through real processes.

use serde_json::{Value, json};
use tests::{Host, Setup, text};

const AGENTS: &str = "\
[agent.broken]
model = \"scripted/broken\"
[tool.bash]
effect = \"write\"
relevant_args = [\"command\", \"cwd\"]
[tool.bash.approval]
danger_patterns = [\"PLEASE\"]
[tool.bash.execution]
sandbox = \"container\"
";

/// The named events of a session, each with its detail.
fn told(host: &Host, session: &str) -> Vec<(String, Option<String>)> {
    let shown = host.json(&["session", "show", session]);
    let id = text(&shown["session"], "id");
    let events = host.json(&["events"])["events"].as_array().cloned().unwrap_or_default();
    let of_session = events.into_iter().filter(|event| event["session"] == id.as_str());
    of_session.map(|event| (text(&event, "name"), event["detail"].as_str().map(str::to_owned))).collect()
}

fn named(names: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
    names.iter().map(|(name, detail)| ((*name).to_owned(), detail.map(str::to_owned))).collect()
}

#[test]
fn every_named_event_is_told_of_its_act_and_in_order() {
    let host = Setup::default().config(AGENTS).start();
    host.script("broken", &[json!({ "pieces": [{ "error": "invalid_json" }] })]);
    let turn = host.say("s", "run: echo yes # PLEASE");
    host.approve(&host.question());
    assert_eq!(turn.ended()["end"], "answered");
    let _ = host.json(&["pause", "--session", "s"]);
    let turn = host.say("s", "echo: taken back");
    host.wait_for("it waits", || host.json(&["queue"])["queue"]["waiting"] == 1);
    let id = text(&host.json(&["message", "list"])["messages"][0], "id");
    let _ = host.json(&["message", "recall", &id]);
    assert_eq!(turn.ended()["end"], "recalled");
    let _ = host.json(&["session", "end", "s"]);
    let expected = [
        ("session.started", None),
        ("message.received", None),
        ("message.queued", None),
        ("message.processing", None),
        ("tool.approval.requested", None),
        ("tool.approval.response", Some("approved")),
        ("tool.execution.started", None),
        ("tool.execution.completed", Some("success")),
        ("message.sent", None),
        ("message.received", None),
        ("message.queued", None),
        ("message.recalled", None),
        ("session.ended", Some("user_ended")),
    ];
    assert_eq!(told(&host, "s"), named(&expected));
    let failed = host.ask(&["chat", "--session", "b", "--agent", "broken", "-m", "x"]);
    assert_eq!(failed["end"], "failed", "{failed}");
    assert_eq!(told(&host, "b").last(), named(&[("message.failed", Some("failed"))]).first());
}

/// The entries of this action and session, in order.
fn on_record(host: &Host, session: &str, action: &str) -> Vec<Value> {
    let mut found = host.recorded(action);
    found.retain(|entry| entry["session"] == session);
    found
}

#[test]
fn each_event_of_an_observer_is_on_the_record_of_its_act() {
    let host = Setup::default().config(AGENTS).start();
    host.script("broken", &[json!({ "pieces": [{ "error": "invalid_json" }] })]);
    let _ = host.chat("s", "run: exit 3");
    let _ = host.json(&["session", "end", "s"]);
    let id = text(&host.json(&["session", "show", "s"])["session"], "id");
    let of = |action: &str| on_record(&host, &id, action);
    for action in ["message_accepted", "answer_released", "session_ended"] {
        assert_eq!(of(action).len(), 1, "{action}");
    }
    let (decided, ended) = (of("tool_decided"), of("tool_ended"));
    assert_eq!((decided.len(), ended.len()), (1, 1));
    assert_eq!((&ended[0]["call"], &ended[0]["subject"]), (&decided[0]["call"], &json!("bash")));
    assert!(ended[0]["duration_ms"].is_u64() && ended[0]["result"].is_string(), "{ended:?}");
    let (asked, answered) = (of("model_decided"), of("model_ended"));
    assert!(!answered.is_empty() && asked.len() == answered.len(), "{asked:?} {answered:?}");
    let last = answered.last().unwrap();
    assert!(
        last["subject"].is_string() && last["duration_ms"].is_u64() && last["tokens"].is_object(),
        "{last}"
    );
    // An error, wherever it comes from, is an entry with that result.
    let _ = host.ask(&["chat", "--session", "b", "--agent", "broken", "-m", "x"]);
    let failed = host.json(&["audit", "query", "--result", "error"]);
    let actions: Vec<String> =
        failed["records"].as_array().unwrap().iter().map(|entry| text(entry, "action")).collect();
    assert!(actions.contains(&"turn_ended".to_owned()), "{actions:?}");
}
