//! The host's side of channels, with the server that stands for Telegram: what operators look at, what people type, and what the
//! host does of itself.

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tests::telegram::{ANN, Failing, SentMessage, Telegram};
use tests::{Host, Setup, Upstream};

/// The account of somebody else.
const BOB: i64 = 7;
/// Without signs of what is under way, so that every call is an answer.
const QUIET: &str = "streaming = \"off\"\ntyping = false\n";

fn started(telegram: &Telegram, keys: &str) -> Host {
    telegram.host(Setup::default(), keys)
}

fn wait_for_sent(host: &Host, telegram: &Telegram, chat: i64, count: usize) -> Vec<SentMessage> {
    host.wait_for(&format!("{count} messages are sent"), || telegram.sent(chat).len() >= count);
    telegram.sent(chat)
}

/// The data that a button sends when it is pressed.
fn button(message: &SentMessage, caption: &str) -> Option<String> {
    let rows = message.parameters["reply_markup"]["inline_keyboard"].as_array()?;
    let mut all = rows.iter().filter_map(|row| row.as_array()).flatten();
    let found = all.find(|button| button["text"] == caption)?;
    found["callback_data"].as_str().map(str::to_owned)
}

/// The rows of `doctor --channels` that are not in order, each as its id and its message.
fn ill(host: &Host, words: &[&str]) -> Vec<(String, String)> {
    let document = host.ask(&[&["doctor", "--channels"], words].concat());
    let rows = document["rows"].as_array().cloned().unwrap_or_default();
    assert!(!rows.is_empty(), "{document}");
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let ill = rows.iter().filter(|row| row["status"] != "pass");
    ill.map(|row| (text(row, "id"), text(row, "message"))).collect()
}

fn has(rows: &[(String, String)], id: &str, says: &str) -> bool {
    rows.iter().any(|row| row.0 == id && row.1.contains(says))
}

// Holds P11-44.
#[test]
fn the_doctor_finds_a_hook_and_nothing_where_all_is_well() {
    let telegram = Telegram::start();
    let host = started(&telegram, QUIET);
    host.answers(&["hello"]);
    let fresh = ill(&host, &[]);
    assert!(fresh.len() == 1 && has(&fresh, "channel.admitted", "never"), "{fresh:?}");
    telegram.direct(ANN, "hello");
    wait_for_sent(&host, &telegram, ANN, 1);
    host.wait_for("the channel is in order", || ill(&host, &["--deep"]).is_empty());
    telegram.set_hook(true);
    host.wait_for("the hook is found", || has(&ill(&host, &[]), "channel.hook", "webhook"));
    let deep = ill(&host, &["--deep"]);
    assert!(has(&deep, "channel.deep", "a webhook is set") && !has(&deep, "channel.token", ""), "{deep:?}");
}

// Holds P11-44.
#[test]
fn the_doctor_names_a_refused_token_and_a_revoked_secret() {
    let telegram = Telegram::start();
    let host = started(&telegram, QUIET);
    telegram.revoke(true);
    host.wait_for("the token is found", || {
        has(&ill(&host, &[]), "channel.token", "agentctl channel add telegram main")
    });
    assert!(has(&ill(&host, &["--deep"]), "channel.deep", "refuses the token"));
    assert_eq!(host.json(&["cred", "revoke", "telegram"])["ok"], true);
    assert!(has(&ill(&host, &[]), "channel.secret", "is revoked"));
}

// Holds P11-44.
#[test]
fn a_second_poller_is_found_by_the_doctor() {
    let telegram = Telegram::start();
    let host = started(&telegram, QUIET);
    let until = Instant::now() + Duration::from_secs(60);
    while !has(&ill(&host, &[]), "channel.poller", "another program polls") {
        telegram.poll_as_a_rival();
        assert!(Instant::now() < until, "it is not found");
    }
}

// Holds P11-43.
#[test]
fn a_test_line_goes_to_admitted_conversations_alone() {
    let telegram = Telegram::start();
    let host = started(&telegram, &format!("{QUIET}groups = [\"-100\"]\n"));
    let sent = host.ask(&["channel", "test", "main", "--to", &ANN.to_string()]);
    assert_eq!(sent["state"], "sent", "{sent}");
    assert!(telegram.sent(ANN)[0].text().contains("A test of the host"), "{:?}", telegram.sent(ANN));
    assert_eq!(host.ask(&["channel", "test", "main", "--to", "-100"])["state"], "sent");
    for stranger in [BOB.to_string(), "-101".to_owned()] {
        let refused = host.ask(&["channel", "test", "main", "--to", &stranger]);
        assert!(refused["error"]["message"].as_str().unwrap().contains("not admitted"), "{refused}");
    }
    assert!(telegram.sent(BOB).is_empty() && telegram.sent(-101).is_empty());
    assert_eq!(host.json(&["message", "list"])["messages"], json!([]), "no agent has a part in it");
    telegram.fail("sendMessage", Failing::DropAfter);
    assert_eq!(host.ask(&["channel", "test", "main", "--to", &ANN.to_string()])["state"], "unknown");
    let unknown = host.json(&["message", "list", "--unknown"]);
    assert_eq!(unknown["deliveries"].as_array().map(Vec::len), Some(1), "{unknown}");
}

