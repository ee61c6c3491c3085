//! Losses: replies, processes and homeservers that go away, and messages that came meanwhile.

use super::{CHANNEL, QUIET, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tests::Setup;
use tests::synapse::{Failing, Line, Synapse};

/// A world whose host reaches the homeserver by a line.
fn by_line() -> (World, Line) {
    let server = Synapse::start();
    let (bot, ann, line) = (server.user("bot"), server.user("ann"), Line::to(server.port));
    let host = server.host(&line.base(), &bot, Setup::default(), QUIET);
    (World { server, bot, ann, host }, line)
}

fn is_sent_once(world: &World, room: &str) {
    world.host.wait_for("it is sent", || world.host.delivery_is(CHANNEL, "sent"));
    assert_eq!(world.ann.texts(room, &world.bot), ["the answer"]);
}

// Holds P11-10, P11-23.
#[test]
fn a_lost_reply_is_no_second_message() {
    let (world, line) = by_line();
    world.host.answers(&["the answer"]);
    let room = world.direct();
    line.fail(Failing::Dropped);
    world.ann.say(&room, "hello");
    is_sent_once(&world, &room);
    assert_eq!(line.failed(), 1);
}

// Holds P11-10, P11-23.
#[test]
fn a_process_that_dies_with_an_answer_sends_it_once() {
    let (world, line) = by_line();
    world.host.answers(&["the answer"]);
    let room = world.direct();
    line.fail(Failing::Held);
    world.ann.say(&room, "hello");
    world.host.wait_for("the answer is under way", || line.failed() == 1);
    world.host.wait_for("it has arrived", || world.ann.texts(&room, &world.bot).len() == 1);
    world.host.kill_and_wait("channel@matrix");
    is_sent_once(&world, &room);
}

// Holds P11-10, P11-23.
#[test]
fn a_homeserver_that_dies_with_an_answer_has_it_once() {
    let (mut world, line) = by_line();
    world.host.answers(&["the answer", "and another"]);
    let room = world.direct();
    line.fail(Failing::Held);
    world.ann.say(&room, "hello");
    world
        .host
        .wait_for("it has arrived", || line.failed() == 1 && world.ann.texts(&room, &world.bot).len() == 1);
    world.server.kill();
    world.host.kill_and_wait("channel@matrix");
    world.host.wait_for("the account is down", || world.host.channel("main")["link"] == "down");
    world.host.wait_for("the answer is tried several times", || line.vain() >= 12);
    world.server.restart();
    is_sent_once(&world, &room);
    world.ann.say(&room, "and?");
    assert_eq!(world.answered(&room, 2), ["the answer", "and another"]);
}

// Holds P11-23.
#[test]
fn every_message_of_a_time_away_is_taken_in_once_and_in_order() {
    let world = World::start();
    let texts: Vec<String> = (0..28).map(|number| format!("message {number}")).collect();
    world.host.answers(&["an answer"; 30]);
    let room = world.direct();
    world.server.unlimited(&world.ann);
    let _ = world.host.json(&["channel", "pause", "main"]);
    world.ann.say(&room, "the first");
    for text in &texts {
        world.ann.say(&room, text);
    }
    world.host.kill_and_wait("channel@matrix");
    let _ = world.host.json(&["channel", "resume", "main"]);
    world.host.wait_for("all are taken in", || world.host.messages_by(CHANNEL).len() == 29);
    world.host.kill_and_wait("channel@matrix");
    world.answered(&room, 1);
    let sessions: BTreeSet<String> =
        world.host.messages_by(CHANNEL).iter().map(|one| one["session"].to_string()).collect();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    assert_eq!(in_order(&world), [vec!["the first".to_owned()], texts].concat());
}

/// The texts of the messages that the host took in, oldest first.
fn in_order(world: &World) -> Vec<String> {
    let ids: Vec<Value> = world.host.messages_by(CHANNEL).iter().rev().map(|one| one["id"].clone()).collect();
    let text = |id: &Value| {
        let shown = world.host.json(&["message", "show", id.as_str().unwrap()]);
        shown["message"]["text"].as_str().unwrap().to_owned()
    };
    ids.iter().map(text).collect()
}

#[test]
fn messages_between_the_invitation_and_the_joining_are_answered() {
    let world = World::start();
    world.host.answers(&["one", "two"]);
    let _ = world.host.json(&["channel", "pause", "main"]);
    let room = world.ann.room(&[&world.bot], &json!({ "is_direct": true }));
    world.ann.say(&room, "before you came");
    world.ann.say(&room, "still before");
    let _ = world.host.json(&["channel", "resume", "main"]);
    assert_eq!(world.answered(&room, 2), ["one", "two"]);
}
