//! Events of rooms to messages. A field that is not known, or has an odd form, is passed over.

use crate::fallback::unquoted;
use crate::rooms::Room;
use ipc_proto::channel::{
    Attachment, Conversation, ConversationKind, Inbound, InboundPart, PartKind, Sender, clean_name,
};
use ipc_proto::{List, Text};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// An event of a room.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Event {
    /// Its id.
    pub event_id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The user who sent it.
    pub sender: String,
    #[serde(default)]
    origin_server_ts: Value,
    /// The key, of an event of state.
    #[serde(default)]
    pub state_key: Value,
    /// Its content.
    #[serde(default)]
    pub content: Value,
    #[serde(default)]
    unsigned: Value,
}

impl Event {
    /// Reads one; none if it cannot be read.
    pub(crate) fn read(raw: &RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    /// When it was sent, unix ms, by its sender's homeserver.
    pub(crate) fn sent_ms(&self) -> u64 {
        self.origin_server_ts.as_u64().unwrap_or_default()
    }

    /// The membership of this user that it sets, if it does.
    pub(crate) fn membership_of(&self, user: &str) -> Option<&str> {
        let own = self.kind == "m.room.member" && self.state_key.as_str() == Some(user);
        if own { self.content.get("membership").and_then(Value::as_str) } else { None }
    }

    /// The membership before it.
    pub(crate) fn membership_before(&self) -> Option<&str> {
        self.unsigned.get("prev_content")?.get("membership")?.as_str()
    }
}

/// A relation of a message to another.
struct Relation<'a> {
    kind: &'a str,
    event: Option<Text<128>>,
    reply_to: Option<Text<128>>,
}

fn relation(content: &Value) -> Relation<'_> {
    let relates = content.get("m.relates_to");
    let text = |name: &str| relates.and_then(|it| it.get(name)).and_then(Value::as_str);
    let id = |id: &str| Text::new(id).ok();
    // A reply for clients without threads is none.
    let falls_back = relates.and_then(|it| it.get("is_falling_back")).and_then(Value::as_bool) == Some(true);
    let replied = relates.and_then(|it| it.get("m.in_reply_to")?.get("event_id")?.as_str());
    Relation {
        kind: text("rel_type").unwrap_or_default(),
        event: text("event_id").and_then(id),
        reply_to: replied.filter(|_| !falls_back).and_then(id),
    }
}

/// An event that is a message, as router takes it. `Ok(None)` for one that is none, or has nothing to read.
///
/// # Errors
/// Its ids are over their bounds, so that nobody could be answered or told apart by them.
pub(crate) fn inbound(event: &Event, room: &Room, me: &str) -> Result<Option<Inbound>, ()> {
    if event.kind != "m.room.message" || event.sender == me {
        return Ok(None);
    }
    let relation = relation(&event.content);
    let edit = relation.kind == "m.replace";
    let content = if edit { event.content.get("m.new_content") } else { Some(&event.content) };
    let Some(content) = content else { return Ok(None) };
    let text = |name: &str| content.get(name).and_then(Value::as_str);
    let body = text("body").unwrap_or_default();
    let (parts, attachments, bot) = match text("msgtype").unwrap_or_default() {
        "m.text" | "m.emote" => (own_parts(body, &relation, me), Vec::new(), false),
        // A program's own messages, which no program answers.
        "m.notice" | "m.server_notice" => (own_parts(body, &relation, me), Vec::new(), true),
        "m.image" | "m.file" | "m.audio" | "m.video" => {
            let (caption, attachment) = file(content, body);
            (caption.into_iter().collect(), vec![attachment], false)
        }
        _ => return Ok(None),
    };
    if parts.is_empty() && attachments.is_empty() {
        return Ok(None);
    }
    let kind = if room.is_direct() { ConversationKind::Direct } else { ConversationKind::Group };
    let direct = kind == ConversationKind::Direct;
    let quotes_me = quoted_author(body) == Some(me) && relation.reply_to.is_some();
    let thread = relation.event.filter(|_| relation.kind == "m.thread");
    Ok(Some(Inbound {
        key: Text::new(event.event_id.as_str()).map_err(drop)?,
        conversation: Conversation { id: Text::new(room.id.as_str()).map_err(drop)?, thread, kind },
        sender: Sender {
            id: Text::new(event.sender.as_str()).map_err(drop)?,
            name: Text::clip(room.name(&event.sender)),
            bot,
            itself: false,
        },
        mentions: direct || quotes_me || mentions(content, body, me),
        parts: List::clip(parts),
        attachments: List::clip(attachments),
        message: Text::new(event.event_id.as_str()).map_err(drop)?,
        reply_to: relation.reply_to,
        sent_ms: event.sent_ms(),
        edit,
        moved_from: None,
    }))
}

