//! An answer as a mail: to the sender alone, marked as automatic, in the thread of the mail that it answers, and under a message id
//! that is the same whenever this piece is sent.

use crate::answers::Answered;
use crate::mail::{Origin, line};
use channel::media_type;
use ipc_proto::channel::{Body, Claim};
use mail_builder::MessageBuilder;
use mail_builder::headers::raw::Raw;
use mail_builder::headers::text::Text;
use sha2::{Digest, Sha256};

/// The beginning of every message id of ours.
pub(crate) const MARK: &str = "cordon.";
/// Bytes of a subject.
const SUBJECT: usize = 200;
/// Message ids of a thread that are named: the first and the last ones.
const REFERENCES: usize = 20;

/// The message id of a piece, without brackets. A copy in the mailbox of sent mail tells thread and delivery by it.
pub(crate) fn message_id(claim: &Claim, address: &str) -> String {
    let mut digest = Sha256::new();
    let (conversation, body) = (&claim.conversation, &claim.content.body);
    for part in [address, conversation.id.as_str(), claim.reply_to.as_ref().map_or("", |id| id.as_str())] {
        digest.update(part.as_bytes());
        digest.update([0]);
    }
    match body {
        Body::Text(text) => digest.update(text.as_bytes()),
        Body::File { bytes, .. } => digest.update(&**bytes),
    }
    let digest: String = digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let (prefix, number) = (delivery_mark(claim), claim.piece.number);
    let domain = address.split('@').nth(1).unwrap_or_default();
    format!("{prefix}{number}.{digest}@{domain}")
}

/// The beginning of the message ids of all pieces of a delivery.
pub(crate) fn delivery_mark(claim: &Claim) -> String {
    format!("{MARK}{}.{}.", thread(claim), claim.piece.delivery)
}

/// The thread of a piece, in letters and digits.
pub(crate) fn thread(claim: &Claim) -> String {
    let thread = claim.conversation.thread.as_ref().map_or("", |thread| thread.as_str());
    let short: String = thread.chars().filter(char::is_ascii_alphanumeric).take(16).collect();
    if short.is_empty() { "0".to_owned() } else { short }
}

/// The answer that a message id of ours, with or without brackets, is of.
pub(crate) fn answered(id: &str, at: i64) -> Option<Answered> {
    let mut fields = id.trim_start_matches('<').strip_prefix(MARK)?.split('.');
    let (thread, delivery) = (fields.next()?.to_owned(), fields.next()?.parse().ok()?);
    Some(Answered { thread, delivery, at })
}

/// The mail of a piece, with lines that end in CRLF; none if it cannot be made.
pub(crate) fn compose(claim: &Claim, origin: &Origin, address: &str, id: &str, now: i64) -> Option<Vec<u8>> {
    let mut mail = MessageBuilder::new()
        .header("From", Raw::new(address.to_owned()))
        .header("To", Raw::new(claim.conversation.id.as_str().to_owned()))
        .subject(Text::new(subject(&origin.subject)))
        .date(now)
        .message_id(id.to_owned())
        .header("Auto-Submitted", Raw::new("auto-replied"))
        .header("X-Auto-Response-Suppress", Raw::new("All"));
    if let Some(answers) = &origin.message_id {
        let bare: Vec<String> = references(origin).iter().map(|id| bare(id)).collect();
        mail = mail.in_reply_to(bare_id(answers)).references(bare);
    }
    let mail = match &claim.content.body {
        Body::Text(text) if claim.content.markup.is_empty() => mail.text_body(text.as_str()),
        Body::Text(text) => mail.text_body(text.as_str()).html_body(claim.content.markup.as_str()),
        Body::File { name, bytes } => {
            let text = format!("The file {name} is attached.");
            mail.text_body(text).attachment(media_type(bytes), name.as_str(), bytes.to_vec())
        }
    };
    Some(with_crlf(&mail.write_to_vec().ok()?))
}

fn bare(id: &str) -> String {
    bare_id(id).to_owned()
}

fn bare_id(id: &str) -> &str {
    id.trim_start_matches('<').trim_end_matches('>')
}

/// The first and the last message ids of a thread, with that which is answered.
fn references(origin: &Origin) -> Vec<String> {
    let mut all = origin.references.clone();
    all.extend(origin.message_id.clone());
    if all.len() > REFERENCES {
        all.drain(1..=all.len() - REFERENCES);
    }
    all
}

