//! Questions of servers: a person answers them, in the middle of a call, and no model does.

use super::{approved, outcome};
use serde_json::{Value, json};
use std::net::TcpListener;
use tests::{Chatting, Host, text};

/// Has the agent call a tool of the server that asks a person.
fn says(host: &Host, tool: &str, args: &Value) -> Chatting {
    host.say("s", &format!("echo: please !!CALL own__{tool} {args}!!"))
}

/// The question that waits: its id, and what the person is shown.
fn shown(host: &Host) -> (String, Value) {
    let id = host.question();
    let shown = host.approval(&id);
    let action: Value = serde_json::from_str(&text(&shown, "action")).unwrap();
    assert_eq!(shown["tool"], "mcp_ask", "{shown}");
    assert!(
        text(&shown, "reason").contains("the MCP server own asks you, not Cordon and not your agent"),
        "{shown}"
    );
    (id, action["args"].clone())
}

// Holds P1-62.
#[test]
fn a_form_of_a_server_is_filled_in_by_a_person_and_reaches_it() {
    let host = approved("seconds = 2", "[policy]\napproval_seconds = 60\n");
    let turn = says(&host, "book", &json!({}));
    let (id, args) = shown(&host);
    assert_eq!((&args["server"], &args["message"]), (&json!("own"), &json!("Who travels?")), "{args}");
    let fields: Vec<String> =
        args["fields"].as_array().unwrap().iter().map(|field| text(field, "name")).collect();
    assert!(fields.len() == 3 && fields.contains(&"who".to_owned()), "{args}");
    // Longer than the server may take for a call.
    std::thread::sleep(std::time::Duration::from_secs(3));
    for wrong in [&["--set", "seats=many"][..], &["--set", "other=1"], &[]] {
        let words: Vec<&str> = ["approvals", "approve", &id, "--yes"].iter().chain(wrong).copied().collect();
        assert_eq!(host.ask(&words)["ok"], false, "{wrong:?}");
    }
    let _ = host
        .json(&["approvals", "approve", &id, "--yes", "--set", "who=Ada Lovelace", "--set", "class=first"]);
    let (verdict, reply) = outcome(&turn.ended());
    assert_eq!(verdict, "run");
    let content = r#"{"action": "accept", "content": {"class": "first", "seats": 2, "who": "Ada Lovelace"}}"#;
    assert!(reply.contains(content), "{reply}\n{}", host.log());
    assert_eq!(host.approval(&id)["state"], "claimed");
    assert_eq!((host.recorded("approval_asked").len(), host.recorded("approval_answered").len()), (1, 1));
}

// Holds P1-62.
#[test]
fn what_a_person_denies_or_never_answers_no_server_gets() {
    let host = approved("", "[policy]\napproval_seconds = 10\n");
    let turn = says(&host, "book", &json!({}));
    host.deny(&shown(&host).0);
    let (_, reply) = outcome(&turn.ended());
    assert!(reply.contains(r#"{"action": "decline"}"#), "{reply}\n{}", host.log());
    let (_, reply) = outcome(&says(&host, "book", &json!({"text": "again"})).ended());
    assert!(reply.contains(r#"{"action": "cancel"}"#), "{reply}\n{}", host.log());
    // Outside of a turn nobody is asked.
    let read = host.json(&["mcp", "resource", "own", "memo://asks"]);
    assert_eq!(read["text"], r#"{"action": "cancel"}"#, "{read}");
}

// Holds P1-62.
#[test]
fn an_address_of_a_server_is_shown_and_nothing_opens_it() {
    let page = TcpListener::bind(("127.0.0.2", 0)).unwrap();
    page.set_nonblocking(true).unwrap();
    let url = format!("http://127.0.0.2:{}/sign-in", page.local_addr().unwrap().port());
    let host = approved("", "");
    let turn = says(&host, "visit", &json!({ "text": url }));
    let (id, args) = shown(&host);
    assert_eq!(args["url"], url.as_str(), "{args}");
    host.approve(&id);
    let (_, reply) = outcome(&turn.ended());
    assert!(reply.contains(r#"{"action": "accept"}"#), "{reply}\n{}", host.log());
    assert!(page.accept().is_err(), "nothing went there");
}

// Holds P1-62, P12-43.
#[test]
fn a_server_asks_nobody_in_the_turn_of_a_job() {
    let host = approved("", "[scheduler]\nenabled = true\n");
    let words =
        ["schedule", "at", "2099-01-01T00:00Z", "--name", "booking", "echo: please !!CALL own__book {}!!"];
    let _ = host.json(&words);
    let _ = host.json(&["schedule", "run", "booking"]);
    let mut said = String::new();
    host.wait_for("the job is answered", || {
        said = host.json(&["session", "show", "job:booking"]).to_string();
        said.contains("gave back")
    });
    assert!(said.contains("cancel"), "{said}\n{}", host.log());
    assert!(host.recorded("approval_asked").is_empty());
}

// Holds P7-99.
#[test]
fn a_gate_that_dies_while_a_server_asks_gives_its_call_out_as_unknown() {
    let host = approved("", "");
    let turn = says(&host, "book", &json!({}));
    let (id, _) = shown(&host);
    host.kill_and_wait("gate");
    let (_, reply) = outcome(&turn.ended());
    assert!(reply.contains("[UNKNOWN]"), "{reply}\n{}", host.log());
    assert_eq!(host.approval(&id)["state"], "void", "its answer would reach nobody");
}
