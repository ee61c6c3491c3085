//! kill -9 of router at every step of a message that comes by a channel and of its answer: the message is taken in once, and its
//! answer is sent once. The same of a file that comes with it, and of one that goes out.

use serde_json::json;
use sha2::{Digest, Sha256};
use tests::telegram::{ANN, Telegram};
use tests::{Setup, call, script};

/// Every step. A piece that did not reach its process before router's death is given out again.
const POINTS: [&str; 5] = [
    "router:router.channel.stored",
    "router:router.channel.committed",
    "router:router.plan.committed",
    "router:router.piece.sending",
    "router:router.piece.settled",
];

// Holds P11-07, P11-10.
#[test]
fn a_death_at_any_step_of_a_channel_doubles_nothing() {
    for point in POINTS {
        let telegram = Telegram::start();
        let setup = Setup::default().arguments(&["--fault", point]);
        let host = telegram.host(setup, "streaming = \"off\"\ntyping = false\n");
        host.answers(&["the answer"]);
        telegram.direct(ANN, "hello");
        host.wait_for(&format!("{point}: the answer is sent"), || host.delivery_is("telegram:main", "sent"));
        assert_eq!(host.process("router")["restarts"], 1, "{point} was never reached");
        assert_eq!(telegram.sent(ANN).len(), 1, "{point}");
        let listed = host.json(&["message", "list"]);
        assert_eq!(listed["messages"].as_array().map(Vec::len), Some(1), "{point}: {listed}");
    }
}

/// Steps between the first byte of a file and the acceptance of its message.
const FETCHING: [(&str, &str); 4] = [
    ("router", "router:router.file.committed"),
    ("channel@telegram", "channel@telegram:channel.files.fetched"),
    ("router", "router:router.channel.stored"),
    ("router", "router:router.channel.committed"),
];

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

// Holds P11-54.
#[test]
fn a_death_while_a_file_is_taken_in_loses_and_doubles_nothing() {
    let bytes = "one line of a longer file\n".repeat(30_000);
    for (process, point) in FETCHING {
        let telegram = Telegram::start();
        let setup = Setup::default().arguments(&["--fault", point]);
        let host = telegram.host(
            setup,
            "streaming = \"off\"\ntyping = false\nagent = \"reader\"\n[agent.reader]\nmodel = \"offline/reader\"\n",
        );
        let mut file = telegram.file(bytes.as_bytes());
        file["file_name"] = json!("a.txt");
        telegram.message(json!({ "id": ANN, "type": "private" }), ANN, json!({ "document": file }));
        host.wait_for(&format!("{point}: it is answered"), || !telegram.sent(ANN).is_empty());
        assert_eq!(host.process(process)["restarts"], 1, "{point} was never reached");
        telegram.direct(ANN, &format!("read inbox/{}/a.txt", sha256(bytes.as_bytes())));
        host.wait_for(&format!("{point}: the file is read"), || {
            telegram.sent(ANN).iter().any(|message| message.text().contains("one line of a longer file"))
        });
        let listed = host.json(&["message", "list"]);
        assert_eq!(listed["messages"].as_array().map(Vec::len), Some(2), "{point}: {listed}");
    }
}

// Holds P11-54.
#[test]
fn a_file_that_was_sent_when_router_died_is_sent_once() {
    let telegram = Telegram::start();
    let setup = Setup::default().arguments(&["--fault", "router:router.send_file.committed"]);
    let host = telegram.host(
        setup,
        "streaming = \"off\"\ntyping = false\nagent = \"sender\"\n[agent.sender]\nmodel = \"scripted/answers\"\n\
         profile = \"standard\"\n",
    );
    let calls = [
        call("write", &json!({ "path": "a.txt", "content": "words" })),
        call("send_file", &json!({ "path": "a.txt", "sha256": sha256(b"words") })),
    ];
    host.script("answers", &script(&calls));
    telegram.direct(ANN, "send it");
    host.wait_for("it is answered", || telegram.sent(ANN).iter().any(|one| one.text() == "that is all"));
    assert_eq!(host.process("router")["restarts"], 1);
    let sent = telegram.calls().iter().filter(|(method, _)| method == "sendDocument").count();
    assert_eq!(sent, 1);
}
