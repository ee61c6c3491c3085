//! The memory tools over HTTP: the same keys, hosts, origins and bounds as every other route, and the memory of whoever
//! holds the key.

use super::client::{Answer, Way, connect};
use super::{new_key, on_tcp};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use tests::{Host, Setup, text};

const HEADERS: &str = "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n";

fn message(tool: &str, arguments: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } })
}

fn post(way: &Way, path: &str, headers: &str, tool: &str, arguments: &Value) -> Answer {
    way.post_with(path, &format!("{HEADERS}{headers}"), &message(tool, arguments))
}

fn call(way: &Way, path: &str, tool: &str, arguments: &Value) -> Value {
    post(way, path, "", tool, arguments).json()["result"]["structuredContent"].clone()
}

// Holds P3-23.
#[test]
fn a_key_reaches_its_owners_memory_and_one_bound_to_agents_none() {
    let (host, way) = on_tcp("[agent.helper]\n", &[]);
    let made = json!({ "title": "the lamp", "type": "decision", "narrative": "lit at dusk" });
    let created = call(&way, "/mcp?project=harbour", "mem-create", &made);
    let id = text(&created["data"], "id");
    let found = call(&Way::unix(&host), "/mcp", "mem-find", &json!({ "query": "dusk" }));
    assert_eq!(found["data"]["results"][0]["id"], id, "{found}");
    assert_eq!(found["data"]["results"][0]["trust"], "untrusted", "{found}");
    let elsewhere = call(&way, "/mcp?project=other", "mem-find", &json!({ "query": "dusk" }));
    assert_eq!(elsewhere["data"]["results"], json!([]), "{elsewhere}");
    let none = call(&way, "/mcp", "mem-find", &json!({ "query": "dusk", "scope": "project" }));
    assert_eq!(none["error"]["details"]["valid"], json!(["user", "all"]), "{none}");

    let Way::Tcp(port, _) = way else { panic!("it is on TCP") };
    let narrow = Way::Tcp(port, new_key(&host, "narrow", &["--agent", "helper"]));
    let refused = call(&narrow, "/mcp", "mem-find", &json!({ "query": "dusk" }));
    assert_eq!(refused["error"]["code"], "LOCKED_BY_ENV", "{refused}");
    let folder =
        call(&Way::unix(&host), "/mcp", "mem-maintenance", &json!({ "action": "folderContextClean" }));
    assert_eq!(folder["error"]["code"], "LOCKED_BY_ENV", "{folder}");
}

// Holds P3-23.
#[test]
fn the_door_is_that_of_every_other_route() {
    let (_host, way) = on_tcp("max_body = 65536\n", &[]);
    let asked = json!({ "query": "dusk" });
    let wrong = |headers: &str| post(&way, "/mcp", headers, "mem-find", &asked).status;
    assert_eq!(wrong("Origin: http://evil.test\r\n"), 403);
    assert_eq!(wrong("Host: evil.test\r\n"), 421);
    assert_eq!(way.get("/mcp").status, 405);
    assert_eq!(post(&way, "/mcp?user=root", "", "mem-find", &asked).status, 400);
    assert_eq!(post(&way, "/mcp?project=a&project=b", "", "mem-find", &asked).status, 400);
    let large = json!({ "query": "x".repeat(70_000) });
    assert_eq!(post(&way, "/mcp", "", "mem-find", &large).status, 413);
    let Way::Tcp(port, _) = way else { panic!("it is on TCP") };
    let nobody = Way::Tcp(port, "cdn_nobody".to_owned());
    assert_eq!(post(&nobody, "/mcp", "", "mem-find", &asked).status, 401);
}

// Holds P3-24.
#[test]
fn what_is_no_message_of_the_protocol_is_answered_as_the_protocol_says() {
    let (_host, way) = on_tcp("", &[]);
    let said = |body: &str| {
        let answer = way.post_text("/mcp", HEADERS, "application/json", body.to_owned());
        assert!(answer.head.contains("content-type: application/json"), "{body}: {}", answer.head);
        let document = answer.document();
        (answer.status, document["error"]["code"].as_i64(), document["id"].clone())
    };
    for (body, status, code, id) in [
        ("{bad", 400, -32700, Value::Null),
        ("[]", 400, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1}"#, 200, -32600, json!(1)),
        (r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}"#, 200, -32602, json!(2)),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"mem-help","arguments":[1]}}"#,
            200,
            -32602,
            json!(3),
        ),
    ] {
        assert_eq!(said(body), (status, Some(code), id), "{body}");
    }
    let refused = |of_type: &str, headers: &str| {
        let message = message("mem-help", &json!({})).to_string();
        let answer = way.post_text("/mcp", headers, of_type, message);
        (answer.status, answer.document()["error"]["code"].as_i64())
    };
    let json = "application/json";
    assert_eq!(refused(json, "Accept: text/html\r\n"), (406, Some(-32600)));
    assert_eq!(refused("text/plain", HEADERS), (415, Some(-32600)));
    let old = HEADERS.replace("2025-06-18", "1999-01-01");
    assert_eq!(refused(json, &old), (400, Some(-32600)));
    let half = r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"mem-find","arguments":{"query":"\ud83d"}}}"#;
    assert_eq!(said(half), (200, None, json!(4)), "half a character is no reason for silence");
}

