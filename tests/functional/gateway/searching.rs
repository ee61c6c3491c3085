//! Searches in which a model has a part: a vector of the question by the embedder that is configured, and an order that a model
//! gives the first of what was found. Where one fails, whoever asked is told, and nothing takes its place unseen.

use super::client::Way;
use crate::curator::config;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use tests::{Host, Setup, Upstream, answer, call, free_port, script, text};

/// Notes that the word `ferry` finds in this order.
const NOTES: [&str; 3] =
    ["ferry ferry", "the ferry leaves at noon", "a long note in which the ferry is named once, by the way"];

fn remembered(host: &Host) {
    for note in NOTES {
        let _ = host.json(&["memory", "add", note]);
    }
}

fn contents(found: &Value) -> Vec<String> {
    found["hits"].as_array().unwrap().iter().map(|hit| text(hit, "content")).collect()
}

fn search(host: &Host, words: &[&str]) -> Value {
    host.json(&[&["memory", "search", "ferry"], words].concat())
}

/// The result of an agent's search.
fn by_agent(host: &Host, query: &str) -> Vec<Value> {
    let asked = call("memory_query", &json!({ "query": query }));
    host.script("asks", &script(&[asked]));
    let session = format!("s{}", host.recorded("turn_ended").len());
    let said = host.json(&["chat", "--session", &session, "--agent", "asker", "-m", "look"]);
    assert_eq!(said["reply"], "that is all", "{said}");
    results(&host.json(&["session", "show", &session]))
}

/// The rows of the last result of a tool that stands in a session.
fn results(shown: &Value) -> Vec<Value> {
    fn found(value: &Value, into: &mut Vec<Vec<Value>>) {
        match value {
            Value::String(text) => {
                if let Ok(Value::Array(rows)) = serde_json::from_str(text) {
                    into.push(rows);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| found(value, into)),
            Value::Object(fields) => fields.values().for_each(|value| found(value, into)),
            _ => {}
        }
    }
    let mut all = Vec::new();
    found(shown, &mut all);
    assert!(!all.is_empty(), "no result of a search: {shown}");
    all.remove(all.len() - 1)
}

/// The results of a client of the API.
fn by_client(host: &Host, query: &str) -> Value {
    found_by(&Way::unix(host), query)
}

fn found_by(way: &Way, query: &str) -> Value {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "mem-find", "arguments": { "query": query, "include": { "scores": true } } } });
    let headers = "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n";
    way.post_with("/mcp", headers, &message).json()["result"]["structuredContent"].clone()
}

/// Answers by key, or by another group.
fn answers(host: &Host, by: &str) -> Vec<(String, u64)> {
    let usage = host.json(&["model", "usage", "--by", by])["usage"].as_array().cloned().unwrap_or_default();
    usage.iter().map(|row| (text(row, "group"), row["answers"].as_u64().unwrap())).collect()
}

// Holds P5-23.
#[test]
fn an_order_is_paid_for_by_whoever_asked_for_it() {
    let upstream = Upstream::answering("text/event-stream", |_| answer("{\"order\": [3, 1, 2]}"));
    let port = free_port();
    let more = format!("[memory]\nrerank = true\n[gateway]\nlisten = \"127.0.0.1:{port}\"\n");
    let host = Setup::default().config(&config(&upstream, &more)).config(AGENT).start();
    remembered(&host);
    let made = host.json(&["key", "create", "app"]);
    let way = Way::Tcp(port, text(&made, "key"));
    assert_eq!(found_by(&way, "ferry")["data"]["results"][0]["explain"]["by_model"], 1);
    host.wait_for("the key has paid", || {
        answers(&host, "key").iter().any(|(key, times)| key != "-" && *times == 1)
    });
    assert!(answers(&host, "agent").iter().all(|(agent, _)| agent != "curator"));
    // The words of a question are part of what an order is kept by.
    assert_eq!(by_agent(&host, "the ferry").len(), 3);
    host.wait_for("the agent has paid", || {
        let paid = answers(&host, "model");
        paid.iter().any(|(model, times)| model == "corp/small" && *times == 2)
    });
    assert!(
        answers(&host, "agent").iter().any(|(agent, _)| agent == "asker"),
        "{:?}",
        answers(&host, "agent")
    );
}

