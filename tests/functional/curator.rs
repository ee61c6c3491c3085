//! The queue of background model work, through real processes: prompts of the owner's, and what hooks captured.

use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tests::{Host, Setup, Upstream, answer, text};

/// A refusal with this head.
fn refusal(status: &str, head: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{head}content-length: 2\r\nconnection: close\r\n\r\n{{}}")
}

/// A host whose background work asks this server.
pub(crate) fn config(upstream: &Upstream, more: &str) -> String {
    let at = format!("127.0.0.1:{}", upstream.port);
    format!(
        "[credproxy]\nplain_http = [\"{at}\"]\n[model]\nretries = 0\n[provider.corp]\nbase_url = \"http://{at}/v1\"\n\
         [provider.corp.models.small]\n[curator]\nmodel = \"corp/small\"\nbatch_interval_ms = 200\n{more}"
    )
}

/// Puts a prompt in; gives its id.
fn put(host: &Host, prompt: &str, words: &[&str]) -> String {
    let made = host.json(&[&["curator", "ask", prompt], words].concat());
    tests::text(&made["job"], "id")
}

fn job(host: &Host, id: &str) -> Value {
    host.json(&["curator", "show", id])["job"].clone()
}

fn wait_for(host: &Host, id: &str, state: &str) -> Value {
    host.wait_for(&format!("the job is {state}"), || job(host, id)["state"] == state);
    job(host, id)
}

#[test]
fn a_prompt_is_answered_in_the_background_as_the_type_that_was_asked_for() {
    let upstream =
        Upstream::answering("text/event-stream", |_| answer("<think>hm</think>```json\n{\"a\": 1}\n```"));
    let host = Setup::default().config(&config(&upstream, "")).start();
    let cases = [
        ("response", "```json\n{\"a\": 1}\n```"),
        ("json", "{\"a\":1}"),
        ("raw", "<think>hm</think>```json\n{\"a\": 1}\n```"),
    ];
    for (wants, said) in cases {
        let id = put(&host, "what is a?", &["--as", wants]);
        assert_eq!(wait_for(&host, &id, "done")["answer"], said, "{wants}");
    }
    let listed = host.json(&["curator", "list"]);
    assert_eq!((&listed["tokens_today"], &listed["waiting"]), (&json!(24), &json!(0)), "{listed}");
    assert!(host.recorded("model_decided").iter().any(|it| it.to_string().contains("curator for ")));
}

// Holds P7-15.
#[test]
fn a_provider_that_asks_one_job_to_wait_holds_no_other_up() {
    let asked = AtomicUsize::new(0);
    let upstream = Upstream::answering("text/event-stream", move |request| {
        if request.contains("patience") && asked.fetch_add(1, Ordering::Relaxed) == 0 {
            return refusal("429 Too Many Requests", "retry-after: 4\r\n");
        }
        answer("ready")
    });
    let host = Setup::default().config(&config(&upstream, "")).start();
    let slow = put(&host, "patience", &["--priority", "high"]);
    host.wait_for("it was asked to wait", || job(&host, &slow)["reason"] != "");
    let quick = put(&host, "quick", &["--priority", "low"]);
    wait_for(&host, &quick, "done");
    let waits = job(&host, &slow);
    assert_eq!((&waits["state"], &waits["attempts"]), (&json!("waiting"), &json!(1)), "{waits}");
    assert!(waits["reason"].as_str().unwrap().starts_with("LLM_RATE_LIMITED"), "{waits}");
    assert_eq!(wait_for(&host, &slow, "done")["answer"], "ready");
}

