//! Files and pictures both ways by a channel: what a person sends reaches the model or the workspace, and what an agent sends arrives once.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tests::telegram::{ANN, SentMessage, Telegram};
use tests::{Host, Setup, Upstream, call, script, text};

/// Without signs of what is under way.
const QUIET: &str = "streaming = \"off\"\ntyping = false\n";
/// The account of somebody whom nobody knows.
const EVE: i64 = 6;

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A picture: its first bytes, and something after them.
fn png(n: u8) -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n".as_slice(), &[n; 500]].concat()
}

fn sent(host: &Host, telegram: &Telegram, count: usize) -> Vec<SentMessage> {
    host.wait_for("the messages are sent", || telegram.sent(ANN).len() >= count);
    telegram.sent(ANN)
}

/// A host whose agent reads files as it is asked to.
fn reading(telegram: &Telegram) -> Host {
    let keys = format!("{QUIET}agent = \"reader\"\n[agent.reader]\nmodel = \"offline/reader\"\n");
    telegram.host(Setup::default(), &keys)
}

/// A host whose agent sends a file unasked, as long as nothing untrusted was read.
fn sending(telegram: &Telegram) -> Host {
    let keys = format!(
        "{QUIET}agent = \"sender\"\n[agent.sender]\nmodel = \"scripted/answers\"\nprofile = \"standard\"\n"
    );
    telegram.host(Setup::default(), &keys)
}

fn document(file: &Value, name: &str) -> Value {
    let mut document = file.clone();
    (document["file_name"], document["mime_type"]) = (json!(name), json!("application/pdf"));
    json!({ "document": document })
}

// Holds P11-52.
#[test]
fn a_photo_reaches_a_model_that_takes_images_once() {
    let telegram = Telegram::start();
    let upstream = Upstream::answering("text/event-stream", |_| tests::answer("a lighthouse"));
    let keys = format!(
        "{QUIET}agent = \"eyes\"\n[agent.eyes]\nmodel = \"first/eyes\"\ntools = []\n[provider.first]\n\
         kind = \"openai\"\nbase_url = \"{}\"\nmodels.eyes.vision = true\n",
        upstream.url("/first")
    );
    let host = telegram.host_beside(Setup::default(), upstream.port, &keys);
    let (bytes, small) = (png(1), png(2));
    let photos = json!([telegram.file(&small), telegram.file(&bytes)]);
    telegram.direct_with(ANN, json!({ "photo": photos, "caption": "what is it?" }));
    assert_eq!(sent(&host, &telegram, 1)[0].text(), "a lighthouse");
    let asked = upstream.heard().pop().unwrap();
    assert_eq!(asked.matches(&STANDARD.encode(&bytes)).count(), 1, "the largest, once");
    assert!(!asked.contains(&STANDARD.encode(&small)), "and no other");
    assert!(
        asked.contains("what is it?") && asked.contains("image/png"),
        "its type is that of its bytes: {asked}"
    );
    let given = host.recorded("image_given");
    assert_eq!((given.len(), &given[0]["content_hash"]), (1, &json!(sha256(&bytes))), "{given:?}");
    telegram.direct(ANN, "and its colour?");
    sent(&host, &telegram, 2);
    let asked = upstream.heard().pop().unwrap();
    assert!(asked.contains("not shown]") && !asked.contains(&STANDARD.encode(&bytes)), "{asked}");
}

// Holds P11-52.
#[test]
fn a_model_that_takes_no_images_is_told_that_there_was_a_picture() {
    let telegram = Telegram::start();
    let upstream = Upstream::answering("text/event-stream", |_| tests::answer("I see none"));
    let keys = format!(
        "{QUIET}agent = \"blind\"\n[agent.blind]\nmodel = \"first/blind\"\ntools = []\n[provider.first]\n\
         kind = \"openai\"\nbase_url = \"{}\"\nmodels.blind = {{}}\n",
        upstream.url("/first")
    );
    let host = telegram.host_beside(Setup::default(), upstream.port, &keys);
    let bytes = png(3);
    telegram.direct_with(ANN, json!({ "photo": [telegram.file(&bytes)] }));
    assert_eq!(sent(&host, &telegram, 1)[0].text(), "I see none");
    let asked = upstream.heard().pop().unwrap();
    assert!(asked.contains("picture.png, image/png, 508 bytes, a picture that you are not shown"), "{asked}");
    assert!(!asked.contains(&STANDARD.encode(&bytes)), "{asked}");
}

