//! Costs of models: budgets that hold, through real processes and a provider that counts tokens.

use serde_json::{Value, json};
use std::io::Read;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tests::{Host, Setup, Upstream};

/// An answer of one token for as many as an agent's prompt has about, as OpenAI-compatible servers stream it.
const ANSWER: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ready\"}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\
    \"usage\":{\"prompt_tokens\":3000,\"completion_tokens\":1,\"total_tokens\":3001}}\n\ndata: [DONE]\n\n";
/// The usage that it reports.
const COUNT: &str = r#"{"prompt_tokens":3000,"completion_tokens":1,"total_tokens":3001}"#;
/// The cost of that answer, millionths of a dollar.
const COST: u64 = 3001;

/// A program that asks its agent's model, once.
const PROGRAM: &str = r#"
import json, os, urllib.request
body = {"model": os.environ["CORDON_MODEL"], "messages": [{"role": "user", "content": "hello"}]}
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
                                 {"Content-Type": "application/json"})
print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
"#;

/// A host whose agent asks a model of this server at a dollar a million tokens either way.
fn config(upstream: &Upstream, more: &str) -> String {
    let at = format!("127.0.0.1:{}", upstream.port);
    format!(
        "[credproxy]\nplain_http = [\"{at}\"]\n[provider.corp]\nbase_url = \"http://{at}/v1\"\n\
         [provider.corp.models.small]\ninput_usd = 1\noutput_usd = 1\n[agent.default]\nmodel = \"corp/small\"\n{more}"
    )
}

/// The spent and the reserved part of a day's budget, millionths of a dollar.
fn today(host: &Host) -> (u64, u64) {
    let listed = host.json(&["model", "budget"]);
    let rows = listed["budgets"].as_array().cloned().unwrap_or_default();
    let day = rows.iter().find(|row| row["per"] == "day");
    let number = |name: &str| day.and_then(|row| row[name].as_u64()).unwrap_or_default();
    (number("spent_micros"), number("reserved_micros"))
}

