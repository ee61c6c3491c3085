//! One entry of the record as it is stored: compact JSON, its fields always in this order, empty ones left out. The
//! leaf hash is over these bytes, so there is exactly one way to write a record, and no other is read.

use crate::hash;
use ipc_proto::Name;
use ipc_proto::audit::{Action, ENTRY, Event, Record, Result3, Serial};
use ipc_proto::ids::{CallId, SessionId, TurnId};
use ipc_proto::label::Label;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Bytes that most entries fit.
pub(crate) const USUAL: usize = 640;

/// Why bytes are no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an entry of the record")]
pub(crate) struct NoEntry;

/// An entry as it is read: a record without its hash, and with ids and hashes as text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    index: u64,
    time_ms: u64,
    witness: Name,
    /// Hex: readers of JSON in other languages round numbers beyond 2^53.
    life: String,
    number: u64,
    action: Action,
    result: Result3,
    session: Option<String>,
    turn: Option<String>,
    call: Option<String>,
    subject: Option<Name>,
    reason: Option<Name>,
    hash: Option<String>,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    duration_ms: u64,
    #[serde(default)]
    tokens: (u32, u32),
    label: Option<Label>,
}

/// The entry of a record; the record's own hash is not looked at.
pub(crate) fn encode(record: &Record) -> Result<Vec<u8>, NoEntry> {
    let mut entry = Vec::with_capacity(USUAL);
    put(record, &mut entry)?;
    Ok(entry)
}

/// Appends the entry of a record to the bytes; if it is no entry, the bytes stay as they were. Field by field, since
/// every append does this: nothing is copied into texts of its own first.
pub(crate) fn put(record: &Record, to: &mut Vec<u8>) -> Result<(), NoEntry> {
    let before = to.len();
    let written = fields(record, to).map_err(|_| NoEntry);
    let fits = written.is_ok() && to.len() - before <= ENTRY;
    if !fits {
        to.truncate(before);
    }
    fits.then_some(()).ok_or(NoEntry)
}

fn fields(record: &Record, to: &mut Vec<u8>) -> serde_json::Result<()> {
    let Record { index, time_ms, witness, serial, event, .. } = record;
    value(to, b"{\"index\":", index)?;
    value(to, b",\"time_ms\":", time_ms)?;
    value(to, b",\"witness\":", witness)?;
    digits(to, b",\"life\":\"", &[&serial.life.to_be_bytes()]);
    value(to, b",\"number\":", &serial.number)?;
    value(to, b",\"action\":", &event.action)?;
    value(to, b",\"result\":", &event.result)?;
    id(to, b",\"session\":\"", event.session.map(SessionId::bytes));
    id(to, b",\"turn\":\"", event.turn.map(TurnId::bytes));
    id(to, b",\"call\":\"", event.call.map(CallId::bytes));
    some(to, b",\"subject\":", event.subject.as_ref())?;
    some(to, b",\"reason\":", event.reason.as_ref())?;
    if let Some(hash) = &event.hash {
        digits(to, b",\"hash\":\"", &[hash]);
    }
    some(to, b",\"bytes\":", Some(&event.bytes).filter(|bytes| **bytes > 0))?;
    some(to, b",\"duration_ms\":", Some(&event.duration_ms).filter(|ms| **ms > 0))?;
    some(to, b",\"tokens\":", Some(&event.tokens).filter(|tokens| **tokens != (0, 0)))?;
    some(to, b",\"label\":", event.label.as_ref())?;
    to.push(b'}');
    Ok(())
}

fn value(to: &mut Vec<u8>, name: &[u8], value: &impl Serialize) -> serde_json::Result<()> {
    to.extend_from_slice(name);
    serde_json::to_writer(to, value)
}

fn some(to: &mut Vec<u8>, name: &[u8], found: Option<&impl Serialize>) -> serde_json::Result<()> {
    found.map_or(Ok(()), |found| value(to, name, found))
}

/// Hex, in groups with a dash between them; the quote before it is part of the name.
fn digits(to: &mut Vec<u8>, name: &[u8], groups: &[&[u8]]) {
    to.extend_from_slice(name);
    for (number, group) in groups.iter().enumerate() {
        if number > 0 {
            to.push(b'-');
        }
        hash::put_hex(to, group);
    }
    to.push(b'"');
}

