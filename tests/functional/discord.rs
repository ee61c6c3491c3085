//! An account of Discord, against a server that stands for its gateway and its REST API: what is written there is answered there, once.

use serde_json::json;
use std::time::Duration;
use tests::discord::{ANN, CHANNEL, Discord, Failing, SentMessage, THREAD, TOKEN, direct};
use tests::{Added, Host, Setup};

/// The account of somebody whom nobody knows.
const EVE: u64 = 6;
/// Without signs of what is under way, so that every request is an answer.
const QUIET: &str = "streaming = \"off\"\ntyping = false\n";

fn started(discord: &Discord, keys: &str) -> Host {
    discord.host(Setup::default(), keys)
}

fn wait_in(host: &Host, discord: &Discord, channel: u64, count: usize) -> Vec<SentMessage> {
    host.wait_for("the messages are sent", || discord.sent(channel).len() >= count);
    discord.sent(channel)
}

fn wait_for_sent(host: &Host, discord: &Discord, count: usize) -> Vec<SentMessage> {
    wait_in(host, discord, direct(ANN), count)
}

fn texts(sent: &[SentMessage]) -> Vec<&str> {
    sent.iter().map(SentMessage::text).collect()
}

// Holds P11-32.
#[test]
fn an_owner_is_answered_on_discord_and_a_stranger_is_not() {
    let discord = Discord::start();
    let host = started(&discord, QUIET);
    host.answers(&["**hello** `ann` @everyone", "again"]);
    discord.direct(EVE, "let me in");
    discord.direct(ANN, "hello");
    let sent = wait_for_sent(&host, &discord, 1);
    assert_eq!(sent[0].text(), "**hello** `ann` @everyone");
    assert_eq!(sent[0].body["allowed_mentions"], json!({ "parse": [], "replied_user": false }));
    assert_eq!((&sent[0].body["flags"], &sent[0].body["enforce_nonce"]), (&json!(4), &json!(true)));
    discord.direct(ANN, "and now?");
    assert_eq!(texts(&wait_for_sent(&host, &discord, 2))[1], "again");
    assert!(discord.sent(direct(EVE)).is_empty(), "a stranger hears nothing");
    assert_eq!(host.messages_by("discord:main").len(), 2, "and nothing of a stranger is stored");
    assert_eq!(host.channel("main")["dropped"]["not_admitted"], 1, "{}", host.channel("main"));
}

#[test]
fn a_discord_channel_is_added_and_its_owner_linked_by_one_command() {
    let discord = Discord::start();
    let Added { host, code, .. } = &Added::by_command("discord", &discord.url(), &[TOKEN]);
    host.answers(&["hello ann"]);
    discord.direct(ANN, &format!("/link {code}"));
    host.becomes_linked("discord:main:5");
    discord.direct(ANN, "hello");
    host.wait_for("it is answered", || texts(&discord.sent(direct(ANN))).contains(&"hello ann"));
}

#[test]
fn the_beginning_of_an_answer_is_shown_on_discord_and_replaced() {
    let discord = Discord::start();
    let host = started(&discord, "streaming = \"edit\"\n");
    let pieces = json!([{ "text": "the first half, " }, { "delay_ms": 2500 }, { "text": "the second half" }]);
    host.script("answers", &[json!({ "pieces": pieces })]);
    // The first preview arrives, and its reply does not: it is known by its mark.
    discord.fail("POST messages", Failing::DropAfter);
    discord.direct(ANN, "hello");
    host.wait_for("the whole answer is there", || {
        texts(&discord.sent(direct(ANN))).contains(&"the first half, the second half")
    });
    let sent = discord.sent(direct(ANN));
    assert_eq!(sent.len(), 1, "the answer is an edit of its beginning: {sent:?}");
    assert!(sent[0].edits >= 1);
    assert!(discord.calls().iter().any(|(call, _)| call.ends_with("/typing")), "it is shown as typing");
    assert_eq!(discord.exceeded(), 0, "no request is over a limit that was told");
}

#[test]
fn a_server_is_answered_where_the_bot_is_mentioned() {
    let discord = Discord::start();
    let host = started(&discord, QUIET);
    assert_eq!(host.json(&["channel", "group", "allow", "main", &CHANNEL.to_string()])["ok"], true);
    host.answers(&["in here", "in here"]);
    discord.say(ANN, "nobody is asked");
    let asked = discord.say(ANN, "<@42> who is there?");
    let sent = wait_in(&host, &discord, CHANNEL, 1);
    assert_eq!(sent[0].text(), "in here");
    assert_eq!(sent[0].body["message_reference"]["message_id"], asked.to_string());
    let more = json!({ "content": "<@42> and here?", "channel_type": 11, "guild_id": "77" });
    discord.message(THREAD, ANN, &more);
    assert_eq!(texts(&wait_in(&host, &discord, THREAD, 1)), ["in here"]);
    discord.message(4711, ANN, &json!({ "content": "<@42> x", "channel_type": 0, "guild_id": "77" }));
    host.wait_for("another channel is not answered", || host.channel("main")["dropped"]["not_listed"] == 1);
    assert_eq!(host.channel("main")["dropped"]["not_mentioned"], 1, "{}", host.channel("main"));
    assert_eq!((discord.sent(CHANNEL).len(), discord.sent(4711).len()), (1, 0));
}