// Holds P11-51.
#[test]
fn a_document_stands_in_the_inbox_under_its_digest_and_a_cleaned_name() {
    let telegram = Telegram::start();
    let host = reading(&telegram);
    let words = "the harbour master's list\n".repeat(11_000);
    let digest = sha256(words.as_bytes());
    let file = telegram.file(words.as_bytes());
    telegram.direct_with(ANN, document(&file, "../../x\u{1b}\n\u{202e}list.txt"));
    sent(&host, &telegram, 1);
    let id = host.json(&["message", "list"])["messages"][0]["id"].as_str().unwrap().to_owned();
    let shown = host.json(&["message", "show", &id])["message"].clone();
    let line = format!(
        "xlist.txt, text/plain, {} bytes; read-only at /workspace/inbox/{digest}/xlist.txt",
        words.len()
    );
    assert!(shown["text"].as_str().unwrap().contains(&line), "{shown}");
    assert_eq!(shown["label"]["trust"], "untrusted", "a file is nobody's word: {shown}");
    telegram.direct(ANN, &format!("read inbox/{digest}/xlist.txt"));
    host.wait_for("the agent has read it", || {
        telegram.sent(ANN).iter().any(|message| message.text().contains("the harbour master's list"))
    });
}

// Holds P11-50.
#[test]
fn a_file_over_the_bound_is_refused_and_that_is_said() {
    let telegram = Telegram::start();
    let host = reading(&telegram);
    let large = vec![7; 21 << 20];
    for (file, name) in
        [(telegram.file(&large), "declared.bin"), (telegram.endless_file(&large), "endless.bin")]
    {
        telegram.direct_with(ANN, document(&file, name));
        let line = format!("I did not take {name}: it is over 20 MiB");
        host.wait_for("the sender reads so", || {
            telegram.sent(ANN).iter().any(|message| message.text().starts_with(&line))
        });
    }
    let mut unsaid = telegram.file(&large);
    unsaid["file_size"] = json!(5);
    telegram.direct_with(ANN, document(&unsaid, "lying.bin"));
    host.wait_for("the server's refusal is read", || {
        telegram.sent(ANN).iter().any(|message| message.text().starts_with("I did not take lying.bin"))
    });
}

// Holds P11-50.
#[test]
fn nothing_of_a_stranger_is_fetched() {
    let telegram = Telegram::start();
    let host = reading(&telegram);
    let file = telegram.file(b"hello");
    telegram.direct_with(EVE, document(&file, "a.txt"));
    telegram.direct(ANN, "echo: hello");
    sent(&host, &telegram, 1);
    assert!(!telegram.calls().iter().any(|(method, _)| method == "getFile"), "{:?}", telegram.calls());
}

// Holds P11-53.
#[test]
fn an_agent_sends_a_file_and_a_picture_to_the_conversation() {
    let telegram = Telegram::start();
    let host = sending(&telegram);
    let (words, picture) = ("a,b\n1,2\n", png(9));
    let calls = [
        call("write", &json!({ "path": "out/table.csv", "content": words, "createDirs": true })),
        call(
            "send_file",
            &json!({ "path": "out/table.csv", "sha256": sha256(words.as_bytes()), "caption": "The *table*" }),
        ),
        call(
            "write",
            &json!({ "path": "p.png", "content": STANDARD.encode(&picture), "encoding": "base64" }),
        ),
        call("send_file", &json!({ "path": "/workspace/p.png", "sha256": sha256(&picture) })),
    ];
    host.script("answers", &script(&calls));
    telegram.direct(ANN, "make me a table and a picture");
    let sent = sent(&host, &telegram, 5);
    let texts: Vec<&str> = sent.iter().map(SentMessage::text).collect();
    assert_eq!(texts, ["The table", "", "p.png", "", "that is all"], "{sent:?}");
    let file = |n: usize, kind: &str| sent[n].parameters[kind].clone();
    let (name, digest) = (json!("table.csv"), json!(sha256(words.as_bytes())));
    assert_eq!((&file(1, "document")["name"], &file(1, "document")["sha256"]), (&name, &digest));
    assert_eq!(file(3, "photo")["sha256"], json!(sha256(&picture)), "{sent:?}");
    host.wait_for("all is delivered", || {
        host.json(&["message", "list"])["messages"][0]["state"] == "delivered"
    });
}

