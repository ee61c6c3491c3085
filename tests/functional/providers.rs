//! Providers of every kind answer a person through the vault: asked in their own way, with the key where they look for it,
//! and read back in theirs, a call of a tool and its result included.

use serde_json::{Value, json};
use std::fmt::Write as _;
use tests::{Setup, Upstream};

/// Looks like nothing that a scanner knows by its form.
const KEY: &str = "provider-Wq7ZtVx2Kc9LmRb4HsYd-token";
const KINDS: [&str; 4] = ["openai", "responses", "anthropic", "ollama"];
const SAID: &str = "It is written down.";

/// A stream of events with this data.
fn events(all: &[Value]) -> String {
    let mut stream = String::new();
    for event in all {
        let _ = write!(stream, "event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("message"));
    }
    stream
}

/// Words, as a provider of this kind says them.
fn words(kind: &str, text: &str) -> String {
    match kind {
        "openai" => events(&[
            json!({"choices": [{"delta": {"content": text}}]}),
            json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
        ]),
        "responses" => events(&[
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": text}),
            json!({"type": "response.completed", "response": {"status": "completed"}}),
        ]),
        "anthropic" => events(&[
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}),
            json!({"type": "message_stop"}),
        ]),
        _ => format!("{}\n", json!({"message": {"content": text}, "done": true, "done_reason": "stop"})),
    }
}

/// A call of `write`, as a provider of this kind asks for it.
fn call(kind: &str) -> String {
    let args = json!({"path": "note.txt", "content": "hello"});
    let text = args.to_string();
    match kind {
        "openai" => events(&[
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "write", "arguments": text}}]}}]}),
            json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
        ]),
        "responses" => events(&[
            json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "name": "write", "arguments": ""}}),
            json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": text}),
            json!({"type": "response.completed", "response": {"status": "completed"}}),
        ]),
        "anthropic" => events(&[
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "write", "input": {}}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
        ]),
        _ => {
            let asked =
                json!({"content": "", "tool_calls": [{"function": {"name": "write", "arguments": args}}]});
            format!("{}\n", json!({"message": asked, "done": true, "done_reason": "stop"}))
        }
    }
}

fn body(request: &str) -> Value {
    let from = request.find('{').unwrap_or(request.len());
    serde_json::from_str(&request[from..]).unwrap()
}

/// Returns whether the result of a call is in a request, as each kind has it.
fn has_result(body: &Value) -> bool {
    let text = body.to_string();
    ["\"role\":\"tool\"", "function_call_output", "tool_result"].iter().any(|mark| text.contains(mark))
}

/// A provider of this kind: asked for a plan it names one tool, asked by a person it calls it, and given the result it
/// says so.
fn provider(kind: &'static str) -> Upstream {
    let mime = if kind == "ollama" { "application/x-ndjson" } else { "text/event-stream" };
    Upstream::answering(mime, move |request| {
        let body = body(request);
        match (body.get("tools"), has_result(&body)) {
            (None, _) => words(kind, r#"["write"]"#),
            (Some(_), false) => call(kind),
            (Some(_), true) => words(kind, SAID),
        }
    })
}

// Holds P4-27.
#[test]
fn a_provider_of_every_kind_is_asked_read_and_given_its_results() {
    let upstreams = KINDS.map(provider);
    let mut config = "[agent.default]\nmodel = \"offline/reader\"\n".to_owned();
    let mut plain = Vec::new();
    for (kind, upstream) in KINDS.iter().zip(&upstreams) {
        let at = format!("127.0.0.1:{}", upstream.port);
        let _ = write!(
            config,
            "[agent.{kind}]\nmodel = \"my-{kind}/m\"\n[provider.my-{kind}]\nkind = \"{kind}\"\n\
             base_url = \"http://{at}/v1\"\nsecret = \"key-{kind}\"\n[provider.my-{kind}.models.m]\n"
        );
        plain.push(at);
    }
    let host = Setup::default().config(&format!("{config}[credproxy]\nplain_http = {plain:?}\n")).start();
    for ((kind, upstream), at) in KINDS.iter().zip(&upstreams).zip(&plain) {
        host.keep(&format!("key-{kind}"), KEY, &["--host", at]);
        let ended = host.ask(&["chat", "--agent", kind, "--session", kind, "-m", "write hello to note.txt"]);
        assert_eq!(ended["reply"].as_str(), Some(SAID), "{kind}: {ended}\n{}", host.log());
        assert_eq!(ended["calls"][0]["verdict"].as_str(), Some("run"), "{kind}: {ended}");
        let heard = upstream.heard();
        let (path, key) = match *kind {
            "openai" => ("/v1/chat/completions", format!("authorization: Bearer {KEY}")),
            "responses" => ("/v1/responses", format!("authorization: Bearer {KEY}")),
            "anthropic" => ("/v1/messages", format!("x-api-key: {KEY}\n")),
            _ => ("/v1/api/chat", format!("authorization: Bearer {KEY}")),
        };
        for request in &heard {
            assert!(request.starts_with(&format!("POST {path} HTTP/1.1")), "{kind}: {request}");
            assert!(request.contains(&key), "{kind}: {request}");
            assert_eq!(body(request)["model"], json!("m"), "{kind}");
            assert_eq!(request.contains("anthropic-version: 2023-06-01"), *kind == "anthropic");
        }
        assert!(heard.last().is_some_and(|request| has_result(&body(request))), "{kind}");
    }
}
