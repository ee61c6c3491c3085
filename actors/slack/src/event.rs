//! Messages of Slack, as its events and its history give them. Fields that are not known are skipped. Pure.

use crate::cursor::{Me, Place, Ts, is_id};
use crate::mrkdwn::{mentions, plain};
use ipc_proto::channel::{
    Attachment, Conversation, ConversationKind, Inbound, InboundPart, PartKind, Sender, clean_name,
};
use ipc_proto::{List, Text};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Something of Slack that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a payload cannot be read")]
pub(crate) struct Malformed;

/// A message, and its places in the cursor.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// The message.
    pub inbound: Inbound,
    /// The addresses of its files.
    pub files: Vec<String>,
    /// The conversations whose last message it is.
    pub places: Vec<Place>,
    /// Its time.
    pub ts: Ts,
}

#[derive(Deserialize)]
struct Raw {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    subtype: Option<String>,
    channel: Option<String>,
    channel_type: Option<String>,
    user: Option<String>,
    bot_id: Option<String>,
    bot_profile: Option<IgnoredAny>,
    username: Option<String>,
    user_profile: Option<Profile>,
    text: Option<String>,
    ts: Option<String>,
    thread_ts: Option<String>,
    parent_user_id: Option<String>,
    reply_count: Option<u64>,
    files: Option<Vec<File>>,
    attachments: Option<Vec<Shared>>,
    message: Option<Box<Raw>>,
}

