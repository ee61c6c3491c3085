//! An answer that ended at one of its client's texts says at which, where the client's API has a word for it: as far as the
//! provider tells, or the host looked for it itself.

use super::client::Way;
use super::said;
use serde_json::{Value, json};
use std::fmt::Write as _;
use tests::{Setup, Upstream};

const KINDS: [&str; 3] = ["anthropic", "openai", "responses"];
/// The stop sequences of the client, and that of the host's configuration.
const STOPS: [&str; 2] = ["END", "</answer>"];
const OURS: &str = "HALT";

/// An answer that ended at the second text, as a provider of this kind tells it. The last is not told of texts to stop at.
fn reply(kind: &str) -> String {
    let events = match kind {
        "anthropic" => vec![
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "before "}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "usage": {"output_tokens": 2},
                "delta": {"stop_reason": "stop_sequence", "stop_sequence": STOPS[1]}}),
            json!({"type": "message_stop"}),
        ],
        "openai" => vec![
            json!({"choices": [{"delta": {"content": "before "}}]}),
            json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
        ],
        _ => vec![
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": "before </ans"}),
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": "wer> and HALT"}),
            json!({"type": "response.completed", "response": {"status": "completed"}}),
        ],
    };
    events.iter().fold(String::new(), |mut stream, event| {
        let _ = write!(stream, "data: {event}\n\n");
        stream
    })
}

/// The answer to this, whole and in a stream: its text, why it ended, and at which sequence.
fn answered(way: &Way, ask: &Value) -> [(String, Value, Value); 2] {
    let whole = way.post("/v1/messages", ask).json();
    let mut streamed = ask.clone();
    streamed["stream"] = json!(true);
    let events = way.post("/v1/messages", &streamed).events();
    let text = events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    let end = events.iter().find(|event| event["type"] == "message_delta").unwrap();
    let told = |of: &Value| (of["stop_reason"].clone(), of["stop_sequence"].clone());
    let ((why, at), (streamed_why, streamed_at)) = (told(&whole), told(&end["delta"]));
    let whole_text = whole["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    [(whole_text, why, at), (text, streamed_why, streamed_at)]
}

// Holds P7-79.
#[test]
fn a_client_is_told_which_of_its_stop_sequences_ended_an_answer() {
    let upstreams = KINDS.map(|kind| Upstream::answering("text/event-stream", move |_| reply(kind)));
    let mut config = format!("[model]\nstop = [\"{OURS}\"]\n");
    let mut plain = Vec::new();
    for (kind, upstream) in KINDS.iter().zip(&upstreams) {
        let url = upstream.url("/v1");
        let _ = writeln!(
            config,
            "[provider.my-{kind}]\nkind = \"{kind}\"\nbase_url = \"{url}\"\nmodels.m = {{}}"
        );
        plain.push(format!("127.0.0.1:{}", upstream.port));
    }
    let host = Setup::default().config(&format!("{config}[credproxy]\nplain_http = {plain:?}\n")).start();
    let way = Way::unix(&host);
    let ask = |kind: &str, stops: &[&str]| {
        json!({
            "model": format!("my-{kind}/m"), "max_tokens": 50, "messages": said("go on"), "stop_sequences": stops,
        })
    };
    let both = |text: &str, why: &str, at: Value| {
        let told = (text.to_owned(), json!(why), at);
        [told.clone(), told]
    };
    for (kind, why, at) in [
        ("anthropic", "stop_sequence", json!(STOPS[1])),
        ("openai", "end_turn", Value::Null),
        ("responses", "stop_sequence", json!(STOPS[1])),
    ] {
        assert_eq!(answered(&way, &ask(kind, &STOPS)), both("before ", why, at), "{kind}\n{}", host.log());
    }
    let unnamed = answered(&way, &ask("responses", &[]));
    assert_eq!(unnamed, both("before </answer> and ", "end_turn", Value::Null), "a text of the host's own");
    for kind in KINDS {
        let body = json!({"model": format!("my-{kind}/m"), "messages": said("go on"), "stop": STOPS});
        let choice = way.post("/v1/chat/completions", &body).json()["choices"][0].clone();
        assert_eq!(
            (&choice["finish_reason"], &choice["message"]["content"]),
            (&json!("stop"), &json!("before "))
        );
    }
}