/// The outcome of the only call of the agent.
fn only_call(host: &Host, telegram: &Telegram, said: &str, calls: &[Value]) -> Value {
    host.script("answers", &script(calls));
    telegram.direct(ANN, said);
    host.wait_for("it is answered", || {
        telegram.sent(ANN).iter().any(|message| message.text() == "that is all")
    });
    let id = host.json(&["message", "list"])["messages"][0]["id"].as_str().unwrap().to_owned();
    let shown = host.json(&["message", "show", &id])["message"].clone();
    shown["calls"].as_array().unwrap().last().unwrap().clone()
}

fn files(telegram: &Telegram) -> usize {
    let is_file = |(method, _): &(String, Value)| method == "sendDocument" || method == "sendPhoto";
    telegram.calls().iter().filter(|call| is_file(call)).count()
}

// Holds P11-53.
#[test]
fn a_file_that_changed_or_holds_a_secret_is_not_sent() {
    // No argument of a call holds the whole key.
    let (begin, end) = ("AKIA", "Q3EGRZ7XWLPM5T2V");
    let secret = format!("key = {begin}{end}\n");
    for (digest, alerts) in [(sha256(b"another"), 0), (sha256(secret.as_bytes()), 1)] {
        let telegram = Telegram::start();
        let host = sending(&telegram);
        let edits = json!([{ "oldText": "@@", "newText": "" }]);
        let calls = [
            call("write", &json!({ "path": "a.txt", "content": format!("key = {begin}@@{end}\n") })),
            call("edit", &json!({ "path": "a.txt", "edits": edits })),
            call("send_file", &json!({ "path": "a.txt", "sha256": digest })),
        ];
        let shown = only_call(&host, &telegram, "send it", &calls);
        assert_eq!((&shown["tool"], &shown["effect"]), (&json!("send_file"), &json!("done")), "{shown}");
        assert_eq!(files(&telegram), 0);
        let found =
            host.recorded("alert").iter().filter(|alert| alert["reason"] == "a secret in a file").count();
        assert_eq!(found, alerts);
    }
}

// Holds P11-53.
#[test]
fn a_strict_agent_sends_a_file_only_if_a_person_says_so() {
    for approved in [false, true] {
        let telegram = Telegram::start();
        let host = telegram.host(Setup::default(), QUIET);
        let calls = [
            call("write", &json!({ "path": "a.txt", "content": "words" })),
            call("send_file", &json!({ "path": "a.txt", "sha256": sha256(b"words") })),
        ];
        host.script("answers", &script(&calls));
        telegram.direct(ANN, "send it");
        let id = host.question();
        assert!(text(&host.approval(&id), "action").contains(&sha256(b"words")), "what was approved is sent");
        if approved {
            host.approve(&id)
        } else {
            host.deny(&id)
        }
        host.wait_for("it is answered", || {
            telegram.sent(ANN).iter().any(|message| message.text() == "that is all")
        });
        assert_eq!(files(&telegram), usize::from(approved));
    }
}

// Holds P11-53.
#[test]
fn a_file_is_refused_where_the_label_forbids_it() {
    let telegram = Telegram::start();
    let host = sending(&telegram);
    let key = ["AKIA", "Q3EGRZ7XWLPM5T2V"].concat();
    let calls = [call("send_file", &json!({ "path": "a.txt", "sha256": sha256(b"x"), "caption": key }))];
    let shown = only_call(&host, &telegram, "send it", &calls);
    assert_eq!(shown["effect"], "refused", "{shown}");
    assert_eq!(files(&telegram), 0);
}

// Holds P11-53.
#[test]
fn only_a_turn_that_came_by_a_channel_can_send_a_file() {
    let telegram = Telegram::start();
    let host = sending(&telegram);
    let calls = [call("send_file", &json!({ "path": "a.txt", "sha256": sha256(b"x") }))];
    host.script("answers", &script(&calls));
    let turn = host.json(&["chat", "--session", "s", "-m", "send it"]);
    assert_eq!(turn["calls"][0]["verdict"], "refused", "{turn}");
    assert!(turn["calls"][0]["reason"].as_str().unwrap().contains("send_file"), "{turn}");
}