#[test]
fn a_dry_run_of_channel_add_changes_nothing() {
    let telegram = Telegram::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, "[agent.default]\nmodel = \"scripted/answers\"\n").unwrap();
    let host = Setup::default().start();
    let path = file.to_string_lossy().into_owned();
    let words = ["channel", "add", "telegram", "--dry-run", "--base-url", &telegram.url(), "--config", &path];
    let shown = host.ask(&words);
    assert_eq!((&shown["dry_run"], &shown["secrets"][0]), (&json!(true), &json!("telegram-main")), "{shown}");
    assert!(shown["added"].to_string().contains("[channel.main]"), "{shown}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "[agent.default]\nmodel = \"scripted/answers\"\n");
    assert_eq!(host.json(&["cred", "list"])["secrets"], json!([]));
}

// Holds P11-42.
#[test]
fn a_person_sees_today_s_tokens_and_their_cost() {
    let telegram = Telegram::start();
    let upstream = Upstream::answering("text/event-stream", |_| tests::answer("high water"));
    let (port, url, at) = (telegram.port, telegram.url(), format!("127.0.0.1:{}", upstream.port));
    let config = format!(
        "[credproxy]\nplain_http = [\"127.0.0.1:{port}\", \"{at}\"]\n[provider.corp]\nbase_url = \"http://{at}/v1\"\n\
         [provider.corp.models.small]\ninput_usd = 100\noutput_usd = 100\n[agent.default]\nmodel = \"corp/small\"\n\
         [channel.main]\nplatform = \"telegram\"\nsecret = \"telegram\"\nbase_url = \"{url}\"\n{QUIET}"
    );
    let host = Setup::default().config(&config).start();
    host.keep("telegram", tests::telegram::TOKEN, &["--host", &format!("127.0.0.1:{port}"), "--segment"]);
    let identity = format!("telegram:main:{ANN}");
    let added = host.json(&["user", "add", "ann", "--role", "owner", "--identity", &identity]);
    assert_eq!(added["user"]["name"], "ann");
    host.wait_for("the channel is up", || host.channel("main")["link"] == "up");
    telegram.direct(ANN, "/usage");
    assert!(wait_for_sent(&host, &telegram, ANN, 1)[0].text().contains("0 turns"));
    telegram.direct(ANN, "when is it?");
    assert_eq!(wait_for_sent(&host, &telegram, ANN, 2)[1].text(), "high water");
    telegram.direct(ANN, "/usage");
    let said = wait_for_sent(&host, &telegram, ANN, 3)[2].text().to_owned();
    let usage = host.json(&["model", "usage", "--by", "user"])["usage"][0].clone();
    let (input, micros) = (usage["input"].as_u64().unwrap(), usage["cost_micros"].as_u64().unwrap());
    assert!(micros > 0, "{usage}");
    assert!(said.contains(&format!("1 turns, {input} tokens read")), "{said}: {usage}");
    assert!(said.ends_with(&format!(" 0.{:04} USD.", micros / 100)), "{said}: {usage}");
    telegram.direct(ANN, "/help");
    assert!(wait_for_sent(&host, &telegram, ANN, 4)[3].text().contains("/usage shows"));
}

// Holds P11-42.
#[test]
fn a_user_links_another_account_by_a_code_and_an_owner_does_not() {
    let telegram = Telegram::start();
    let host = started(&telegram, &format!("{QUIET}dm = \"pairing\"\n"));
    let identity = format!("telegram:main:{BOB}");
    let added = host.json(&["user", "add", "bob", "--role", "user", "--identity", &identity]);
    assert_eq!(added["user"]["name"], "bob");
    telegram.direct(ANN, "/link");
    assert!(wait_for_sent(&host, &telegram, ANN, 1)[0].text().contains("agentctl user link"));
    telegram.direct(BOB, "/link");
    let said = wait_for_sent(&host, &telegram, BOB, 1)[0].text().to_owned();
    let code = said.split("/link ").nth(1).unwrap();
    telegram.direct(8, &format!("/link {code}"));
    host.wait_for("the other account is bob's", || {
        host.json(&["user", "list"])["users"].to_string().contains("telegram:main:8")
    });
}