#[derive(Deserialize)]
struct Profile {
    display_name: Option<String>,
    real_name: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct File {
    name: Option<String>,
    mimetype: Option<String>,
    size: Option<u64>,
    url_private_download: Option<String>,
}

/// A message that was passed on, or the preview of a link: its text is somebody else's.
#[derive(Deserialize)]
struct Shared {
    text: Option<String>,
    fallback: Option<String>,
}

/// The message of an event; `None` for an event that is none, or is of the account itself.
///
/// # Errors
/// [`Malformed`] if its channel, sender or time is missing or is none.
pub(crate) fn of_event(event: &Value, me: &Me) -> Result<Option<Message>, Malformed> {
    let raw = Raw::deserialize(event).map_err(|_| Malformed)?;
    let channel = raw.channel.clone();
    match (raw.kind.as_str(), raw.subtype.as_deref()) {
        ("app_mention", _) => message(raw, channel, me),
        ("message", Some("message_changed")) => {
            let kind = raw.channel_type;
            let changed = raw.message.ok_or(Malformed)?;
            let changed = Raw { channel_type: kind, ..*changed };
            let edited = message(changed, channel, me)?;
            Ok(edited.map(|edited| Message {
                inbound: Inbound { edit: true, ..edited.inbound },
                files: edited.files,
                places: Vec::new(),
                ts: edited.ts,
            }))
        }
        ("message", _) => message(raw, channel, me),
        _ => Ok(None),
    }
}

/// The message of an entry of a channel's history, and the thread below it, where it has one.
///
/// # Errors
/// As [`of_event`].
pub(crate) fn of_history(
    entry: &Value,
    channel: &str,
    me: &Me,
) -> Result<(Option<Message>, Option<Ts>), Malformed> {
    let raw = Raw::deserialize(entry).map_err(|_| Malformed)?;
    let replied = raw.reply_count.is_some_and(|replies| replies > 0);
    let thread = raw.ts.as_deref().filter(|_| replied).and_then(Ts::parse);
    Ok((message(raw, Some(channel.to_owned()), me)?, thread))
}

/// The kinds of messages that somebody wrote; the others say what happened in the channel.
const WRITTEN: [&str; 4] = ["file_share", "thread_broadcast", "me_message", "bot_message"];

fn message(raw: Raw, channel: Option<String>, me: &Me) -> Result<Option<Message>, Malformed> {
    if raw.subtype.as_deref().is_some_and(|subtype| !WRITTEN.contains(&subtype)) {
        return Ok(None);
    }
    let channel = channel.filter(|channel| is_id(channel)).ok_or(Malformed)?;
    let ts = raw.ts.as_deref().and_then(Ts::parse).ok_or(Malformed)?;
    let root = raw.thread_ts.as_deref().map(|ts| Ts::parse(ts).ok_or(Malformed)).transpose()?;
    let sender = sender(&raw, me)?;
    if sender.itself {
        return Ok(None);
    }
    let direct = raw.channel_type.as_deref().map_or(channel.starts_with('D'), |kind| kind == "im");
    // The first message of a thread names itself as soon as it has a reply.
    let reply = root.filter(|root| *root != ts);
    let text = raw.text.as_deref().unwrap_or_default();
    let named = raw.kind == "app_mention" || mentions(text, &me.user);
    let answers = raw.parent_user_id.as_deref() == Some(me.user.as_str());
    let mentioned = direct || named || answers;
    let conversation = conversation(&channel, direct, reply, ts);
    let inbound = Inbound {
        key: Text::new(format!("{}:{channel}:{ts}", me.team)).map_err(|_| Malformed)?,
        conversation,
        sender,
        parts: List::clip(parts(&raw, me)),
        attachments: List::clip(attachments(raw.files.as_deref().unwrap_or_default())),
        message: Text::clip(&ts.to_string()),
        reply_to: reply.map(|root| Text::clip(&root.to_string())),
        sent_ms: ts.ms(),
        edit: false,
        mentions: mentioned,
        moved_from: None,
    };
    let files = sources(raw.files.as_deref().unwrap_or_default());
    Ok(Some(Message { inbound, files, places: places(&channel, (direct, mentioned), reply, ts), ts }))
}

/// A direct conversation goes on below; in a channel, each message that starts one begins a thread, which is its conversation.
pub(crate) fn conversation(channel: &str, direct: bool, reply: Option<Ts>, ts: Ts) -> Conversation {
    let thread = if direct { reply } else { Some(reply.unwrap_or(ts)) };
    Conversation {
        id: Text::clip(channel),
        thread: thread.map(|ts| Text::clip(&ts.to_string())),
        kind: if direct { ConversationKind::Direct } else { ConversationKind::Group },
    }
}

/// History gives a channel without the replies of its threads: each is a place of its own.
fn places(channel: &str, (direct, mentioned): (bool, bool), reply: Option<Ts>, ts: Ts) -> Vec<Place> {
    let place = |thread| Place { channel: channel.to_owned(), thread };
    match reply {
        Some(_) => vec![place(reply)],
        None if !direct && mentioned => vec![place(None), place(Some(ts))],
        None => vec![place(None)],
    }
}

fn sender(raw: &Raw, me: &Me) -> Result<Sender, Malformed> {
    let bot = raw.bot_id.as_deref();
    let id = raw.user.as_deref().or(bot).filter(|id| is_id(id)).ok_or(Malformed)?;
    let profile = raw.user_profile.as_ref();
    let names = profile.map(|one| [&one.display_name, &one.real_name, &one.name]);
    let names = names.into_iter().flatten().filter_map(Option::as_deref).chain(raw.username.as_deref());
    let name = names.map(str::trim).find(|name| !name.is_empty()).unwrap_or(id);
    Ok(Sender {
        id: Text::clip(id),
        name: Text::clip(name),
        bot: bot.is_some()
            || raw.bot_profile.is_some()
            || raw.subtype.as_deref() == Some("bot_message")
            || id == "USLACKBOT",
        itself: id == me.user || (!me.bot.is_empty() && bot == Some(me.bot.as_str())),
    })
}

/// The text of a message by its origin.
fn parts(raw: &Raw, me: &Me) -> Vec<InboundPart> {
    let has_files = raw.files.as_ref().is_some_and(|files| !files.is_empty());
    let own = if has_files { PartKind::Caption } else { PartKind::Own };
    let written = raw.text.iter().map(|text| (own, text));
    let shared =
        raw.attachments.iter().flatten().filter_map(|one| one.text.as_ref().or(one.fallback.as_ref()));
    let all = written.chain(shared.map(|text| (PartKind::Forward, text)));
    let all = all.map(|(kind, text)| (kind, plain(text, &me.user)));
    all.filter(|(_, text)| !text.trim().is_empty())
        .map(|(kind, text)| InboundPart { kind, text: Text::clip(&text) })
        .collect()
}

/// The addresses of files. One that is not of Slack, or that a plan hides, has none.
fn sources(files: &[File]) -> Vec<String> {
    files.iter().map(|file| file.url_private_download.clone().unwrap_or_default()).collect()
}

/// The files as they are named, before any is fetched.
fn attachments(files: &[File]) -> Vec<Attachment> {
    let attachment = |file: &File| Attachment {
        digest: None,
        name: file.name.as_deref().map(clean_name),
        media_type: Text::clip(file.mimetype.as_deref().unwrap_or("application/octet-stream")),
        size: file.size.unwrap_or_default(),
        missed: None,
    };
    files.iter().map(attachment).collect()
}

#[cfg(test)]
#[path = "event/tests.rs"]
pub(crate) mod tests;
