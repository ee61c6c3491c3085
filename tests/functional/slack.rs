//! An account of Slack, against a server that stands for the Web API and Socket Mode: what is written there is answered there, once.

use serde_json::{Value, json};
use tests::slack::{ANN, APP_TOKEN, BOT, CHANNEL, Failing, SentMessage, Slack, TOKEN, direct};
use tests::{Added, Host, Setup};

/// Somebody whom nobody knows.
const EVE: &str = "U6EVE";
/// Without previews, so that every call is an answer.
const QUIET: &str = "streaming = \"off\"\n";

fn started(slack: &Slack, keys: &str) -> Host {
    slack.host(Setup::default(), keys)
}

fn wait_for_sent(host: &Host, slack: &Slack, channel: &str, count: usize) -> Vec<SentMessage> {
    host.wait_for("the messages are sent", || slack.sent(channel).len() >= count);
    slack.sent(channel)
}

fn wait_for_answers(host: &Host, slack: &Slack, count: usize) -> Vec<SentMessage> {
    wait_for_sent(host, slack, &direct(ANN), count)
}

fn texts(sent: &[SentMessage]) -> Vec<&str> {
    sent.iter().map(SentMessage::text).collect()
}

/// Waits until the newest message's first delivery is in this state.
fn wait_for_delivery(host: &Host, state: &str) {
    host.wait_for(&format!("its delivery is {state}"), || host.delivery_is("slack:main", state));
}

fn calls(slack: &Slack, method: &str) -> Vec<Value> {
    slack.calls().into_iter().filter(|(name, _)| name == method).map(|(_, arguments)| arguments).collect()
}

// Holds P11-70, P11-71.
#[test]
fn an_owner_is_answered_on_slack_and_a_stranger_is_not() {
    let slack = Slack::start();
    let host = started(&slack, QUIET);
    host.answers(&["**hello** `ann` <!channel> & <@U6EVE>", "again"]);
    slack.direct(EVE, "let me in");
    let asked = slack.direct(ANN, "hello");
    let sent = wait_for_answers(&host, &slack, 1);
    assert_eq!(sent[0].text(), "*hello* `ann` &lt;!channel&gt; &amp; &lt;@U6EVE&gt;");
    let arguments = &sent[0].arguments;
    assert_eq!((&arguments["unfurl_links"], &arguments["unfurl_media"]), (&json!(false), &json!(false)));
    assert_eq!(sent[0].thread, None, "a direct conversation goes on below");
    slack.edit(&direct(ANN), &asked, "hello again");
    slack.direct(ANN, "and now?");
    assert_eq!(wait_for_answers(&host, &slack, 2)[1].text(), "again");
    host.wait_for("every envelope is acknowledged", || slack.pending() == 0);
    assert!(slack.sent(&direct(EVE)).is_empty(), "a stranger hears nothing");
    assert_eq!(host.messages_by("slack:main").len(), 2, "nothing of a stranger and no edit is stored");
    assert!(slack.sent_again() < 3, "they were acknowledged in time");
}

// Holds P11-70.
#[test]
fn a_channel_is_answered_in_a_thread_and_only_where_it_mentions() {
    let slack = Slack::start();
    let host = started(&slack, QUIET);
    host.answers(&["in the thread", "and again"]);
    let say = |text: &str| slack.message(CHANNEL, ANN, &json!({ "text": text }));
    let mention = format!("<@{BOT}> what is the time?");
    say(&mention);
    host.wait_for("the channel is not on the list", || {
        host.channel("main")["dropped"]["not_listed"].as_u64() >= Some(1)
    });
    assert_eq!(host.json(&["channel", "group", "allow", "main", CHANNEL])["ok"], true);
    say("I talk to somebody else");
    let asked = say(&mention);
    let sent = wait_for_sent(&host, &slack, CHANNEL, 1);
    assert_eq!((sent[0].text(), sent[0].thread.as_deref()), ("in the thread", Some(asked.as_str())));
    slack.message(CHANNEL, ANN, &json!({ "text": format!("<@{BOT}> and?"), "thread_ts": asked }));
    let sent = wait_for_sent(&host, &slack, CHANNEL, 2);
    assert_eq!((sent[1].text(), sent[1].thread.as_deref()), ("and again", Some(asked.as_str())));
    host.wait_for("every envelope is acknowledged", || slack.pending() == 0);
    assert_eq!(host.messages_by("slack:main").len(), 2, "a mention comes as two events and is one message");
    assert!(host.channel("main")["dropped"]["not_mentioned"].as_u64() >= Some(1));
}