// Holds P5-46.
#[test]
fn what_a_client_reads_is_decided_and_on_the_record_without_a_word_of_it() {
    let (host, way) = on_tcp("", &[]);
    let made = json!({ "title": "the lamp", "type": "decision", "narrative": "lit at dusk by the quince" });
    let id = text(&call(&way, "/mcp", "mem-create", &made)["data"], "id");
    let found = call(&way, "/mcp", "mem-find", &json!({ "query": "dusk" }));
    assert_eq!(found["data"]["results"][0]["id"], id, "{found}");
    let whole = call(&way, "/mcp", "mem-get", &json!({ "ids": [id] }));
    assert_eq!(whole["data"]["observations"][0]["narrative"], "lit at dusk by the quince", "{whole}");
    let of = |action: &str, tool: &str| {
        let records = host.recorded(action);
        let found = records.iter().find(|it| it["subject"] == tool);
        found.unwrap_or_else(|| panic!("no {action} of {tool}: {records:?}")).clone()
    };
    for tool in ["memory_query", "memory_read"] {
        let (decided, ended) = (of("tool_decided", tool), of("tool_ended", tool));
        assert_eq!((&decided["call"], &decided["result"]), (&ended["call"], &json!("success")));
        assert!(decided["reason"].as_str().unwrap().starts_with("key "), "{decided}");
        assert!(ended["bytes"].as_u64().unwrap() > 20 && ended["content_hash"].is_string(), "{ended}");
        assert_eq!(ended["label"]["trust"], "untrusted", "{ended}");
    }
    assert!(!host.json(&["audit", "tail", "--from", "0"]).to_string().contains("quince"));
    let file = host.dir().join("mine.cedar");
    let mine = r#"@id("no-reading") @reason("nobody reads whole") forbid (principal, action, resource)
        when { context.tool == "memory_read" };"#;
    std::fs::write(&file, mine).unwrap();
    let _ = host.json(&["policy", "set", "mine", file.to_str().unwrap()]);
    let refused = call(&way, "/mcp", "mem-get", &json!({ "ids": [id] }));
    assert!(refused["error"]["message"].as_str().unwrap().contains("no-reading"), "{refused}");
    let decided = host.recorded("tool_decided");
    let blocked = decided.iter().filter(|it| it["subject"] == "memory_read" && it["result"] == "blocked");
    assert_eq!(blocked.count(), 1, "{decided:?}");
}

/// A question whose answer nobody takes yet: by hand, since a library takes some of it by itself.
fn unread(host: &Host, tool: &str, arguments: &Value) -> UnixStream {
    let body = message(tool, arguments).to_string();
    let headers = format!("Connection: close\r\nContent-Type: application/json\r\n{HEADERS}");
    let length = body.len();
    let head = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n");
    let mut stream = connect(host);
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream
}

// Holds B-158.
#[test]
fn a_client_that_reads_no_large_answers_has_no_more_than_its_share() {
    let host = Setup::default().start();
    let way = Way::unix(&host);
    let narrative = "lit at dusk by the quince ".repeat(2000);
    let made = |n: usize| json!({ "title": format!("lamp {n}"), "type": "decision", "narrative": narrative });
    let ids: Vec<String> =
        (0..12).map(|n| text(&call(&way, "/mcp", "mem-create", &made(n))["data"], "id")).collect();
    // More than sockets hold.
    let large = json!({ "ids": ids });
    let mut taken: Vec<UnixStream> = Vec::new();
    for _ in 0..3 {
        let mut stream = unread(&host, "mem-get", &large);
        stream.read_exact(&mut [0; 12]).unwrap();
        taken.push(stream);
    }
    let mut waiting: Vec<UnixStream> = (0..4).map(|_| unread(&host, "mem-get", &large)).collect();
    waiting[0].set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(waiting[0].read(&mut [0; 12]).is_err(), "it has no more than its share");
    let mut whole = Vec::new();
    taken.remove(0).read_to_end(&mut whole).unwrap();
    assert!(whole.len() > 12 * narrative.len(), "{}", whole.len());
    // The order of the waiting ones does not matter.
    for stream in &waiting {
        stream.set_nonblocking(true).unwrap();
    }
    let mut status = [0; 12];
    host.wait_for("the place is free once its answer was taken", || {
        waiting.iter_mut().any(|stream| stream.read_exact(&mut status).is_ok())
    });
    assert_eq!(&status, b"HTTP/1.1 200");
}
