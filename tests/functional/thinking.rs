//! A model that thinks before it asks for tools is given its thoughts back unchanged with what the tools gave: a provider
//! of that kind refuses the results without them. In an agent's turn and for a client that keeps the conversation itself.

use serde_json::{Value, json};
use std::fmt::Write as _;
use tests::{Setup, Upstream};

/// Looks like nothing that a scanner knows by its form.
const KEY: &str = "provider-Ls8RqYw3Vb6TnJk1-token";
const SAID: &str = "It is written down.";

/// Its reasoning before it asked for the call.
fn thoughts() -> [Value; 2] {
    [
        json!({"type": "thinking", "thinking": "The note goes to a file.", "signature": "EqQBCkYIARgCKkDn1l2r"}),
        json!({"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix7LafPsn4a"}),
    ]
}

/// A stream of these events.
fn events(all: &[Value]) -> String {
    let mut stream = String::new();
    for event in all {
        let _ = write!(stream, "event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("message"));
    }
    stream
}

fn words(text: &str) -> String {
    events(&[
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ])
}

/// Thoughts, and a call of `write`.
fn call() -> String {
    let [thinking, hidden] = thoughts();
    let args = json!({"path": "note.txt", "content": "hello"}).to_string();
    let delta =
        |index: u8, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let begin = json!({"type": "thinking", "thinking": "", "signature": ""});
    let tool = json!({"type": "tool_use", "id": "t", "name": "write", "input": {}});
    events(&[
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": begin}),
        delta(0, json!({"type": "thinking_delta", "thinking": thinking["thinking"]})),
        delta(0, json!({"type": "signature_delta", "signature": thinking["signature"]})),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": hidden}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "content_block_start", "index": 2, "content_block": tool}),
        delta(2, json!({"type": "input_json_delta", "partial_json": args})),
        json!({"type": "content_block_stop", "index": 2}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}}),
        json!({"type": "message_stop"}),
    ])
}

fn refusal() -> String {
    let message =
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.";
    let error = json!({"type": "invalid_request_error", "message": message});
    let body = json!({"type": "error", "error": error}).to_string();
    let head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close";
    format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn body(request: &str) -> Value {
    let from = request.find('{').unwrap_or(request.len());
    serde_json::from_str(&request[from..]).unwrap()
}

/// The blocks of the message that asked for the call whose result is in a request, if one is.
fn asked(body: &Value) -> Option<Vec<Value>> {
    let messages = body["messages"].as_array()?;
    let is = |message: &Value, kind: &str| {
        message["content"].as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == kind))
    };
    messages.iter().find(|message| is(message, "tool_result"))?;
    messages.iter().rfind(|message| is(message, "tool_use"))?["content"].as_array().cloned()
}

/// A provider that thinks: asked for a plan it names one tool, asked by a person it calls it, and it takes the result only
/// with its own thoughts before the call, as it gave them.
fn provider() -> Upstream {
    Upstream::answering("text/event-stream", |request| {
        let body = body(request);
        match (body.get("tools"), asked(&body)) {
            (None, _) => words(r#"["write"]"#),
            (Some(_), None) => call(),
            (Some(_), Some(blocks)) if blocks.get(..2) == Some(&thoughts()) => words(SAID),
            (Some(_), Some(_)) => refusal(),
        }
    })
}

fn config(upstream: &Upstream) -> String {
    let at = format!("127.0.0.1:{}", upstream.port);
    format!(
        "[agent.default]\nmodel = \"my/m\"\n[provider.my]\nkind = \"anthropic\"\nbase_url = \"http://{at}/v1\"\n\
         secret = \"my\"\n[provider.my.models.m]\n[credproxy]\nplain_http = [\"{at}\"]\n"
    )
}

// Holds P8-22.
#[test]
fn an_agent_s_model_is_given_its_thoughts_back_with_what_its_tools_gave() {
    let upstream = provider();
    let host = Setup::default().config(&config(&upstream)).start();
    host.keep("my", KEY, &["--host", &format!("127.0.0.1:{}", upstream.port)]);
    let ended = host.ask(&["chat", "--session", "s", "-m", "write hello to note.txt"]);
    assert_eq!(ended["reply"].as_str(), Some(SAID), "{ended}\n{}", host.log());
    let last = upstream.heard().pop().unwrap();
    assert_eq!(asked(&body(&last)).unwrap().len(), 3, "{last}");
    assert!(!ended.to_string().contains("goes to a file"), "thoughts are not the answer: {ended}");
}

// Holds P8-22.
#[test]
fn a_client_is_given_the_thoughts_and_hands_them_back() {
    let upstream = provider();
    let port = tests::free_port();
    let text = format!("{}[gateway]\nlisten = \"127.0.0.1:{port}\"\n", config(&upstream));
    let host = Setup::default().config(&text).start();
    host.keep("my", KEY, &["--host", &format!("127.0.0.1:{}", upstream.port)]);
    let key = tests::text(&host.json(&["key", "create", "k"]), "key");
    let tool = json!({"name": "write", "input_schema": {"type": "object"}});
    let thinking = json!({"type": "enabled", "budget_tokens": 1024});
    let mut ask = json!({
        "model": "my/m", "max_tokens": 2048, "tools": [tool], "thinking": thinking,
        "messages": [{"role": "user", "content": "write hello to note.txt"}],
    });
    let (status, said) = tests::post_over_tcp(port, "/v1/messages", &key, &ask.to_string());
    let said: Value = serde_json::from_str(&said).unwrap_or_default();
    assert_eq!(status, 200, "{said}\n{}", host.log());
    let content = said["content"].as_array().cloned().unwrap();
    assert_eq!(content[..2], thoughts(), "{said}");
    let result = json!({"type": "tool_result", "tool_use_id": content[2]["id"], "content": "done"});
    let messages = ask["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": content}));
    messages.push(json!({"role": "user", "content": [result]}));
    let (status, said) = tests::post_over_tcp(port, "/v1/messages", &key, &ask.to_string());
    assert!(status == 200 && said.contains(SAID), "{said}\n{}", host.log());
    assert_eq!(body(&upstream.heard().pop().unwrap())["thinking"], thinking);
    ask["messages"][1]["content"].as_array_mut().unwrap().drain(..2);
    let (status, said) = tests::post_over_tcp(port, "/v1/messages", &key, &ask.to_string());
    assert!(status == 400 && said.contains("invalid_request_error"), "the provider insists: {said}");
}
