//! Messages of a socket. An envelope whose payload cannot be read is acknowledged nevertheless: Slack would send it again. Pure.

use crate::cursor::{Me, Ts, is_id};
use crate::event::{Malformed, Message, conversation, of_event};
use ipc_proto::channel::{Inbound, InboundPart, PartKind, Press, Sender};
use ipc_proto::{List, Text};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// A message of a socket.
#[derive(Debug)]
pub(crate) enum Frame {
    /// The socket is ready.
    Hello,
    /// The socket is about to end.
    Ending,
    /// Socket Mode was turned off.
    Disabled,
    /// Something that is to be acknowledged under this id.
    Envelope(String, Content),
    /// Something else.
    Other,
}

/// The content of an envelope.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// A message.
    Message(Box<Message>),
    /// A press of a button, and the address by which it is answered.
    Press(Press, String),
    /// A command that was typed after the app's own slash.
    Command(Box<Inbound>),
    /// Nothing for the host.
    Nothing,
    /// It cannot be read.
    Malformed,
}

#[derive(Deserialize)]
struct Raw {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    envelope_id: Option<String>,
    #[serde(default)]
    payload: Value,
}

/// Reads a message of a socket.
///
/// # Errors
/// [`Malformed`] if it is none; there is nothing to acknowledge then.
pub(crate) fn read(bytes: &[u8], me: &Me) -> Result<Frame, Malformed> {
    let Raw { kind, reason, envelope_id, payload } = serde_json::from_slice(bytes).map_err(|_| Malformed)?;
    let Some(id) = envelope_id else {
        return Ok(match (kind.as_str(), reason.as_deref()) {
            ("hello", _) => Frame::Hello,
            ("disconnect", Some("link_disabled")) => Frame::Disabled,
            ("disconnect", _) => Frame::Ending,
            _ => Frame::Other,
        });
    };
    if id.is_empty() || id.len() > 128 {
        return Err(Malformed);
    }
    let content = match kind.as_str() {
        "events_api" => {
            let event = payload.get("event").unwrap_or(&Value::Null);
            of_event(event, me).map(|message| {
                message.map_or(Content::Nothing, |message| Content::Message(Box::new(message)))
            })
        }
        "interactive" => press(&payload),
        "slash_commands" => command(&payload, me),
        _ => Ok(Content::Nothing),
    };
    Ok(Frame::Envelope(id, content.unwrap_or(Content::Malformed)))
}

#[derive(Deserialize)]
struct Pressed {
    #[serde(rename = "type", default)]
    kind: String,
    user: Option<User>,
    container: Option<Container>,
    message: Option<Threaded>,
    #[serde(default)]
    actions: Vec<Action>,
    #[serde(default)]
    response_url: String,
}