fn usage(host: &Host, by: &str) -> Vec<Value> {
    host.json(&["model", "usage", "--by", by])["usage"].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_used_up_budget_holds_the_next_turn_up_also_after_a_restart() {
    let upstream = Upstream::answering("text/event-stream", |_| ANSWER.to_owned());
    let host = Setup::default().config(&config(&upstream, "[budget]\nday_usd = 0.000005\n")).start();
    assert_eq!(host.chat("s", "hello"), "ready");
    host.wait_for("it is settled", || today(&host) == (COST, 0));
    host.kill_and_wait("model");
    assert_eq!(today(&host), (COST, 0));
    let waits = host.waits_for("s", "again");
    assert!(waits.contains("LLM_BUDGET_EXCEEDED"), "{waits}");
    assert_eq!(upstream.heard().len(), 1, "nobody was asked");
    for (by, group) in [("model", "corp/small"), ("agent", "default"), ("session", "s")] {
        let rows = usage(&host, by);
        assert_eq!((rows.len(), &rows[0]["group"]), (1, &group.into()), "{rows:?}");
        assert_eq!((&rows[0]["answers"], &rows[0]["cost_micros"]), (&1.into(), &COST.into()), "{rows:?}");
    }
}

// Holds B-58.
#[test]
fn uncounted_tokens_are_estimated_shown_so_and_held_to_the_budget() {
    for usage in ["{}", "null", r#"{"prompt_tokens":0,"completion_tokens":0}"#] {
        let silent = ANSWER.replace(COUNT, usage);
        assert_ne!(silent, ANSWER);
        let upstream = Upstream::answering("text/event-stream", move |_| silent.clone());
        let host = Setup::default().config(&config(&upstream, "[budget]\nday_usd = 0.000005\n")).start();
        assert_eq!(host.chat("s", "hello"), "ready");
        host.wait_for("it is settled", || today(&host).0 > 5);
        let rows = usage_by_model(&host);
        assert_eq!((&rows["answers"], &rows["estimated"]), (&1.into(), &1.into()), "{usage}: {rows}");
        assert!(rows["input"].as_u64() > Some(100), "the agent's prompt is long: {rows}");
        assert_eq!(rows["output"], 2, "two tokens of four letters: {rows}");
        let waits = host.waits_for("s", "again");
        assert!(waits.contains("LLM_BUDGET_EXCEEDED"), "{waits}");
        assert_eq!(upstream.heard().len(), 1, "nobody was asked");
    }
}

/// The usage of the only model that was used.
fn usage_by_model(host: &Host) -> Value {
    usage(host, "model").into_iter().next().unwrap_or_default()
}

// Holds B-57.
#[test]
fn a_turn_that_a_key_began_counts_against_that_key_alone() {
    let upstream = Upstream::answering("text/event-stream", |_| ANSWER.to_owned());
    let port = tests::free_port();
    let more = format!("[gateway]\nlisten = \"127.0.0.1:{port}\"\n");
    let host = Setup::default().config(&config(&upstream, &more)).start();
    let key = |words: &[&str]| tests::text(&host.json(&[&["key", "create"], words].concat()), "key");
    let (poor, rich) = (key(&["poor", "--day-usd", "0.000005"]), key(&["rich"]));
    let ask = |key: &str, model: &str| {
        let body = serde_json::json!({"model": model, "messages": [{"role": "user", "content": "hello"}]});
        tests::post_over_tcp(port, "/v1/chat/completions", key, &body.to_string())
    };
    assert_eq!(ask(&poor, "agent/default").0, 200);
    host.wait_for("it is settled", || usage(&host, "key").iter().any(|row| row["cost_micros"] == COST));
    for model in ["agent/default", "corp/small"] {
        let (status, body) = ask(&poor, model);
        assert!(status == 429 && body.contains("insufficient_quota"), "{model}: {status} {body}");
        assert_eq!(ask(&rich, model).0, 200, "{model}");
    }
}

#[test]
fn a_cheaper_model_answers_where_configured_and_the_person_is_told() {
    let upstream = Upstream::answering("text/event-stream", |_| ANSWER.to_owned());
    let budget = "[budget]\nday_usd = 0\nat_limit = \"cheaper\"\ncheaper_model = \"offline/reader\"\n";
    let host = Setup::default().config(&config(&upstream, budget)).start();
    let ended = host.json(&["chat", "--session", "s", "-m", "echo: high water"]);
    assert_eq!(ended["reply"], "high water", "{ended}");
    let notices = ended["notices"].to_string();
    assert!(notices.contains("corp/small failed (LLM_BUDGET_EXCEEDED): offline/reader answers"), "{ended}");
    assert!(upstream.heard().is_empty());
    assert_eq!(usage(&host, "model")[0]["cost_micros"], 0, "what costs nothing is counted");
}

// Holds P7-78.
#[test]
fn an_answer_names_the_model_that_gave_it_where_another_was_requested() {
    let upstream = Upstream::answering("text/event-stream", |_| ANSWER.to_owned());
    let port = tests::free_port();
    let budget = "[budget]\nday_usd = 0\nat_limit = \"cheaper\"\ncheaper_model = \"offline/reader\"\n";
    let more = format!("[gateway]\nlisten = \"127.0.0.1:{port}\"\n{budget}");
    let host = Setup::default().config(&config(&upstream, &more)).start();
    let key = tests::text(&host.json(&["key", "create", "one"]), "key");
    for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages"] {
        for streams in [false, true] {
            let asked = serde_json::json!([{"role": "user", "content": "echo: high water"}]);
            let body = serde_json::json!({
                "model": "corp/small", "max_tokens": 100, "stream": streams, "messages": asked, "input": asked,
            });
            let (status, said) = tests::post_over_tcp(port, path, &key, &body.to_string());
            assert!(status == 200 && said.contains("high water"), "{path} {status} {said}");
            assert!(said.contains(r#""model":"offline/reader""#), "{path} {streams} {said}");
            assert!(!said.contains(r#""model":"corp/small""#), "{path} {streams} {said}");
        }
    }
    assert!(upstream.heard().is_empty());
}

// Holds P7-83.
#[test]
fn a_turn_waits_for_reserved_money_and_its_person_is_told() {
    let (upstream, open) = Upstream::holding_its_first(ANSWER.to_owned());
    let more = "[agent.other]\nmodel = \"scripted/other\"\n[budget]\nday_usd = 0.005\n";
    let host = Setup::default().config(&config(&upstream, more)).start();
    host.script("other", &[json!({ "pieces": [{ "text": "that is all" }] })]);
    let held = open.lock().unwrap();
    let first = host.say("one", "hello");
    host.wait_for("the money is set aside", || upstream.heard().len() == 1);
    assert!(today(&host).1 > 5000, "more than there is");
    // A person sees it while it waits.
    let (mut heard, told) = std::io::pipe().unwrap();
    let words = ["chat", "--session", "two", "-m", "hello"];
    let second = host.command(&words).stdout(Stdio::piped()).stderr(told).spawn().unwrap();
    let notice = "the budget per day is set aside for answers that are under way: the turn waits for it";
    let (mut seen, mut some) = (Vec::new(), [0; 1024]);
    while !String::from_utf8_lossy(&seen).contains(notice) {
        let count = heard.read(&mut some).unwrap();
        assert!(count > 0, "it ended: {}", String::from_utf8_lossy(&seen));
        seen.extend(&some[..count]);
    }
    let other = host.json(&["chat", "--agent", "other", "--session", "three", "-m", "hello"]);
    assert_eq!(other["reply"], "that is all", "others go on: {other}");
    assert_eq!((upstream.heard().len(), today(&host).0), (1, 0), "nobody is asked without money");
    drop(held);
    assert_eq!(first.ended()["reply"], "ready");
    let ended = second.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&ended.stdout).contains("ready"), "{ended:?}");
    host.wait_for("it is settled", || today(&host) == (2 * COST, 0));
}

// Holds P7-83.
#[test]
fn a_call_of_a_program_in_a_jail_waits_for_reserved_money() {
    let (upstream, open) = Upstream::holding_its_first(ANSWER.to_owned());
    let host = Setup::default().config(&config(&upstream, "[budget]\nday_usd = 0.005\n")).start();
    let held = open.lock().unwrap();
    let first = host.say("one", "hello");
    host.wait_for("the money is set aside", || upstream.heard().len() == 1);
    let mut program = host.command(&["run", "--", "/usr/bin/python3", "-c", PROGRAM]);
    let program = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let decided = || host.json(&["audit", "query", "--action", "model_decided"]).to_string();
    host.wait_for("its call was decided on", || decided().contains("run by"));
    assert_eq!(upstream.heard().len(), 1, "nobody is asked without money");
    drop(held);
    assert_eq!(first.ended()["reply"], "ready");
    let ended = program.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "ready\n", "{ended:?}");
}

// Holds P7-84.
#[test]
fn a_budget_that_only_warns_is_told_to_the_person_whose_turn_goes_over_it() {
    let upstream = Upstream::answering("text/event-stream", |_| ANSWER.to_owned());
    let budget = "[budget]\nday_usd = 0.000005\nat_limit = \"warn\"\n";
    let host = Setup::default().config(&config(&upstream, budget)).start();
    let ask = || host.json(&["chat", "--session", "s", "-m", "hello"])["notices"].to_string();
    assert!(!ask().contains("budget"), "there is some left");
    host.wait_for("it is settled", || today(&host) == (COST, 0));
    assert!(ask().contains("the budget per day is used up, and only warns"));
    let listed = host.json(&["model", "budget"])["budgets"].clone();
    let day = listed.as_array().unwrap().iter().find(|row| row["per"] == "day").cloned().unwrap();
    assert_eq!((&day["at_limit"], &day["used_up"]), (&"warn".into(), &true.into()), "{day}");
}

#[test]
fn what_a_model_was_killed_in_counts_at_what_was_set_aside_for_it() {
    let asked = AtomicUsize::new(0);
    let upstream = Upstream::answering("text/event-stream", move |_| {
        if asked.fetch_add(1, Ordering::Relaxed) == 0 {
            std::thread::sleep(Duration::from_secs(30));
        }
        ANSWER.to_owned()
    });
    let host = Setup::default().config(&config(&upstream, "[budget]\nday_usd = 1\n")).start();
    let turn = host.say("s", "hello");
    host.wait_for("the provider is asked", || upstream.heard().len() == 1);
    let (spent, reserved) = today(&host);
    assert!(spent == 0 && reserved > 4096, "4096 tokens of an answer, and those that are read: {reserved}");
    host.kill_and_wait("model");
    assert_eq!(turn.ended()["reply"], "ready");
    host.wait_for("it is settled", || today(&host) == (reserved + COST, 0));
    assert_eq!(usage(&host, "day")[0]["answers"], 2);
}

#[test]
fn a_crash_while_money_is_reserved_answers_and_forgets_no_reservation() {
    for (point, at_least, answers) in [("written", COST, 1), ("committed", 4096 + COST, 2)] {
        let upstream = Upstream::answering("text/event-stream", |_| ANSWER.to_owned());
        let fault = format!("model:model.ledger.{point}");
        let config = config(&upstream, "[budget]\nday_usd = 1\n");
        let host = Setup::default().config(&config).arguments(&["--fault", &fault]).start();
        assert_eq!(host.chat("s", "hello"), "ready", "{point}");
        assert_eq!(host.process("model")["restarts"], 1, "{point} was never reached");
        host.wait_for("it is settled", || today(&host).1 == 0 && today(&host).0 >= at_least);
        assert_eq!(usage(&host, "day")[0]["answers"], answers, "{point}: counted twice");
        assert_eq!(upstream.heard().len(), 1, "{point}: nobody was asked before the money was there");
    }
}

/// The same answer as a provider tells it that counts so, and says `words`.
fn lying(words: &str, read: u32, written: u32) -> String {
    let count = format!(r#"{{"prompt_tokens":{read},"completion_tokens":{written}}}"#);
    ANSWER.replace("ready", words).replace(COUNT, &count)
}

// Holds B-59.
#[test]
fn a_providers_false_count_is_believed_within_bounds_and_recorded() {
    let words = "now and then it rains in town as it does ".repeat(20);
    // An agent's prompt has hundreds of tokens, and twenty times these words have 205 by the estimate.
    for (read, written, least, most) in
        [(1, 1, 100 + 51, 3000), (u32::MAX, u32::MAX, 5120 + 1000, 5120 + 1000 + 100_000)]
    {
        let lie = lying(words.trim(), read, written);
        let upstream = Upstream::answering("text/event-stream", move |_| lie.clone());
        let host = Setup::default().config(&config(&upstream, "[budget]\nday_usd = 0.000005\n")).start();
        let turn = host.say("s", "hello");
        host.wait_for("it is asked", || upstream.heard().len() == 1);
        assert_eq!(turn.ended()["reply"], words.trim());
        host.wait_for("it is settled", || today(&host).0 > 0 && today(&host).1 == 0);
        let spent = today(&host).0;
        assert!((least..=most).contains(&spent), "{read}: {spent}");
        let row = usage_by_model(&host);
        assert_eq!((&row["disbelieved"], &row["estimated"]), (&1.into(), &0.into()), "{row}");
        assert_eq!(row["cost_micros"], spent, "{row}");
        assert_eq!(row["claimed_micros"], u64::from(read) + u64::from(written), "what it said: {row}");
        let record = host.json(&["audit", "query", "--action", "usage_disbelieved"]);
        let events = record["records"].as_array().cloned().unwrap_or_default();
        assert_eq!(events.len(), 1, "{record}");
        assert_eq!(events[0]["tokens"], serde_json::json!({"input": read, "output": written}), "{record}");
        assert_eq!((&events[0]["subject"], &events[0]["witness"]), (&"corp/small".into(), &"gate".into()));
        assert!(events[0]["turn"].is_string(), "{record}");
        let waits = host.waits_for("s", "again");
        assert!(waits.contains("LLM_BUDGET_EXCEEDED"), "{waits}");
    }
}

// Holds B-59.
#[test]
fn an_images_count_is_believed_up_to_its_vendors_rule() {
    const IMAGE: &str = "data:image/png;base64,iVBORw0KGgo=";
    // Four tiles of an image of 1024 by 1024, and what is around the question.
    for (read, disbelieved) in [(2833 + 4 * 5667 + 20, 0), (2 * (2833 + 8 * 5667), 1)] {
        let said = lying("a harbour", read, 3);
        let upstream = Upstream::answering("text/event-stream", move |_| said.clone());
        let model = "[provider.corp.models.gpt-4o-mini]\nvision = true\ninput_usd = 1\noutput_usd = 1\n";
        let port = tests::free_port();
        let more = format!("{model}[gateway]\nlisten = \"127.0.0.1:{port}\"\n[budget]\nday_usd = 1\n");
        let host = Setup::default().config(&config(&upstream, &more)).start();
        let key = tests::text(&host.json(&["key", "create", "one"]), "key");
        let shown = serde_json::json!([
            { "type": "text", "text": "what is this?" }, { "type": "image_url", "image_url": { "url": IMAGE } },
        ]);
        let body = serde_json::json!({
            "model": "corp/gpt-4o-mini", "max_tokens": 16, "messages": [{ "role": "user", "content": shown }],
        });
        let (status, said) = tests::post_over_tcp(port, "/v1/chat/completions", &key, &body.to_string());
        assert_eq!(status, 200, "{said}");
        host.wait_for("it is settled", || today(&host).0 > 0 && today(&host).1 == 0);
        assert_eq!(usage_by_model(&host)["disbelieved"], disbelieved, "{read}");
        assert_eq!(host.recorded("usage_disbelieved").len(), disbelieved, "{read}");
        let counted = today(&host).0;
        assert!(
            if disbelieved == 0 { counted == u64::from(read) + 3 } else { counted < u64::from(read) },
            "{counted}"
        );
    }
}

// Holds B-59.
#[test]
fn fifty_clients_of_a_lying_provider_exceed_a_budget_by_one_answer() {
    const BOUND: u64 = 20_000;
    // A thousand tokens around a question of few, 4 times what it has, and 16 of an answer and a quarter.
    const ONE: u64 = 1000 + 4 * 8 + 20;
    let asked = AtomicUsize::new(0);
    let upstream = Upstream::answering("text/event-stream", move |_| {
        let number = asked.fetch_add(1, Ordering::Relaxed);
        let count = if number.is_multiple_of(2) { 1 } else { 4_000_000_000 };
        lying("ready", count, count)
    });
    let port = tests::free_port();
    let more = format!(
        "[gateway]\nlisten = \"127.0.0.1:{port}\"\nrequests_per_minute = 10000\n[budget]\nday_usd = 0.02\n"
    );
    let host = Setup::default().config(&config(&upstream, &more)).start();
    let key = tests::text(&host.json(&["key", "create", "one"]), "key");
    let body = serde_json::json!({
        "model": "corp/small", "max_tokens": 16, "messages": [{"role": "user", "content": "are you ready?"}],
    })
    .to_string();
    let client = || {
        for _ in 0..100 {
            let (status, said) = tests::post_over_tcp(port, "/v1/chat/completions", &key, &body);
            match status {
                200 => {}
                429 if said.contains("insufficient_quota") => return true,
                // The rest is reserved for the others' answers, and is free again in a moment.
                429 if said.contains("rate_limit_exceeded") => std::thread::sleep(Duration::from_millis(100)),
                _ => panic!("{status} {said}"),
            }
        }
        false
    };
    let stopped = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..50).map(|_| scope.spawn(client)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).filter(|it| *it).count()
    });
    assert_eq!(stopped, 50, "every client comes to the bound");
    host.wait_for("all is settled", || today(&host).1 == 0);
    let spent = today(&host).0;
    assert!(spent < BOUND + ONE, "{spent}");
    let row = usage_by_model(&host);
    assert_eq!(row["answers"], upstream.heard().len(), "{row}");
    assert!(row["disbelieved"].as_u64() > Some(0), "{row}");
    let record = host.json(&["audit", "query", "--action", "usage_disbelieved"]);
    let events = record["records"].as_array().cloned().unwrap_or_default();
    let lie = serde_json::json!({"input": 4_000_000_000_u32, "output": 4_000_000_000_u32});
    assert!(events.iter().any(|event| event["tokens"] == lie), "{record}");
}
