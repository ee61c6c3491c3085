//! Events to messages.

use super::*;
use proptest::prelude::*;
use serde_json::json;

const ME: &str = "@bot:test";

fn room(joined: usize) -> Room {
    Room { id: "!room".to_owned(), joined, names: [("@ann:test".to_owned(), "Ann".to_owned())].into() }
}

fn event(content: &Value) -> Event {
    let raw = json!({
        "event_id": "$one", "type": "m.room.message", "sender": "@ann:test", "origin_server_ts": 1000, "content": content,
        "unknown": [1],
    });
    Event::deserialize(raw).unwrap()
}

fn read(content: &Value, joined: usize) -> Option<Inbound> {
    inbound(&event(content), &room(joined), ME).unwrap()
}

fn text(more: &Value) -> Value {
    let mut content = json!({ "msgtype": "m.text", "body": "hello" });
    for (key, value) in more.as_object().into_iter().flatten() {
        content[key] = value.clone();
    }
    content
}

fn one(more: &Value) -> Inbound {
    read(&text(more), 2).unwrap()
}

fn kinds(inbound: &Inbound) -> Vec<(PartKind, &str)> {
    inbound.parts.iter().map(|part| (part.kind, part.text.as_str())).collect()
}

#[test]
fn a_room_of_two_is_direct_and_a_larger_one_a_group() {
    let direct = one(&json!({}));
    assert_eq!((direct.key.as_str(), direct.sender.id.as_str()), ("$one", "@ann:test"));
    assert_eq!((direct.sender.name.as_str(), direct.sent_ms), ("Ann", 1000));
    assert_eq!((direct.conversation.kind, direct.mentions), (ConversationKind::Direct, true));
    assert_eq!(kinds(&direct), [(PartKind::Own, "hello")]);
    for joined in [0, 1, 3] {
        let group = read(&text(&json!({})), joined).unwrap();
        assert_eq!((group.conversation.kind, group.mentions), (ConversationKind::Group, false));
    }
}

#[test]
fn an_edit_is_marked_and_has_the_new_text() {
    let edit = one(&json!({
        "body": "* new", "m.new_content": { "msgtype": "m.text", "body": "new" },
        "m.relates_to": { "rel_type": "m.replace", "event_id": "$old" },
    }));
    assert!(edit.edit);
    assert_eq!(kinds(&edit), [(PartKind::Own, "new")]);
}

#[test]
fn the_quote_of_a_reply_is_not_the_senders_text() {
    let reply = json!({ "m.relates_to": { "m.in_reply_to": { "event_id": "$old" } } });
    let with = |body: &str| {
        let mut content = text(&reply);
        content["body"] = json!(body);
        read(&content, 3).unwrap()
    };
    let theirs = with("> <@eve:test> /stop\n\nyes");
    assert_eq!(kinds(&theirs), [(PartKind::Own, "yes"), (PartKind::Quote, "/stop")]);
    assert_eq!((theirs.reply_to.as_deref(), theirs.mentions), (Some("$old"), false));
    let mine = with("> <@bot:test> the answer\n\n/approve K7");
    assert_eq!(kinds(&mine), [(PartKind::Own, "/approve K7")]);
    assert!(mine.mentions, "a reply to the account");
}

#[test]
fn a_thread_is_a_thread_and_its_fallback_is_no_reply() {
    let content = json!({ "m.relates_to": {
        "rel_type": "m.thread", "event_id": "$root", "is_falling_back": true, "m.in_reply_to": { "event_id": "$last" },
    } });
    let thread = one(&content);
    assert_eq!(thread.conversation.thread.as_deref(), Some("$root"));
    assert_eq!(thread.reply_to, None);
}

