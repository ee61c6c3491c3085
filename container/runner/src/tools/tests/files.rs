//! read, write and edit, with real files.

use super::{Bench, in_namespaces, names};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nix::mount::{MsFlags, mount};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

#[test]
fn text_is_read_exactly_as_it_is() {
    let bench = Bench::new();
    for content in ["", "a", "a\n", "a\r\nb\tc\n\n", "äöü €\n"] {
        bench.put("f", content);
        assert_eq!(bench.ok("read", json!({"path": "f"})), content);
    }
}

#[test]
fn a_file_is_found_by_each_of_its_names() {
    let bench = Bench::new();
    bench.put("a/f", "x");
    let full = bench.path("a/f").to_str().unwrap().to_owned();
    let skill = bench.dir.path().join("skills/SKILL.md").to_str().unwrap().to_owned();
    for path in ["a/f", "./a/f", "a//f", "a/../a/f", &full] {
        assert_eq!(bench.ok("read", json!({"path": path})), "x", "{path}");
    }
    assert_eq!(bench.ok("read", json!({"path": skill})), "a skill\n");
}

#[test]
fn what_is_not_text_is_refused_as_text_and_read_whole_otherwise() {
    let bench = Bench::new();
    let bytes: Vec<u8> = (0..=255).collect();
    bench.put("f", &bytes);
    let (code, said) = bench.fails("read", json!({"path": "f"}));
    assert!(code == "not_text" && said.contains("base64"), "{said}");
    assert_eq!(bench.ok("read", json!({"path": "f", "encoding": "base64"})), STANDARD.encode(&bytes));
    let binary = bench.ok("read", json!({"path": "f", "encoding": "binary"}));
    assert_eq!(binary.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect::<Vec<_>>(), bytes);
}

#[test]
fn whatever_is_cut_from_a_file_is_marked() {
    let bench = Bench::new();
    bench.put("lines", "x\n".repeat(2001));
    let shown = bench.ok("read", json!({"path": "lines"}));
    assert!(
        shown.ends_with("x\n[... cut: the first 2000 of 2001 lines are shown ...]"),
        "{}",
        &shown[3990..]
    );
    bench.put("lines", "x\n".repeat(2000));
    assert_eq!(bench.ok("read", json!({"path": "lines"})).len(), 4000);

    bench.put("long", format!("{}\n", "é".repeat(2001)));
    assert!(
        bench.ok("read", json!({"path": "long"})).ends_with("é[... 1 more characters of this line cut]\n")
    );

    bench.put("half", "ab€");
    for (most, shown) in [(2, "ab"), (3, "ab"), (4, "ab"), (5, "ab€")] {
        let outcome = bench.run("read", json!({"path": "half", "maxSize": most}));
        assert!(outcome.ok && outcome.output.starts_with(shown), "{}", outcome.output);
        assert_eq!(outcome.output.contains("of 5 bytes are shown"), most < 5);
        assert_eq!(outcome.metadata["truncated"], most < 5);
    }
}

#[test]
fn no_file_is_too_large_to_be_read_in_part() {
    let bench = Bench::new();
    let file = fs::File::create(bench.path("huge")).unwrap();
    file.set_len(1 << 40).unwrap();
    for encoding in ["base64", "binary"] {
        let outcome = bench.run("read", json!({"path": "huge", "encoding": encoding}));
        assert!(outcome.ok && outcome.output.len() <= bench.context.max_output);
        assert!(outcome.output.ends_with(" of 1099511627776 bytes are shown ...]"));
        assert!(!outcome.output.contains("bytes cut here"));
    }
}

#[test]
fn a_file_is_written_whole_with_its_folders() {
    let bench = Bench::new();
    let outcome = bench.run("write", json!({"path": "a/b/c.txt", "content": "eins\nzwei\n"}));
    assert!(outcome.ok && outcome.output == "created `a/b/c.txt`: 10 bytes, 2 lines", "{}", outcome.output);
    assert_eq!(bench.get("a/b/c.txt"), "eins\nzwei\n");
    let one = bench.run("write", json!({"path": "one", "content": "eins\n"}));
    assert_eq!(one.output, "created `one`: 5 bytes, 1 line");
    assert_eq!(names(&bench.path("a/b")), ["c.txt"]);
    let state = outcome.state.unwrap();
    assert!(!state.before.exists && state.after.exists);
    assert_eq!((state.after.size, state.after.lines), (Some(10), Some(2)));
    assert_eq!(state.after.sha256.unwrap().len(), 16);
    bench.ok("write", json!({"path": "bytes", "content": "AP8=", "encoding": "base64"}));
    assert_eq!(fs::read(bench.path("bytes")).unwrap(), [0, 255]);
}

