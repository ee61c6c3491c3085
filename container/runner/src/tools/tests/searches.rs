//! glob and grep, with real trees.

use super::Bench;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

/// A folder that takes seconds to search: 50 names of one file of 9.9 MB.
fn much(bench: &Bench) {
    bench.put("b", "aaaaaaaaab\n".repeat(900_000));
    for n in 0..50 {
        fs::hard_link(bench.path("b"), bench.path(&format!("b{n}"))).unwrap();
    }
}

fn tree() -> Bench {
    let bench = Bench::new();
    bench.put("README.md", "# Title\nalpha\nBeta\n");
    bench.put("src/main.rs", "fn main() {}\n// alpha\n");
    bench.put("src/deep/lib.rs", "// Alpha\nfn f() {}\n");
    bench.put(".hidden/notes.md", "alpha\n");
    bench.put(".git/config", "alpha\n");
    bench.put("target/out.rs", "// alpha\n");
    bench.put("keep/me.log", "alpha\n");
    bench.put(".gitignore", "/target\n*.log\n");
    bench.put("keep/.gitignore", "!me.log\n");
    bench
}

#[test]
fn a_pattern_finds_exactly_what_fits_in_order() {
    let bench = tree();
    let cases = [
        ("*", None, ".gitignore\n.hidden/\nREADME.md\nkeep/\nsrc/"),
        ("*.md", None, "README.md"),
        ("**/*.md", None, ".hidden/notes.md\nREADME.md"),
        ("**/*.rs", None, "src/deep/lib.rs\nsrc/main.rs"),
        ("./src/*.{rs,md}", None, "src/main.rs"),
        ("*.rs", Some("src"), "src/main.rs"),
        ("**/*.rs", Some("src/deep/.."), "src/deep/../deep/lib.rs\nsrc/deep/../main.rs"),
        ("src/**", None, "src/deep/\nsrc/deep/lib.rs\nsrc/main.rs"),
        ("keep/*", None, "keep/.gitignore\nkeep/me.log"),
        ("*", Some("keep"), "keep/.gitignore\nkeep/me.log"),
        ("*", Some("target"), "target/out.rs"),
    ];
    for (pattern, path, expected) in cases {
        let args = path.map_or(json!({"pattern": pattern}), |path| json!({"pattern": pattern, "path": path}));
        assert_eq!(bench.ok("glob", args), expected, "{pattern} {path:?}");
    }
}

#[test]
fn rules_above_the_folder_searched_hold_in_it() {
    let bench = Bench::new();
    bench.put(".gitignore", "*.log\n/sub/out\n");
    bench.put("sub/a.log", "");
    bench.put("sub/out/b", "");
    bench.put("sub/c", "");
    assert_eq!(bench.ok("glob", json!({"pattern": "**", "path": "sub"})), "sub/c");
}

#[test]
fn nothing_found_is_said_in_words() {
    let bench = tree();
    assert!(bench.ok("glob", json!({"pattern": "*.zip"})).starts_with("no path fits"));
    assert_eq!(
        bench.ok("grep", json!({"pattern": "zebra", "path": "src"})),
        "no line fits; 2 files searched"
    );
}

#[test]
fn links_are_listed_and_not_followed() {
    let bench = Bench::new();
    symlink(bench.outside(), bench.path("out")).unwrap();
    symlink(".", bench.path("loop")).unwrap();
    assert_eq!(bench.ok("glob", json!({"pattern": "**"})), "loop\nout");
    assert!(bench.ok("grep", json!({"pattern": "secret"})).starts_with("no line fits"));
}

// Holds B-43.
#[test]
fn at_most_a_thousand_paths_are_answered_and_the_cut_is_marked() {
    let bench = Bench::new();
    for n in 0..1001 {
        fs::write(bench.path(&format!("{n:04}")), "").unwrap();
    }
    let outcome = bench.run("glob", json!({"pattern": "*"}));
    assert_eq!(outcome.output.lines().count(), 1001);
    assert!(
        outcome.output.ends_with("0999\n[... cut: more than 1000 paths fit; use a narrower pattern ...]")
    );
    assert_eq!(outcome.metadata["truncated"], true);
    fs::remove_file(bench.path("0000")).unwrap();
    assert_eq!(bench.run("glob", json!({"pattern": "*"})).metadata["truncated"], false);
}

#[test]
fn hits_are_file_line_and_text() {
    let bench = tree();
    assert_eq!(
        bench.ok("grep", json!({"pattern": "alpha"})),
        ".hidden/notes.md:1:alpha\nREADME.md:2:alpha\nkeep/me.log:1:alpha\nsrc/main.rs:2:// alpha"
    );
    assert_eq!(
        bench.ok("grep", json!({"pattern": "alpha", "ignoreCase": true, "glob": "*.rs"})),
        "src/deep/lib.rs:1:// Alpha\nsrc/main.rs:2:// alpha"
    );
    assert_eq!(bench.ok("grep", json!({"pattern": "^Beta$", "path": "README.md"})), "README.md:3:Beta");
    let skills = bench.dir.path().join("skills").to_str().unwrap().to_owned();
    assert_eq!(
        bench.ok("grep", json!({"pattern": "skill", "path": skills})),
        format!("{skills}/SKILL.md:1:a skill")
    );
}