#[test]
fn the_beginning_of_an_answer_is_shown_on_slack_and_then_replaced() {
    let slack = Slack::start();
    let host = started(&slack, "streaming = \"edit\"\n");
    let pieces = json!([
        { "text": "the first half, " }, { "delay_ms": 2500 }, { "text": "the second " }, { "delay_ms": 2000 },
        { "text": "half" },
    ]);
    host.script("answers", &[json!({ "pieces": pieces })]);
    slack.direct(ANN, "hello");
    host.wait_for("the whole answer is there", || {
        slack.sent(&direct(ANN)).iter().any(|message| {
            let whole = message.text() == "the first half, the second half";
            whole && message.arguments["metadata"].is_object()
        })
    });
    let sent = slack.sent(&direct(ANN));
    assert_eq!(sent.len(), 1, "the answer is an edit of its beginning");
    assert!(sent[0].edits >= 2, "{}", sent[0].edits);
    assert_eq!(sent[0].arguments["metadata"]["event_type"], "cordon_piece");
}

// Holds P11-72.
#[test]
fn an_answer_of_unknown_outcome_is_found_again_by_its_metadata() {
    let slack = Slack::start();
    let host = started(&slack, QUIET);
    host.answers(&["one", "two", "three", "four"]);
    for (count, failing) in
        [Failing::DropAfter, Failing::ErrorAfter, Failing::DropBefore, Failing::ErrorBefore]
            .into_iter()
            .enumerate()
    {
        slack.fail("chat.postMessage", failing);
        slack.direct(ANN, "hello");
        wait_for_answers(&host, &slack, count + 1);
        wait_for_delivery(&host, "sent");
    }
    assert_eq!(texts(&slack.sent(&direct(ANN))), ["one", "two", "three", "four"], "each was sent once");
    assert!(calls(&slack, "conversations.history").iter().any(|call| call["include_all_metadata"] == true));
}

#[test]
fn slack_refusals_delay_an_answer_or_end_it_and_never_double_it() {
    let slack = Slack::start();
    let host = started(&slack, QUIET);
    host.answers(&["one", "two", "three"]);
    slack.fail("chat.postMessage", Failing::TooMany(1));
    slack.direct(ANN, "hello");
    wait_for_answers(&host, &slack, 1);
    wait_for_delivery(&host, "sent");
    slack.fail("chat.postMessage", Failing::Refusal("restricted_action"));
    slack.direct(ANN, "hello");
    wait_for_delivery(&host, "refused");
    slack.direct(ANN, "hello");
    assert_eq!(texts(&wait_for_answers(&host, &slack, 2)), ["one", "three"]);
}