fn subject(of: &str) -> String {
    let of = line(of, SUBJECT);
    if of.is_empty() {
        "Re: your message".to_owned()
    } else if of.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("re:")) {
        of
    } else {
        format!("Re: {of}")
    }
}

/// The bytes with CRLF at the end of each line, and without any other control character that could end one.
fn with_crlf(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 40);
    let mut bytes = bytes.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' => {
                bytes.next_if_eq(&b'\n');
                out.extend_from_slice(b"\r\n");
            }
            b'\n' => out.extend_from_slice(b"\r\n"),
            0 => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::channel::{Conversation, ConversationKind, DeliveryId, Piece, PieceId};
    use ipc_proto::{List, Text as Bounded};
    use mail_parser::MessageParser;
    use proptest::prelude::*;

    fn claim(text: &str) -> Claim {
        Claim {
            piece: PieceId { delivery: DeliveryId(12), number: 0 },
            conversation: Conversation {
                id: Bounded::clip("ann@a.test"),
                thread: Some(Bounded::clip("0123456789abcdef0123")),
                kind: ConversationKind::Direct,
            },
            reply_to: Some(Bounded::clip("<1@a.test>")),
            edits: None,
            content: Piece { body: Body::Text(Bounded::clip(text)), markup: Bounded::clip("<b>x</b>") },
            buttons: List::default(),
            attempt: 0,
        }
    }

    fn origin(subject: &str) -> Origin {
        Origin {
            message_id: Some("<1@a.test>".to_owned()),
            references: vec!["<0@a.test>".to_owned()],
            subject: subject.to_owned(),
        }
    }

    // Holds P11-93.
    #[test]
    fn an_answer_is_automatic_in_its_thread_and_for_its_sender_alone() {
        let claim = claim("hello\n.\nend");
        let id = message_id(&claim, "agent@own.test");
        let mail = compose(&claim, &origin("Hi\r\nBcc: eve@e.test"), "agent@own.test", &id, 0).unwrap();
        let parsed = MessageParser::default().parse(&mail).unwrap();
        assert_eq!(parsed.subject(), Some("Re: Hi Bcc: eve@e.test"));
        assert_eq!(parsed.message_id(), Some(id.as_str()));
        assert_eq!(parsed.in_reply_to().as_text(), Some("1@a.test"));
        assert_eq!(parsed.references().as_text_list().map(<[_]>::len), Some(2));
        assert_eq!(parsed.header_raw("Auto-Submitted").map(str::trim), Some("auto-replied"));
        assert!(parsed.bcc().is_none() && parsed.cc().is_none());
        assert_eq!(parsed.to().and_then(|to| to.first()?.address()), Some("ann@a.test"));
        assert_eq!(parsed.body_text(0).as_deref().map(str::trim_end), Some("hello\r\n.\r\nend"));
    }

    #[test]
    fn the_id_of_a_piece_is_stable_and_tells_thread_and_delivery() {
        let id = message_id(&claim("x"), "agent@own.test");
        assert_eq!(id, message_id(&claim("x"), "agent@own.test"));
        assert_ne!(id, message_id(&claim("y"), "agent@own.test"));
        let answer = answered(&format!("<{id}>"), 5).unwrap();
        assert_eq!((answer.thread.as_str(), answer.delivery, answer.at), ("0123456789abcdef", 12, 5));
        assert_eq!(answered("<1@a.test>", 5), None);
    }

    proptest! {
        #[test]
        fn no_answer_holds_a_bare_line_end_or_a_long_line(text in "\\PC{0,300}|(a|\r|\n|\\.|\0|ä){0,900}", subject in "\\PC{0,200}") {
            let claim = claim(&text);
            let mail = compose(&claim, &origin(&subject), "agent@own.test", "1@own.test", 0).unwrap();
            let lines: Vec<&[u8]> = mail.split_inclusive(|byte| *byte == b'\n').collect();
            for line in &lines {
                prop_assert!(line.ends_with(b"\r\n") && line.len() <= 998);
                prop_assert!(!line[..line.len() - 2].contains(&b'\r'));
            }
            prop_assert!(mail.is_ascii());
        }
    }
}