// Holds P11-20, P11-21, P11-35.
#[test]
fn a_call_is_approved_on_discord_by_its_person_and_nobody_else() {
    let discord = Discord::start();
    let setup = Setup::default().config("[policy]\nautonomy = \"supervised\"\n");
    let host = discord.host(setup, &format!("{QUIET}approve = \"own\"\n"));
    let call =
        json!({ "call": { "tool": "bash", "args": { "command": "echo done >> ledger; cat ledger" } } });
    host.script("answers", &tests::planned(&["bash"], &[call]));
    discord.direct(ANN, "write done into the ledger");
    let asked = wait_for_sent(&host, &discord, 1).remove(0);
    assert!(asked.text().contains("echo done"), "{}", asked.text());
    let yes = asked.button("Approve once");
    let strange = discord.press(EVE, &asked, &yes);
    host.wait_for("the stranger's press is answered", || {
        discord.asides(&strange).is_some_and(|all| !all.is_empty())
    });
    assert_eq!(host.json(&["approvals", "list"])["approvals"].as_array().map(Vec::len), Some(1), "it waits");
    let own = discord.press(ANN, &asked, &yes);
    assert_eq!(wait_for_sent(&host, &discord, 2)[1].text(), "that is all");
    host.wait_for("the press is answered", || discord.asides(&own).is_some_and(|all| !all.is_empty()));
    assert_eq!(host.recorded("approval_answered").len(), 1);
}

// Holds P11-31.
#[test]
fn a_connection_that_is_cut_loses_nothing_and_doubles_nothing() {
    let discord = Discord::start();
    let host = started(&discord, QUIET);
    host.answers(&["one", "two", "three", "four"]);
    discord.direct(ANN, "first");
    wait_for_sent(&host, &discord, 1);
    discord.cut();
    discord.direct(ANN, "second");
    wait_for_sent(&host, &discord, 2);
    assert_eq!(discord.beginnings().0, 1, "the session goes on");
    host.kill_and_wait("channel@discord");
    discord.direct(ANN, "third");
    wait_for_sent(&host, &discord, 3);
    host.kill_and_wait("credproxy");
    discord.direct(ANN, "fourth");
    assert_eq!(texts(&wait_for_sent(&host, &discord, 4)), ["one", "two", "three", "four"]);
    assert_eq!(host.messages_by("discord:main").len(), 4, "no message is accepted twice");
    assert_eq!(discord.beginnings().0, 1, "the session goes on after each");
}

// Holds P11-31.
#[test]
fn what_no_session_brings_any_more_is_fetched() {
    let discord = Discord::start();
    let host = started(&discord, QUIET);
    host.answers(&["one", "two", "three", "four"]);
    discord.direct(ANN, "first");
    wait_for_sent(&host, &discord, 1);
    discord.refuse_resumes(3);
    discord.cut();
    discord.direct(ANN, "second");
    wait_for_sent(&host, &discord, 2);
    assert_eq!(discord.beginnings(), (2, 3), "three tries to resume, then another session");
    discord.end_sessions();
    discord.cut();
    discord.direct(ANN, "third");
    assert_eq!(texts(&wait_for_sent(&host, &discord, 3)), ["one", "two", "three"]);
    assert_eq!(discord.beginnings(), (3, 4), "a session that is over is not tried again");
    assert_eq!(host.messages_by("discord:main").len(), 3, "no message is accepted twice");
}

// Holds P11-36.
#[test]
fn an_answer_of_unknown_outcome_on_discord_is_known_again_by_its_mark() {
    let discord = Discord::start();
    let host = started(&discord, QUIET);
    let failures = [
        Failing::DropAfter,
        Failing::DropBefore,
        Failing::ErrorAfter,
        Failing::ErrorBefore,
        Failing::TooMany(1.0),
    ];
    let all: Vec<String> = (0..failures.len()).map(|number| format!("answer {number}")).collect();
    host.answers(&all.iter().map(String::as_str).collect::<Vec<_>>());
    for (number, failing) in failures.into_iter().enumerate() {
        discord.fail("POST messages", failing);
        discord.direct(ANN, "hello");
        let sent = wait_for_sent(&host, &discord, number + 1);
        host.wait_for(&format!("{failing:?}: it is known to be sent"), || {
            host.delivery_is("discord:main", "sent")
        });
        assert_eq!(texts(&sent), all[..=number], "{failing:?}");
    }
    assert_eq!(discord.sent(direct(ANN)).len(), failures.len());
}

