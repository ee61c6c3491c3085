//! The tokens of Slack and the tickets of its sockets: after traffic of every kind, and with a server that says a token back, they are
//! looked for in files, logs, the record, answers and the memory of every process but credproxy's.

use crate::probed::processes;
use crate::secrets::{files, holds, memory_holds, needles_of};
use serde_json::json;
use std::fs;
use tests::slack::{ANN, APP_TOKEN, Failing, Slack, TOKEN, direct};
use tests::{Host, Setup};

/// A host after an answer, a piece that was looked for, a new socket, and a message in which the server says the tokens back.
fn used(slack: &Slack) -> Host {
    let setup = Setup::default().config("[log]\nlevel = \"trace\"\n");
    let host = slack.host(setup, "streaming = \"off\"\n");
    let lines: Vec<_> =
        ["one", "two", "three"].iter().map(|text| json!({ "pieces": [{ "text": text }] })).collect();
    host.script("answers", &lines);
    slack.direct(ANN, "hello");
    host.wait_for("the first answer is sent", || slack.sent(&direct(ANN)).len() == 1);
    slack.fail("chat.postMessage", Failing::DropAfter);
    slack.direct(ANN, "hello");
    host.wait_for("the second is sent", || slack.sent(&direct(ANN)).len() == 2);
    slack.drop_sockets();
    slack.direct(ANN, &format!("your tokens are {TOKEN} and {APP_TOKEN}"));
    host.wait_for("the third is sent", || slack.sent(&direct(ANN)).len() == 3);
    host
}

// Holds P4-30, P4-40, P11-74.
#[test]
fn slacks_tokens_and_tickets_are_in_the_vault_and_nowhere_else() {
    let slack = Slack::start();
    let host = used(&slack);
    let tickets = slack.tickets();
    assert!(tickets.len() >= 2, "a socket was opened again");
    let secrets = [TOKEN, APP_TOKEN].into_iter().chain(tickets.iter().map(String::as_str));
    let needles: Vec<Vec<u8>> = secrets.flat_map(needles_of).collect();
    for words in [
        &["audit", "tail", "--from", "0"][..],
        &["channel", "show", "main"],
        &["message", "list"],
        &["cred", "list"],
    ] {
        let answer = host.json(words).to_string();
        assert!(!holds(answer.as_bytes(), &needles), "{words:?}: {answer}");
    }
    assert!(!host.recorded("secret_redacted").is_empty(), "the tokens were cut out of the socket's message");
    let mut found = Vec::new();
    files(host.dir(), &mut found);
    assert!(found.iter().any(|path| path.to_string_lossy().contains("/logs/channel")), "{found:?}");
    for path in found {
        // One that went in the meantime holds nothing.
        let bytes = fs::read(&path).unwrap_or_default();
        assert!(!holds(&bytes, &needles), "{}", path.display());
    }
    for (name, pid) in processes(&host) {
        assert!(name == "credproxy" || !memory_holds(pid, &needles), "{name} has one in memory");
    }
}
