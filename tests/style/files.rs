//! Laws of every source file: it says what it is, it is short, and nothing in it is left for another day.

use crate::source::{self, File};

/// Lines of program in one file.
const BOUND: usize = 400;
/// Lines of a file of tests.
const TEST_BOUND: usize = 600;

/// Files of program that are longer, and why. A file that is not longer must not stand here.
const LONGER: &[(&str, &str)] = &[
    ("actors/control/src/server.rs", "a line or a function for each command of a person: no logic"),
    ("ipc-proto/manifest/src/table.rs", "the rows of the table of privilege: data"),
    ("actors/router/src/server.rs", "one function a method of the interface with the most methods"),
    ("actors/scanner/src/rules/hosting.rs", "rules and their samples: data"),
    ("ipc-proto/src/control.rs", "a method for each command of a person: types, and no logic"),
    ("ipc-proto/src/model.rs", "what goes to a model and what comes of it: types, and no logic"),
    ("ipc-proto/src/memory/entry.rs", "every kind of row with all it holds: types, and no logic"),
];

/// Tests that another test of the same file runs where they mean something, and why; and files of the suites that have, among
/// others, tests for `make test-confined` to run.
const RUN_BY_ANOTHER: &[(&str, &str)] = &[
    ("container/runner/src/tools/tests/commands.rs", "runs as the first process of a pid namespace"),
    ("container/runner/src/tools/tests/files.rs", "mounts a small disk in a namespace"),
    ("supervisor/src/cgroups.rs", "needs cgroups of version 2 to divide, which user-mode Linux has"),
    ("tests/recovery/disk.rs", "mounts a disk of the host's own"),
    ("tests/recovery/fail_closed.rs", "mounts a disk of the host's own"),
    ("tests/security/attached.rs", "mounts file systems that do not answer, and asks as other users"),
    ("tests/security/inodes.rs", "mounts a disk of the host's own"),
    ("tests/security/linked.rs", "reads where a runner's memory lies"),
    ("tests/security/rare.rs", "mounts a resolv.conf, and asks as another user"),
    ("tests/security/rare/clock.rs", "changes what agentd starts with"),
    ("tests/security/schedules.rs", "asks as other users"),
    ("tests/security/shares.rs", "asks as other users"),
    ("tests/security/unsealable.rs", "mounts an overlay"),
];

/// Lines before the file's own tests; a file that holds nothing but tests has none.
fn program_lines(file: &File) -> usize {
    if source::is_test(&file.path) { 0 } else { source::program_lines(&file.text) }
}

#[test]
fn every_file_opens_with_what_it_is() {
    let all = source::files(".rs");
    let without: Vec<&str> =
        all.iter().filter(|file| !file.text.starts_with("//! ")).map(|file| file.path.as_str()).collect();
    assert!(without.is_empty(), "these files do not open with `//!`:\n{}", without.join("\n"));
}

#[test]
fn no_file_is_long_without_a_reason() {
    let mut faults = Vec::new();
    for file in source::files(".rs") {
        let (path, program, all) = (&file.path, program_lines(&file), file.text.lines().count());
        let reason = LONGER.iter().any(|(path, _)| *path == file.path);
        if program > BOUND && !reason {
            faults.push(format!("{path} has {program} lines of program"));
        }
        if program <= BOUND && reason {
            faults.push(format!("{path} has only {program} lines: take it off the list"));
        }
        if source::is_test(path) && all > TEST_BOUND {
            faults.push(format!("{path} has {all} lines of tests"));
        }
    }
    let gone = LONGER.iter().filter(|(path, _)| !source::exists(path));
    faults.extend(gone.map(|(path, _)| format!("{path} is on the list and not there")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn nothing_is_left_for_another_day() {
    for file in source::files(".rs") {
        let parts = source::parts(&file.text);
        for later in ["TODO", "FIXME", "XXX", "HACK"] {
            assert!(!source::has_word(&parts.comments, later), "{} has a comment with {later}", file.path);
        }
        for stub in ["todo", "unimplemented"] {
            assert!(!parts.code.contains(&format!("{stub}!")), "{} has {stub}!", file.path);
        }
    }
}

#[test]
fn no_test_is_ignored_outside_the_suite_that_needs_root() {
    for file in source::files(".rs").iter().filter(|file| !file.path.starts_with("tests/confined/")) {
        let ignored = source::parts(&file.text).code.contains("#[ignore");
        let reason = RUN_BY_ANOTHER.iter().any(|(path, _)| *path == file.path);
        assert_eq!(ignored, reason, "{}: an ignored test, or none where one is expected", file.path);
    }
}

#[test]
fn a_lint_is_suppressed_with_a_reason_and_only_where_it_would_speak() {
    for file in source::files(".rs") {
        let code = source::parts(&file.text).code;
        for begin in ["#[expect(", "#![expect(", "#[allow(", "#![allow("] {
            for rest in code.split(begin).skip(1) {
                let attribute = rest.split(")]").next().unwrap_or_default();
                assert!(attribute.contains("reason ="), "{}: {begin}{attribute} gives no reason", file.path);
                // Each file of tests uses another part of what they share, so nothing can be expected there.
                let shared = file.path.contains("/tests/common/") && attribute.contains("dead_code");
                assert!(
                    begin.contains("expect") || shared,
                    "{}: `allow` hides a lint that is gone",
                    file.path
                );
            }
        }
    }
}
