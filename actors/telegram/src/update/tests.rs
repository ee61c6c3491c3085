//! Updates to messages.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn me() -> Me {
    Me { id: 42, username: "cordon_bot".into() }
}

fn message(more: &Value) -> Value {
    let mut message = json!({
        "message_id": 7, "date": 1000, "chat": { "id": 5, "type": "private" },
        "from": { "id": 5, "is_bot": false, "first_name": "Ann", "new": true }, "unknown_field": [1],
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        message[key] = value.clone();
    }
    message
}

fn one(more: &Value) -> Inbound {
    let polled = read(&[json!({ "update_id": 1, "message": message(more) })], &me());
    assert_eq!(polled.malformed, 0);
    polled.messages.into_iter().next().unwrap()
}

fn kinds(inbound: &Inbound) -> Vec<(PartKind, &str)> {
    inbound.parts.iter().map(|part| (part.kind, part.text.as_str())).collect()
}

#[test]
fn a_direct_message_has_its_key_and_the_senders_stable_id() {
    let inbound = one(&json!({ "text": "hello" }));
    assert_eq!((inbound.key.as_str(), inbound.sender.id.as_str()), ("5:7", "5"));
    assert_eq!((inbound.conversation.kind, inbound.sent_ms), (ConversationKind::Direct, 1_000_000));
    assert_eq!(kinds(&inbound), [(PartKind::Own, "hello")]);
}

#[test]
fn a_forward_a_quote_and_a_contact_are_not_the_senders_own_text() {
    let forward = one(&json!({ "text": "do this", "forward_origin": { "type": "hidden_user" } }));
    assert_eq!(kinds(&forward), [(PartKind::Forward, "do this")]);
    let replied = message(&json!({ "message_id": 3, "text": "theirs" }));
    let reply = one(&json!({ "text": "mine", "reply_to_message": replied }));
    assert_eq!(kinds(&reply), [(PartKind::Own, "mine"), (PartKind::Quote, "theirs")]);
    let contact = one(&json!({ "contact": { "first_name": "Bo", "phone_number": "+1" } }));
    assert_eq!(kinds(&contact), [(PartKind::Contact, "Bo  +1")]);
}

#[test]
fn a_group_is_mentioned_by_name_by_command_or_by_a_reply() {
    let group = json!({ "id": -9, "type": "supergroup" });
    let said = |text: &str, kind: &str, offset: usize, length: usize| {
        let marks = json!([{ "type": kind, "offset": offset, "length": length }]);
        one(&json!({ "chat": group, "text": text, "entities": marks })).mentions
    };
    assert!(said("😀 @Cordon_Bot hi", "mention", 3, 11));
    assert!(said("/new@cordon_bot", "bot_command", 0, 15));
    assert!(!said("@other_bot hi", "mention", 0, 10));
    assert!(!said("@cordon_bot", "mention", 0, 9999));
    let mine = message(&json!({ "message_id": 3, "from": { "id": 42, "is_bot": true } }));
    assert!(one(&json!({ "chat": group, "text": "yes", "reply_to_message": mine })).mentions);
    assert!(!one(&json!({ "chat": group, "text": "yes" })).mentions);
}

#[test]
fn a_topic_is_a_thread_and_the_general_one_is_none() {
    let group = json!({ "id": -9, "type": "supergroup" });
    let thread = |id: i64| {
        let more = json!({ "chat": group, "text": "x", "message_thread_id": id, "is_topic_message": true });
        one(&more).conversation.thread.map(Text::into_string)
    };
    assert_eq!((thread(8), thread(1)), (Some("8".to_owned()), None));
}

#[test]
fn an_update_that_cannot_be_read_is_counted_and_passed_over() {
    let updates = [
        json!({ "update_id": 5, "message": { "message_id": "seven" } }),
        json!({ "update_id": 6, "message": message(&json!({ "text": "x" })) }),
        json!({ "update_id": 7, "channel_post": {} }),
    ];
    let polled = read(&updates, &me());
    assert_eq!((polled.malformed, polled.messages.len()), (1, 1));
    assert_eq!(polled.cursor.as_deref(), Some("42:8"));
}

// Holds P11-16.
#[test]
fn the_cursor_of_another_bot_is_none() {
    assert_eq!(next_update(Some("42:8"), &me()), Some(8));
    assert_eq!(next_update(Some("41:8"), &me()), None);
    assert_eq!(next_update(Some("x"), &me()), None);
    assert_eq!(next_update(None, &me()), None);
}

#[test]
fn a_group_that_became_a_supergroup_says_which_it_was() {
    let moved = one(&json!({ "chat": { "id": -1009, "type": "supergroup" }, "migrate_from_chat_id": -9 }));
    assert_eq!(moved.moved_from.as_deref(), Some("-9"));
    let told = one(&json!({ "chat": { "id": -9, "type": "group" }, "migrate_to_chat_id": -1009 }));
    assert_eq!((told.moved_from.as_deref(), told.conversation.id.as_str()), (Some("-9"), "-1009"));
}

#[test]
fn a_press_in_a_topic_is_of_the_topics_conversation() {
    let thread = |more: Value| {
        let mut message = json!({ "message_id": 7, "chat": { "id": 5, "type": "private" } });
        for (key, value) in more.as_object().into_iter().flatten() {
            message[key] = value.clone();
        }
        let from = json!({ "id": 5, "first_name": "Ann" });
        let press = json!({ "id": "q", "from": from, "data": "ab".repeat(16), "message": message });
        let polled = read(&[json!({ "update_id": 2, "callback_query": press })], &me());
        polled.presses[0].press.conversation.thread.clone().map(Text::into_string)
    };
    assert_eq!(thread(json!({ "message_thread_id": 8, "is_topic_message": true })).as_deref(), Some("8"));
    assert_eq!(thread(json!({ "message_thread_id": 1, "is_topic_message": true })), None);
    assert_eq!(thread(json!({ "message_thread_id": 8 })), None);
    assert_eq!(thread(json!({})), None);
}

#[test]
fn an_edit_is_marked_and_a_press_names_who_pressed() {
    let polled =
        read(&[json!({ "update_id": 1, "edited_message": message(&json!({ "text": "x" })) })], &me());
    assert!(polled.messages[0].edit);
    let press = json!({
        "id": "q", "from": { "id": 99, "first_name": "Eve" }, "data": "ab".repeat(16),
        "message": { "message_id": 7, "chat": { "id": 5, "type": "private" } },
    });
    let polled = read(&[json!({ "update_id": 2, "callback_query": press })], &me());
    assert_eq!(polled.presses[0].press.sender.id.as_str(), "99");
    assert_eq!(polled.presses[0].press.nonce, [0xab; 16]);
}

#[test]
fn a_file_has_a_name_without_a_path() {
    let document =
        json!({ "document": { "file_id": "f1", "file_name": "../..\\.bashrc\u{1b}", "file_size": 3 } });
    let updates = [
        json!({ "update_id": 1, "message": message(&json!({ "text": "x" })) }),
        json!({ "update_id": 2, "message": message(&document) }),
    ];
    let polled = read(&updates, &me());
    assert_eq!(polled.messages[1].attachments[0].name.as_deref(), Some("bashrc"));
    let file = FileAt { message: 1, attachment: 0, source: "f1".into() };
    assert_eq!(polled.files, [file]);
}

/// A value that no field of a message expects, or that one does.
fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        any::<i64>().prop_map(
            |id| json!({ "id": id, "type": "supergroup", "text": "x", "offset": id, "length": id })
        ),
        any::<u32>()
            .prop_map(|at| json!([{ "type": "mention", "offset": at, "length": at, "message_id": at }])),
    ]
}

proptest! {
    #[test]
    fn an_odd_field_stops_no_update_behind_it(
        key in prop::sample::select(vec![
            "message_id", "message_thread_id", "from", "date", "chat", "forward_origin", "reply_to_message", "quote", "text",
            "entities", "caption", "photo", "document", "contact", "migrate_from_chat_id", "migrate_to_chat_id",
        ]),
        value in odd(),
    ) {
        let odd = message(&json!({ "text": "x", "entities": [], key: value }));
        let updates = [
            json!({ "update_id": 1, "message": odd }),
            json!({ "update_id": 2, "message": message(&json!({ "text": "after" })) }),
        ];
        let polled = read(&updates, &me());
        prop_assert_eq!(polled.cursor.as_deref(), Some("42:3"));
        let last = polled.messages.last().map(kinds);
        prop_assert_eq!(last, Some(vec![(PartKind::Own, "after")]));
    }
}
