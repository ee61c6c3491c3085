//! An account of Telegram, against a server that stands for the Bot API: what is written there is answered there, once.

use serde_json::{Value, json};
use tests::telegram::{ANN, Failing, SentMessage, TOKEN, Telegram};
use tests::{Added, Host, Setup};

/// The account of somebody whom nobody knows.
const EVE: i64 = 6;
/// Without signs of what is under way, so that every call is an answer.
const QUIET: &str = "streaming = \"off\"\ntyping = false\n";

fn wait_for_sent(host: &Host, telegram: &Telegram, count: usize) -> Vec<SentMessage> {
    host.wait_for("the messages are sent", || telegram.sent(ANN).len() >= count);
    telegram.sent(ANN)
}

#[test]
fn an_owner_is_answered_on_telegram_and_a_stranger_is_not() {
    let telegram = Telegram::start();
    let host = telegram.started(QUIET);
    host.answers(&["**hello** `ann`", "again"]);
    telegram.direct(EVE, "let me in");
    telegram.direct(ANN, "hello");
    let sent = wait_for_sent(&host, &telegram, 1);
    assert_eq!(sent[0].text(), "hello ann");
    let kinds: Vec<&Value> =
        sent[0].parameters["entities"].as_array().unwrap().iter().map(|one| &one["type"]).collect();
    assert_eq!(kinds, ["bold", "code"]);
    telegram.direct(ANN, "and now?");
    wait_for_sent(&host, &telegram, 2);
    host.wait_for("every update is acknowledged", || telegram.pending() == 0);
    assert!(telegram.sent(EVE).is_empty(), "a stranger hears nothing");
    assert_eq!(host.messages_by("telegram:main").len(), 2, "and nothing of a stranger is stored");
}

