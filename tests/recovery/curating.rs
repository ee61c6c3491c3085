//! kill -9 at every step of background work: what was captured is observed once, whichever step it was.

use serde_json::{Value, json};
use tests::{Host, Setup};

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

#[test]
fn a_death_at_any_step_of_background_work_loses_no_job_and_settles_it_once() {
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

#[test]
fn a_death_while_a_vector_is_kept_leaves_the_row_as_it_was_and_the_vector_is_kept_after() {
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