#[test]
fn what_can_never_succeed_is_given_up_at_once_and_edited_goes_on() {
    let upstream = Upstream::answering("text/event-stream", |request| {
        if request.contains("hopeless") { refusal("400 Bad Request", "") } else { answer("ready") }
    });
    let host = Setup::default().config(&config(&upstream, "")).start();
    let id = put(&host, "hopeless", &[]);
    let dead = wait_for(&host, &id, "dead");
    assert!(dead["reason"].as_str().unwrap().contains("LLM_REQUEST_ERROR"), "{dead}");
    assert_eq!(upstream.heard().len(), 1, "it was asked once");
    let edited = host.json(&["curator", "edit", &id, "--prompt", "hopeful"]);
    assert_eq!(edited["job"]["prompt"], "hopeful");
    let _ = host.json(&["curator", "requeue", &id]);
    assert_eq!(wait_for(&host, &id, "done")["answer"], "ready");
    let _ = host.json(&["curator", "drop", &id]);
    assert_eq!(host.ask(&["curator", "show", &id])["error"]["type"], "no_job");
}

// Holds P7-15.
#[test]
fn a_pause_outlives_the_process_and_nothing_is_begun_before_it_ends() {
    let upstream = Upstream::answering("text/event-stream", |_| answer("ready"));
    let host = Setup::default().config(&config(&upstream, "")).start();
    let _ = host.json(&["curator", "pause"]);
    let id = put(&host, "later", &[]);
    host.kill_and_wait("curator");
    let listed = host.json(&["curator", "list"]);
    assert_eq!((&listed["paused"], &listed["waiting"]), (&json!(true), &json!(1)), "{listed}");
    std::thread::sleep(Duration::from_secs(1));
    assert!(upstream.heard().is_empty());
    let _ = host.json(&["curator", "resume"]);
    assert_eq!(wait_for(&host, &id, "done")["answer"], "ready");
}

// Holds B-110.
#[test]
fn the_oldest_answers_are_deleted_even_where_no_other_work_is_done() {
    let upstream = Upstream::answering("text/event-stream", |_| answer("ready"));
    let nothing = "compression_enabled = false\nsummaries = false\n";
    let host = Setup::default().config(&config(&upstream, nothing)).start();
    let ids: Vec<String> = (0..52).map(|n| put(&host, &format!("prompt {n}"), &[])).collect();
    let done = || host.json(&["curator", "list", "--state", "done"])["jobs"].as_array().map_or(0, Vec::len);
    wait_for(&host, ids.last().unwrap(), "done");
    let _ = host.json(&["curator", "run"]);
    host.wait_for("the oldest are forgotten", || done() == 50);
    assert_eq!(host.ask(&["curator", "show", &ids[0]])["error"]["type"], "no_job");
}

// Holds P7-14.
#[test]
fn an_answer_that_breaks_off_is_kept_and_marked() {
    let upstream = Upstream::answering("text/event-stream", |_| {
        answer("the first half of").replace("\"stop\"", "\"length\"")
    });
    let host = Setup::default().config(&config(&upstream, "")).start();
    for wants in ["response", "raw"] {
        let id = put(&host, "tell me all", &["--as", wants]);
        let done = wait_for(&host, &id, "done");
        assert_eq!(done["answer"], "the first half of");
        assert!(done["reason"].as_str().unwrap().starts_with("LLM_TRUNCATED"), "{done}");
    }
}

#[test]
fn what_is_forgotten_while_the_queue_is_paused_goes_to_no_model() {
    let upstream =
        Upstream::answering("text/event-stream", |_| refusal("429 Too Many Requests", "retry-after: 3\r\n"));
    let host = Setup::default().config(&config(&upstream, "")).start();
    tests::hook(&host, &captured("t", "Read", "src/tide.rs holds a table of the tides of the whole year"));
    host.wait_for("it was asked to wait", || !upstream.heard().is_empty());
    let _ = host.json(&["curator", "pause"]);
    let _ = host.json(&["memory", "delete", &tests::text(&rows(&host)[0], "id")]);
    let _ = host.json(&["curator", "resume"]);
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(upstream.heard().len(), 1, "nobody has the text any more");
}

#[test]
fn a_job_that_kills_its_process_as_often_as_it_may_be_tried_is_given_up() {
    let upstream = Upstream::answering("text/event-stream", |_| answer("ready"));
    let fault = ["--fault", "curator:curator.claimed"];
    let host = Setup::default().config(&config(&upstream, "attempts = 1\n")).arguments(&fault).start();
    let id = put(&host, "deadly", &[]);
    let dead = wait_for(&host, &id, "dead");
    assert_eq!((&dead["attempts"], upstream.heard().len()), (&json!(1), 0), "{dead}");
    let _ = host.json(&["curator", "requeue", &id]);
    assert_eq!(wait_for(&host, &id, "done")["answer"], "ready");
}