// Holds P11-40.
#[test]
fn a_peer_that_answers_at_once_is_paused_with_an_alert() {
    let telegram = Telegram::start();
    let host = started(&telegram, QUIET);
    host.answers(&["again"; 8]);
    for number in 1..=6 {
        telegram.direct(ANN, "and again");
        wait_for_sent(&host, &telegram, ANN, number);
    }
    telegram.direct(ANN, "and again");
    let last = wait_for_sent(&host, &telegram, ANN, 7)[6].text().to_owned();
    assert!(last.contains("I pause here"), "{last}");
    assert_eq!(host.channel("main")["dropped"]["loop"], 1);
    let alerts = host.json(&["alerts", "list"])["alerts"].to_string();
    assert!(alerts.contains("loop"), "{alerts}");
    telegram.direct(ANN, "hello?");
    host.wait_for("it is dropped", || host.channel("main")["dropped"]["loop"] == 2);
    telegram.direct(ANN, "/status");
    wait_for_sent(&host, &telegram, ANN, 8);
}

// Holds P11-46.
#[test]
fn a_group_that_becomes_a_supergroup_goes_on() {
    let telegram = Telegram::start();
    let keys = format!("{QUIET}groups = [\"-9\"]\nmembers = true\nrequire_mention = false\n");
    let host = started(&telegram, &keys);
    host.answers(&["one", "two", "three"]);
    let said = |chat: i64, kind: &str| {
        telegram.message(json!({ "id": chat, "type": kind }), BOB, json!({ "text": "hello" }));
    };
    said(-9, "group");
    assert_eq!(wait_for_sent(&host, &telegram, -9, 1)[0].text(), "one");
    telegram.migrate(BOB, -9, -1009);
    said(-1009, "supergroup");
    assert_eq!(wait_for_sent(&host, &telegram, -1009, 1)[0].text(), "two");
    let listed = host.json(&["message", "list"])["messages"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed}");
    assert_eq!(
        (&listed[0]["user"], &listed[0]["session"]),
        (&listed[1]["user"], &listed[1]["session"]),
        "one group, one session"
    );
    said(-2009, "supergroup");
    telegram.migrate(BOB, -3, -2009);
    said(-2009, "supergroup");
    host.wait_for("every update is acknowledged", || telegram.pending() == 0);
    assert!(telegram.sent(-2009).is_empty(), "a group that was not admitted takes nothing with it");
}

// Holds P11-20.
#[test]
fn a_button_in_a_topic_of_a_direct_chat_is_pressed() {
    let telegram = Telegram::start();
    let setup = Setup::default().config("[policy]\nautonomy = \"supervised\"\n");
    let host = telegram.host(setup, &format!("{QUIET}approve = \"own\"\n"));
    let call = json!({ "call": { "tool": "bash", "args": { "command": "echo done" } } });
    host.script("answers", &tests::planned(&["bash"], &[call]));
    let message = json!({ "text": "do it", "message_thread_id": 8, "is_topic_message": true });
    telegram.message(json!({ "id": ANN, "type": "private" }), ANN, message);
    let asked = wait_for_sent(&host, &telegram, ANN, 1).remove(0);
    assert_eq!(asked.parameters["message_thread_id"], 8);
    telegram.press(ANN, &asked, &button(&asked, "Approve once").unwrap());
    assert_eq!(wait_for_sent(&host, &telegram, ANN, 2)[1].text(), "that is all");
}

// Holds P11-19.
#[test]
fn the_answer_after_an_unknown_one_offers_to_send_it_again() {
    let telegram = Telegram::start();
    let host = started(&telegram, QUIET);
    host.answers(&["the first", "the second"]);
    telegram.fail("sendMessage", Failing::DropAfter);
    telegram.direct(ANN, "hello");
    host.wait_for("its outcome is unknown", || host.channel("main")["unknown"] == 1);
    assert!(has(&ill(&host, &[]), "channel.unknown", "agentctl message list --unknown"));
    telegram.direct(ANN, "well?");
    let offer = wait_for_sent(&host, &telegram, ANN, 2).remove(1);
    assert!(offer.text().starts_with("My last answer may not have arrived"), "{}", offer.text());
    assert!(offer.text().ends_with("the second"), "{}", offer.text());
    let again = button(&offer, "Send the last answer again").unwrap();
    telegram.press(BOB, &offer, &again);
    telegram.press(ANN, &offer, &again);
    telegram.press(ANN, &offer, &again);
    assert_eq!(wait_for_sent(&host, &telegram, ANN, 3)[2].text(), "the first");
    host.wait_for("every press is read", || telegram.pending() == 0);
    host.wait_for("nothing is unknown", || host.channel("main")["unknown"] == 0);
    assert_eq!(telegram.sent(ANN).len(), 3, "once");
}

