//! Images of a message to an agent: the very bytes reach its model, once and with that message, and an agent that sees none
//! says so before anything is kept.

use super::client::{Answer, Way};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use tests::{Host, Setup, Upstream};

/// 48 bytes of an image in base64.
const PIECE: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Pieces of an image.
const PIECES: usize = 900;

/// An image in base64, another for each number.
fn image(n: usize) -> String {
    let (head, rest) = PIECE.split_at(n);
    format!("{rest}{head}").repeat(PIECES)
}

/// A message with an image, as each API has it: its path and the request to this agent.
fn shown(agent: &str, data: &str) -> [(&'static str, Value); 3] {
    let url = format!("data:image/png;base64,{data}");
    let source = json!({"type": "base64", "media_type": "image/png", "data": data});
    let ask = |content: Value| json!([{"role": "user", "content": content}]);
    let chat = ask(
        json!([{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": url}}]),
    );
    let responses = ask(
        json!([{"type": "input_text", "text": "what is it?"}, {"type": "input_image", "image_url": url}]),
    );
    let messages = ask(json!([{"type": "image", "source": source}, {"type": "text", "text": "what is it?"}]));
    let model = format!("agent/{agent}");
    [
        ("/v1/chat/completions", json!({"model": model, "messages": chat})),
        ("/v1/responses", json!({"model": model, "input": responses})),
        ("/v1/messages", json!({"model": model, "max_tokens": 100, "messages": messages})),
    ]
}

/// A model of each of two vendors that sees, one that does not, and agents of them; and an engine with a model that does.
fn config(upstream: &Upstream) -> String {
    let at = format!("127.0.0.1:{}", upstream.port);
    let mut config = format!("[credproxy]\nplain_http = [\"{at}\"]\n");
    for (provider, kind) in [("first", "openai"), ("second", "anthropic")] {
        let _ = write!(
            config,
            "[agent.{provider}]\nmodel = \"{provider}/eyes\"\ntools = []\n\
             [provider.{provider}]\nkind = \"{kind}\"\nbase_url = \"http://{at}/{provider}\"\n\
             models.eyes.vision = true\nmodels.blind = {{}}\n"
        );
    }
    config
        + "[agent.blind]\nmodel = \"first/blind\"\ntools = []\n\
           [agent.coder]\nmodel = \"first/eyes\"\nengine = \"codex\"\n"
}

fn upstream() -> Upstream {
    Upstream::answering("text/event-stream", |request| {
        if request.starts_with("POST /first/") {
            return tests::answer("a lighthouse");
        }
        let events = [
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a lighthouse"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}),
            json!({"type": "message_stop"}),
        ];
        events.iter().map(|event| format!("data: {event}\n\n")).collect()
    })
}

/// The last request to the provider.
fn last(upstream: &Upstream) -> String {
    upstream.heard().pop().unwrap_or_default()
}

fn is_answered(answer: &Answer, host: &Host) {
    assert_eq!(answer.status, 200, "{}\n{}", answer.body, host.log());
    assert!(answer.body.contains("a lighthouse"), "{}", answer.body);
}

// Holds P3-41.
#[test]
fn an_image_reaches_its_model_byte_for_byte_and_later_turns_name_it() {
    let upstream = upstream();
    let host = Setup::default().config(&config(&upstream)).start();
    let way = Way::unix(&host);
    let mut n = 0;
    for agent in ["first", "second"] {
        for api in 0..3 {
            n += 1;
            let image = image(n);
            let (path, mut ask) = shown(agent, &image)[api].clone();
            let session = format!("X-Session-Id: s{api}\r\n");
            is_answered(&way.post_with(path, &session, &ask), &host);
            let sent = last(&upstream);
            assert_eq!(sent.matches(&image).count(), 1, "{agent} {path}");
            assert!(sent.contains("what is it?") && sent.contains("image/png"), "{agent} {path}");
            let field = if api == 1 { "input" } else { "messages" };
            ask[field] = super::said("and its colour?");
            is_answered(&way.post_with(path, &session, &ask), &host);
            let sent = last(&upstream);
            assert!(sent.contains("[image: image/png, not shown]"), "{agent} {path}: {sent}");
            assert!(!sent.contains(PIECE.get(n..).unwrap()), "{agent} {path}: {sent}");
        }
    }
    let given = host.recorded("image_given");
    assert_eq!(given.len(), 6, "once each: {given:?}");
    for (n, record) in given.iter().enumerate() {
        let bytes = STANDARD.decode(image(n + 1)).unwrap();
        let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            (&record["subject"], &record["bytes"], &record["content_hash"]),
            (&json!("image/png"), &json!(bytes.len()), &json!(hash)),
            "{record}"
        );
        assert_eq!(record["label"]["trust"], "untrusted", "{record}");
    }
    let started = host.recorded("turn_started");
    assert!(
        started.iter().all(|it| it["label"]["trust"] == "untrusted"),
        "an image is nobody's word: {started:?}"
    );
}

// Holds P3-42.
#[test]
fn an_image_for_an_agent_without_vision_is_refused_and_leaves_nothing() {
    let upstream = upstream();
    let host = Setup::default().config(&config(&upstream)).start();
    let way = Way::unix(&host);
    for agent in ["blind", "coder"] {
        for (path, ask) in shown(agent, &image(0)) {
            let refused = way.post(path, &ask);
            let error = refused.document()["error"].clone();
            assert_eq!(refused.status, 400, "{error}");
            assert!(
                error["message"].as_str().unwrap().contains(&format!("agent {agent} takes no images")),
                "{error}"
            );
            let code = if path == "/v1/messages" { Value::Null } else { json!("model_has_no_vision") };
            assert_eq!(
                (&error["code"], error["type"].as_str()),
                (&code, Some("invalid_request_error")),
                "{error}"
            );
        }
    }
    assert!(host.recorded("message_accepted").is_empty() && upstream.heard().is_empty());
    is_answered(
        &way.post("/v1/chat/completions", &json!({"model": "agent/blind", "messages": super::said("x")})),
        &host,
    );
}

// Holds P3-41.
#[test]
fn an_image_is_shown_again_by_the_attempt_that_goes_on_after_a_death() {
    // Between the record's word and the asking, and between the model's answer and its being kept.
    for (point, heard) in [("gate.images.recorded", 1), ("gate.decided", 2)] {
        let upstream = upstream();
        let fault = ["--fault", &format!("gate:{point}")];
        let host = Setup::default().config(&config(&upstream)).arguments(&fault).start();
        let (path, ask) = shown("first", &image(5))[0].clone();
        is_answered(&Way::unix(&host).post(path, &ask), &host);
        assert_eq!(host.process("gate")["restarts"], 1, "{point} was never reached");
        let shown: Vec<usize> =
            upstream.heard().iter().map(|asked| asked.matches(&image(5)).count()).collect();
        assert_eq!(shown, vec![1; heard], "{point}: in each call of its model");
        assert_eq!(host.recorded("image_given").len(), 2, "{point}: once an attempt");
    }
}