#[test]
fn an_aborted_job_is_no_failure_and_a_running_one_cannot_be_changed() {
    let asked = AtomicUsize::new(0);
    let upstream = Upstream::answering("text/event-stream", move |_| {
        if asked.fetch_add(1, Ordering::Relaxed) == 0 {
            std::thread::sleep(Duration::from_secs(40));
        }
        answer("ready")
    });
    let host = Setup::default().config(&config(&upstream, "")).start();
    let id = put(&host, "slow", &[]);
    host.wait_for("the provider is asked", || upstream.heard().len() == 1);
    assert_eq!(host.ask(&["curator", "drop", &id])["error"]["type"], "queue_busy");
    let nobody = "00000000-0000-4000-8000-000000000000";
    assert_eq!(host.ask(&["curator", "abort", nobody])["error"]["type"], "no_job");
    assert_eq!(host.json(&["curator", "abort"])["aborted"], 1);
    let waits = wait_for(&host, &id, "waiting");
    assert_eq!(waits["attempts"], 0, "{waits}");
    assert_eq!(wait_for(&host, &id, "done")["answer"], "ready");
}

#[test]
fn an_answer_that_is_no_json_is_asked_for_once_more_and_then_given_up() {
    let upstream = Upstream::answering("text/event-stream", |_| answer("no"));
    let host = Setup::default().config(&config(&upstream, "")).start();
    let id = put(&host, "json, please", &["--as", "json"]);
    let dead = wait_for(&host, &id, "dead");
    assert!(dead["reason"].as_str().unwrap().starts_with("LLM_INVALID_JSON"), "{dead}");
    assert_eq!(upstream.heard().len(), 2);
}

// Holds B-113.
#[test]
fn the_tokens_of_a_day_hold_what_needs_a_model_and_are_shown() {
    let upstream = Upstream::answering("text/event-stream", |_| answer("ready"));
    let host = Setup::default().config(&config(&upstream, "tokens_per_day = 8\n")).start();
    let first = put(&host, "one", &[]);
    wait_for(&host, &first, "done");
    let second = put(&host, "two", &[]);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(job(&host, &second)["state"], "waiting");
    let listed = host.json(&["curator", "list"]);
    assert_eq!(listed["held"][0]["resource"], "tokens a day", "{listed}");
    host.kill_and_wait("curator");
    assert_eq!(host.json(&["curator", "list"])["tokens_today"], 8, "they outlive the process");
    assert_eq!(upstream.heard().len(), 1);
}

#[test]
fn a_budget_that_is_used_up_holds_the_provider_and_no_job_fails_by_it() {
    let upstream = Upstream::answering("text/event-stream", |_| answer("ready"));
    let prices = "[provider.corp.models.dear]\ninput_usd = 1\noutput_usd = 1\n[budget]\nday_usd = 0\n";
    let host = Setup::default().config(&config(&upstream, prices)).start();
    let id = put(&host, "one", &["--model", "corp/dear"]);
    host.wait_for("it is held", || host.json(&["curator", "list"])["held"][0]["resource"] == "corp");
    let waits = job(&host, &id);
    assert_eq!((&waits["state"], &waits["attempts"]), (&json!("waiting"), &json!(0)), "{waits}");
    assert!(upstream.heard().is_empty());
}

/// The event of Claude Code for a tool that answered.
fn captured(call: &str, tool: &str, output: &str) -> Value {
    json!({
        "session_id": "s", "cwd": "/", "hook_event_name": "PostToolUse", "tool_name": tool, "tool_use_id": call,
        "tool_input": {}, "tool_response": output,
    })
}

fn rows(host: &Host) -> Vec<Value> {
    host.json(&["memory", "list"])["memories"].as_array().cloned().unwrap_or_default()
}

