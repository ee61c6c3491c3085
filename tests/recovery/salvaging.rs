//! A database of memory of which single pages are damaged: all that can be read is listed, found and exported, the rest is
//! counted, and the message says what to do.

use serde_json::Value;
use std::path::Path;
use tests::{Host, Setup};

const PAGE: usize = 4096;
/// Observations, each with what it was made from.
const ROWS: usize = 40;

/// Starts a host in which memory holds so many rows, and ends it with its log emptied into its database.
fn filled(folder: &Path) {
    let mut host = Setup::default().state(folder).start();
    // Background work would make further rows.
    let _ = host.json(&["curator", "pause"]);
    let project = tempfile::tempdir().unwrap();
    for number in 0..ROWS {
        let output = format!("harbour row {number}: {}", "the light was looked at. ".repeat(20));
        let told = serde_json::json!({ "directory": project.path(),
            "input": { "tool": "read", "sessionID": "ses_1", "callID": format!("c{number}") },
            "output": { "title": "light.rs", "output": output, "metadata": {} } });
        let _ = tests::hook_of(&host, &["opencode", "tool.execute.after"], &told);
    }
    // A row that is deleted for good empties the log.
    let id = tests::text(&host.json(&["memory", "add", "deleted"]), "id");
    let _ = host.json(&["memory", "delete", &id]);
    let (listed, found, saved, said) = read(&host);
    assert_eq!((listed, found, saved, said.as_str()), (ROWS, ROWS, ROWS, ""));
    host.stop();
}

/// The table or index that each page of a database belongs to.
fn pages(file: &Path) -> Vec<(usize, String)> {
    let listed = "import sqlite3, sys
db = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro&immutable=1', uri=True)
for page, name, kind in db.execute('SELECT pageno, name, pagetype FROM dbstat'): print(page - 1, name + ':' + kind)";
    #[expect(clippy::disallowed_methods, reason = "it looks at a database from outside")]
    let output = std::process::Command::new("python3").args(["-c", listed]).arg(file).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let of = |line: &str| line.split_once(' ').map(|(page, name)| (page.parse().unwrap(), name.to_owned()));
    text.lines().filter_map(of).collect()
}

/// Changes the database of a host that is stopped.
fn changed(file: &Path, sql: &str) {
    let change = "import sqlite3, sys
db = sqlite3.connect(sys.argv[1]); db.execute(sys.argv[2]); db.commit()";
    #[expect(clippy::disallowed_methods, reason = "a database as another version would leave it")]
    let status =
        std::process::Command::new("python3").args(["-c", change]).arg(file).arg(sql).status().unwrap();
    assert!(status.success());
}

/// The figures of a damaged host: listed, found, exported, and what is said on standard error of the export.
fn read(host: &Host) -> (usize, usize, usize, String) {
    let count = |value: &Value, name: &str| value[name].as_array().map_or(0, Vec::len);
    let listed = count(&host.json(&["memory", "list", "--limit", "100"]), "memories");
    let found = count(&host.json(&["memory", "search", "harbour", "--limit", "100"]), "hits");
    let file = host.dir().join("saved.jsonl");
    let output = host.ctl(&["memory", "export", "--force", file.to_str().unwrap()]);
    let saved = std::fs::read_to_string(&file).unwrap();
    let saved = saved.lines().filter(|line| line.contains("\"row\"")).count();
    (listed, found, saved, String::from_utf8(output.stderr).unwrap())
}