// Holds P11-70.
#[test]
fn a_dropped_socket_loses_nothing_and_doubles_nothing() {
    let slack = Slack::start();
    let host = started(&slack, QUIET);
    host.answers(&["one", "two", "three", "four"]);
    slack.direct(ANN, "first");
    wait_for_answers(&host, &slack, 1);
    host.wait_for("every envelope is acknowledged", || slack.pending() == 0);
    // An envelope that was under way goes over the next socket.
    slack.drop_sockets();
    slack.direct(ANN, "second");
    wait_for_answers(&host, &slack, 2);
    // A message that no envelope tells of is read from the history.
    slack.deafen(true);
    slack.drop_sockets();
    slack.direct(ANN, "third");
    assert_eq!(texts(&wait_for_answers(&host, &slack, 3)), ["one", "two", "three"]);
    // A socket that is about to end is replaced before it ends.
    let before = slack.tickets().len();
    slack.warn_sockets();
    host.wait_for("the next one is open", || slack.tickets().len() > before);
    host.wait_for("the old one has ended", || slack.sockets() == 1);
    slack.direct(ANN, "fourth");
    wait_for_answers(&host, &slack, 4);
    assert_eq!(texts(&slack.sent(&direct(ANN))), ["one", "two", "three", "four"]);
    assert_eq!(host.messages_by("slack:main").len(), 4, "no message is accepted twice");
    assert_eq!(host.channel("main")["link"], "up");
}

// Holds P11-70.
#[test]
fn a_killed_slack_channel_reads_what_it_missed_threads_too() {
    let slack = Slack::start();
    let host = started(&slack, QUIET);
    host.answers(&["one", "two", "three"]);
    slack.direct(ANN, "first");
    wait_for_answers(&host, &slack, 1);
    slack.deafen(true);
    host.kill_and_wait("channel@slack");
    slack.direct(ANN, "second");
    slack.message(
        &direct(ANN),
        ANN,
        &json!({ "text": "third", "thread_ts": slack.sent(&direct(ANN))[0].ts }),
    );
    let sent = wait_for_answers(&host, &slack, 3);
    assert_eq!(sent.len(), 3);
    assert_eq!(host.messages_by("slack:main").len(), 3, "no message is accepted twice");
}

// Holds P11-73.
#[test]
fn a_refused_slack_token_is_named_with_the_command_that_mends_it() {
    let slack = Slack::start();
    let host = started(&slack, QUIET);
    slack.revoke(true);
    host.wait_for("it is refused", || host.channel("main")["link"] == "refused");
    host.wait_for("the reason is the bot's token", || {
        let reason = host.channel("main")["reason"].as_str().unwrap_or_default().to_owned();
        reason.contains("token_revoked") && reason.contains("agentctl channel add slack main")
    });
    assert_eq!(host.ask(&["channel", "test", "main"])["accepted"], false);
}

#[test]
fn a_token_that_is_refused_while_it_sends_keeps_the_answer() {
    let slack = Slack::start();
    let host = started(&slack, QUIET);
    host.answers(&["the answer"]);
    slack.fail("chat.postMessage", Failing::Refusal("invalid_auth"));
    slack.fail("auth.test", Failing::Refusal("missing_scope"));
    slack.direct(ANN, "hello");
    host.wait_for("it is refused", || !calls(&slack, "chat.postMessage").is_empty());
    host.wait_for("the scope is named", || {
        // Each ends the poll under way.
        slack.direct(EVE, "hello");
        std::thread::sleep(std::time::Duration::from_millis(300));
        host.channel("main")["reason"].as_str().is_some_and(|reason| reason.contains("lacks the scope"))
    });
    assert!(slack.sent(&direct(ANN)).is_empty());
    wait_for_delivery(&host, "ready");
}

// Holds P11-14.
#[test]
fn a_long_answer_on_slack_is_split_and_a_longer_one_is_a_file() {
    let slack = Slack::start();
    let host = started(&slack, QUIET);
    let part = "A sentence that is said & again. ".repeat(60);
    let pieces = |count: usize| -> Vec<Value> { (0..count).map(|_| json!({ "text": part })).collect() };
    host.script("answers", &[json!({ "pieces": pieces(4) }), json!({ "pieces": pieces(40) })]);
    slack.direct(ANN, "tell me much");
    wait_for_delivery(&host, "sent");
    let sent = slack.sent(&direct(ANN));
    assert!((2..=4).contains(&sent.len()), "{}", sent.len());
    assert!(sent.iter().all(|one| one.text().chars().count() <= 4000 && one.text().contains("&amp;")));
    slack.fail("files.completeUploadExternal", Failing::DropAfter);
    slack.direct(ANN, "tell me all");
    host.wait_for("the file is there", || !slack.files(&direct(ANN)).is_empty());
    wait_for_delivery(&host, "sent");
    let files = slack.files(&direct(ANN));
    assert_eq!((files.len(), files[0].0.as_str()), (1, "answer.md"), "it was found again");
    assert!(files[0].1.len() > 70_000);
}