/// The `mxc` address of the file of a message; empty where it has none that can be read, as in an encrypted room.
pub(crate) fn file_address(event: &Event) -> String {
    event.content.get("url").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn part(kind: PartKind, text: &str) -> Option<InboundPart> {
    (!text.trim().is_empty()).then(|| InboundPart { kind, text: Text::clip(text) })
}

/// The text of a message: the quote before a reply is not the sender's own, and that of the account itself is known already.
fn own_parts(body: &str, relation: &Relation<'_>, me: &str) -> Vec<InboundPart> {
    if relation.reply_to.is_none() {
        return part(PartKind::Own, body).into_iter().collect();
    }
    let unquoted = unquoted(body);
    let quote = unquoted.quote.filter(|(author, _)| *author != me);
    let quote = quote.and_then(|(_, text)| part(PartKind::Quote, &text));
    part(PartKind::Own, unquoted.own).into_iter().chain(quote).collect()
}

fn quoted_author(body: &str) -> Option<&str> {
    unquoted(body).quote.map(|(author, _)| author)
}

/// A file as it is named, before it is fetched. Its `body` is a caption where it has a name besides.
fn file(content: &Value, body: &str) -> (Option<InboundPart>, Attachment) {
    let name = content.get("filename").and_then(Value::as_str);
    let caption = name.filter(|name| *name != body).and_then(|_| part(PartKind::Caption, body));
    let info = |key: &str| content.get("info").and_then(|info| info.get(key));
    let kind = info("mimetype").and_then(Value::as_str).unwrap_or("application/octet-stream");
    let attachment = Attachment {
        digest: None,
        name: Some(name.unwrap_or(body)).filter(|name| !name.is_empty()).map(clean_name),
        media_type: Text::clip(&kind.chars().filter(char::is_ascii_graphic).collect::<String>()),
        size: info("size").and_then(Value::as_u64).unwrap_or_default(),
        missed: None,
    };
    (caption, attachment)
}

/// Returns true if the message names the account: by the list of those it mentions, by a link to it, or by its id in the text.
fn mentions(content: &Value, body: &str, me: &str) -> bool {
    let listed = content.get("m.mentions").and_then(|it| it.get("user_ids")).and_then(Value::as_array);
    if listed.is_some_and(|users| users.iter().any(|user| user.as_str() == Some(me))) {
        return true;
    }
    // Clients without such a list link the name in the formatted text.
    let html = content.get("formatted_body").and_then(Value::as_str).unwrap_or_default();
    let linked = content.get("m.mentions").is_none() && names(html, &format!("https://matrix.to/#/{me}"));
    linked || names(body, me)
}

/// Returns true if this id stands in the text, and is not the beginning of a longer one.
fn names(text: &str, id: &str) -> bool {
    let longer = |c: char| c.is_ascii_alphanumeric() || "-_=/+".contains(c);
    text.match_indices(id).any(|(at, _)| {
        let rest = text.get(at + id.len()..).unwrap_or_default();
        let mut next = rest.chars();
        match next.next() {
            // A sentence may end behind it; a server's name goes on.
            Some('.' | ':') => !next.next().is_some_and(longer),
            other => !other.is_some_and(longer),
        }
    })
}

#[cfg(test)]
#[path = "event/tests.rs"]
mod tests;