// Holds P11-14.
#[test]
fn an_answer_over_2000_characters_is_several_messages_or_a_file() {
    let discord = Discord::start();
    let host = started(&discord, QUIET);
    let (short, long, endless) =
        ("é".repeat(1500), "A sentence of this length. ".repeat(130), "word ".repeat(9000));
    host.answers(&[&short, &long, &endless]);
    discord.direct(ANN, "short");
    assert_eq!(wait_for_sent(&host, &discord, 1)[0].text(), short);
    discord.direct(ANN, "long");
    let sent = wait_for_sent(&host, &discord, 3);
    assert!(sent.iter().all(|one| one.text().chars().count() <= 2000));
    assert_eq!(format!("{} {}", sent[1].text(), sent[2].text()), long.trim_end());
    discord.direct(ANN, "endless");
    let sent = wait_for_sent(&host, &discord, 5);
    assert_eq!(sent[4].body["file"], json!({ "name": "answer.md", "bytes": endless.len() }));
    assert_eq!(sent[4].body["allowed_mentions"]["parse"], json!([]));
}

// Holds P11-34.
#[test]
fn a_final_close_and_a_refused_token_are_named_with_their_remedy() {
    let discord = Discord::start();
    let host = started(&discord, QUIET);
    let refused = |why: &str| {
        host.wait_for(&format!("it is refused: {why}"), || {
            let state = host.channel("main");
            state["link"] == "refused" && state["reason"].as_str().is_some_and(|reason| reason.contains(why))
        });
    };
    discord.close_with(Some(4014));
    refused("Message Content Intent");
    host.kill_and_wait("channel@discord");
    discord.close_with(Some(4004));
    host.kill_and_wait("channel@discord");
    refused("agentctl channel add discord main");
    assert_eq!(host.ask(&["channel", "test", "main"])["accepted"], false);
    discord.close_with(None);
    host.kill_and_wait("channel@discord");
    host.wait_for("it is up again", || host.channel("main")["link"] == "up");
    discord.revoke(true);
    host.kill_and_wait("channel@discord");
    refused("agentctl channel add discord main");
    discord.revoke(false);
    host.kill_and_wait("channel@discord");
    host.wait_for("it is up again", || host.channel("main")["link"] == "up");
}

// Holds P11-34.
#[test]
fn a_bot_that_reads_no_text_of_others_says_so_and_works() {
    let discord = Discord::start();
    discord.take_text_away();
    let host = started(&discord, QUIET);
    let reason = host.channel("main")["reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason.contains("Message Content Intent"), "{reason}");
    assert_eq!(host.json(&["channel", "group", "allow", "main", &CHANNEL.to_string()])["ok"], true);
    host.answers(&["here"]);
    discord.say(ANN, "<@42> are you there?");
    assert_eq!(texts(&wait_in(&host, &discord, CHANNEL, 1)), ["here"]);
}

// Holds P11-33.
#[test]
fn heartbeats_go_out_while_the_channel_is_paused() {
    let discord = Discord::start();
    let host = started(&discord, QUIET);
    host.answers(&["late"]);
    assert_eq!(host.json(&["channel", "pause", "main"])["ok"], true);
    let before = discord.beats();
    discord.direct(ANN, "hello");
    assert!(discord.comes(Duration::from_secs(30), |discord| discord.beats() >= before + 5));
    assert!(discord.sent(direct(ANN)).is_empty());
    assert_eq!(host.json(&["channel", "resume", "main"])["ok"], true);
    assert_eq!(texts(&wait_for_sent(&host, &discord, 1)), ["late"]);
    assert_eq!(discord.beginnings(), (1, 0), "the connection was never lost");
}

#[test]
fn a_changed_message_starts_no_turn() {
    let discord = Discord::start();
    let host = started(&discord, QUIET);
    host.answers(&["one", "two"]);
    let first = discord.direct(ANN, "first");
    wait_for_sent(&host, &discord, 1);
    discord.change(direct(ANN), first, ANN, "changed");
    discord.direct(ANN, "second");
    assert_eq!(texts(&wait_for_sent(&host, &discord, 2)), ["one", "two"]);
    assert_eq!(host.messages_by("discord:main").len(), 2);
}