#[derive(Deserialize)]
struct User {
    id: String,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Container {
    channel_id: String,
    message_ts: String,
    thread_ts: Option<String>,
}

#[derive(Deserialize)]
struct Threaded {
    thread_ts: Option<String>,
}

#[derive(Deserialize)]
struct Action {
    value: Option<String>,
}

/// The press of a button; nothing of its message is trusted but its place.
fn press(payload: &Value) -> Result<Content, Malformed> {
    let pressed = Pressed::deserialize(payload).map_err(|_| Malformed)?;
    let Some(nonce) = pressed.actions.first().and_then(|action| nonce(action.value.as_deref()?)) else {
        return Ok(Content::Nothing);
    };
    if pressed.kind != "block_actions" {
        return Ok(Content::Nothing);
    }
    let user = pressed.user.filter(|user| is_id(&user.id)).ok_or(Malformed)?;
    let container = pressed.container.filter(|container| is_id(&container.channel_id)).ok_or(Malformed)?;
    let ts = Ts::parse(&container.message_ts).ok_or(Malformed)?;
    let thread = container.thread_ts.or(pressed.message.and_then(|message| message.thread_ts));
    let reply = thread.and_then(|thread| Ts::parse(&thread)).filter(|thread| *thread != ts);
    let direct = container.channel_id.starts_with('D');
    let press = Press {
        conversation: conversation(&container.channel_id, direct, reply, ts),
        message: Text::clip(&ts.to_string()),
        sender: sender(&user.id, user.name.as_deref()),
        nonce,
    };
    Ok(Content::Press(press, pressed.response_url))
}

fn sender(id: &str, name: Option<&str>) -> Sender {
    Sender { id: Text::clip(id), name: Text::clip(name.unwrap_or(id)), bot: false, itself: false }
}

/// The nonce of a button by its value.
fn nonce(value: &str) -> Option<[u8; 16]> {
    let mut nonce = [0; 16];
    if value.len() != 32 || !value.is_ascii() {
        return None;
    }
    for (byte, digits) in nonce.iter_mut().zip(value.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(nonce)
}

#[derive(Deserialize)]
struct Typed {
    user_id: String,
    user_name: Option<String>,
    channel_id: String,
    trigger_id: String,
    #[serde(default)]
    text: String,
}

/// A command: Slack sends no message that begins with a slash, so the app has one of its own, whose text is the host's command.
fn command(payload: &Value, me: &Me) -> Result<Content, Malformed> {
    let typed = Typed::deserialize(payload).map_err(|_| Malformed)?;
    if !is_id(&typed.user_id) || !is_id(&typed.channel_id) {
        return Err(Malformed);
    }
    let now = Ts::ago(Duration::ZERO);
    let direct = typed.channel_id.starts_with('D');
    let text = typed.text.trim().trim_start_matches('/');
    let text = format!("/{}", if text.is_empty() { "help" } else { text });
    let mut conversation = conversation(&typed.channel_id, direct, None, now);
    // It is no message that a thread could begin with.
    conversation.thread = None;
    let trigger = Text::new(typed.trigger_id.as_str()).map_err(|_| Malformed)?;
    Ok(Content::Command(Box::new(Inbound {
        key: Text::new(format!("{}:{}:/{trigger}", me.team, typed.channel_id)).map_err(|_| Malformed)?,
        conversation,
        sender: sender(&typed.user_id, typed.user_name.as_deref()),
        parts: List::clip([InboundPart { kind: PartKind::Own, text: Text::clip(&text) }]),
        attachments: List::default(),
        message: trigger,
        reply_to: None,
        sent_ms: now.ms(),
        edit: false,
        mentions: true,
        moved_from: None,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::any_json;
    use ipc_proto::channel::ConversationKind;
    use proptest::prelude::*;
    use serde_json::json;

    fn me() -> Me {
        Me { team: "T1".into(), user: "U0".into(), bot: "B0".into() }
    }

    fn frame(value: &Value) -> Frame {
        read(value.to_string().as_bytes(), &me()).unwrap()
    }

    fn content(kind: &str, payload: &Value) -> Content {
        let envelope = json!({ "type": kind, "envelope_id": "e-1", "payload": payload, "retry_attempt": 1 });
        match frame(&envelope) {
            Frame::Envelope(id, content) if id == "e-1" => content,
            other => panic!("{other:?}"),
        }
    }

    fn pressed(channel: &str, thread: Option<&str>) -> Press {
        let payload = json!({
            "type": "block_actions", "user": { "id": "U9", "name": "eve" }, "response_url": "https://hooks.slack.com/x",
            "container": { "type": "message", "channel_id": channel, "message_ts": "1700000000.000200" },
            "message": { "user": "U0", "thread_ts": thread },
            "actions": [{ "type": "button", "action_id": "a", "value": "ab".repeat(16) }],
        });
        match content("interactive", &payload) {
            Content::Press(press, response) if response == "https://hooks.slack.com/x" => press,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_socket_says_hello_warns_and_is_turned_off() {
        assert!(matches!(frame(&json!({ "type": "hello", "num_connections": 1 })), Frame::Hello));
        let ends = |reason: &str| frame(&json!({ "type": "disconnect", "reason": reason }));
        assert!(
            matches!(ends("warning"), Frame::Ending) && matches!(ends("refresh_requested"), Frame::Ending)
        );
        assert!(matches!(ends("link_disabled"), Frame::Disabled));
        assert!(matches!(frame(&json!({ "type": "new" })), Frame::Other));
    }

    #[test]
    fn an_envelope_that_cannot_be_read_is_acknowledged_and_counted() {
        assert!(matches!(
            content("events_api", &json!({ "event": { "type": "message" } })),
            Content::Malformed
        ));
        assert!(matches!(content("events_api", &json!(7)), Content::Malformed));
        assert!(matches!(content("something_new", &json!({})), Content::Nothing));
        assert!(read(b"{", &me()).is_err());
    }

    // Holds P11-20.
    #[test]
    fn a_press_names_who_pressed_and_where_the_button_was() {
        let press = pressed("D1", None);
        assert_eq!((press.sender.id.as_str(), press.nonce), ("U9", [0xab; 16]));
        assert_eq!(press.message.as_str(), "1700000000.000200");
        assert_eq!((press.conversation.kind, press.conversation.thread), (ConversationKind::Direct, None));
        let reply = pressed("C1", Some("1600000000.000000")).conversation;
        assert_eq!(reply.thread.as_deref(), Some("1600000000.000000"));
        // A message that has replies names itself as its thread.
        assert_eq!(pressed("D1", Some("1700000000.000200")).conversation.thread, None);
    }

    #[test]
    fn a_nonce_is_thirty_two_digits() {
        assert_eq!(nonce("ab"), None);
        assert_eq!(nonce(&"é".repeat(16)), None);
        assert_eq!(nonce(&"zz".repeat(16)), None);
    }

    #[test]
    fn the_apps_own_command_is_a_command_of_the_host() {
        let typed = |text: &str| {
            let payload = json!({
                "command": "/cordon", "text": text, "user_id": "U5", "user_name": "ann", "channel_id": "D1",
                "trigger_id": "13.7.abc", "team_id": "T1",
            });
            match content("slash_commands", &payload) {
                Content::Command(inbound) => inbound.parts[0].text.to_string(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            (typed("link 4f1c"), typed("/stop"), typed(" ")),
            ("/link 4f1c".into(), "/stop".into(), "/help".into())
        );
    }

    proptest! {
        #[test]
        fn hostile_bytes_and_any_json_are_read_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..64), payload in any_json(),
            kind in prop::sample::select(vec!["events_api", "interactive", "slash_commands", "hello", "disconnect"]),
        ) {
            drop(read(&bytes, &me()));
            drop(read(payload.to_string().as_bytes(), &me()));
            let envelope = json!({ "type": kind, "envelope_id": "e", "payload": payload }).to_string();
            prop_assert!(read(envelope.as_bytes(), &me()).is_ok());
            let event = json!({ "type": kind, "envelope_id": "e", "payload": { "event": payload } }).to_string();
            prop_assert!(read(event.as_bytes(), &me()).is_ok());
        }
    }
}
