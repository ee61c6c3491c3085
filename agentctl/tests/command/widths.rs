//! The output of every listing at 80 columns: no line is wider unless one word is, and no word is broken.

use crate::canned::Canned;
use crate::host::{Host, stderr, stdout};

/// Every command that prints for a person without asking anything.
const COMMANDS: &[&str] = &[
    "status",
    "inspect router",
    "manifest",
    "events",
    "logs",
    "queue",
    "session list",
    "session show s1",
    "message list",
    "message show 07070707-0707-0707-0707-070707070707",
    "message trace 07070707-0707-0707-0707-070707070707",
    "user list",
    "user whoami",
    "agent list",
    "agent show default",
    "model list",
    "model test offline/reader",
    "model usage",
    "model budget",
    "workspace list",
    "memory list",
    "memory search harbour",
    "memory show 07070707-0707-0707-0707-070707070707",
    "memory timeline",
    "memory sessions",
    "memory stats",
    "curator list",
    "approvals list --all",
    "approvals show 11",
    "approvals grants",
    "audit tail",
    "audit query --category tool",
    "audit stats",
    "cred list",
    "key list",
];

/// The words of a text in order of the alphabet.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    words.sort();
    words.dedup();
    words
}

// Holds B-171.
#[test]
fn every_listing_fits_80_columns_and_breaks_no_word() {
    let host = Host::new(Canned::default());
    host.canned.set(|state| {
        state.records = 3;
        state.approvals = vec![crate::approving::view(0x11, ipc_proto::approval::State::Pending)];
    });
    let mut wrong = Vec::new();
    for line in COMMANDS {
        let arguments: Vec<&str> = line.split(' ').collect();
        let wide = host.run(&arguments);
        assert!(wide.status.success(), "{line}: {}", stderr(&wide));
        let narrow = host.command(&arguments).env("COLUMNS", "80").output().unwrap();
        let (wide, narrow) = (stdout(&wide), stdout(&narrow));
        let over = narrow.lines().filter(|line| line.chars().count() > 80);
        // One long word behind its name has a line of its own.
        let over: Vec<&str> = over.filter(|line| line.split_whitespace().count() > 2).collect();
        let known = words(&narrow);
        let lost: Vec<String> = words(&wide).into_iter().filter(|word| !known.contains(word)).collect();
        if !over.is_empty() || lost.iter().any(|word| !is_time(word)) {
            wrong.push((line, over.join("\n"), lost));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Spans of time and numbers differ from one call to the next.
fn is_time(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}
