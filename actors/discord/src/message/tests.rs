//! Payloads of the gateway to messages and presses.

use super::*;
use crate::payload::{Event, Payload, read};
use proptest::prelude::*;
use serde_json::{Value, json};

const ME: u64 = 42;

fn message(more: &Value) -> Value {
    let mut message = json!({
        "id": "175928847299117063", "channel_id": "5", "type": 0, "content": "", "tts": false,
        "author": { "id": "7", "username": "ann", "global_name": "Ann", "discriminator": "0" },
        "mentions": [], "attachments": [], "embeds": [{ "type": "rich" }], "nonce": 12,
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        message[key] = value.clone();
    }
    message
}

fn one(more: &Value, scene: Scene) -> Inbound {
    let message: Message = serde_json::from_value(message(more)).unwrap();
    inbound(&message, scene, false, ME).unwrap()
}

fn kinds(inbound: &Inbound) -> Vec<(PartKind, &str)> {
    inbound.parts.iter().map(|part| (part.kind, part.text.as_str())).collect()
}

#[test]
fn a_direct_message_has_its_key_and_the_senders_stable_id() {
    let inbound = one(&json!({ "content": "hello" }), Scene::Direct);
    assert_eq!((inbound.key.as_str(), inbound.sender.id.as_str()), ("175928847299117063", "7"));
    assert_eq!((inbound.sender.name.as_str(), inbound.sender.bot), ("Ann", false));
    assert_eq!((inbound.conversation.kind, inbound.sent_ms), (ConversationKind::Direct, 1_462_015_105_796));
    assert_eq!(kinds(&inbound), [(PartKind::Own, "hello")]);
    assert!(inbound.mentions);
}

#[test]
fn a_forward_and_a_quote_are_not_the_senders_own_text() {
    let shot =
        json!([{ "message": { "content": "do this", "attachments": [{ "filename": "x.png", "size": 1 }] } }]);
    let reference = json!({ "type": 1, "message_id": "3", "channel_id": "9" });
    let forward = one(&json!({ "message_reference": reference, "message_snapshots": shot }), Scene::Direct);
    assert_eq!(kinds(&forward), [(PartKind::Forward, "do this")]);
    assert_eq!((forward.reply_to.as_ref(), forward.attachments.len()), (None, 1));
    let theirs = message(&json!({ "id": "3", "content": "theirs" }));
    let reference = json!({ "message_id": "3" });
    let reply = json!({ "type": 19, "content": "mine", "referenced_message": theirs, "message_reference": reference });
    let reply = one(&reply, Scene::Direct);
    assert_eq!(kinds(&reply), [(PartKind::Own, "mine"), (PartKind::Quote, "theirs")]);
    assert_eq!(reply.reply_to.as_deref(), Some("3"));
}

#[test]
fn a_channel_is_mentioned_by_the_bots_id_or_by_a_reply_to_it() {
    let named =
        json!({ "content": "<@42>  /new", "mentions": [{ "id": "42", "username": "cordon", "bot": true }] });
    let inbound = one(&named, Scene::Channel);
    assert!(inbound.mentions);
    assert_eq!(kinds(&inbound), [(PartKind::Own, "/new")], "a command stands behind the mention");
    assert_eq!(kinds(&one(&json!({ "content": "<@421> x" }), Scene::Channel)), [(PartKind::Own, "<@421> x")]);
    assert!(!one(&json!({ "content": "cordon", "mention_everyone": true }), Scene::Channel).mentions);
    let mine =
        message(&json!({ "content": "mine", "author": { "id": "42", "username": "cordon", "bot": true } }));
    let reply = one(&json!({ "type": 19, "content": "yes", "referenced_message": mine }), Scene::Channel);
    assert!(reply.mentions);
    assert_eq!(kinds(&reply), [(PartKind::Own, "yes")], "the host knows its own words");
}

#[test]
fn a_thread_is_a_conversation_of_its_channel() {
    let conversation = one(&json!({ "content": "x" }), Scene::Thread(9)).conversation;
    assert_eq!((conversation.id.as_str(), conversation.thread.as_deref()), ("9", Some("5")));
    assert_eq!(conversation.kind, ConversationKind::Group);
}

#[test]
fn bots_hooks_and_the_account_itself_are_marked_as_such() {
    let author = |id: &str, bot: bool| json!({ "author": { "id": id, "username": "x", "bot": bot } });
    assert!(one(&author("9", true), Scene::Channel).sender.bot);
    assert!(one(&author("42", true), Scene::Channel).sender.itself);
    assert!(one(&json!({ "webhook_id": "8" }), Scene::Channel).sender.bot);
    let joined: Message = serde_json::from_value(message(&json!({ "type": 7 }))).unwrap();
    assert!(inbound(&joined, Scene::Channel, false, ME).is_none(), "a notice of the service is no message");
}

#[test]
fn a_file_has_a_name_without_a_path() {
    let files =
        json!({ "content": "look", "attachments": [{ "filename": "../..\\.bashrc\u{1b}", "size": 3 }] });
    let inbound = one(&files, Scene::Direct);
    assert_eq!(inbound.attachments[0].name.as_deref(), Some("bashrc"));
    assert_eq!(kinds(&inbound), [(PartKind::Caption, "look")]);
}

fn interaction(more: &Value) -> Interaction {
    let mut press = json!({
        "id": "1", "application_id": "2", "type": 3, "token": "aW50-_.x", "version": 1, "channel_id": "5",
        "data": { "component_type": 2, "custom_id": "ab".repeat(16) }, "message": message(&json!({})),
        "user": { "id": "99", "username": "eve" },
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        press[key] = value.clone();
    }
    serde_json::from_value(press).unwrap()
}

#[test]
fn a_press_names_who_pressed_and_a_strange_token_is_none() {
    let press = pressed(&interaction(&json!({})), Scene::Direct).unwrap();
    assert_eq!((press.press.sender.id.as_str(), press.id.as_str()), ("99", "2/aW50-_.x"));
    assert_eq!(press.press.nonce, [0xab; 16]);
    let member =
        json!({ "member": { "nick": "E", "user": { "id": "98", "username": "e" } }, "guild_id": "1" });
    assert_eq!(pressed(&interaction(&member), Scene::Channel).unwrap().press.sender.id.as_str(), "98");
    let others = [
        json!({ "type": 2 }),
        json!({ "token": "a/../b" }),
        json!({ "token": ".." }),
        json!({ "token": "" }),
        json!({ "data": { "custom_id": "model's own" } }),
    ];
    for other in others {
        assert!(pressed(&interaction(&other), Scene::Direct).is_none(), "{other}");
    }
}

/// A value that no field of a message expects, or that one does.
fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        any::<u64>()
            .prop_map(|id| json!({ "id": id.to_string(), "content": "x", "message": { "content": 1 } })),
        any::<u64>().prop_map(|id| json!([{ "id": id.to_string(), "message": { "content": "x" } }, 1])),
    ]
}

