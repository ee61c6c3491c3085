//! The queue of background work, as its owner sees it.

use crate::canned::Canned;
use crate::host::{Host, document, stdout};
use crate::samples::job;
use serde_json::json;

#[test]
fn the_curators_queue_is_one_document_and_a_table_as_text() {
    let host = Host::new(Canned::default());
    let id = job().info.id.to_string();
    for (words, pointer, expected) in [
        ("curator list", "/tokens_today", json!(7)),
        ("curator list --state dead", "/jobs/0/reason", json!(job().info.reason)),
        ("curator show 1010", "/job/prompt", json!("what is a?")),
        ("curator ask why --as json --priority high --model corp/small", "/job/as", json!("json")),
        ("curator edit 1010 --priority low", "/job/priority", json!("low")),
        ("curator requeue 1010", "/job/id", json!(id)),
        ("curator pause", "/paused", json!(true)),
        ("curator resume", "/paused", json!(false)),
        ("curator abort", "/aborted", json!(2)),
        ("curator run", "/waiting", json!(2)),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        assert_eq!(host.json(&words).pointer(pointer), Some(&expected), "{words:?}");
        let plain = host.run(&words);
        assert!(plain.status.success() && !plain.stdout.is_empty(), "{words:?}");
    }
    let listed = stdout(&host.run(&["curator", "list"]));
    assert!(listed.contains("corp/small") && listed.contains("LLM_TIMEOUT"), "{listed}");
}

#[test]
fn a_job_that_is_not_there_or_under_way_is_answered_with_its_own_word() {
    let host = Host::new(Canned::default());
    for (words, kind) in
        [(["curator", "show", "ffff"], "no_job"), (["curator", "drop", "1010"], "queue_busy")]
    {
        let refused = document(&host.run(&[&words[..], &["--json"]].concat()));
        assert_eq!(refused["error"]["type"], kind, "{refused}");
    }
}