#[test]
fn the_snapshot_hash_is_the_beginning_of_sha256() {
    let bench = Bench::new();
    let state = bench.run("write", json!({"path": "f", "content": "abc"})).state.unwrap();
    // The first 16 digits of FIPS 180-4's example for "abc".
    assert_eq!(state.after.sha256.as_deref(), Some("ba7816bf8f01cfea"));
    assert_eq!(state.after.lines, Some(1));
    assert_eq!(state.before, super::super::Snapshot { path: "f".into(), ..Default::default() });
}

#[test]
fn folders_are_made_only_when_asked() {
    let bench = Bench::new();
    let (code, _) = bench.fails("write", json!({"path": "a/f", "content": "", "createDirs": false}));
    assert_eq!(code, "not_found");
    assert!(!bench.path("a").exists());
}

#[test]
fn a_file_that_exists_is_kept_when_overwrite_is_false() {
    let bench = Bench::new();
    bench.put("f", "old");
    let (code, _) = bench.fails("write", json!({"path": "f", "content": "new", "overwrite": false}));
    assert_eq!((code, bench.get("f").as_str()), ("exists", "old"));
    bench.ok("write", json!({"path": "g", "content": "new", "overwrite": false}));
    assert_eq!(
        (bench.get("g").as_str(), names(&bench.path(""))),
        ("new", vec!["f".to_owned(), "g".to_owned()])
    );
}

#[test]
fn replacing_a_file_keeps_its_permissions_but_not_its_set_uid_bit() {
    let bench = Bench::new();
    bench.put("f", "old");
    fs::set_permissions(bench.path("f"), fs::Permissions::from_mode(0o4750)).unwrap();
    bench.ok("write", json!({"path": "f", "content": "new"}));
    assert_eq!(fs::metadata(bench.path("f")).unwrap().mode() & 0o7777, 0o750);
    bench.ok("edit", json!({"path": "f", "edits": [{"oldText": "new", "newText": "newer"}]}));
    assert_eq!(fs::metadata(bench.path("f")).unwrap().mode() & 0o7777, 0o750);
}

#[test]
fn edits_are_all_made_or_none_and_nothing_else_is_left_in_the_folder() {
    let bench = Bench::new();
    bench.put("f", "one\ntwo\n");
    let edits = json!([{"oldText": "one", "newText": "1"}, {"oldText": "three", "newText": "3"}]);
    let outcome = bench.run("edit", json!({"path": "f", "edits": edits}));
    assert_eq!(outcome.error, Some("no_match"));
    assert!(outcome.output.contains("edits[1].oldText does not occur"), "{}", outcome.output);
    let state = outcome.state.unwrap();
    assert_eq!(state.before, state.after);
    let edits = json!([{"oldText": "one", "newText": "1"}, {"oldText": "two", "newText": "2"}]);
    let outcome = bench.run("edit", json!({"path": "f", "edits": edits}));
    assert!(outcome.ok && outcome.state.is_some_and(|state| state.before.sha256 != state.after.sha256));
    assert_eq!(bench.get("f"), "1\n2\n");
    assert_eq!(names(&bench.path("")), ["f"]);
}

#[test]
fn what_cannot_be_edited_is_refused_with_the_reason() {
    let bench = Bench::new();
    bench.put("bytes", [0xff, 0xfe]);
    let big = fs::File::create(bench.path("big")).unwrap();
    big.set_len(10_000_001).unwrap();
    let edits = json!([{"oldText": "a", "newText": "b"}]);
    for (path, code) in
        [("bytes", "not_text"), ("big", "too_large"), ("missing", "not_found"), (".", "is_a_folder")]
    {
        assert_eq!(bench.fails("edit", json!({"path": path, "edits": edits})).0, code, "{path}");
    }
}

#[test]
fn a_full_disk_leaves_the_old_file_and_no_litter() {
    in_namespaces(&["--mount"], "tools::tests::files::inner_full_disk");
}

#[test]
#[ignore = "mounts a small disk, for which it needs namespaces; the test above runs it so"]
fn inner_full_disk() {
    let bench = Bench::new();
    let disk = bench.path("");
    mount(Some("none"), &disk, Some("tmpfs"), MsFlags::empty(), Some("size=64k")).unwrap();
    let context = super::Context::open(&disk, &[], &disk, bench.context.deadline).unwrap();
    let bench = Bench { context, dir: bench.dir };
    bench.put("f", "old");
    let (code, said) = bench.fails("write", json!({"path": "f", "content": "x".repeat(100_000)}));
    assert!(code == "system" && said.contains("No space left"), "{said}");
    assert_eq!((bench.get("f").as_str(), names(&disk)), ("old", vec!["f".to_owned()]));
}

#[test]
fn two_snapshots_fit_where_they_are_carried() {
    let bench = Bench::new();
    for path in ["\\".repeat(200), "\u{1b}".repeat(2000), "é".repeat(2000)] {
        let outcome = bench.run("write", json!({"path": path, "content": "x", "createDirs": false}));
        let state = serde_json::to_string(&outcome.state.unwrap()).unwrap();
        assert!(state.len() <= 2048, "{}", state.len());
    }
}
