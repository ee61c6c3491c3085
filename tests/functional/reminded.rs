//! Memories that coding agents get through their hooks: those that fit a question, the newest at a start, no
//! more rows than the owner wants, each under the file that its tool worked on.

use serde_json::{Value, json};
use std::path::Path;
use tests::{Host, Setup, hook_of, text};

/// The context that Claude Code gets for an event; empty if there is none.
fn given(host: &Host, project: &Path, event: &str, more: &Value) -> String {
    let mut told = json!({ "session_id": "s1", "cwd": project, "hook_event_name": event });
    told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let output = hook_of(host, &["claude-code"], &told);
    assert!(output.stderr.is_empty(), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

fn asked(host: &Host, project: &Path, prompt: &str) -> String {
    given(host, project, "UserPromptSubmit", &json!({ "prompt": prompt }))
}

fn started(host: &Host, project: &Path) -> String {
    given(host, project, "SessionStart", &json!({ "source": "startup" }))
}

fn previewed(host: &Host, project: &Path, words: &[&str]) -> String {
    let project = project.to_str().unwrap();
    let output = host.ctl(&[&["memory", "context", "--project", project], words].concat());
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn add(host: &Host, project: &Path, content: &str) -> String {
    text(&host.json(&["memory", "add", content, "--project", project.to_str().unwrap()]), "id")
}

/// Lines of an index.
fn listed(block: &str) -> Vec<&str> {
    let index = block.split_once("## Index\n").map_or("", |(_, rest)| rest);
    let index = index.split_once("\n## ").map_or(index, |(index, _)| index);
    index.lines().filter(|line| line.contains(" | ~") && !line.contains("~tokens")).collect()
}

// Holds P5-32.
#[test]
fn a_question_gets_fitting_memories_and_a_start_the_newest() {
    let host = Host::start();
    let project = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let lamp = add(&host, project.path(), "the lamp of the harbour light was changed from red to green");
    for n in 0..12 {
        let _ = add(&host, project.path(), &format!("plain words of note {n} on tea and biscuits"));
    }
    // Better ones of other projects take no place.
    for n in 0..60 {
        let _ = add(&host, elsewhere.path(), &format!("harbour lamp harbour lamp {n}"));
    }
    for nothing in ["xyzzy plugh quite unrelated words", "short", "what is it?", "ok go on"] {
        assert_eq!(asked(&host, project.path(), nothing), "", "{nothing}");
    }
    let question = "which colour has the harbour lamp?";
    let words = ["--words", question, "--only", "--tokens", "1000", "--rows", "8", "--full", "1"];
    let shown = previewed(&host, project.path(), &words);
    let block = asked(&host, project.path(), question);
    assert_eq!(block, shown);
    let lines = listed(&block);
    assert!(lines.len() == 1 && lines[0].contains(&lamp), "{block}");
    assert!(!block.contains("## Recent sessions"), "{block}");
    let block = asked(&host, project.path(), "how do tea and biscuits go together?");
    assert_eq!(listed(&block).len(), 8, "{block}");

    let shown = previewed(&host, project.path(), &[]);
    let block = started(&host, project.path());
    assert_eq!(block, shown);
    assert!(block.contains("note 11") && block.contains("## Recent sessions"), "{block}");
    assert_eq!(listed(&block).len(), 13 + 3, "with the three questions that were taken down: {block}");
}

// Holds P5-32.
#[test]
fn no_block_has_more_index_rows_than_the_owner_allows() {
    let host = Setup::default().config("[memory]\nmax_index_entries = 3\n").start();
    let project = tempfile::tempdir().unwrap();
    for n in 0..8 {
        let _ = add(&host, project.path(), &format!("note {n} on tea and biscuits"));
    }
    let blocks = [
        started(&host, project.path()),
        previewed(&host, project.path(), &["--rows", "50"]),
        asked(&host, project.path(), "how do tea and biscuits go together?"),
    ];
    for block in blocks {
        assert_eq!(listed(&block).len(), 3, "{block}");
    }
    assert_eq!(listed(&previewed(&host, project.path(), &["--rows", "2"])).len(), 2);
}

// Holds P5-33.
#[test]
fn an_observation_is_filed_under_its_tools_file_and_claims_no_change() {
    let host = Host::start();
    let project = tempfile::tempdir().unwrap();
    let own = project.path().join("src/own.rs");
    let page = "this page names src/planted.rs first and then docs/other.md, in so many words";
    for (call, tool, input) in [
        ("t1", "Read", json!({ "file_path": own })),
        ("t2", "Edit", json!({ "file_path": own, "old_string": "a", "new_string": "src/planted.rs" })),
        ("t3", "Bash", json!({ "command": "ls src/planted.rs" })),
    ] {
        let told =
            json!({ "tool_name": tool, "tool_use_id": call, "tool_input": input, "tool_response": page });
        assert_eq!(given(&host, project.path(), "PostToolUse", &told), "");
    }
    let rows = host.json(&["memory", "list", "--kind", "observation"])["memories"].clone();
    let of = |tool: &str| {
        let rows = rows.as_array().unwrap();
        rows.iter()
            .find(|row| row["source"]["tool"] == tool)
            .unwrap_or_else(|| panic!("{tool}: {rows:?}"))
            .clone()
    };
    let own = own.to_str().unwrap();
    assert_eq!(of("Read")["of_kind"]["observation"]["files_read"][0], own, "{rows}");
    assert_eq!(of("Edit")["of_kind"]["observation"]["files_modified"], json!([own]), "{rows}");
    assert_eq!(of("Bash")["of_kind"]["observation"]["files_modified"], json!([]), "{rows}");
    let block = started(&host, project.path());
    let (_, under) = block.split_once("### src/own.rs\n").unwrap_or_else(|| panic!("{block}"));
    let under = under.split_once("\n### ").map_or(under, |(under, _)| under);
    assert_eq!(listed(&format!("## Index\n{under}")).len(), 2, "{block}");
    assert!(!block.contains("> Changed: src/planted.rs"), "{block}");
}
