//! The memory tools over HTTP: the same keys, hosts, origins and bounds as every other route, and the memory of whoever
//! holds the key.

use super::client::{Answer, Way};
use super::{new_key, on_tcp};
use serde_json::{Value, json};
use tests::text;

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

#[test]
fn a_key_reaches_the_memory_of_its_owner_and_one_of_some_agents_alone_does_not() {
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

#[test]
fn the_door_is_that_of_every_other_route() {
    let (_host, way) = on_tcp("max_body = 65536\n", &[]);
    let asked = json!({ "query": "dusk" });
    let wrong = |headers: &str| post(&way, "/mcp", headers, "mem-find", &asked).status;
    assert_eq!(wrong("Origin: http://evil.test\r\n"), 403);
    assert_eq!(wrong("Host: evil.test\r\n"), 421);
    assert_eq!(way.get("/mcp").status, 405);
    assert_eq!(post(&way, "/mcp?user=root", "", "mem-find", &asked).status, 400);
    let large = json!({ "query": "x".repeat(70_000) });
    assert_eq!(post(&way, "/mcp", "", "mem-find", &large).status, 413);
    let Way::Tcp(port, _) = way else { panic!("it is on TCP") };
    let nobody = Way::Tcp(port, "cdn_nobody".to_owned());
    assert_eq!(post(&nobody, "/mcp", "", "mem-find", &asked).status, 401);
}

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