// Holds P11-20, P11-21.
#[test]
fn a_call_is_approved_on_slack_by_its_persons_button_alone() {
    let slack = Slack::start();
    let setup = Setup::default().config("[policy]\nautonomy = \"supervised\"\n");
    let host = slack.host(setup, &format!("{QUIET}approve = \"own\"\n"));
    let call =
        json!({ "call": { "tool": "bash", "args": { "command": "echo done >> ledger; cat ledger" } } });
    host.script("answers", &tests::planned(&["bash"], &[call]));
    slack.direct(ANN, "write done into the ledger");
    let asked = wait_for_answers(&host, &slack, 1).remove(0);
    assert!(asked.text().contains("echo done &gt;&gt; ledger; cat ledger"), "{}", asked.text());
    let shown = asked.arguments["blocks"][0]["text"]["text"].as_str().unwrap();
    assert!(shown.contains("echo done &gt;&gt; ledger"), "the blocks hold the action: {shown}");
    let yes = asked.button("Approve once").unwrap();
    slack.press(EVE, &asked, &yes);
    host.wait_for("the stranger is answered", || slack.responses().len() == 1);
    assert_eq!(host.json(&["approvals", "list"])["approvals"].as_array().map(Vec::len), Some(1), "it waits");
    slack.press(ANN, &asked, &yes);
    assert_eq!(wait_for_answers(&host, &slack, 2)[1].text(), "that is all");
    let answered = host.recorded("approval_answered");
    assert_eq!(answered.len(), 1, "{answered:?}");
    host.wait_for("the owner is answered", || slack.responses().len() == 2);
    assert_eq!(slack.responses()[1]["response_type"], "ephemeral");
}

#[test]
fn a_hostile_payload_is_acknowledged_counted_and_stops_nothing() {
    let slack = Slack::start();
    let host = started(&slack, QUIET);
    host.answers(&["still here"]);
    for event in
        [json!({ "type": "message" }), json!([[[]]]), json!({ "type": "message", "channel": { "id": 7 } })]
    {
        slack.envelope("events_api", &json!({ "event": event }));
    }
    slack.envelope(
        "interactive",
        &json!({ "type": "block_actions", "actions": [{ "value": "ab".repeat(16) }] }),
    );
    slack.envelope("new_kind", &json!("x".repeat(200_000)));
    slack.direct(ANN, "hello");
    assert_eq!(wait_for_answers(&host, &slack, 1)[0].text(), "still here");
    host.wait_for("every envelope is acknowledged", || slack.pending() == 0);
    host.wait_for("they are counted", || host.channel("main")["malformed"].as_u64() >= Some(4));
}

#[test]
fn a_slack_channel_is_added_and_its_owner_linked_by_its_command() {
    let slack = Slack::start();
    let Added { host, code, .. } = &Added::by_command("slack", &slack.url(), &[TOKEN, APP_TOKEN]);
    host.wait_for("a socket is ready", || slack.sockets() > 0);
    host.answers(&["hello ann"]);
    slack.command(&direct(ANN), ANN, &format!("link {code}"));
    host.becomes_linked(&format!("slack:main:{ANN}"));
    slack.direct(ANN, "hello");
    host.wait_for("it is answered", || {
        slack.sent(&direct(ANN)).iter().any(|message| message.text() == "hello ann")
    });
}