fn titles(host: &Host) -> Vec<String> {
    let title = |row: &Value| row["of_kind"]["observation"]["title"].as_str().unwrap_or_default().to_owned();
    rows(host).iter().map(title).collect()
}

// Holds P5-14, P7-13, P8-17.
#[test]
fn what_was_captured_becomes_an_observation_with_the_labels_of_both() {
    let made = json!({
        "type": "decision", "title": "Tides are kept by the year", "subtitle": "One table.", "facts": ["The table has 730 rows."],
        "narrative": "The harbour keeps one table a year.", "concepts": ["tides"], "files_read": ["src/tide.rs"],
        "files_modified": [], "importance": 4,
        "entities": [{"name": "harbour", "type": "project"}, {"name": "table", "type": "concept"}],
        "relations": [{"source": "harbour", "kind": "uses", "target": "table"}],
        "statements": [{"key": "tide table", "value": "The harbour keeps one table a year.", "confidence": 0.9},
            {"key": "owner", "value": "The table is Ann's.", "confidence": 0.4}],
    });
    let upstream = Upstream::answering("text/event-stream", move |_| answer(&made.to_string()));
    let host = Setup::default().config(&config(&upstream, "extract_entities = true\n")).start();
    let planted = "src/tide.rs: a table of the tides of the whole year\nEND 0\nthe tides are kept by nobody";
    tests::hook(&host, &captured("t", "Read", planted));
    host.wait_for("it is observed", || titles(&host) == ["Tides are kept by the year"]);
    let row = rows(&host)[0].clone();
    let seen = &row["of_kind"]["observation"];
    assert_eq!(
        (&seen["type"], &seen["plain"], &row["importance"]),
        (&json!("decision"), &json!(false), &json!(4))
    );
    assert_eq!(seen["facts"], json!(["The table has 730 rows.", "harbour uses table"]));
    assert_eq!(row["tags"], json!(["tides", "harbour", "table"]));
    assert_eq!(row["label"]["trust"], "untrusted", "{row}");
    let sources = row["label"]["sources"].to_string();
    assert!(sources.contains("hook:claude-code") && sources.contains("model:corp/small"), "{sources}");
    facts_wait_for_the_person_and_entities_are_rows(&host, &text(&row, "id"));
    let asked = &upstream.heard()[0];
    let nonce = asked.split("BEGIN ").nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!(asked.matches(&format!("END {nonce}")).count(), 2, "named once, and once at the end: {asked}");
    assert_eq!(host.json(&["curator", "list"])["jobs"], json!([]), "what is done is not kept");
}

fn facts_wait_for_the_person_and_entities_are_rows(host: &Host, from: &str) {
    let listed =
        |words: &[&str]| host.json(&[&["memory"], words].concat())["memories"].as_array().unwrap().clone();
    host.wait_for("facts are proposed", || listed(&["proposals"]).len() == 2);
    let proposed = listed(&["proposals"]);
    let of = |key: &str| {
        let found = proposed.iter().find(|row| row["of_kind"]["semantic"]["key"] == key);
        found.unwrap().clone()
    };
    let fact = of("tide table");
    assert_eq!(
        (&fact["of_kind"]["semantic"]["confidence"], &fact["source"]["row"]),
        (&json!(900), &json!(from))
    );
    assert_eq!((&fact["label"]["trust"], &fact["state"]["is"]), (&json!("untrusted"), &json!("proposed")));
    assert!(listed(&["list", "--kind", "semantic"]).is_empty(), "nobody has said so");
    let _ = host.json(&["memory", "accept", &text(&fact, "id")]);
    let _ = host.json(&["memory", "reject", &text(&of("owner"), "id")]);
    let holds = listed(&["list", "--kind", "semantic"]);
    assert_eq!((holds.len(), &holds[0]["id"], &holds[0]["label"]["trust"]), (1, &fact["id"], &json!("user")));
    assert!(listed(&["proposals"]).is_empty());
    host.wait_for("entities are kept", || listed(&["list", "--kind", "entity"]).len() == 2);
    let found = listed(&["list", "--kind", "entity", "--tag", "project"]);
    assert_eq!((found.len(), &found[0]["content"]), (1, &json!("harbour\nharbour uses table")));
}