/// The code of six digits of the secret in this address, now.
fn digits(uri: &str) -> String {
    let secret = uri.split("secret=").nth(1).and_then(|rest| rest.split('&').next()).unwrap();
    let key = data_encoding::BASE32_NOPAD.decode(secret.as_bytes()).unwrap();
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &key);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let tag = ring::hmac::sign(&key, &(now / 30).to_be_bytes());
    let at = usize::from(tag.as_ref()[19] & 15);
    let word = u32::from_be_bytes(tag.as_ref()[at..at + 4].try_into().unwrap()) & 0x7fff_ffff;
    format!("{:06}", word % 1_000_000)
}

// Holds P11-41.
#[test]
fn an_approval_with_a_code_needs_the_six_digits_of_the_moment() {
    let telegram = Telegram::start();
    let setup = Setup::default().config("[policy]\nautonomy = \"supervised\"\n");
    let host = telegram.host(setup, &format!("{QUIET}approve = \"own\"\napprove_code = \"totp\"\n"));
    assert!(has(&ill(&host, &[]), "channel.code", "agentctl channel totp main"));
    let enrolled = host.ask(&["channel", "totp", "main"]);
    let uri = enrolled["uri"].as_str().unwrap_or_else(|| panic!("{enrolled}")).to_owned();
    assert!(!has(&ill(&host, &[]), "channel.code", ""));
    let call = json!({ "call": { "tool": "bash", "args": { "command": "echo done" } } });
    host.script("answers", &tests::planned(&["bash"], &[call]));
    telegram.direct(ANN, "do it");
    let asked = wait_for_sent(&host, &telegram, ANN, 1).remove(0);
    assert_eq!(button(&asked, "Approve once"), None, "a press carries no digits");
    assert!(button(&asked, "Deny").is_some());
    let code = asked.text().split("/approve ").nth(1).unwrap()[..8].to_owned();
    let mut count = 1;
    let right = digits(&uri);
    let wrong = if right == "000000" { "000001" } else { "000000" };
    for (text, says) in [
        (format!("/approve {code}"), "write the six digits"),
        (format!("/approve {code} {wrong}"), "are wrong"),
        ("/approve ABCDEFGH 123456".to_owned(), "No question waits"),
    ] {
        telegram.direct(ANN, &text);
        count += 1;
        let said = wait_for_sent(&host, &telegram, ANN, count)[count - 1].text().to_owned();
        assert!(said.contains(says), "{text}: {said}");
    }
    assert_eq!(host.json(&["approvals", "list"])["approvals"].as_array().map(Vec::len), Some(1), "it waits");
    telegram.direct(ANN, &format!("/approve {code} {}", digits(&uri)));
    host.wait_for("it is answered", || telegram.sent(ANN).iter().any(|one| one.text() == "that is all"));
    let log = format!("{}{}", host.log(), host.json(&["audit", "tail", "--from", "0"]));
    let secret = uri.split("secret=").nth(1).and_then(|rest| rest.split('&').next()).unwrap();
    assert!(!log.contains(secret), "the secret is in no log and in no record");
}

// Holds P11-45.
#[test]
fn progress_is_one_message_with_the_names_of_tools() {
    let telegram = Telegram::start();
    let host = started(&telegram, "streaming = \"progress\"\ntyping = false\n");
    let call = json!({ "call": { "tool": "bash", "args": { "command": "sleep 2; echo hidden-argument" } } });
    host.script("answers", &tests::planned(&["bash"], &[call]));
    telegram.direct(ANN, "do it");
    host.wait_for("the tool is named", || telegram.sent(ANN).iter().any(|one| one.text() == "bash"));
    host.wait_for("the answer is there", || telegram.sent(ANN).iter().any(|one| one.text() == "that is all"));
    assert_eq!(telegram.sent(ANN).len(), 1, "the answer takes the place of the progress");
    let calls = telegram.calls();
    assert!(calls.iter().all(|(_, parameters)| !parameters.to_string().contains("hidden-argument")));
}

// Holds P11-45.
#[test]
fn a_draft_is_shown_in_a_direct_chat_and_the_answer_is_sent_once() {
    let telegram = Telegram::start();
    let host = started(&telegram, "streaming = \"draft\"\ntyping = false\n");
    let pieces = json!([{ "text": "the first half, " }, { "delay_ms": 2500 }, { "text": "the second half" }]);
    host.script("answers", &[json!({ "pieces": pieces })]);
    telegram.direct(ANN, "hello");
    let sent = wait_for_sent(&host, &telegram, ANN, 1);
    assert_eq!((sent[0].text(), sent[0].edits), ("the first half, the second half", 0));
    let drafts = telegram.drafts();
    assert!(
        drafts.iter().any(|(chat, _, text)| *chat == ANN && text.starts_with("the first half")),
        "{drafts:?}"
    );
    assert!(drafts.iter().all(|(_, number, _)| *number == drafts[0].1), "one draft");
}
