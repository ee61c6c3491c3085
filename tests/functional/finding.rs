//! Memories are found by a question with other words, and the quality of the search is measured without a host.

use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tests::{Host, Setup, Upstream, programs};

/// Runs `agentctl memory eval` where there is no host, with these lines to read.
#[expect(clippy::disallowed_methods, reason = "a test runs the command as a person would")]
fn measured(lines: &str, options: &[&str]) -> Output {
    let mut command = Command::new(programs().join("agentctl"));
    command.args(["--socket", "/nowhere", "memory", "eval"]).args(options);
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    // A program that ends at a malformed line reads no further.
    let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
    child.wait_with_output().unwrap()
}

const TALK: &str = r#"{"op":"add","id":"t1","session":"s","time":"2031-05-08T10:00:00Z","speaker":"Ida","text":"I bought a cello yesterday."}
{"op":"add","id":"t2","session":"s","time":"2031-05-08T10:00:00Z","speaker":"Ruben","text":"The ferry was late."}
{"op":"ask","id":"q","question":"Which instrument does Ida play?","evidence":["t1"]}
"#;

#[test]
fn finding_is_measured_without_a_host() {
    let output = measured(TALK, &["--limit", "5", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["id"], &lines[0]["results"][0]), (&json!("q"), &json!("t1")));
    let figures = &lines[1]["figures"];
    assert_eq!([&figures["recall@5"], &figures["hit@5"], &figures["mrr"]], [&json!(1.0); 3]);
}

#[test]
fn a_file_is_measured_like_standard_input_and_a_missing_one_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("talk.jsonl");
    std::fs::write(&file, TALK).unwrap();
    let path = file.to_str().unwrap();
    let expected = measured(TALK, &[]).stdout;
    assert_eq!(measured("", &[path]).stdout, expected);
    assert_eq!(measured(TALK, &["-"]).stdout, expected);
    let missing = measured(TALK, &["/nowhere/talk.jsonl"]);
    assert!(
        !missing.status.success() && String::from_utf8_lossy(&missing.stderr).contains("/nowhere/talk.jsonl")
    );
}

#[test]
fn a_malformed_line_of_a_measurement_is_named_by_its_number_and_status_2() {
    let output = measured(&format!("{TALK}{{\"op\":\"add\"}}\n"), &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("line 4"), "{output:?}");
}

#[test]
fn a_question_with_other_words_finds_a_memory_and_explains_it() {
    let host = Host::start();
    for text in ["Ida bought a cello", "the ferry leaves at noon"] {
        let _ = host.json(&["memory", "add", text, "--tag", "harbour"]);
    }
    let question = ["memory", "search", "Which", "instrument?", "--explain"];
    let found = host.json(&question);
    assert_eq!(found["hits"][0]["content"], "Ida bought a cello", "{found}");
    assert_eq!(found["hits"][0]["why"]["by_words"], 1, "{found}");
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(1), "{found}");
    let fused = host.json(&["memory", "search", "fery", "--by", "fused", "--tag", "harbour"]);
    assert_eq!(fused["hits"][0]["content"], "the ferry leaves at noon", "{fused}");
}

#[test]
fn rows_get_vectors_in_the_background_and_questions_use_their_embedder() {
    let config = "[memory]\nembedder = \"offline/hash-384\"\n[curator]\nbatch_interval_ms = 200\n";
    let host = Setup::default().config(config).start();
    for text in ["the ferry leaves at noon", "Ida bought a cello"] {
        let _ = host.json(&["memory", "add", text]);
    }
    host.wait_for("every row has a vector", || host.json(&["memory", "stats"])["embedded"] == 2);
    for by in ["meaning", "fused", "weighted"] {
        let found = host.json(&["memory", "search", "the ferry leaves", "--by", by, "--explain"]);
        assert_eq!(found["hits"][0]["content"], "the ferry leaves at noon", "{found}");
        assert_eq!(found["hits"][0]["why"]["by_meaning"], 1, "{found}");
    }
    // A person's questions are on the record as theirs, background work as curator's.
    let decided: Vec<String> =
        host.recorded("model_decided").iter().map(|it| tests::text(it, "reason")).collect();
    let by = |who: &str| decided.iter().filter(|reason| reason.starts_with(who)).count();
    assert!(by("control for ") == 3 && by("curator for ") >= 1, "{decided:?}");
    assert_eq!(host.json(&["memory", "reindex"])["embedded"], 0);
    host.wait_for("every row has one again", || host.json(&["memory", "stats"])["embedded"] == 2);
}

