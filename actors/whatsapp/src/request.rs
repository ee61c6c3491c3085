//! The requests of the Cloud API: texts, texts with buttons, files, and the sign of typing.

use channel::{Reply, media_type, nonce_text};
use ipc_proto::channel::{Button, Claim};
use serde_json::{Value, json};

/// The longest text above buttons, in characters.
const WITH_BUTTONS: usize = 1024;
/// The largest picture that is shown as one, bytes.
const PICTURE: usize = 5 * 1024 * 1024;
/// The most buttons of a message, and the longest caption of one.
const BUTTONS: (usize, usize) = (3, 20);

/// The tag of a piece, which comes back with its statuses.
pub(crate) fn tag(claim: &Claim) -> String {
    format!("{}-{}", claim.piece.delivery, claim.piece.number)
}

/// A message with this text; none where it has buttons and is too long for them.
pub(crate) fn send(claim: &Claim, text: &str) -> Option<Value> {
    let (kind, content) = if claim.buttons.is_empty() {
        ("text", json!({ "preview_url": false, "body": text }))
    } else {
        ("interactive", question(&claim.buttons, text)?)
    };
    Some(message(claim, kind, &content))
}

/// A message with the file that is stored under this id: a picture, or a document with its name.
pub(crate) fn file(claim: &Claim, stored: &str, name: &str, bytes: &[u8]) -> Value {
    let is_picture = matches!(media_type(bytes), "image/jpeg" | "image/png") && bytes.len() <= PICTURE;
    if is_picture {
        message(claim, "image", &json!({ "id": stored }))
    } else {
        message(claim, "document", &json!({ "id": stored, "filename": name }))
    }
}

/// The id of a file that a reply says is stored.
pub(crate) fn stored(reply: &Reply) -> Option<String> {
    let document: Value = serde_json::from_slice(&reply.body).ok().filter(|_| reply.status == 200)?;
    document.get("id").and_then(Value::as_str).map(str::to_owned)
}

fn message(claim: &Claim, kind: &str, content: &Value) -> Value {
    json!({
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": claim.conversation.id,
        "biz_opaque_callback_data": tag(claim),
        "type": kind,
        kind: content,
    })
}

/// A text with buttons; none where it is too long for them.
fn question(buttons: &[Button], text: &str) -> Option<Value> {
    if text.chars().count() > WITH_BUTTONS || buttons.len() > BUTTONS.0 {
        return None;
    }
    let button = |button: &Button| {
        let title: String = button.caption.chars().take(BUTTONS.1).collect();
        json!({ "type": "reply", "reply": { "id": nonce_text(button.nonce), "title": title } })
    };
    Some(json!({
        "type": "button",
        "body": { "text": text },
        "action": { "buttons": buttons.iter().map(button).collect::<Vec<_>>() },
    }))
}

/// The sign that a message was read and an answer is typed.
pub(crate) fn typing(message: &str) -> Value {
    json!({
        "messaging_product": "whatsapp",
        "status": "read",
        "message_id": message,
        "typing_indicator": { "type": "text" },
    })
}

/// The line that answers a press.
pub(crate) fn line(to: &str, text: &str) -> Value {
    json!({
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": to,
        "type": "text",
        "text": { "preview_url": false, "body": text },
    })
}
