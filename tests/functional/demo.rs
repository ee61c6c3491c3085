//! The first command that the README names, run to its end by itself.

use std::process::{Command, Stdio};
use tests::{programs, repository};

// Holds P7-75.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test runs the command as a person would")]
fn the_demo_ends_by_itself_and_shows_what_it_says_that_it_shows() {
    // Nobody is there to answer it: were it to wait for somebody, it would be ended and fail here.
    let demo = repository().join("deploy/demo");
    let mut command = Command::new("timeout");
    command.arg("240").arg(demo).env("PROGRAMS", programs()).env_remove("CORDON_SOCKET").stdin(Stdio::null());
    let output = command.output().unwrap();
    let [said, complained] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{:?}\n{said}\n{complained}", output.status);
    for shown in [
        "the harbour office opens at 07:40 on Tuesdays\n(memory ",
        " of its calls waited for a word of its person",
        "leaked: nothing",
        "I survived",
        "no difference",
    ] {
        assert!(said.contains(shown), "{shown}\n{said}\n{complained}");
    }
    let last: Vec<&str> = said.lines().rev().take(3).collect();
    let [chat, setup, saw] = last.as_slice() else { panic!("{said}") };
    assert!(chat.starts_with("agentctl chat") && setup.starts_with("agentctl setup"), "{last:?}");
    assert!(saw.starts_with("You saw"), "{last:?}");
}