// Holds P3-33.
#[test]
fn a_question_by_meaning_without_hits_says_that_vectors_may_be_missing() {
    let host = Setup::default().config("[memory]\nembedder = \"offline/hash-384\"\n").start();
    let _ = host.json(&["curator", "pause"]);
    let _ = host.json(&["memory", "add", "the ferry leaves at noon"]);
    let found = host.json(&["memory", "search", "the ferry leaves", "--by", "meaning"]);
    assert_eq!(found["hits"], serde_json::json!([]), "{found}");
    assert!(found["notes"][0].as_str().unwrap().contains("a vector of offline/hash-384"), "{found}");
    let found = host.json(&["memory", "search", "the ferry leaves"]);
    assert_eq!(
        (found["hits"].as_array().map(Vec::len), &found["notes"]),
        (Some(1), &serde_json::json!([])),
        "{found}"
    );
}

// Holds P5-20.
#[test]
fn a_failing_embedder_is_reported_in_its_words_and_none_takes_its_place() {
    let ill = Arc::new(AtomicBool::new(false));
    let is_ill = Arc::clone(&ill);
    let upstream = Upstream::answering("application/json", move |_| {
        let status =
            if is_ill.load(Ordering::Relaxed) { "500 Internal Server Error" } else { "400 Bad Request" };
        format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}")
    });
    let at = format!("127.0.0.1:{}", upstream.port);
    let host = Setup::default()
        .config(&format!(
            "[credproxy]\nplain_http = [\"{at}\"]\n[provider.corp]\nbase_url = \"http://{at}/v1\"\n\
             [provider.corp.models.vectors]\nembeds = true\n[memory]\nembedder = \"corp/vectors\"\n"
        ))
        .start();
    let _ = host.json(&["memory", "add", "the ferry leaves at noon"]);
    let failed = host.ask(&["memory", "search", "ferry", "--by", "fused"]);
    let said = |failed: &Value| failed["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(said(&failed).starts_with("LLM_REQUEST_ERROR"), "{failed}");
    // However often it is tried again, and be it until the time is over, it is told by what it said.
    ill.store(true, Ordering::Relaxed);
    let failed = host.ask(&["memory", "search", "ferry", "--by", "fused"]);
    assert!(said(&failed).starts_with("LLM_SERVER_ERROR"), "{failed}");
    let found = host.json(&["memory", "search", "ferry"]);
    assert_eq!(found["hits"][0]["content"], "the ferry leaves at noon", "{found}");
    assert_eq!(host.json(&["memory", "stats"])["embedder"], "corp/vectors");
}

// Holds P5-25.
#[test]
fn scores_are_multiplied_by_the_named_signals_and_each_is_shown() {
    let host = Host::start();
    let add = |text: &str, importance: &str| {
        let _ = host.json(&["memory", "add", text, "--importance", importance]);
    };
    add("the harbour light is red", "5");
    add("the harbour light is white", "3");
    let plain = ["memory", "search", "harbour light", "--explain"];
    let found = host.json(&plain);
    let usual = [&found["hits"][0]["score"], &found["hits"][1]["score"]];
    assert_eq!(found["hits"][0]["why"]["weighed"], json!([]), "{found}");
    let named = host.json(&[&plain[..], &["--weigh", "importance,salience"]].concat());
    let hits = &named["hits"];
    assert_eq!(hits[0]["content"], "the harbour light is red", "{named}");
    let weighed =
        json!([{ "signal": "salience", "factor": 1386 }, { "signal": "importance", "factor": 1400 }]);
    assert_eq!(hits[0]["why"]["weighed"], weighed, "{named}");
    assert!(hits[0]["score"].as_i64() > usual[0].as_i64(), "{found} {named}");
    let told = host.ctl(&[&plain[..], &["--weigh", "trust"]].concat());
    assert!(String::from_utf8_lossy(&told.stdout).contains("trust x 1.000"), "{told:?}");
    let unknown = host.ctl(&["memory", "search", "harbour", "--weigh", "recency,loudness"]);
    assert_eq!(unknown.status.code(), Some(64), "{unknown:?}");
    let why = String::from_utf8_lossy(&unknown.stderr).into_owned();
    for name in ["loudness", "recency", "salience", "trust", "importance"] {
        assert!(why.contains(name), "{why}");
    }
}