/// An id, as UUIDs are written.
fn id(to: &mut Vec<u8>, name: &[u8], bytes: Option<[u8; 16]>) {
    let Some([a, b, c, d, e, f, g, h, i, j, rest @ ..]) = &bytes else { return };
    digits(to, name, &[&[*a, *b, *c, *d], &[*e, *f], &[*g, *h], &[*i, *j], rest]);
}

/// The record of an entry. Bytes that [`encode`] would write differently are refused.
pub(crate) fn decode(entry: &[u8]) -> Result<Record, NoEntry> {
    let line: Line = serde_json::from_slice(entry).map_err(|_| NoEntry)?;
    let hash = line.hash.map(|text| hash::unhex(&text).ok_or(NoEntry)).transpose()?;
    let event = Event {
        action: line.action,
        result: line.result,
        session: parsed(line.session)?,
        turn: parsed(line.turn)?,
        call: parsed(line.call)?,
        subject: line.subject,
        reason: line.reason,
        hash,
        bytes: line.bytes,
        duration_ms: u32::try_from(line.duration_ms).map_err(|_| NoEntry)?,
        tokens: line.tokens,
        label: line.label,
    };
    let life = u64::from_str_radix(&line.life, 16).map_err(|_| NoEntry)?;
    let record = Record {
        index: line.index,
        time_ms: line.time_ms,
        witness: line.witness,
        serial: Serial { life, number: line.number },
        event,
        hash: hash::leaf(entry),
    };
    if encode(&record)? == entry { Ok(record) } else { Err(NoEntry) }
}

fn parsed<T: FromStr>(text: Option<String>) -> Result<Option<T>, NoEntry> {
    text.map(|text| text.parse().map_err(|_| NoEntry)).transpose()
}

/// The fields of an entry that verification needs, read without decoding the rest: verifying a million entries must not
/// take longer than hashing them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub(crate) index: u64,
    pub(crate) time_ms: u64,
    /// As it is escaped in the entry.
    pub(crate) witness: &'a [u8],
    pub(crate) life: &'a [u8],
    pub(crate) number: u64,
    pub(crate) action: &'a [u8],
    pub(crate) result: &'a [u8],
}

impl<'a> Head<'a> {
    /// Reads the fields that every entry begins with.
    pub(crate) fn read(entry: &'a [u8]) -> Option<Self> {
        let (index, rest) = number(entry.strip_prefix(b"{\"index\":")?)?;
        let (time_ms, rest) = number(rest.strip_prefix(b",\"time_ms\":")?)?;
        let (witness, rest) = word(rest.strip_prefix(b",\"witness\":\"")?)?;
        let (life, rest) = word(rest.strip_prefix(b",\"life\":\"")?)?;
        let (number, rest) = number(rest.strip_prefix(b",\"number\":")?)?;
        let (action, rest) = word(rest.strip_prefix(b",\"action\":\"")?)?;
        let (result, _) = word(rest.strip_prefix(b",\"result\":\"")?)?;
        Some(Self { index, time_ms, witness, life, number, action, result })
    }
}

fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut value, mut rest) = (0_u64, text);
    while let [digit @ b'0'..=b'9', tail @ ..] = rest {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        rest = tail;
    }
    (rest.len() < text.len()).then_some((value, rest))
}

