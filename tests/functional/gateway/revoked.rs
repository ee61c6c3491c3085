//! A key that is revoked while something that it asked for is under way.

use super::client::{Answer, Way, Wire};
use super::{on_tcp, said};
use serde_json::json;

/// Stands in no key and in no error.
const END: &str = "zebra";

/// Reads on until these words have come.
fn until(stream: &mut dyn Wire, words: &str, all: &mut Vec<u8>) {
    while !String::from_utf8_lossy(all).contains(words) {
        let mut part = [0; 4096];
        let length = stream.read(&mut part).unwrap();
        assert!(length > 0, "no `{words}` in {}", String::from_utf8_lossy(all));
        all.extend_from_slice(&part[..length]);
    }
}

/// Asks, and leaves what comes to be read.
fn begin(way: &Way, method: &str, path: &str, body: &str) -> Box<dyn Wire> {
    let mut stream = way.connect();
    let headers = "Connection: close\r\nContent-Type: application/json\r\n";
    stream.write_all(&way.request(method, path, headers, body)).unwrap();
    stream
}

// Holds P3-16.
#[test]
fn a_key_that_is_revoked_ends_what_was_begun_with_it() {
    let (host, way) = on_tcp("[agent.slow]\nmodel = \"scripted/slow\"\n", &[]);
    let more = (0..20).flat_map(|_| [json!({"delay_ms": 1000}), json!({"text": "more "})]);
    let pieces: Vec<_> =
        [json!({"text": "begun "})].into_iter().chain(more).chain([json!({"text": END})]).collect();
    host.script("slow", &[json!({ "pieces": pieces })]);
    let body = |model: &str| json!({"model": model, "stream": true, "messages": said("go")}).to_string();
    let (mut told, mut of_agent, mut of_model) = (Vec::new(), Vec::new(), Vec::new());
    let mut events = begin(&way, "GET", "/v1/events", "");
    until(&mut *events, "\r\n\r\n", &mut told);
    let mut agent = begin(&way, "POST", "/v1/chat/completions", &body("agent/slow"));
    until(&mut *events, "message.processing", &mut told);
    until(&mut *agent, "\r\n\r\n", &mut of_agent);
    let mut model = begin(&way, "POST", "/v1/chat/completions", &body("scripted/slow"));
    until(&mut *model, "begun", &mut of_model);
    let _ = host.json(&["key", "revoke", "app"]);
    for (stream, all) in [(&mut model, &mut of_model), (&mut agent, &mut of_agent), (&mut events, &mut told)]
    {
        drop(stream.read_to_end(all));
    }
    for (what, all) in [("model", of_model), ("agent", of_agent)] {
        let answer = Answer::of(&all);
        assert!(
            answer.body.contains("invalid_api_key") && !answer.body.contains(END),
            "{what}: {}",
            answer.body
        );
    }
    let told = Answer::of(&told).body;
    assert!(told.contains("event: error") && !told.contains("message.sent"), "{told}");
    host.wait_for("the model's answer is ended on the record", || !host.recorded("model_ended").is_empty());
}