const AGENT: &str = "[agent.asker]\nmodel = \"scripted/asks\"\n";

// Holds P5-22.
#[test]
fn a_model_reranks_results_only_where_told_to() {
    let upstream = Upstream::answering("text/event-stream", |_| answer("{\"order\": [3, 1]}"));
    let host = Setup::default().config(&config(&upstream, "")).start();
    remembered(&host);
    let plain = search(&host, &[]);
    assert!(upstream.heard().is_empty() && plain["hits"][0].get("why").is_none(), "{plain}");
    let before = contents(&plain);
    let ordered = search(&host, &["--rerank", "--explain"]);
    let [first, second, third] = [2, 0, 1].map(|at: usize| before[at].clone());
    assert_eq!(contents(&ordered), [first, second, third], "{ordered}");
    let places: Vec<&Value> =
        ordered["hits"].as_array().unwrap().iter().map(|hit| &hit["why"]["by_model"]).collect();
    assert_eq!(places, [&json!(1), &json!(2), &Value::Null], "{ordered}");
    assert_eq!(ordered["notes"], json!([]));
    let heard = upstream.heard();
    assert_eq!(heard.len(), 1);
    assert!(NOTES.iter().all(|note| heard[0].contains(note)) && heard[0].contains("BEGIN "), "{heard:?}");
    assert_eq!(search(&host, &["--rerank", "--limit", "1"])["hits"][0]["content"], contents(&ordered)[0]);
    assert_eq!(upstream.heard().len(), 1, "what was put into order a moment ago is so still");
    let decided = host.recorded("model_decided");
    assert!(decided.iter().any(|it| text(it, "reason").starts_with("curator for ")), "{decided:?}");
}

// Holds P5-22.
#[test]
fn a_malformed_order_is_requested_once_more_and_then_the_order_stays() {
    for (sound, second) in [(true, "```json\n{\"order\": [2]}\n```"), (false, "{\"order\": [1, 1]}")] {
        let asked = AtomicUsize::new(0);
        let upstream = Upstream::answering("text/event-stream", move |_| {
            let first = asked.fetch_add(1, Ordering::Relaxed) == 0;
            answer(if first { "{\"order\": [9], \"and\": \"obey\"}" } else { second })
        });
        let host = Setup::default().config(&config(&upstream, "")).start();
        remembered(&host);
        let before = contents(&search(&host, &[]));
        let found = search(&host, &["--rerank"]);
        assert_eq!(upstream.heard().len(), 2, "{second}");
        if sound {
            assert_eq!((contents(&found)[0].clone(), &found["notes"]), (before[1].clone(), &json!([])));
            continue;
        }
        assert_eq!(contents(&found), before);
        assert!(found["notes"][0].as_str().unwrap().contains("LLM_INVALID_JSON"), "{found}");
    }
}

// Holds P5-22.
#[test]
fn a_slow_or_missing_reranker_costs_an_answer_its_order_alone() {
    let upstream = Upstream::answering("text/event-stream", |_| {
        std::thread::sleep(std::time::Duration::from_secs(5));
        answer("{\"order\": [3, 2, 1]}")
    });
    let more = "tokens_per_day = 0\n[memory]\nrerank = true\nrerank_seconds = 1\n";
    let host = Setup::default().config(&config(&upstream, more)).config(AGENT).start();
    remembered(&host);
    let found = search(&host, &[]);
    assert!(found["notes"][0].as_str().unwrap().contains("within 1 s"), "{found}");
    let rows = by_agent(&host, "ferry");
    assert_eq!(rows.len(), 4, "three notes and what is to be said of them: {rows:?}");
    assert!(text(&rows[3], "note").contains("within 1 s"), "{rows:?}");
    let _ = host.json(&["curator", "pause"]);
    let told = by_client(&host, "ferry");
    assert!(told["meta"]["notes"][0].as_str().unwrap().contains("no model gave them another"), "{told}");
    assert_eq!(told["data"]["results"].as_array().map(Vec::len), Some(3), "{told}");
    let plain = host.json(&["memory", "search", "ferry", "--by", "plain"]);
    assert_eq!(plain["notes"], json!([]), "what others are measured against asks no model: {plain}");
}

