//! A mail as a message of its sender. The sender is known only if the own server has proven the address; nothing else of a mail that
//! is not is passed on.

use super::authentication::is_proven;
use super::header::{Header, parted};
use super::mime::{File, Parts, decoded, parts};
use super::quote;
use ipc_proto::channel::{
    Attachment, Conversation, ConversationKind, Inbound, InboundPart, PartKind, Sender, clean_name,
};
use ipc_proto::{List, Text};
use sha2::{Digest, Sha256};

/// Bytes of a message id that is used as the platform's id of a mail.
const MESSAGE: usize = 128;
/// Bytes of a subject.
const SUBJECT: usize = 998;

/// The own mailbox.
#[derive(Debug, Clone)]
pub(crate) struct Own {
    /// Its address, in lower case.
    pub(crate) address: String,
    /// The id of the server whose results are believed.
    pub(crate) authserv: Option<String>,
}

/// A mail that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Read {
    /// The message.
    pub(crate) inbound: Inbound,
    /// True if its sender is proven, so that its text is worth fetching.
    pub(crate) known: bool,
    /// Everything that an answer to it needs.
    pub(crate) origin: Origin,
    /// The mail itself, if it has files and was read whole.
    pub(crate) mail: Vec<u8>,
}

/// Everything that an answer needs of the mail that it answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Its message id.
    pub(crate) message_id: Option<String>,
    /// The message ids of its thread before it.
    pub(crate) references: Vec<String>,
    /// Its subject.
    pub(crate) subject: String,
}

impl Origin {
    /// Fields that an origin is read from.
    pub(crate) const FIELDS: &str = "MESSAGE-ID IN-REPLY-TO REFERENCES SUBJECT";

    /// That of a mail with this header.
    pub(crate) fn of(block: &[u8]) -> Self {
        let Some(header) = Header::parse(block) else { return Self::default() };
        let mut references = header.ids("References");
        if references.is_empty() {
            references = header.ids("In-Reply-To");
            references.truncate(1);
        }
        Self { message_id: header.ids("Message-ID").into_iter().next(), references, subject: subject(block) }
    }
}

fn subject(block: &[u8]) -> String {
    let subject = decoded(block).and_then(|message| message.subject().map(str::to_owned));
    line(&subject.unwrap_or_default(), SUBJECT)
}

/// Reads a mail, or the beginning of one. `place` is the id of a mail that has no message id of its own, and `sent_ms` its
/// arrival. Returns none for bytes that are no mail.
pub(crate) fn read(mail: &[u8], own: &Own, place: &str, sent_ms: u64) -> Option<Read> {
    let (block, _) = parted(mail)?;
    let header = Header::parse(block)?;
    let sender = sender(&header, block, own);
    let known = !sender.id.is_empty() && !sender.bot && !sender.itself;
    let own_id = header.ids("Message-ID").into_iter().next();
    let key =
        own_id.clone().filter(|id| id.len() <= 256).unwrap_or_else(|| format!("sha256:{}", hex(mail, 32)));
    let (parts, attachments) = if known { content(mail, block) } else { Default::default() };
    let inbound = Inbound {
        conversation: Conversation {
            id: sender.id.clone(),
            thread: Some(Text::clip(&thread(&header, own_id.as_deref().unwrap_or(place)))),
            kind: ConversationKind::Direct,
        },
        sender,
        key: Text::clip(&key),
        parts: List::clip(parts),
        attachments: List::clip(attachments),
        message: Text::clip(&own_id.filter(|id| id.len() <= MESSAGE).unwrap_or_else(|| place.to_owned())),
        reply_to: header.ids("In-Reply-To").first().and_then(|id| Text::new(id.clone()).ok()),
        sent_ms,
        edit: false,
        mentions: true,
        moved_from: None,
    };
    Some(Read { inbound, known, origin: Origin::of(block), mail: Vec::new() })
}

fn sender(header: &Header<'_>, block: &[u8], own: &Own) -> Sender {
    let from = header.from().unwrap_or_default();
    let domain = from.split('@').nth(1).unwrap_or_default();
    let proven = !from.is_empty() && own.authserv.as_ref().is_some_and(|id| is_proven(header, id, domain));
    let name = decoded(block).and_then(|message| Some(message.from()?.first()?.name()?.to_owned()));
    Sender {
        id: Text::clip(if proven { &from } else { "" }),
        name: Text::clip(&name.unwrap_or_default()),
        bot: header.is_automatic(),
        itself: from == own.address,
    }
}

/// The thread of a mail: a digest of the id that its thread began with.
fn thread(header: &Header<'_>, own_id: &str) -> String {
    let ids = |name| header.ids(name).into_iter().next();
    let root = ids("References").or_else(|| ids("In-Reply-To")).unwrap_or_else(|| own_id.to_owned());
    hex(root.as_bytes(), 16)
}

fn hex(bytes: &[u8], length: usize) -> String {
    Sha256::digest(bytes).iter().take(length).map(|byte| format!("{byte:02x}")).collect()
}

/// The text of a mail by its origin, and its files. Only plain text is the sender's own, up to a quote: in HTML nobody can tell them
/// apart. A command stands alone.
fn content(mail: &[u8], block: &[u8]) -> (Vec<InboundPart>, Vec<Attachment>) {
    let Parts { texts, files, .. } = parts(mail);
    let (mut own, mut rest) = (String::new(), Vec::new());
    for (at, text) in texts.into_iter().enumerate() {
        if at == 0 && !text.html {
            let (words, quoted) = quote::parted(&text.text);
            own = words;
            rest.extend(quoted);
        } else {
            rest.push((PartKind::Quote, text.text));
        }
    }
    let attachments: Vec<Attachment> = files.iter().map(attachment).collect();
    let mut parts = Vec::new();
    let mut push = |kind, text: &str| {
        if !text.trim().is_empty() {
            parts.push(InboundPart { kind, text: Text::clip(text) });
        }
    };
    push(PartKind::Own, &own);
    if !own.starts_with('/') {
        push(PartKind::Subject, &subject(block));
        rest.iter().for_each(|(kind, text)| push(*kind, text));
    }
    (parts, attachments)
}

