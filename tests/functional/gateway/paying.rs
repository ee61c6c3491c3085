//! Answers to clients of the API where a budget is spent, and to the same message again once there is money.

use super::{on_tcp, said};
use serde_json::json;
use tests::{Upstream, answer};

/// A provider's model at a dollar a million tokens either way, and an agent with a short turn that asks it.
fn config(upstream: &Upstream, budget: &str) -> String {
    let at = format!("127.0.0.1:{}", upstream.port);
    format!(
        "[credproxy]\nplain_http = [\"{at}\"]\n[provider.corp]\nbase_url = \"http://{at}/v1\"\n\
         [provider.corp.models.small]\ninput_usd = 1\noutput_usd = 1\n[agent.default]\nmodel = \"corp/small\"\n\
         limits.seconds = 10\n[budget]\n{budget}\n"
    )
}

// Holds P7-83.
#[test]
fn a_turn_that_lacked_money_is_repeated_by_the_same_key_later() {
    let (upstream, open) = Upstream::holding_its_first(answer("ready"));
    let (host, way) = on_tcp(&config(&upstream, "day_usd = 0.00005"), &[]);
    let held = open.lock().unwrap();
    let asking = json!({"model": "corp/small", "max_tokens": 100, "messages": said("first")});
    let agent = json!({"model": "agent/default", "messages": said("second")});
    let ask = || way.post_with("/v1/chat/completions", "Idempotency-Key: one\r\n", &agent);
    let other = way.clone();
    let first = std::thread::spawn(move || other.post("/v1/chat/completions", &asking).status);
    host.wait_for("the money is set aside", || upstream.heard().len() == 1);
    let refused = ask();
    assert_eq!(refused.status, 429, "{}", refused.body);
    assert!(
        refused.body.contains("rate_limit_exceeded"),
        "waited for, and free again soon: {}",
        refused.body
    );
    assert_eq!(upstream.heard().len(), 1, "nobody was asked");
    drop(held);
    assert_eq!(first.join().unwrap(), 200);
    let answered = ask();
    assert!(
        answered.status == 200 && answered.body.contains("ready"),
        "{} {}",
        answered.status,
        answered.body
    );
    let id = |body: &str| serde_json::from_str::<serde_json::Value>(body).unwrap()["id"].clone();
    assert_eq!(id(&ask().body), id(&answered.body), "the same turn's answer from now on");
    let states: Vec<String> = host.json(&["message", "list"])["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| tests::text(message, "state"))
        .collect();
    assert_eq!(states, ["delivered", "requeued"]);
    assert_eq!(host.recorded("message_requeued").len(), 1);
}

// Holds P7-84.
#[test]
fn an_answers_head_names_a_used_up_budget_that_only_warns() {
    let upstream = Upstream::answering("text/event-stream", |_| answer("ready"));
    let (_host, way) = on_tcp(&config(&upstream, "day_usd = 0\nat_limit = \"warn\""), &[]);
    for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages"] {
        for streams in [false, true] {
            let body = json!({
                "model": "corp/small", "max_tokens": 100, "stream": streams, "messages": said("x"), "input": "x",
            });
            let told = way.post(path, &body);
            assert_eq!(told.status, 200, "{path} {}", told.body);
            assert!(told.head.contains("x-budget-used-up: day"), "{path} {streams} {}", told.head);
            let remark = told.body.contains(": the budget per day is used up, and only warns");
            assert_eq!(remark, streams, "{path} {}", told.body);
        }
    }
}
