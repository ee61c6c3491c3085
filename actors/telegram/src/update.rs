//! Updates of the Bot API. Fields that are not known are skipped, and an update that cannot be read is counted.

use channel::{FileAt, Polled, Pressed, nonce_of};
use ipc_proto::channel::{
    Attachment, BATCH, Conversation, ConversationKind, Inbound, InboundPart, PartKind, Press, Sender,
    clean_name,
};
use ipc_proto::{List, Text};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// The topic that a message of a group without a topic of its own belongs to.
const GENERAL: i64 = 1;

/// The bot itself, by `getMe`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Me {
    /// Its id.
    pub id: i64,
    /// Its user name, without `@`.
    #[serde(default)]
    pub username: String,
}

#[derive(Deserialize)]
struct Update {
    message: Option<Message>,
    edited_message: Option<Message>,
    callback_query: Option<Callback>,
}

#[derive(Deserialize)]
struct Message {
    message_id: i64,
    message_thread_id: Option<i64>,
    #[serde(default)]
    is_topic_message: bool,
    from: Option<User>,
    #[serde(default)]
    date: u64,
    chat: Chat,
    forward_origin: Option<IgnoredAny>,
    reply_to_message: Option<Box<Message>>,
    quote: Option<Quote>,
    text: Option<String>,
    #[serde(default)]
    entities: Vec<Mark>,
    caption: Option<String>,
    #[serde(default)]
    caption_entities: Vec<Mark>,
    #[serde(default)]
    photo: Vec<File>,
    document: Option<File>,
    audio: Option<File>,
    voice: Option<File>,
    video: Option<File>,
    contact: Option<Contact>,
    migrate_from_chat_id: Option<i64>,
    migrate_to_chat_id: Option<i64>,
}