proptest! {
    #[test]
    fn an_odd_payload_is_read_or_refused_and_never_more(
        op in 0..12_u64, kind in prop::sample::select(vec!["MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE", "READY"]),
        key in prop::sample::select(vec![
            "id", "channel_id", "guild_id", "channel_type", "author", "member", "content", "type", "nonce", "webhook_id",
            "mentions", "attachments", "message_reference", "referenced_message", "message_snapshots", "token", "data",
            "application_id", "user", "message", "session_id", "heartbeat_interval",
        ]),
        value in odd(), whole: bool,
    ) {
        let data = if whole { value } else { message(&json!({ key: value })) };
        let payload = json!({ "op": op, "t": kind, "s": 5, "d": data }).to_string();
        match read(payload.as_bytes()) {
            Some(Payload::Dispatch { seq, event: Event::Message { message, edit } }) => {
                prop_assert_eq!((seq, op), (5, 0));
                let _ = inbound(&message, Scene::Thread(1), edit, ME);
            }
            Some(Payload::Dispatch { event: Event::Press(press), .. }) => {
                let _ = pressed(&press, Scene::Direct);
            }
            _ => {}
        }
    }

    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        let _ = read(&bytes);
    }
}

#[test]
fn a_payload_that_is_nested_without_end_is_refused() {
    let deep = format!("{{\"op\":0,\"t\":\"MESSAGE_CREATE\",\"s\":1,\"d\":{}", "[".repeat(500_000));
    assert!(read(deep.as_bytes()).is_none());
    let mut quoted = message(&json!({ "content": "x" }));
    for _ in 0..100 {
        quoted = message(&json!({ "content": "x", "referenced_message": quoted }));
    }
    let payload = json!({ "op": 0, "t": "MESSAGE_CREATE", "s": 1, "d": quoted }).to_string();
    assert!(matches!(read(payload.as_bytes()), Some(Payload::Dispatch { seq: 1, .. }) | None));
}
