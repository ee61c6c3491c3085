//! Rooms: who may invite the account, who is answered in a group, and what becomes of a conversation that is joined.

use super::{CHANNEL, QUIET, World, dropped};
use reqwest::Method;
use serde_json::json;
use tests::Setup;

#[test]
fn a_group_is_answered_where_it_is_listed_and_the_account_mentioned() {
    let world = World::start();
    world.host.answers(&["the answer"]);
    let (carl, room) = (world.server.user("carl"), world.ann.room(&[&world.bot], &json!({})));
    world.ann.must(&Method::POST, &format!("/rooms/{room}/invite"), &json!({ "user_id": carl.id }));
    carl.join(&room);
    world.joins(&room);
    let mention = json!({
        "msgtype": "m.text", "body": "Bot: well?", "m.mentions": { "user_ids": [world.bot.id] },
    });
    world.ann.send(&room, &mention);
    world
        .host
        .wait_for("a room that is not listed is passed over", || dropped(&world.host, "not_listed") == 1);
    let _ = world.host.json(&["channel", "group", "allow", "main", &room]);
    world.ann.say(&room, "nobody asked you");
    carl.send(&room, &mention);
    world.host.wait_for("both are passed over", || {
        dropped(&world.host, "not_mentioned") == 1 && dropped(&world.host, "not_admitted") == 1
    });
    let asked = world.ann.send(&room, &mention);
    assert_eq!(world.answered(&room, 1), ["the answer"]);
    let answer = world.ann.messages(&room, &world.bot).remove(0)["content"].clone();
    assert_eq!(answer["m.relates_to"]["m.in_reply_to"]["event_id"], asked);
    assert_eq!(answer["m.mentions"], json!({}), "nobody is called");
    assert_eq!(world.host.messages_by(CHANNEL).len(), 1, "and nothing else was stored");
}

#[test]
fn a_threads_answer_stays_in_the_thread() {
    let world = World::start();
    world.host.answers(&["one", "two"]);
    let room = world.direct();
    let root = world.ann.say(&room, "the root");
    world.answered(&room, 1);
    let thread = json!({ "rel_type": "m.thread", "event_id": root });
    world.ann.send(&room, &json!({ "msgtype": "m.text", "body": "in it", "m.relates_to": thread }));
    world.answered(&room, 2);
    let answer = world.ann.messages(&room, &world.bot).remove(1)["content"].clone();
    assert_eq!(answer["m.relates_to"]["rel_type"], "m.thread");
    assert_eq!(answer["m.relates_to"]["event_id"], root);
}

// Holds P11-22.
#[test]
fn a_strangers_invitation_is_not_accepted() {
    let world = World::start();
    let eve = world.server.user("eve");
    let hers = eve.room(&[&world.bot], &json!({ "is_direct": true }));
    eve.say(&hers, "let me in");
    world.host.wait_for("it is declined", || !world.host.recorded("sender_dropped").is_empty());
    // The next invitation is accepted, so the stranger's is behind the account.
    world.host.answers(&["hello"]);
    let room = world.direct();
    world.ann.say(&room, "hello");
    world.answered(&room, 1);
    assert_eq!(eve.members(&hers), std::slice::from_ref(&eve.id));
    assert_eq!(world.host.messages_by(CHANNEL).len(), 1, "nothing of a stranger is stored");
}

#[test]
fn edits_and_programs_start_no_turn() {
    let world = World::start();
    world.host.answers(&["the answer"]);
    let room = world.direct();
    let first = world.ann.say(&room, "hello");
    world.answered(&room, 1);
    world.ann.send(&room, &json!({ "msgtype": "m.notice", "body": "the build is red" }));
    let replace = json!({ "rel_type": "m.replace", "event_id": first });
    let new = json!({ "msgtype": "m.text", "body": "hello again" });
    let edit = json!({ "msgtype": "m.text", "body": "* hello again", "m.new_content": new, "m.relates_to": replace });
    world.ann.send(&room, &edit);
    world.host.wait_for("both are passed over", || {
        dropped(&world.host, "bot") == 1 && dropped(&world.host, "edit") == 1
    });
    assert_eq!(world.host.messages_by(CHANNEL).len(), 1);
}

#[test]
fn an_encrypted_room_is_told_once() {
    let world = World::start();
    let state = json!([{
        "type": "m.room.encryption", "state_key": "", "content": { "algorithm": "m.megolm.v1.aes-sha2" },
    }]);
    let room = world.ann.room(&[&world.bot], &json!({ "initial_state": state }));
    world.joins(&room);
    let texts = world.answered(&room, 1);
    assert!(texts[0].contains("encrypted"), "{texts:?}");
    assert_eq!(world.ann.messages(&room, &world.bot)[0]["content"]["msgtype"], "m.notice");
    world.host.kill_and_wait("channel@matrix");
    world.host.answers(&["hello"]);
    let other = world.direct();
    world.ann.say(&other, "hello");
    world.answered(&other, 1);
    assert_eq!(world.ann.texts(&room, &world.bot).len(), 1);
}

#[test]
fn an_answer_for_one_person_is_not_sent_to_a_group() {
    let world = World::with(QUIET, Setup::default());
    let carl = world.server.user("carl");
    let pieces = json!([{ "delay_ms": 4000 }, { "text": "for ann alone" }]);
    world.host.script("answers", &[json!({ "pieces": pieces })]);
    let room = world.direct();
    world.ann.say(&room, "my secret?");
    world.host.wait_for("it is taken in", || world.host.messages_by(CHANNEL).len() == 1);
    world.ann.must(&Method::POST, &format!("/rooms/{room}/invite"), &json!({ "user_id": carl.id }));
    carl.join(&room);
    world.host.wait_for("it is refused", || world.host.delivery_is(CHANNEL, "refused"));
    assert!(world.ann.texts(&room, &world.bot).is_empty());
    assert_eq!(world.host.channel("main")["link"], "up");
}