#[test]
fn lines_around_a_hit_are_shown_once_and_groups_are_parted() {
    let bench = Bench::new();
    bench.put("f", "1\n2\nhit\n4\nhit\n6\n7\n8\n9\nhit");
    assert_eq!(
        bench.ok("grep", json!({"pattern": "hit", "context": 1})),
        "f-2-2\nf:3:hit\nf-4-4\nf:5:hit\nf-6-6\n--\nf-9-9\nf:10:hit"
    );
    let shown = bench.ok("grep", json!({"pattern": "hit", "context": 2}));
    assert_eq!(shown.lines().filter(|line| *line == "--").count(), 0);
    assert_eq!(shown.lines().count(), 10);
}

// Holds B-43.
#[test]
fn hits_stop_at_the_bound_with_a_mark() {
    let bench = Bench::new();
    bench.put("f", "x\n".repeat(600));
    let outcome = bench.run("grep", json!({"pattern": "x"}));
    assert_eq!((outcome.output.lines().count(), &outcome.metadata["hits"]), (501, &json!(500)));
    assert!(outcome.output.ends_with("[... cut: there are more than these 500 hits; search for less ...]"));
    let outcome = bench.run("grep", json!({"pattern": "x", "maxResults": 3}));
    assert_eq!((outcome.output.lines().count(), &outcome.metadata["truncated"]), (4, &json!(true)));
}

#[test]
fn what_is_not_searched_is_counted() {
    let bench = Bench::new();
    bench.put("binary", b"needle\0");
    fs::File::create(bench.path("large")).unwrap().set_len(10_000_001).unwrap();
    let said = bench.ok("grep", json!({"pattern": "needle"}));
    assert!(said.ends_with("[1 files too large and 1 binary files were not searched]"), "{said}");
}

#[test]
fn a_long_line_is_shown_around_its_hit() {
    let bench = Bench::new();
    bench.put("f", format!("{}needle{}", "a".repeat(50_000), "b".repeat(50_000)));
    let shown = bench.ok("grep", json!({"pattern": "needle"}));
    assert!(shown.len() < 600 && shown.contains("[...]aaa") && shown.contains("needlebbb"), "{shown}");
    assert!(shown.ends_with("b[...]"));
}

#[test]
fn a_pattern_that_backtracks_elsewhere_takes_linear_time() {
    let bench = Bench::new();
    bench.put("f", "a".repeat(1_000_000));
    let outcome = bench.run("grep", json!({"pattern": "(a*)*(a|aa)+b"}));
    assert!(outcome.ok && outcome.duration_ms < 5000, "{} ms", outcome.duration_ms);
}

#[test]
fn a_name_with_a_line_break_is_one_line() {
    let bench = Bench::new();
    bench.put("a\nb:1:forged", "x\n");
    assert_eq!(bench.ok("glob", json!({"pattern": "*"})), "a\\nb:1:forged");
    assert_eq!(bench.ok("grep", json!({"pattern": "x"})), "a\\nb:1:forged:1:x");
}

#[test]
fn a_cancelled_search_fails_and_one_out_of_time_does_not_begin() {
    let bench = tree();
    bench.context.abort.set();
    for (tool, args) in [
        ("glob", json!({"pattern": "*"})),
        ("grep", json!({"pattern": "a"})),
        ("bash", json!({"command": "true"})),
    ] {
        assert_eq!(bench.fails(tool, args).0, "aborted");
    }
    let late = Bench::with_deadline(Duration::ZERO);
    assert_eq!(late.fails("glob", json!({"pattern": "*"})).0, "turn_over");
    assert_eq!(late.fails("write", json!({"path": "f", "content": ""})).0, "turn_over");
    assert!(!late.path("f").exists());
}

#[test]
fn a_search_is_cancelled_on_its_way() {
    let bench = Bench::new();
    much(&bench);
    let abort = bench.context.abort.clone();
    let setter = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        abort.set();
    });
    let outcome = bench.run("grep", json!({"pattern": "(a|b|ab)*c"}));
    setter.join().unwrap();
    assert_eq!(outcome.error, Some("aborted"), "{} ms: {}", outcome.duration_ms, outcome.output);
}

#[test]
fn a_search_out_of_time_answers_what_it_has_and_says_that_it_is_not_all() {
    let mut bench = Bench::new();
    bench.put("a", "needle\n");
    much(&bench);
    bench.context.deadline = Instant::now() + Duration::from_millis(200);
    let outcome = bench.run("grep", json!({"pattern": "needle|(a|b|ab)*c"}));
    assert!(outcome.ok && outcome.output.starts_with("a:1:needle"), "{}", outcome.output);
    assert!(
        outcome.output.contains("[... incomplete: stopped: the time of this turn is over"),
        "{}",
        outcome.output
    );
}

#[test]
fn a_tree_deeper_than_the_bound_is_searched_as_far_as_it_goes() {
    let bench = Bench::new();
    let deep = "d/".repeat(100);
    bench.put(&format!("{deep}f"), "needle\n");
    bench.put("g", "needle\n");
    let shown = bench.ok("grep", json!({"pattern": "needle"}));
    assert!(shown.starts_with("g:1:needle") && shown.contains("[1 folders could not be read]"), "{shown}");
}
