//! Tests of the offline program besides verification: proofs that another program accepts, retention, witness, export.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests, which fail where they panic"
)]

#[expect(dead_code, reason = "shared with the tests of tampering, which use the rest of it")]
mod log;

use audit::bench;
use ipc_proto::audit::{Action, Event, Result3};
use log::{Log, entries, flip, json, run};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400_000;

/// Runs the verifier that was written from the documents alone.
fn independent(proof: &str, words: &[&str]) -> (bool, String) {
    use std::io::Write;
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/verify/verify.py");
    #[expect(clippy::disallowed_methods, reason = "the program that proofs are made for")]
    let mut command = Command::new("python3");
    let command = command.arg("-B").arg(program).args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(proof.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

// Holds P6-09.
#[test]
fn an_independent_program_accepts_proofs_and_refuses_edited_ones() {
    let log = Log::new();
    log.append(300);
    let old = log.keep("checkpoint");
    log.append(301);
    let dir = log.folder().to_str().unwrap();
    for index in ["0", "255", "256", "511", "512", "600"] {
        let (code, proof) = run(&["prove", index, "--dir", dir]);
        assert_eq!(code, 0);
        let (holds, said) = independent(&proof, &[]);
        assert!(holds, "{index}: {said}");
    }
    let kept = old.to_str().unwrap();
    let (_, proof) = run(&["prove", "7", "--dir", dir, "--checkpoint", kept]);
    let key = log.keep("key.pub");
    let words = ["--key", key.to_str().unwrap(), "--checkpoint", kept];
    assert!(independent(&proof, &words).0);
    let document = json(&proof);
    for pointer in ["/entry", "/inclusion/0", "/inclusion/3", "/checkpoint", "/consistency/proof/0"] {
        let mut edited = document.clone();
        let text = edited.pointer(pointer).unwrap().as_str().unwrap().to_owned();
        let first = if text.starts_with('0') { "1" } else { "0" };
        *edited.pointer_mut(pointer).unwrap() = format!("{first}{}", &text[1..]).into();
        assert!(!independent(&edited.to_string(), &words).0, "{pointer}");
    }
    let mut other = document;
    other["index"] = 8.into();
    assert!(!independent(&other.to_string(), &words).0);
}

// Holds P6-09.
#[test]
fn nothing_is_proved_by_the_checkpoint_of_another_log_or_of_a_fork() {
    let (log, other) = (Log::new(), Log::new());
    log.append(300);
    other.append(300);
    let fork = log.copy();
    log.append(10);
    fork.append(5);
    let prove =
        |kept: &str| run(&["prove", "7", "--dir", log.folder().to_str().unwrap(), "--checkpoint", kept]);
    for kept in [&other, &fork] {
        assert_eq!(prove(kept.path("checkpoint").to_str().unwrap()), (1, String::new()));
    }
    let kept = log.keep("checkpoint");
    assert_eq!(prove(kept.to_str().unwrap()).0, 0);
    log::flip(&kept, 40);
    assert_eq!(prove(kept.to_str().unwrap()), (1, String::new()));
}

// Holds P6-06.
#[test]
fn a_folder_that_is_no_log_has_no_entries_to_show_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (none, gone) = (folder.path(), folder.path().join("gone"));
    for dir in [none, gone.as_path()] {
        for command in ["query", "stats", "export", "prove"] {
            let words = [command, "--dir", dir.to_str().unwrap()];
            let index = if command == "prove" { &["0"][..] } else { &[] };
            assert_eq!(run(&[&words[..], index].concat()), (1, String::new()), "{command} {}", dir.display());
        }
    }
}

// Holds P6-17.
#[test]
fn entries_past_retention_are_removed_on_the_record() {
    let log = Log::new();
    log.append_on(100, 600);
    log.append_on(130, 300);
    {
        let mut log = bench::Log::open(log.folder()).unwrap();
        log.append(130 * DAY, [Event::new(Action::CanaryLeaked, Result3::Blocked)]).unwrap();
        log.retain(108 * DAY).unwrap();
    }
    assert!(!log.path("tile/entries/000").exists() && !log.path("tile/entries/001").exists());
    assert!(log.path("tile/entries/002").exists());
    let (code, found) = log.verify(&[]);
    assert_eq!(
        (code, found["sealed"].as_u64(), found["entries"].as_u64()),
        (0, Some(512), Some(902)),
        "{found}"
    );
    let (_, out) = run(&["query", "--dir", log.folder().to_str().unwrap(), "--action", "record_sealed"]);
    assert_eq!(json(&out)["subject"], "0-511");
    let (code, _) = run(&["prove", "5", "--dir", log.folder().to_str().unwrap()]);
    assert_eq!(code, 1);
    log.append(10);
    assert_eq!(log.verify(&[]).0, 0);
    fs::remove_file(log.path("tile/entries/002")).unwrap();
    log.refuses("deleted", Some(512));
}

// Holds B-148.
#[test]
fn a_bundle_with_one_entry_that_is_kept_for_ever_stays() {
    let log = Log::new();
    {
        let mut log = bench::Log::open(log.folder()).unwrap();
        log.append(DAY, [Event::new(Action::CanaryLeaked, Result3::Blocked)]).unwrap();
    }
    log.append_on(1, 300);
    bench::Log::open(log.folder()).unwrap().retain(10_000 * DAY).unwrap();
    assert!(log.path("tile/entries/000").exists());
    assert_eq!(log.verify(&[]).1["sealed"].as_u64(), Some(0));
}

#[test]
fn a_witness_keeps_checkpoints_and_refuses_a_log_that_was_set_back() {
    let log = Log::new();
    log.append(10);
    let before = log.copy();
    let kept = tempfile::tempdir().unwrap();
    let file = kept.path().join("witness");
    let witness = |log: &Log| {
        let dir = log.folder().to_str().unwrap().to_owned();
        run(&["witness", "--json", "--dir", &dir, "--file", file.to_str().unwrap()])
    };
    for notes in [1, 2, 3] {
        assert_eq!(witness(&log).0, 0);
        assert_eq!(fs::read_to_string(&file).unwrap().matches('\u{2014}').count(), notes);
        log.append(300);
    }
    let (code, out) = witness(&before);
    assert_eq!((code, json(&out)["error"]["type"].as_str()), (1, Some("truncated")));
    assert_eq!(fs::read_to_string(&file).unwrap().matches('\u{2014}').count(), 3);
    // The file of all of them is a checkpoint that was kept: its last.
    let words = ["--checkpoint", file.to_str().unwrap()];
    assert_eq!(log.verify(&words).0, 0);
    assert_eq!(before.verify(&words).1["error"]["type"], "truncated");
    let (_, proof) = run(&[&["prove", "7", "--dir", log.folder().to_str().unwrap()][..], &words].concat());
    let (holds, said) = independent(&proof, &words);
    assert!(holds, "{said}");
}

// Holds P6-23.
#[test]
fn a_log_is_checked_against_the_tree_that_another_host_witnessed() {
    let log = Log::new();
    log.append(10);
    let (before, seen) = (log.copy(), log.verify(&[]).1);
    let tree = format!("10:{}", seen["head"].as_str().unwrap());
    log.append(300);
    let (code, found) = log.verify(&["--tree", &tree]);
    assert_eq!((code, found["entries"].as_u64()), (0, Some(310)), "{found}");
    let other = format!("10:{}", "0".repeat(64));
    assert_eq!(log.verify(&["--tree", &other]).1["error"]["type"], "fork");
    let tree = format!("310:{}", found["head"].as_str().unwrap());
    assert_eq!(before.verify(&["--tree", &tree]).1["error"]["type"], "truncated");
    assert_eq!(run(&["verify", "--dir", log.folder().to_str().unwrap(), "--tree", "10"]).0, 64);
}

#[test]
fn entries_are_exported_whole_and_a_filter_admits_what_it_says() {
    let log = Log::new();
    log.append_on(1, 300);
    {
        let mut log = bench::Log::open(log.folder()).unwrap();
        log.append(2 * DAY, [Event::new(Action::ToolDecided, Result3::Blocked).about("bash")]).unwrap();
    }
    let dir = log.folder().to_str().unwrap();
    for format in ["jsonl", "journal", "ocsf", "syslog"] {
        let (code, out) = run(&["export", "--dir", dir, "--format", format]);
        assert_eq!((code, out.lines().count()), (0, 301), "{format}");
    }
    for words in [
        ["--action", "tool_decided"],
        ["--category", "tool"],
        ["--result", "blocked"],
        ["--severity", "warning"],
        ["--subject", "bash"],
        ["--since", "172800000"],
        ["--from", "300"],
    ] {
        let (_, out) = run(&[&["query", "--dir", dir][..], &words].concat());
        assert_eq!(json(&out)["index"], 300, "{words:?}");
    }
    let (_, stats) = run(&["stats", "--dir", dir, "--json"]);
    assert_eq!(json(&stats)["entries"], 301);
}

// Holds P6-23.
#[test]
fn a_forwarder_goes_on_where_it_stopped_and_leaves_no_entry_out() {
    let log = Log::new();
    log.append(10);
    let kept = tempfile::tempdir().unwrap();
    let file = kept.path().join("position");
    let forward = |words: &[&str]| {
        let (dir, file) = (log.folder().to_str().unwrap(), file.to_str().unwrap());
        run(&[&["export", "--format", "journal", "--dir", dir, "--position", file], words].concat())
    };
    let (code, out) = forward(&[]);
    assert_eq!((code, out.lines().count()), (0, 10));
    assert!(out.lines().all(|line| line.starts_with("<7>{\"index\":")), "{out}");
    assert_eq!(forward(&[]), (0, String::new()));
    log.append(2);
    // An entry that no checkpoint covers yet is handed on, and later again: its index may still go to another entry.
    let mut open = bench::Log::open(log.folder()).unwrap();
    open.append(20_000 * DAY, [Event::new(Action::ToolDecided, Result3::Blocked)]).unwrap();
    let lines = [forward(&[]), forward(&[])].map(|(_, out)| {
        out.lines().map(|line| json(&line[3..])["index"].as_u64().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(lines, [vec![10, 11, 12], vec![12]]);
    assert_eq!(forward(&["--from", "3"]).1.lines().count(), 10);
    fs::write(&file, "elsewhere\n").unwrap();
    assert_eq!(forward(&[]).0, 1);
}

#[test]
fn an_old_format_is_refused_and_a_log_without_its_key_stays() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("record.jsonl"), "{}\n").unwrap();
    let refused = bench::Log::open(folder.path()).err().unwrap().to_string();
    assert!(
        refused.contains("record.jsonl") && refused.contains(folder.path().to_str().unwrap()),
        "{refused}"
    );
    let log = Log::new();
    log.append(3);
    fs::remove_file(log.path("key")).unwrap();
    assert!(bench::Log::open(log.folder()).err().unwrap().to_string().contains("signing key is gone"));
}

#[test]
fn a_log_that_does_not_hold_is_not_appended_to() {
    let log = Log::new();
    log.append(10);
    log::flip(&log.path("tile/entries/000.tail"), 100);
    assert!(bench::Log::open(log.folder()).is_err());
}

// Holds P6-07.
#[test]
fn a_file_that_is_no_checkpoint_is_named_and_left_alone() {
    let log = Log::new();
    log.append(3);
    let dir = log.folder().to_str().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    for text in ["", "a shopping list\n", "one\n\ntwo\n\nthree\n", "cordon/x\n7\n\n\u{2014} cordon/x AAAA\n"]
    {
        for words in [
            &["verify", "--dir", dir, "--checkpoint", path, "--json"][..],
            &["prove", "1", "--dir", dir, "--checkpoint", path, "--json"],
            &["witness", "--dir", dir, "--file", path, "--json"],
        ] {
            // A witness begins an empty file.
            if text.is_empty() && words[0] == "witness" {
                continue;
            }
            fs::write(path, text).unwrap();
            let (code, said) = run(words);
            let error = &json(&said)["error"];
            assert_eq!((code, &error["type"]), (1, &"file".into()), "{said}");
            let told = error["message"].as_str().unwrap();
            assert!(told.starts_with(path) && told.contains("is no checkpoint"), "{said}");
            assert_eq!(fs::read_to_string(path).unwrap(), text);
        }
    }
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}

#[test]
fn an_entry_that_cannot_be_read_is_a_fault_and_not_also_late() {
    let log = Log::new();
    log.append(3);
    let mut killed = bench::Log::open(log.folder()).unwrap();
    killed.append(now(), [Event::new(Action::TurnStarted, Result3::Success)]).unwrap();
    killed.kill();
    let tail = log.path("tile/entries/000.tail");
    let last = entries(&fs::read(&tail).unwrap()).into_iter().rfind(|range| !range.is_empty()).unwrap();
    flip(&tail, last.start);
    let (code, found) = log.verify(&[]);
    assert_eq!((code, found["error"]["type"].as_str()), (1, Some("edited")), "{found}");
    assert!(found.get("late").is_none(), "{found}");
}

// Holds P6-30.
#[test]
fn entries_without_a_signature_for_too_long_are_a_warning() {
    let log = Log::new();
    log.append(10);
    assert!(log.verify(&[]).1.get("late").is_none(), "signed entries are never late");
    let (now, old) = (now(), 20_000 * DAY);
    let event = || Event::new(Action::TurnStarted, Result3::Success);
    let mut killed = bench::Log::open(log.folder()).unwrap();
    killed.append(now, [event()]).unwrap();
    killed.kill();
    assert!(log.verify(&[]).1.get("late").is_none(), "the latest entry may wait");
    let mut killed = bench::Log::open(log.folder()).unwrap();
    killed.append(old, [event()]).unwrap();
    killed.append(old + 7, [event()]).unwrap();
    killed.kill();
    let (code, found) = log.verify(&[]);
    assert_eq!((code, &found["ok"]), (0, &true.into()), "{found}");
    assert_eq!((&found["late"]["entries"], &found["late"]["since_ms"]), (&2.into(), &old.into()), "{found}");
    let (_, said) = run(&["verify", "--dir", log.folder().to_str().unwrap()]);
    assert!(
        said.contains(
            "warning: 2 entries since 2024-10-04T00:00:00.000Z wait for a signature, longer than the 60 s"
        ),
        "{said}"
    );
}

#[test]
fn an_unreadable_file_is_named_in_json_where_json_is_asked() {
    let log = Log::new();
    log.append(3);
    let dir = log.folder().to_str().unwrap();
    for (words, kind, names) in [
        (&["verify", "--dir", dir, "--key", "/nope"][..], "file", "/nope: "),
        (&["verify", "--dir", dir, "--checkpoint", "/nope"], "file", "/nope: "),
        (&["prove", "1", "--dir", "/nope"], "record", "/nope"),
        (&["export", "--dir", "/nope"], "record", "/nope"),
        (&["stats", "--dir", "/nope"], "record", "/nope"),
    ] {
        let (code, said) = run(&[words, &["--json"]].concat());
        let document = json(&said);
        assert_eq!(
            (code, &document["ok"], &document["error"]["type"]),
            (1, &false.into(), &kind.into()),
            "{said}"
        );
        assert!(document["error"]["message"].as_str().unwrap().contains(names), "{said}");
    }
}
