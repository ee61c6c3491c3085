//! A key that is revoked while something that it asked for is under way.

use super::client::until;
use super::{on_tcp, said};
use reqwest::Method;
use serde_json::json;
use std::io::Read;

/// Stands in no key and in no error.
const END: &str = "zebra";

// Holds P3-16.
#[test]
fn a_key_that_is_revoked_ends_what_was_begun_with_it() {
    let (host, way) = on_tcp("[agent.slow]\nmodel = \"scripted/slow\"\n", &[]);
    let more = (0..20).flat_map(|_| [json!({"delay_ms": 1000}), json!({"text": "more "})]);
    let pieces: Vec<_> =
        [json!({"text": "begun "})].into_iter().chain(more).chain([json!({"text": END})]).collect();
    host.script("slow", &[json!({ "pieces": pieces })]);
    let begin = |model: &str| {
        let body = json!({"model": model, "stream": true, "messages": said("go")});
        way.begin("/v1/chat/completions", &body)
    };
    let (mut told, mut of_agent, mut of_model) = (Vec::new(), Vec::new(), Vec::new());
    let mut events = way.ask(Method::GET, "/v1/events").send().unwrap();
    let mut agent = begin("agent/slow");
    until(&mut events, "message.processing", &mut told);
    let mut model = begin("scripted/slow");
    until(&mut model, "begun", &mut of_model);
    let _ = host.json(&["key", "revoke", "app"]);
    for (response, all) in
        [(&mut model, &mut of_model), (&mut agent, &mut of_agent), (&mut events, &mut told)]
    {
        drop(response.read_to_end(all));
    }
    for (of, all) in [("model", of_model), ("agent", of_agent)] {
        let text = String::from_utf8_lossy(&all);
        assert!(text.contains("invalid_api_key") && !text.contains(END), "{of}: {text}");
    }
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("event: error") && !told.contains("message.sent"), "{told}");
    host.wait_for("the model's answer is ended on the record", || !host.recorded("model_ended").is_empty());
}
