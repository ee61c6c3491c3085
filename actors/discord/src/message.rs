//! Messages and presses of Discord as the host takes them. Pure.

use crate::cursor::Scene;
use crate::wire::{File, Interaction, Member, Message, User, made_ms};
use channel::{Polled, Pressed, nonce_of};
use ipc_proto::channel::{
    Attachment, Conversation, ConversationKind, Inbound, InboundPart, PartKind, Press, Sender, clean_name,
};
use ipc_proto::{List, Text};

/// Kinds of messages that people write: a message, and an answer to one. All others are the service's own notices.
const WRITTEN: [u64; 2] = [0, 19];
/// The kind of a reference by which a message is passed on.
const FORWARD: u64 = 1;
/// The kind of an interaction that is the press of a button.
const PRESS: u64 = 3;
/// The longest token of an interaction, in bytes.
const TOKEN: usize = 1024;

fn text<const N: usize>(id: u64) -> Text<N> {
    Text::clip(&id.to_string())
}

/// The conversation of a channel.
pub(crate) fn conversation(channel: u64, scene: Scene) -> Conversation {
    let (id, thread, kind) = match scene {
        Scene::Direct => (channel, None, ConversationKind::Direct),
        Scene::Channel => (channel, None, ConversationKind::Group),
        Scene::Thread(parent) => (parent, Some(text(channel)), ConversationKind::Group),
    };
    Conversation { id: text(id), thread, kind }
}

fn sender(user: &User, member: Option<&Member>, me: u64) -> Sender {
    let nick = member.and_then(|member| member.nick.as_deref());
    let name = nick.or(user.global_name.as_deref()).unwrap_or(&user.username);
    Sender { id: text(user.id.0), name: Text::clip(name.trim()), bot: user.bot, itself: user.id.0 == me }
}

/// Adds a message that somebody wrote, of a place, with the addresses of its files.
pub(crate) fn add(polled: &mut Polled, message: &Message, scene: Scene, edit: bool, me: u64) {
    if let Some(inbound) = inbound(message, scene, edit, me) {
        polled.take(inbound, files(message).map(|file| file.url.clone()));
    }
}

/// The files of a message, and of those that are passed on with it.
fn files(message: &Message) -> impl Iterator<Item = &File> {
    let forwarded = message.message_snapshots.iter().flat_map(|shot| &shot.message.attachments);
    message.attachments.iter().chain(forwarded)
}

/// A message that somebody wrote, of a place; none for the service's own notices.
pub(crate) fn inbound(message: &Message, scene: Scene, edit: bool, me: u64) -> Option<Inbound> {
    let author = message.author.as_ref().filter(|_| WRITTEN.contains(&message.kind))?;
    let mut sender = sender(author, message.member.as_ref(), me);
    // A hook writes under any name.
    sender.bot |= message.webhook_id.is_some();
    let reference = message.message_reference.as_ref().filter(|reference| reference.kind != FORWARD);
    Some(Inbound {
        key: text(message.id.0),
        conversation: conversation(message.channel_id.0, scene),
        sender,
        parts: List::clip(parts(message, me)),
        attachments: List::clip(files(message).map(attachment)),
        message: text(message.id.0),
        reply_to: reference.and_then(|reference| reference.message_id).map(|id| text(id.0)),
        sent_ms: made_ms(message.id.0),
        edit,
        mentions: scene == Scene::Direct || mentions(message, me),
        moved_from: None,
    })
}

/// The text of a message by its origin: what was passed on, or is answered, is not the sender's own.
fn parts(message: &Message, me: u64) -> Vec<InboundPart> {
    let mut parts = Vec::new();
    let mut push = |kind, text: &str| {
        if !text.trim().is_empty() {
            parts.push(InboundPart { kind, text: Text::clip(text) });
        }
    };
    let own = if message.attachments.is_empty() { PartKind::Own } else { PartKind::Caption };
    push(own, unaddressed(&message.content, me));
    if let Some(answered) = message.referenced_message.as_deref().filter(|answered| !is_mine(answered, me)) {
        push(PartKind::Quote, &answered.content);
    }
    for shot in &message.message_snapshots {
        push(PartKind::Forward, &shot.message.content);
    }
    parts
}

/// The text without the mention of the bot that it begins with.
fn unaddressed(text: &str, me: u64) -> &str {
    let rest = text.trim_start().strip_prefix("<@").map(|rest| rest.strip_prefix('!').unwrap_or(rest));
    let rest = rest.and_then(|rest| rest.strip_prefix(&me.to_string())?.strip_prefix('>'));
    rest.map_or(text, str::trim_start)
}

fn is_mine(message: &Message, me: u64) -> bool {
    message.author.as_ref().is_some_and(|author| author.id.0 == me)
}

/// Returns true if the message names the bot, or answers a message of its.
fn mentions(message: &Message, me: u64) -> bool {
    message.mentions.iter().any(|user| user.id.0 == me)
        || message.referenced_message.as_deref().is_some_and(|answered| is_mine(answered, me))
}

/// A file as it is named, before it is fetched.
fn attachment(file: &File) -> Attachment {
    let kind = file.content_type.as_deref().unwrap_or("application/octet-stream");
    Attachment {
        digest: None,
        name: (!file.filename.is_empty()).then(|| clean_name(&file.filename)),
        media_type: Text::clip(kind),
        size: file.size,
        missed: None,
    }
}

/// The press of a button below a message of the bot, in a place; none for every other interaction.
pub(crate) fn pressed(interaction: &Interaction, scene: Scene) -> Option<Pressed> {
    let user = interaction.member.as_ref().and_then(|member| member.user.as_ref());
    let user = user.or(interaction.user.as_ref())?;
    let press = Press {
        conversation: conversation(interaction.channel_id?.0, scene),
        message: text(interaction.message.as_ref()?.id.0),
        sender: sender(user, interaction.member.as_ref(), 0),
        nonce: nonce_of(&interaction.data.as_ref()?.custom_id)?,
    };
    let id = format!("{}/{}", interaction.application_id.0, interaction.token);
    is_press(interaction).then_some(Pressed { press, id })
}

/// Returns true for the press of a button that can be answered. Its token becomes a segment of a path.
pub(crate) fn is_press(interaction: &Interaction) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'=');
    let token = interaction.token.as_bytes();
    interaction.kind == PRESS
        && (1..=TOKEN).contains(&token.len())
        && token.iter().all(|byte| plain(*byte))
        && !token.iter().all(|byte| *byte == b'.')
}

#[cfg(test)]
mod tests;
