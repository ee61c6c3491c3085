//! Tests that fail are run once more: those that pass then are named as unstable, and no failure is hidden.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A test program whose test fails so many times, as a file beside it counts them, and says so as Rust's test programs do.
const PROGRAM: &str = "#!/bin/bash
cd \"$(dirname \"$0\")\"; echo \"$*\" >>asked
left=$(cat left)
[ \"$left\" -gt 0 ] || { echo 'test result: ok. 2 passed; 0 failed'; exit 0; }
echo $((left - 1)) >left
[ ! -e ends ] || { echo 'error: test failed, to rerun pass `-p x`' >&2; exit 101; }
printf -- '---- a::b stdout ----\\nfailures:\\n    not a name of a test\\n\\nfailures:\\n    a::b\\n\\n'
echo 'test result: FAILED. 1 passed; 1 failed'
echo 'error: test failed, to rerun pass `-p x`' >&2
exit 101
";

/// Runs the program whose test fails so many times: the exit status and the output.
#[expect(clippy::disallowed_methods, reason = "the script is tried as make runs it")]
fn run(folder: &Path, fails: usize) -> (Option<i32>, String) {
    fs::write(folder.join("left"), fails.to_string()).unwrap_or_default();
    let program = folder.join("program");
    fs::write(&program, PROGRAM).unwrap_or_default();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap_or_default();
    let mut command = Command::new(tests::repository().join("deploy/retry"));
    command.arg(folder.join("unstable")).arg("bash").arg(program).arg("--quiet").stdin(Stdio::null());
    let output = command.output().unwrap_or_else(|error| panic!("deploy/retry: {error}"));
    let text = [output.stdout, output.stderr].map(|part| String::from_utf8_lossy(&part).into_owned());
    (output.status.code(), text.concat())
}

#[test]
fn a_test_that_passes_the_second_time_is_unstable_and_twice_a_defect() {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let run = |fails| run(folder.path(), fails);
    let (status, text) = run(0);
    assert!(status == Some(0) && !text.contains("unstable"), "{text}");
    let (status, text) = run(1);
    assert!(status == Some(0) && text.contains("\nunstable: a::b\n") && !text.contains("defect"), "{text}");
    let asked = fs::read_to_string(folder.path().join("asked")).unwrap_or_default();
    assert!(asked.ends_with("--quiet\n--quiet --exact a::b\n"), "only the test that failed: {asked}");
    let (status, text) = run(1);
    assert!(status == Some(1) && text.contains("a defect: a::b"), "{text}");
    assert_eq!(run(0).0, Some(0));
    let (status, text) = run(1);
    assert!(status == Some(0) && text.contains("unstable: a::b"), "forgotten after a good run: {text}");
}

#[test]
fn a_test_that_fails_twice_and_a_program_that_ends_fail_the_run() {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let (status, text) = run(folder.path(), 2);
    assert!(status == Some(101) && text.contains("failed twice: a::b"), "{text}");
    fs::write(folder.path().join("ends"), "").unwrap_or_default();
    let (status, text) = run(folder.path(), 1);
    assert!(status == Some(101) && !text.contains("once more"), "{text}");
}
