//! kill -9 at every step of background work: what was captured is observed once, whichever step it was.

use serde_json::{Value, json};
use tests::{Host, Setup, Upstream};

/// Every step of a job.
const POINTS: &[&str] = &[
    "curator:curator.claimed",
    "curator:curator.answered",
    "curator:curator.settled",
    "curator:curator.done",
    "curator:curator.finished",
];

fn observations(host: &Host) -> Vec<Value> {
    let listed = host.json(&["memory", "list"]);
    listed["memories"].as_array().cloned().unwrap_or_default()
}

// Holds P7-12.
#[test]
fn a_crash_at_any_step_of_background_work_settles_each_job_once() {
    for point in POINTS {
        let config = "[curator]\nbatch_interval_ms = 200\n";
        let host = Setup::default().config(config).arguments(&["--fault", point]).start();
        let told = json!({
            "session_id": "s", "cwd": "/", "hook_event_name": "PostToolUse", "tool_name": "Read", "tool_use_id": "t",
            "tool_input": {}, "tool_response": "harbour/src/tide.rs holds the table of the tides of the whole year",
        });
        tests::hook(&host, &told);
        let observed = || {
            let rows = observations(&host);
            rows.iter().any(|row| row["of_kind"]["observation"]["title"] == "Read: harbour/src/tide.rs")
        };
        host.wait_for(&format!("{point}: it is observed"), observed);
        host.wait_for(&format!("{point}: it died once"), || host.process("curator")["restarts"] == 1);
        host.wait_for(&format!("{point}: nothing is left"), || {
            let listed = host.json(&["curator", "list"]);
            listed["running"] == 0 && listed["dead"] == 0
        });
        let rows = observations(&host);
        assert_eq!(rows.len(), 1, "{point}: {rows:?}");
        let id = rows[0]["id"].as_str().unwrap();
        let history = host.json(&["memory", "history", id]);
        assert_eq!(history["revisions"].as_array().map(Vec::len), Some(2), "{point}: {history}");
    }
}

// Holds P7-68.
#[test]
fn a_crash_while_a_vector_is_stored_leaves_the_row_and_stores_it_later() {
    let config = "[memory]\nembedder = \"offline/hash-384\"\n[curator]\nbatch_interval_ms = 200\n";
    let point = "memory:memory.embed.vector";
    let host = Setup::default().config(config).arguments(&["--fault", point]).start();
    let _ = host.json(&["memory", "add", "the ferry leaves at noon"]);
    host.wait_for("it died once", || host.process("memory")["restarts"] == 1);
    host.wait_for("the row has a vector", || host.ask(&["memory", "stats"])["embedded"] == 1);
    let found = host.json(&["memory", "search", "the ferry leaves", "--by", "meaning", "--explain"]);
    assert_eq!(
        found["hits"][0]["why"]["likeness"].as_i64().map(|likeness| likeness > 500),
        Some(true),
        "{found}"
    );
}

// Holds P7-22.
#[test]
fn a_crash_at_any_step_of_an_extraction_leaves_each_fact_once() {
    let made = json!({
        "title": "Tides are kept by the year", "type": "decision", "narrative": "One table holds a year.",
        "entities": [{"name": "harbour", "type": "project"}],
        "statements": [{"key": "tide table", "value": "The harbour keeps one table a year.", "confidence": 0.9},
            {"key": "owner", "value": "The table is Ann's.", "confidence": 0.4}],
    });
    let points = [
        "memory.observe.recorded",
        "memory.revise.superseded",
        "memory.observe.row",
        "memory.observe.stored",
    ];
    for point in points
        .map(|point| format!("memory:{point}"))
        .into_iter()
        .chain(["curator:curator.settled".to_owned()])
    {
        let told = made.to_string();
        let upstream = Upstream::answering("text/event-stream", move |_| tests::answer(&told));
        let at = format!("127.0.0.1:{}", upstream.port);
        let config = format!(
            "[credproxy]\nplain_http = [\"{at}\"]\n[provider.corp]\nbase_url = \"http://{at}/v1\"\n\
             [provider.corp.models.small]\n[curator]\nmodel = \"corp/small\"\nbatch_interval_ms = 200\n\
             extract_entities = true\nsummaries = false\n"
        );
        let host = Setup::default().config(&config).arguments(&["--fault", &point]).start();
        let captured = json!({
            "session_id": "s", "cwd": "/", "hook_event_name": "PostToolUse", "tool_name": "Read", "tool_use_id": "t",
            "tool_input": {}, "tool_response": "harbour/src/tide.rs holds the table of the tides of the whole year",
        });
        tests::hook(&host, &captured);
        let (name, _) = point.split_once(':').unwrap();
        host.wait_for(&format!("{point}: it died once"), || host.process(name)["restarts"] == 1);
        let listed = |words: &[&str]| {
            let listed = host.ask(&[&["memory"], words].concat());
            listed["memories"].as_array().cloned().unwrap_or_default()
        };
        host.wait_for(&format!("{point}: it is observed"), || {
            listed(&["list"]).iter().any(|row| row["of_kind"]["observation"]["title"] == made["title"])
        });
        host.wait_for(&format!("{point}: nothing is left"), || {
            let listed = host.ask(&["curator", "list"]);
            listed["running"] == 0 && listed["dead"] == 0
        });
        assert_eq!(listed(&["proposals"]).len(), 2, "{point}: with the row came its facts");
        assert_eq!(listed(&["list", "--kind", "entity"]).len(), 1, "{point}");
        assert_eq!(listed(&["list", "--kind", "observation"]).len(), 1, "{point}");
        assert_eq!(host.json(&["audit", "verify"])["ok"], true, "{point}");
    }
}

// Holds P7-12.
#[test]
fn a_death_while_a_session_is_summed_up_leaves_it_one_summary() {
    let config = "[curator]\nbatch_interval_ms = 200\n";
    let point = "memory:memory.summary.recorded";
    let host = Setup::default().config(config).arguments(&["--fault", point]).start();
    for call in ["moon", "tide"] {
        tests::hook(
            &host,
            &json!({
                "session_id": "s", "cwd": "/", "hook_event_name": "PostToolUse", "tool_name": "Read", "tool_use_id": call,
                "tool_input": {}, "tool_response": format!("harbour/src/{call}.rs holds a table of the whole year and more"),
            }),
        );
    }
    tests::hook(&host, &json!({ "session_id": "s", "cwd": "/", "hook_event_name": "SessionEnd" }));
    host.wait_for("it died once", || host.process("memory")["restarts"] == 1);
    let summaries = || {
        let listed = host.ask(&["memory", "list", "--kind", "summary"]);
        listed["memories"].as_array().map_or(0, Vec::len)
    };
    host.wait_for("the session is summed up", || summaries() > 0);
    host.wait_for("nothing is left", || {
        let listed = host.ask(&["curator", "list"]);
        listed["running"] == 0 && listed["dead"] == 0
    });
    assert_eq!(summaries(), 1);
    assert!(host.json(&["memory", "sessions"])["sessions"][0]["summary"].is_string());
    assert_eq!(host.json(&["audit", "verify"])["ok"], true);
}