#[derive(Deserialize)]
struct Chat {
    id: i64,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct User {
    id: i64,
    #[serde(default)]
    is_bot: bool,
    #[serde(default)]
    first_name: String,
    #[serde(default)]
    last_name: String,
}

#[derive(Deserialize)]
struct Quote {
    text: String,
}

#[derive(Deserialize)]
struct Mark {
    #[serde(rename = "type")]
    kind: String,
    offset: usize,
    length: usize,
    user: Option<User>,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    file_id: String,
    file_name: Option<String>,
    mime_type: Option<String>,
    #[serde(default)]
    file_size: u64,
}

#[derive(Deserialize)]
struct Contact {
    #[serde(default)]
    first_name: String,
    #[serde(default)]
    last_name: String,
    #[serde(default)]
    phone_number: String,
}

#[derive(Deserialize)]
struct Callback {
    id: String,
    from: User,
    message: Option<Pushed>,
    #[serde(default)]
    data: String,
}

/// The message with the button; nothing but its place is trusted.
#[derive(Deserialize)]
struct Pushed {
    message_id: i64,
    message_thread_id: Option<i64>,
    #[serde(default)]
    is_topic_message: bool,
    chat: Chat,
}

/// The cursor of a bot: the next update's id, bound to the bot's own. That of another bot is none.
pub(crate) fn next_update(cursor: Option<&str>, me: &Me) -> Option<i64> {
    let (bot, next) = cursor?.split_once(':')?;
    (bot.parse() == Ok(me.id)).then(|| next.parse().ok()).flatten()
}

/// The messages and presses of a list of updates. Its cursor is beyond every update that has an id, read or not.
pub(crate) fn read(updates: &[Value], me: &Me) -> Polled {
    let mut polled = Polled::default();
    let mut last = None;
    for value in updates.iter().take(BATCH) {
        last = last.max(value.get("update_id").and_then(Value::as_i64));
        let Ok(update) = Update::deserialize(value) else {
            polled.malformed = polled.malformed.saturating_add(1);
            continue;
        };
        let messages = [(update.message, false), (update.edited_message, true)];
        for (message, edit) in messages {
            let Some((message, inbound)) =
                message.and_then(|message| inbound(&message, edit, me).map(|inbound| (message, inbound)))
            else {
                continue;
            };
            let number = polled.messages.len();
            let sources = files(&message).into_iter().take(inbound.attachments.len()).enumerate();
            polled.files.extend(sources.map(|(attachment, (file, _))| FileAt {
                message: number,
                attachment,
                source: file.file_id.clone(),
            }));
            polled.messages.push(inbound);
        }
        polled.presses.extend(update.callback_query.and_then(pressed));
    }
    polled.cursor = last.map(|last| Text::clip(&format!("{}:{}", me.id, last.saturating_add(1))));
    polled
}

fn text<const N: usize>(id: i64) -> Text<N> {
    Text::clip(&id.to_string())
}

/// The topic of a message. A message of the general one has none.
fn topic(thread: Option<i64>, is_topic: bool) -> Option<i64> {
    thread.filter(|id| is_topic && *id != GENERAL)
}

fn conversation(chat: &Chat, thread: Option<i64>) -> Option<Conversation> {
    let kind = match chat.kind.as_str() {
        "private" => ConversationKind::Direct,
        "group" | "supergroup" => ConversationKind::Group,
        _ => return None,
    };
    Some(Conversation { id: text(chat.id), thread: thread.map(text), kind })
}

fn sender(user: &User, me: Option<&Me>) -> Sender {
    let name = format!("{} {}", user.first_name, user.last_name);
    Sender {
        id: text(user.id),
        name: Text::clip(name.trim()),
        bot: user.is_bot,
        itself: me.is_some_and(|me| me.id == user.id),
    }
}

fn inbound(message: &Message, edit: bool, me: &Me) -> Option<Inbound> {
    let thread = topic(message.message_thread_id, message.is_topic_message);
    let mut conversation = conversation(&message.chat, thread)?;
    let mut moved_from = message.migrate_from_chat_id.map(text);
    if let Some(to) = message.migrate_to_chat_id {
        moved_from = Some(std::mem::replace(&mut conversation.id, text(to)));
    }
    // A message without a sender is the host of the chat's own: as such it is a bot's, which nobody answers.
    let nobody =
        User { id: message.chat.id, is_bot: true, first_name: String::new(), last_name: String::new() };
    let sender = sender(message.from.as_ref().unwrap_or(&nobody), Some(me));
    let replied = message.reply_to_message.as_deref();
    Some(Inbound {
        key: Text::clip(&format!("{}:{}", message.chat.id, message.message_id)),
        mentions: conversation.kind == ConversationKind::Direct || mentions(message, me),
        conversation,
        sender,
        parts: List::clip(parts(message, me)),
        attachments: List::clip(attachments(message)),
        message: text(message.message_id),
        reply_to: replied.map(|replied| text(replied.message_id)),
        sent_ms: message.date.saturating_mul(1000),
        edit,
        moved_from,
    })
}

/// The text of a message by its origin: nothing of a forward is the sender's own.
fn parts(message: &Message, me: &Me) -> Vec<InboundPart> {
    let forwarded = message.forward_origin.is_some();
    let own = |kind| if forwarded { PartKind::Forward } else { kind };
    let mut parts = Vec::new();
    let mut push = |kind, text: &str| {
        if !text.is_empty() {
            parts.push(InboundPart { kind, text: Text::clip(text) });
        }
    };
    push(own(PartKind::Own), message.text.as_deref().unwrap_or_default());
    push(own(PartKind::Caption), message.caption.as_deref().unwrap_or_default());
    match (&message.quote, message.reply_to_message.as_deref()) {
        (Some(quote), _) => push(PartKind::Quote, &quote.text),
        (None, Some(replied)) if !is_mine(replied, me) => {
            let text = replied.text.as_deref().or(replied.caption.as_deref());
            push(PartKind::Quote, text.unwrap_or_default());
        }
        (None, _) => {}
    }
    if let Some(Contact { first_name, last_name, phone_number }) = &message.contact {
        push(PartKind::Contact, format!("{first_name} {last_name} {phone_number}").trim());
    }
    parts
}

fn is_mine(message: &Message, me: &Me) -> bool {
    message.from.as_ref().is_some_and(|user| user.id == me.id)
}

/// The files of a message, each with the type that it has if nobody says.
fn files(message: &Message) -> Vec<(&File, &'static str)> {
    let photo = message.photo.last().map(|file| (file, "image/jpeg"));
    let others = [
        (&message.document, "application/octet-stream"),
        (&message.audio, "audio/mpeg"),
        (&message.voice, "audio/ogg"),
        (&message.video, "video/mp4"),
    ];
    let others = others.into_iter().filter_map(|(file, kind)| Some((file.as_ref()?, kind)));
    photo.into_iter().chain(others).collect()
}

/// The files as they are named, before any is fetched.
fn attachments(message: &Message) -> Vec<Attachment> {
    let attachment = |(file, kind): (&File, &str)| Attachment {
        digest: None,
        name: file.file_name.as_deref().map(clean_name),
        media_type: Text::clip(file.mime_type.as_deref().unwrap_or(kind)),
        size: file.file_size,
        missed: None,
    };
    files(message).into_iter().map(attachment).collect()
}

/// Returns true if the message names the bot, commands it by name, or answers a message of its.
fn mentions(message: &Message, me: &Me) -> bool {
    if message.reply_to_message.as_deref().is_some_and(|replied| is_mine(replied, me)) {
        return true;
    }
    let marked = |text: Option<&String>, marks: &[Mark]| {
        let units: Vec<u16> = text.map(|text| text.encode_utf16().collect()).unwrap_or_default();
        marks.iter().any(|mark| names(mark, &units, me))
    };
    marked(message.text.as_ref(), &message.entities)
        || marked(message.caption.as_ref(), &message.caption_entities)
}

fn names(mark: &Mark, units: &[u16], me: &Me) -> bool {
    let end = mark.offset.saturating_add(mark.length);
    let text = units.get(mark.offset..end).map(String::from_utf16_lossy).unwrap_or_default();
    let named = |name: &str| !me.username.is_empty() && name.eq_ignore_ascii_case(&me.username);
    match mark.kind.as_str() {
        "mention" => text.strip_prefix('@').is_some_and(named),
        "bot_command" => text.split_once('@').is_some_and(|(_, name)| named(name)),
        "text_mention" => mark.user.as_ref().is_some_and(|user| user.id == me.id),
        _ => false,
    }
}

fn pressed(callback: Callback) -> Option<Pressed> {
    let Pushed { message_id, message_thread_id, is_topic_message, chat } = callback.message?;
    let press = Press {
        conversation: conversation(&chat, topic(message_thread_id, is_topic_message))?,
        message: text(message_id),
        sender: sender(&callback.from, None),
        nonce: nonce_of(&callback.data)?,
    };
    Some(Pressed { press, id: callback.id })
}

#[cfg(test)]
#[path = "update/tests.rs"]
mod tests;