fn attachment(file: &File) -> Attachment {
    let kind: String =
        file.kind.chars().filter(|c| c.is_ascii_alphanumeric() || "/.+-_".contains(*c)).collect();
    Attachment {
        digest: None,
        name: file.name.as_deref().map(clean_name),
        media_type: Text::clip(if kind.is_empty() { "application/octet-stream" } else { &kind }),
        size: file.size,
        missed: None,
    }
}

/// A text as one line of at most so many bytes.
pub(crate) fn line(text: &str, most: usize) -> String {
    let mut line =
        text.split(|c: char| c.is_whitespace() || c.is_control()).fold(String::new(), |mut line, word| {
            if !line.is_empty() && !word.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            line
        });
    let mut end = line.len().min(most);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.truncate(end);
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PROVEN: &str = "Authentication-Results: mx.own.test; dmarc=pass header.from=a.test";

    fn own() -> Own {
        Own { address: "agent@own.test".to_owned(), authserv: Some("mx.own.test".to_owned()) }
    }

    fn mail(fields: &str, body: &str) -> Read {
        let mail = format!("{fields}\nFrom: Ann <ann@a.test>\nMessage-ID: <1@a.test>\n\n{body}")
            .replace('\n', "\r\n");
        read(mail.as_bytes(), &own(), "7.9", 1).unwrap()
    }

    // Holds P11-90.
    #[test]
    fn a_sender_who_is_not_proven_is_nobody_and_nothing_is_passed_on() {
        let proven = mail(PROVEN, "hello");
        assert_eq!((proven.inbound.sender.id.as_str(), proven.known), ("ann@a.test", true));
        assert_eq!(proven.inbound.conversation.id.as_str(), "ann@a.test");
        let forged = mail("Subject: x", "hello");
        assert_eq!((forged.inbound.sender.id.as_str(), forged.known), ("", false));
        assert!(forged.inbound.parts.is_empty());
        let pinned_nowhere = Own { authserv: None, ..own() };
        let unpinned =
            read(format!("{PROVEN}\r\nFrom: ann@a.test\r\n\r\nx").as_bytes(), &pinned_nowhere, "7.9", 1);
        assert!(!unpinned.unwrap().known);
    }

    // Holds P11-92.
    #[test]
    fn subject_and_quotes_are_parts_of_their_own_and_a_command_stands_alone() {
        let read = mail(&format!("{PROVEN}\nSubject: =?utf-8?q?Caf=C3=A9?="), "do it\n\n> quoted\n");
        let parts: Vec<(PartKind, &str)> =
            read.inbound.parts.iter().map(|part| (part.kind, part.text.as_str())).collect();
        assert_eq!(
            parts,
            [(PartKind::Own, "do it"), (PartKind::Subject, "Café"), (PartKind::Quote, "> quoted")]
        );
        let command = mail(&format!("{PROVEN}\nSubject: x"), "/link abc\n\n> quoted\n");
        assert_eq!(command.inbound.parts.len(), 1);
        let html = mail(&format!("{PROVEN}\nContent-Type: text/html"), "<p>do it</p>");
        assert_eq!(html.inbound.parts[0].kind, PartKind::Quote, "words in HTML are not the sender's own");
    }

    #[test]
    fn a_reply_is_of_the_thread_that_it_answers() {
        let first = mail(PROVEN, "x").inbound.conversation.thread;
        let reply = mail(&format!("{PROVEN}\nReferences: <1@a.test> <our@own.test>"), "x")
            .inbound
            .conversation
            .thread;
        assert_eq!(first, reply);
    }

    #[test]
    fn a_mail_without_a_message_id_is_known_by_its_bytes() {
        let keys = |text: &str| {
            let mail = format!("{PROVEN}\r\nFrom: ann@a.test\r\n\r\n{text}");
            let inbound = read(mail.as_bytes(), &own(), "7.9", 1).unwrap().inbound;
            (inbound.key, inbound.message)
        };
        let (key, message) = keys("x");
        assert!(key.starts_with("sha256:") && message.as_str() == "7.9");
        assert_eq!(keys("x").0, key);
        assert_ne!(keys("y").0, key);
    }

    #[test]
    fn the_account_itself_and_programs_are_told_apart() {
        assert!(mail(&format!("{PROVEN}\nAuto-Submitted: auto-replied"), "x").inbound.sender.bot);
        let own_mail = b"From: Agent@own.test\r\n\r\nx";
        assert!(read(own_mail, &own(), "7.9", 1).unwrap().inbound.sender.itself);
    }

    proptest! {
        #[test]
        fn any_bytes_behind_a_header_are_read_within_the_bounds(body in proptest::collection::vec(any::<u8>(), 0..500)) {
            let mut mail = format!("{PROVEN}\r\nFrom: ann@a.test\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n").into_bytes();
            mail.extend(body);
            let read = read(&mail, &own(), "7.9", 1).unwrap();
            prop_assert!(read.known && read.inbound.parts.iter().all(|part| !part.text.contains('\0')));
        }
    }
}