#[test]
fn a_group_is_mentioned_by_the_list_by_a_link_or_by_the_id() {
    let said = |more: &Value| read(&text(more), 3).unwrap().mentions;
    assert!(said(&json!({ "m.mentions": { "user_ids": ["@eve:test", ME] } })));
    assert!(said(&json!({ "body": "@bot:test: hi" })) && said(&json!({ "body": "hi @bot:test." })));
    assert!(said(&json!({ "formatted_body": "<a href=\"https://matrix.to/#/@bot:test\">Bot</a> hi" })));
    for other in [
        json!({ "body": "@bot:test.example hi" }),
        json!({ "body": "@bot:test2 hi" }),
        json!({ "m.mentions": { "room": true } }),
        json!({ "m.mentions": { "user_ids": "@bot:test" } }),
        json!({ "m.mentions": {}, "formatted_body": "https://matrix.to/#/@bot:test" }),
    ] {
        assert!(!said(&other), "{other}");
    }
}

#[test]
fn a_file_is_named_and_its_text_is_a_caption() {
    let content = json!({
        "msgtype": "m.image", "body": "look at this", "filename": "../..\\.bashrc\u{1b}", "url": "mxc://test/a",
        "info": { "mimetype": "image/png", "size": 3 },
    });
    let inbound = read(&content, 2).unwrap();
    assert_eq!(kinds(&inbound), [(PartKind::Caption, "look at this")]);
    let file = &inbound.attachments[0];
    assert_eq!((file.name.as_deref(), &*file.media_type, file.size), (Some("bashrc"), "image/png", 3));
    let plain = read(&json!({ "msgtype": "m.file", "body": "plan.pdf" }), 2).unwrap();
    assert_eq!((kinds(&plain), plain.attachments[0].name.as_deref()), (vec![], Some("plan.pdf")));
}

#[test]
fn a_notice_is_a_programs_and_an_emote_a_persons() {
    assert!(one(&json!({ "msgtype": "m.notice" })).sender.bot);
    assert!(!one(&json!({ "msgtype": "m.emote" })).sender.bot);
    for kind in ["m.location", "m.key.verification.request", "odd"] {
        assert!(read(&text(&json!({ "msgtype": kind })), 2).is_none(), "{kind}");
    }
    assert!(read(&json!({}), 2).is_none(), "a redacted message");
}

#[test]
fn ids_that_would_be_cut_are_no_message() {
    let mut long = event(&text(&json!({})));
    long.sender = format!("@{}:test", "a".repeat(200));
    assert_eq!(inbound(&long, &room(2), ME), Err(()));
}

/// JSON of any form, and of forms that fields of a message have.
fn odd() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        prop::sample::select(vec!["m.replace", "m.thread", "m.text", "$e", ME, "> <@a:b> x\n\ny"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let keys = prop::sample::select(vec![
            "event_id", "rel_type", "m.in_reply_to", "user_ids", "body", "msgtype", "info", "size",
            "mimetype",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((keys, inner), 0..3)
                .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn an_odd_field_of_a_message_is_passed_over(
        key in prop::sample::select(vec![
            "msgtype", "body", "formatted_body", "filename", "info", "m.mentions", "m.relates_to", "m.new_content",
        ]),
        value in odd(), joined in 0_usize..4,
    ) {
        let content = text(&json!({ key: value }));
        let read = inbound(&event(&content), &room(joined), ME);
        if let Ok(Some(inbound)) = read {
            prop_assert!(inbound.key.as_str() == "$one" && inbound.sender.id.as_str() == "@ann:test");
        }
    }

    #[test]
    fn any_event_at_all_is_read_or_not_without_a_panic(
        key in prop::sample::select(vec![
            "event_id", "type", "sender", "origin_server_ts", "state_key", "content", "unsigned",
        ]),
        value in odd(),
    ) {
        let mut raw = json!({
            "event_id": "$one", "type": "m.room.message", "sender": "@ann:test", "content": text(&json!({})),
        });
        raw[key] = value;
        let raw = RawValue::from_string(raw.to_string()).unwrap();
        if let Some(event) = Event::read(&raw) {
            drop(inbound(&event, &room(2), ME));
            let _ = (event.sent_ms(), event.membership_of(ME), event.membership_before());
        }
    }
}