// Holds P11-17.
#[test]
fn an_answer_of_unknown_outcome_is_not_repeated_until_a_person_asks() {
    let telegram = Telegram::start();
    let host = telegram.started(QUIET);
    host.answers(&["the answer"]);
    telegram.fail("sendMessage", Failing::DropAfter);
    telegram.direct(ANN, "hello");
    host.wait_for("its outcome is unknown", || host.delivery_is("telegram:main", "unknown"));
    assert_eq!(telegram.sent(ANN).len(), 1);
    let id = host.messages_by("telegram:main")[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(host.json(&["message", "resend", &id])["pieces"], 1);
    assert_eq!(wait_for_sent(&host, &telegram, 2)[1].text(), "the answer");
}

// Holds P11-17.
#[test]
fn too_many_requests_delay_an_answer_and_do_not_double_it() {
    let telegram = Telegram::start();
    let host = telegram.started(QUIET);
    host.answers(&["the answer"]);
    telegram.fail("sendMessage", Failing::TooMany(1));
    telegram.direct(ANN, "hello");
    wait_for_sent(&host, &telegram, 1);
    host.wait_for("it is sent", || host.delivery_is("telegram:main", "sent"));
    assert_eq!(telegram.sent(ANN).len(), 1);
}

// Holds P11-16.
#[test]
fn a_killed_channel_goes_on_where_it_was() {
    let telegram = Telegram::start();
    let host = telegram.started(QUIET);
    host.answers(&["one", "two"]);
    telegram.direct(ANN, "first");
    wait_for_sent(&host, &telegram, 1);
    host.kill_and_wait("channel@telegram");
    telegram.direct(ANN, "second");
    let texts: Vec<String> =
        wait_for_sent(&host, &telegram, 2).iter().map(|message| message.text().to_owned()).collect();
    assert_eq!(texts, ["one", "two"]);
    assert_eq!(host.messages_by("telegram:main").len(), 2, "no message is accepted twice");
}

// Holds P11-18.
#[test]
fn a_refused_token_is_named_with_the_command_that_mends_it() {
    let telegram = Telegram::start();
    let host = telegram.started(QUIET);
    telegram.revoke(true);
    host.wait_for("it is refused", || host.channel("main")["link"] == "refused");
    let reason = host.channel("main")["reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason.contains("agentctl channel add telegram main"), "{reason}");
    let tested = host.ask(&["channel", "test", "main"]);
    assert_eq!((&tested["ok"], &tested["accepted"]), (&false.into(), &false.into()), "{tested}");
    assert!(tested["error"]["message"].as_str().is_some_and(|it| it.contains(&reason)), "{tested}");
}

// Holds P11-14.
#[test]
fn an_answer_that_is_too_long_is_its_beginning_and_a_file() {
    let telegram = Telegram::start();
    let host = telegram.started(QUIET);
    let part = "A sentence that is said again. ".repeat(200);
    let pieces: Vec<Value> = (0..10).map(|_| json!({ "text": part })).collect();
    host.script("answers", &[json!({ "pieces": pieces })]);
    telegram.direct(ANN, "tell me all");
    let sent = wait_for_sent(&host, &telegram, 2);
    assert!(sent[0].text().encode_utf16().count() <= 4096);
    assert_eq!(sent[1].parameters["document"]["name"], "answer.md");
    assert!(sent[1].parameters["document"]["bytes"].as_u64() > Some(60_000));
}

#[test]
fn the_token_is_nowhere_but_in_the_vault() {
    let telegram = Telegram::start();
    let host = telegram.started(QUIET);
    host.answers(&["hello"]);
    telegram.direct(ANN, "hello");
    wait_for_sent(&host, &telegram, 1);
    assert!(!host.log().contains(TOKEN), "no token in a log");
    assert!(!host.json(&["audit", "tail", "--from", "0"]).to_string().contains(TOKEN), "none on the record");
}

#[test]
fn the_beginning_of_an_answer_is_shown_and_then_replaced() {
    let telegram = Telegram::start();
    let host = telegram.started("streaming = \"edit\"\n");
    let pieces = json!([{ "text": "the first half, " }, { "delay_ms": 2000 }, { "text": "the second half" }]);
    host.script("answers", &[json!({ "pieces": pieces })]);
    telegram.direct(ANN, "hello");
    host.wait_for("the whole answer is there", || {
        telegram.sent(ANN).iter().any(|message| message.text() == "the first half, the second half")
    });
    let sent = telegram.sent(ANN);
    assert_eq!(sent.len(), 1, "the answer is an edit of its beginning");
    assert!(sent[0].edits >= 1);
    assert!(telegram.calls().iter().any(|(method, _)| method == "sendChatAction"), "it is shown as typing");
}

// Holds P11-11.
#[test]
fn no_preview_is_shown_above_an_earlier_answer_that_waits() {
    let telegram = Telegram::start();
    let host = telegram.started("streaming = \"edit\"\ntyping = false\n");
    let slow = json!([{ "text": "two, " }, { "delay_ms": 4500 }, { "text": "and more" }]);
    host.script("answers", &[json!({ "pieces": [{ "text": "one" }] }), json!({ "pieces": slow })]);
    for _ in 0..2 {
        telegram.fail("sendMessage", Failing::TooMany(3));
    }
    telegram.direct(ANN, "hello");
    let tried = || telegram.calls().iter().filter(|(method, _)| method == "sendMessage").count();
    host.wait_for("the first answer waits", || tried() == 2);
    telegram.direct(ANN, "and now?");
    host.wait_for("the second is there", || {
        telegram.sent(ANN).iter().any(|message| message.text() == "two, and more")
    });
    let texts: Vec<String> = telegram.sent(ANN).iter().map(|message| message.text().to_owned()).collect();
    assert_eq!(texts, ["one", "two, and more"]);
}

#[test]
fn a_channel_is_added_and_its_owner_linked_by_one_command() {
    let telegram = Telegram::start();
    let Added { host, code, .. } = &Added::by_command("telegram", &telegram.url(), &[TOKEN]);
    host.answers(&["hello ann"]);
    telegram.direct(ANN, &format!("/link {code}"));
    host.becomes_linked("telegram:main:5");
    telegram.direct(ANN, "hello");
    host.wait_for("it is answered", || {
        telegram.sent(ANN).iter().any(|message| message.text() == "hello ann")
    });
}

/// The data that a button sends when it is pressed.
fn button(message: &SentMessage, caption: &str) -> String {
    let rows = message.parameters["reply_markup"]["inline_keyboard"].as_array().unwrap();
    let all = rows.iter().flat_map(|row| row.as_array().unwrap());
    let found = all.into_iter().find(|button| button["text"] == caption);
    found.unwrap()["callback_data"].as_str().unwrap().to_owned()
}

// Holds P11-20, P11-21.
#[test]
fn a_call_is_approved_by_its_persons_button_and_by_nobody_elses() {
    let telegram = Telegram::start();
    let setup = Setup::default().config("[policy]\nautonomy = \"supervised\"\n");
    let host = telegram.host(setup, &format!("{QUIET}approve = \"own\"\n"));
    let call =
        json!({ "call": { "tool": "bash", "args": { "command": "echo done >> ledger; cat ledger" } } });
    host.script("answers", &tests::planned(&["bash"], &[call]));
    telegram.direct(ANN, "write done into the ledger");
    let asked = wait_for_sent(&host, &telegram, 1).remove(0);
    assert!(asked.text().contains("echo done >> ledger; cat ledger"), "{}", asked.text());
    let yes = button(&asked, "Approve once");
    telegram.press(EVE, &asked, &yes);
    host.wait_for("the stranger's press is read", || telegram.pending() == 0);
    assert_eq!(host.json(&["approvals", "list"])["approvals"].as_array().map(Vec::len), Some(1), "it waits");
    telegram.press(ANN, &asked, &yes);
    assert_eq!(wait_for_sent(&host, &telegram, 2)[1].text(), "that is all");
    let answered = host.recorded("approval_answered");
    assert_eq!(answered.len(), 1, "{answered:?}");
}