/// Up to the closing quote, a few bytes away; a name with an escaped quote in it is not a process's.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (word, rest) = text.split_at_checked(text.iter().position(|byte| *byte == b'"')?)?;
    Some((word, rest.get(1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::label::{Class, Trust};
    use proptest::prelude::*;

    fn event(text: &str, numbers: (u64, u32, u32)) -> Event {
        let mut event = Event::new(Action::ToolDecided, Result3::Blocked)
            .about(text)
            .because(text)
            .in_turn(SessionId::from_bytes([1; 16]), TurnId::from_bytes([2; 16]));
        event.call = Some(CallId::from_bytes([3; 16]));
        event.hash = Some([4; 32]);
        (event.bytes, event.duration_ms, event.tokens) = (numbers.0, numbers.1, (numbers.2, 7));
        event.label = Some((0..40).fold(Label::bottom(), |label, n| {
            label.join(&Label::of(Trust::User, Class::Secret, &format!("{n}{text}")))
        }));
        event
    }

    fn record(index: u64, event: Event) -> Record {
        let serial = Serial { life: u64::MAX - index, number: index + 1 };
        Record { index, time_ms: 5, witness: Name::clip("gate"), serial, event, hash: [0; 32] }
    }

    proptest! {
        // Holds B-145, P6-18.
        #[test]
        fn a_record_reads_back_and_no_text_at_all_outgrows_an_entry(
            text in ".{0,200}", index: u64, bytes: u64, ms: u32, tokens: u32
        ) {
            let record = record(index, event(&text, (bytes, ms, tokens)));
            let entry = encode(&record).unwrap();
            prop_assert!(entry.len() <= ENTRY);
            let back = decode(&entry).unwrap();
            prop_assert_eq!(&back.event, &record.event);
            prop_assert_eq!((back.index, back.serial), (index, record.serial));
            let head = Head::read(&entry).unwrap();
            prop_assert_eq!((head.index, head.number, head.time_ms), (index, record.serial.number, 5));
            prop_assert_eq!((head.witness, head.action), (b"gate".as_slice(), b"tool_decided".as_slice()));
            prop_assert_eq!(head.result, b"blocked");
        }

        // Holds B-145, P6-18.
        #[test]
        fn a_field_longer_than_a_name_never_reaches_the_record(secret in "[A-Za-z0-9+/]{65,400}") {
            let entry = encode(&record(0, event(&secret, (0, 0, 0)))).unwrap();
            let text = String::from_utf8(entry).unwrap();
            prop_assert!(!text.contains(&secret));
            prop_assert!(!text.contains(&secret[..65]));
        }

        #[test]
        fn any_bytes_at_all_are_an_entry_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(decode(&bytes).is_err());
            let _ = Head::read(&bytes);
        }

        #[test]
        fn an_entry_with_any_byte_changed_is_another_leaf(at in 0_usize..120, flip in 1_u8..=255) {
            let mut entry = encode(&record(7, Event::new(Action::TurnEnded, Result3::Success))).unwrap();
            let (before, at) = (hash::leaf(&entry), at % entry.len());
            entry[at] ^= flip;
            prop_assert_ne!(hash::leaf(&entry), before);
            let _ = decode(&entry);
        }
    }

    #[test]
    fn an_entry_is_written_as_it_always_was() {
        let mut whole = event("a \"name\"\n", (1024, 12, 7));
        whole.label = Some(Label::of(Trust::User, Class::Internal, "user"));
        let bare = Event::new(Action::TurnEnded, Result3::Success);
        let text = |event| String::from_utf8(encode(&record(7, event)).unwrap()).unwrap();
        let head = r#"{"index":7,"time_ms":5,"witness":"gate","life":"fffffffffffffff8","number":8,"#;
        assert_eq!(text(bare), format!(r#"{head}"action":"turn_ended","result":"success"}}"#));
        let expected = [
            head,
            r#""action":"tool_decided","result":"blocked","session":"01010101-0101-0101-0101-010101010101","#,
            r#""turn":"02020202-0202-0202-0202-020202020202","call":"03030303-0303-0303-0303-030303030303","#,
            r#""subject":"a \"name\"\n","reason":"a \"name\"\n","hash":""#,
            &"04".repeat(32),
            r#"","bytes":1024,"duration_ms":12,"tokens":[7,7],"#,
            r#""label":{"trust":"user","class":"internal","sources":["user"]}}"#,
        ];
        assert_eq!(text(whole), expected.concat());
    }

    #[test]
    fn an_entry_of_another_spelling_is_refused() {
        let entry = encode(&record(1, Event::new(Action::TurnEnded, Result3::Success))).unwrap();
        let text = String::from_utf8(entry).unwrap();
        for other in [
            text.replace("\"index\":1", "\"index\": 1"),
            text.replace('}', ",\"bytes\":0}"),
            text.replace('}', ",\"more\":0}"),
            text.replace("turn_ended", "turn_\\u0065nded"),
        ] {
            assert_ne!(other, text);
            assert_eq!(decode(other.as_bytes()), Err(NoEntry), "{other}");
        }
    }
}