// Holds P7-13.
#[test]
fn what_no_model_can_make_sense_of_is_observed_without_one() {
    let upstream = Upstream::answering("text/event-stream", |_| answer("I would rather not."));
    let host = Setup::default().config(&config(&upstream, "")).start();
    tests::hook(&host, &captured("t", "Read", "src/tide.rs holds a table of the tides of the whole year"));
    host.wait_for("it is observed", || titles(&host) == ["Read: src/tide.rs"]);
    assert_eq!(upstream.heard().len(), 2, "it was asked once more");
}

#[test]
fn a_capture_whose_job_was_given_up_stays_as_it_is_and_is_requeued() {
    let refuses = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let still = std::sync::Arc::clone(&refuses);
    let upstream = Upstream::answering("text/event-stream", move |_| {
        if still.load(Ordering::Relaxed) { refusal("401 Unauthorized", "") } else { answer("no JSON") }
    });
    let host = Setup::default().config(&config(&upstream, "")).start();
    tests::hook(&host, &captured("t", "Read", "src/tide.rs holds a table of the tides of the whole year"));
    let dead = || host.json(&["curator", "list", "--state", "dead"])["jobs"][0].clone();
    host.wait_for("it is given up", || dead()["state"] == "dead");
    assert!(dead()["reason"].as_str().unwrap().starts_with("LLM_AUTH_ERROR"), "{}", dead());
    assert_eq!(rows(&host).len(), 1, "the plain record stands");
    refuses.store(false, Ordering::Relaxed);
    let _ = host.json(&["curator", "requeue", dead()["id"].as_str().unwrap()]);
    host.wait_for("it is observed", || titles(&host) == ["Read: src/tide.rs"]);
}

#[test]
fn without_a_model_titles_and_summaries_are_made_all_the_same() {
    let host = Setup::default().config("[curator]\nbatch_interval_ms = 200\n").start();
    for (call, tool, output) in [
        ("1", "Read", "src/tide.rs holds a table of the tides of the whole year"),
        ("2", "Edit", "it has been changed as src/tide.rs was, and its test passes again"),
    ] {
        let mut told = captured(call, tool, output);
        if tool == "Edit" {
            // The change is the client's word; the output may be anybody's.
            told["tool_input"] = json!({ "file_path": "src/moon.rs" });
        }
        tests::hook(&host, &told);
    }
    tests::hook(&host, &json!({"session_id": "s", "cwd": "/", "hook_event_name": "SessionEnd"}));
    let summary = || rows(&host).into_iter().find(|row| row["kind"] == "summary");
    host.wait_for("the session is summed up", || summary().is_some());
    let summary = summary().unwrap();
    assert_eq!(summary["content"], "2 observations: 1 discovery, 1 change.");
    assert_eq!(summary["of_kind"]["summary"]["files_modified"], json!(["src/moon.rs"]));
    assert_eq!(summary["label"]["trust"], "untrusted");
    let listed = host.json(&["curator", "list"]);
    assert_eq!((&listed["tokens_today"], &listed["dead"]), (&json!(0), &json!(0)), "{listed}");
}

#[test]
fn what_says_the_same_again_is_marked_as_a_duplicate_and_stays_to_be_seen() {
    let host =
        Setup::default().config("[curator]\nbatch_interval_ms = 200\nresolve_conflicts = true\n").start();
    let output = "src/tide.rs holds a table of the tides of the whole year, one row for each of them";
    for call in ["1", "2"] {
        tests::hook(&host, &captured(call, "Read", output));
    }
    let state = |name: &str| {
        let listed = host.json(&["memory", "list", "--state", name]);
        listed["memories"].as_array().cloned().unwrap_or_default()
    };
    let same = || state("superseded").iter().any(|row| row["reason"] == "says the same");
    host.wait_for("one is a duplicate", || same() && rows(&host).len() == 1);
}