// Holds P5-22.
#[test]
fn agents_and_clients_are_given_the_order_that_their_owner_configured() {
    let upstream = Upstream::answering("text/event-stream", |_| answer("{\"order\": [3, 1, 2]}"));
    let host = Setup::default().config(&config(&upstream, "[memory]\nrerank = true\n")).config(AGENT).start();
    remembered(&host);
    let before = contents(&host.json(&["memory", "search", "ferry", "--by", "plain"]));
    let words = contents(&search(&host, &[]));
    assert_ne!(words, before);
    let agents: Vec<String> = by_agent(&host, "ferry").iter().map(|row| text(row, "content")).collect();
    assert_eq!(agents, words);
    let told = by_client(&host, "ferry");
    assert_eq!(told["data"]["results"][0]["explain"]["by_model"], 1, "{told}");
    assert_eq!(told["meta"].get("notes"), None, "{told}");
}

/// A server whose vectors know a boat from a cello and nothing else; each request for others is refused.
fn embedder() -> Upstream {
    Upstream::answering("application/json", |request| {
        let body = request.to_lowercase();
        let (boat, cello) = (body.contains("boat") || body.contains("ferry"), body.contains("cello"));
        if body.contains("broken") {
            return "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}".to_owned();
        }
        let vector = [f32::from(u8::from(boat)), f32::from(u8::from(cello)), 0.1];
        json!({ "object": "list", "model": "vectors", "usage": { "prompt_tokens": 1, "total_tokens": 1 },
            "data": [{ "object": "embedding", "index": 0, "embedding": vector }] })
        .to_string()
    })
}

// Holds P5-21.
#[test]
fn questions_of_agents_and_clients_use_the_configured_embedder() {
    let upstream = embedder();
    let at = format!("127.0.0.1:{}", upstream.port);
    let host = Setup::default()
        .config(&format!(
            "[credproxy]\nplain_http = [\"{at}\"]\n[provider.corp]\nbase_url = \"http://{at}/v1\"\n\
             [provider.corp.models.vectors]\nembeds = true\n[memory]\nembedder = \"corp/vectors\"\n\
             [curator]\nbatch_interval_ms = 200\n"
        ))
        .config(AGENT)
        .start();
    for note in ["the ferry leaves at noon", "Ida bought a cello"] {
        let _ = host.json(&["memory", "add", note]);
    }
    host.wait_for("every row has a vector", || host.json(&["memory", "stats"])["embedded"] == 2);
    // No word of it, nor one like it, is in the note.
    let query = "boat";
    assert_eq!(host.json(&["memory", "search", query, "--by", "words"])["hits"], json!([]));
    let found = host.json(&["memory", "search", query, "--explain"]);
    assert_eq!(
        (&found["hits"][0]["content"], &found["hits"][0]["why"]["by_meaning"]),
        (&json!(NOTES[1]), &json!(1))
    );
    let rows = by_agent(&host, query);
    assert_eq!(rows[0]["content"], NOTES[1], "{rows:?}");
    let told = by_client(&host, query);
    assert_eq!(told["data"]["results"][0]["explain"]["by_meaning"], 1, "{told}");
    let decided = host.recorded("model_decided");
    let by = |who: &str| {
        decided
            .iter()
            .filter(|it| it["reason"].as_str().is_some_and(|reason| reason.starts_with(who)))
            .count()
    };
    assert!(by("run by ") == 1 && by("user ") == 1, "each is on the record as theirs: {decided:?}");

    // One that fails is told of to whoever asked; by a manner that needs it, the question fails.
    let rows = by_agent(&host, "broken ferry");
    assert_eq!(rows[0]["content"], NOTES[1], "{rows:?}");
    assert!(text(rows.last().unwrap(), "note").contains("by words alone"), "{rows:?}");
    let told = by_client(&host, "broken ferry");
    assert!(told["meta"]["notes"][0].as_str().unwrap().contains("by words alone"), "{told}");
    let found = host.json(&["memory", "search", "broken ferry"]);
    assert!(found["notes"][0].as_str().unwrap().contains("by words alone"), "{found}");
    assert_eq!(host.ask(&["memory", "search", "broken ferry", "--by", "meaning"])["ok"], false);
}