// Holds P7-27.
#[test]
fn a_damaged_page_loses_its_own_rows_alone_and_they_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let file = folder.path().join("memory/memory.db");
    let whole = std::fs::read(&file).unwrap();
    let all = pages(&file);
    // True if python's own SQLite can say what each page belongs to.
    assert!(!all.is_empty(), "python3's sqlite3 has no dbstat");
    for (part, loses) in [
        ("kept:leaf", true),
        ("raw:leaf", false),
        ("kept_by_scope:leaf", false),
        ("words_1_data:leaf", false),
    ] {
        let (page, _) =
            all.iter().find(|(_, name)| name == part).unwrap_or_else(|| panic!("{part}: {all:?}"));
        let mut damaged = whole.clone();
        damaged[page * PAGE..(page + 1) * PAGE].fill(b'Z');
        drop(std::fs::remove_file(file.with_extension("db-wal")));
        std::fs::write(&file, &damaged).unwrap();
        let mut host = Setup::default().state(folder.path()).start();
        let (listed, found, saved, said) = read(&host);
        assert_eq!((listed, listed), (found, saved), "{part}: {said}");
        assert_eq!(listed < ROWS, loses, "{part}: {listed}");
        assert!(listed >= ROWS / 2, "{part}: {listed}");
        assert!(
            said.contains(&format!("{} memories of this area cannot be read", ROWS - listed)),
            "{part}: {said}"
        );
        assert!(
            said.contains("agentctl memory export") && said.contains("agentctl backup restore"),
            "{said}"
        );
        let waiting = host.ctl(&["memory", "proposals"]);
        let waiting = String::from_utf8_lossy(&waiting.stderr).into_owned();
        assert!(waiting.contains("memories of this area cannot be read"), "{part}: {waiting}");
        if part == "raw:leaf" {
            assert!(said.contains("cannot be read what they were made from"), "{said}");
        }
        let named = file.to_str().unwrap();
        assert!(host.log().contains(named), "{}", host.log());
        let status = host.json(&["status"]);
        assert!(status["host"]["reason"].as_str().unwrap_or_default().contains(named), "{status}");
        let refused = host.ask(&["memory", "add", "after"]);
        assert_eq!(refused["error"]["type"], "read_only", "{refused}");
        host.stop();
        assert_eq!(std::fs::read(&file).unwrap(), damaged, "{part}: it is never written to");
    }
}

// Holds P7-28.
#[test]
fn an_export_has_all_rows_that_are_understood_and_names_the_others() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let file = folder.path().join("memory/memory.db");
    // As a newer version might write it; the rows around it are on the same pages.
    changed(&file, "UPDATE kept SET detail = '{\"kind\":\"dream\"}' WHERE n = (SELECT max(n) - 1 FROM kept)");
    let mut host = Setup::default().state(folder.path()).start();
    let (listed, found, saved, said) = read(&host);
    assert_eq!((listed, found, saved), (ROWS - 1, ROWS - 1, ROWS - 1), "{said}");
    assert!(said.contains("1 memories are not in it") && !said.contains("agentctl backup restore"), "{said}");
    assert!(
        !host.ctl(&["memory", "export"]).status.success(),
        "an export that lacks something does not end well"
    );
    let id = said.rsplit(": ").next().unwrap().trim();
    let shown = host.ask(&["memory", "show", id]);
    assert_eq!(shown["error"]["type"], "storage", "{id}: {shown}");
    let _ = host.json(&["memory", "add", "after"]);
    assert!(host.json(&["status"])["host"]["reason"].is_null(), "the host is well");
    host.stop();
}

// Holds P7-27.
#[test]
fn what_cannot_be_read_at_all_is_said_to_be_so_and_not_to_be_nothing() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path());
    let file = folder.path().join("memory/memory.db");
    let mut damaged = std::fs::read(&file).unwrap();
    damaged[..PAGE].fill(b'Z');
    drop(std::fs::remove_file(file.with_extension("db-wal")));
    std::fs::write(&file, &damaged).unwrap();
    let host = Setup::default().state(folder.path()).start();
    for words in [&["memory", "list"][..], &["memory", "search", "harbour"], &["memory", "export"]] {
        let answer = host.ctl(words);
        let said = String::from_utf8_lossy(&answer.stderr).into_owned();
        assert!(!answer.status.success() && said.contains("damaged"), "{words:?}: {said}");
    }
}
