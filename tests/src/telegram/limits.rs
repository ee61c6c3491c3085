//! The limits of the Bot API: lengths, entities and rates.

use serde_json::Value;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// UTF-16 units of a text.
const TEXT: usize = 4096;
/// UTF-16 units of the caption of a file.
const CAPTION: usize = 1024;
/// Bytes of a file, and of a photo.
const FILE: u64 = 50 * 1024 * 1024;
const PHOTO: u64 = 10 * 1024 * 1024;
/// Entities of a message.
const ENTITIES: usize = 100;

/// Checks a text and its entities, and gives the description of the refusal.
pub(super) fn text(parameters: &Value) -> Result<(), &'static str> {
    if parameters.get("parse_mode").is_some() {
        return Err("Bad Request: this server takes entities alone");
    }
    let text = parameters["text"].as_str().unwrap_or_default();
    let units: Vec<u16> = text.encode_utf16().collect();
    if text.trim().is_empty() {
        return Err("Bad Request: message text is empty");
    }
    if units.len() > TEXT {
        return Err("Bad Request: message is too long");
    }
    let entities = parameters["entities"].as_array().map_or(&[][..], Vec::as_slice);
    if entities.len() > ENTITIES {
        return Err("Bad Request: too many entities");
    }
    let ranges: Option<Vec<(usize, usize, &str)>> = entities.iter().map(|one| range(one, &units)).collect();
    let Some(ranges) = ranges else { return Err("Bad Request: entity is out of bounds or cuts a character") };
    for (index, a) in ranges.iter().enumerate() {
        if ranges[index + 1..].iter().any(|b| !may_overlap(*a, *b)) {
            return Err("Bad Request: entities overlap");
        }
    }
    Ok(())
}

/// Checks a file and its caption, and gives code and description of the refusal.
pub(super) fn file(parameters: &Value) -> Result<(), (u16, &'static str)> {
    let bytes = |kind: &str| parameters[kind]["bytes"].as_u64();
    match bytes("photo").or(bytes("document")) {
        None | Some(0) => return Err((400, "Bad Request: file must be non-empty")),
        Some(FILE..) => return Err((413, "Request Entity Too Large")),
        Some(_) => {}
    }
    if bytes("photo") > Some(PHOTO) {
        return Err((400, "Bad Request: the file is too big for a photo"));
    }
    let caption = parameters["caption"].as_str().unwrap_or_default();
    if caption.encode_utf16().count() > CAPTION {
        return Err((400, "Bad Request: message caption is too long"));
    }
    Ok(())
}

fn range<'a>(entity: &'a Value, units: &[u16]) -> Option<(usize, usize, &'a str)> {
    let at = |key: &str| usize::try_from(entity[key].as_u64()?).ok();
    let (offset, length) = (at("offset")?, at("length")?);
    let inside = units.get(offset..offset.checked_add(length)?).filter(|inside| !inside.is_empty())?;
    String::from_utf16(inside).ok()?;
    Some((offset, offset + length, entity["type"].as_str()?))
}

/// Two entities lie apart, or one is in the other; code is in a quote alone.
fn may_overlap(a: (usize, usize, &str), b: (usize, usize, &str)) -> bool {
    let apart = a.1 <= b.0 || b.1 <= a.0;
    let nested = (a.0 <= b.0 && b.1 <= a.1) || (b.0 <= a.0 && a.1 <= b.1);
    let code = |kind: &str| kind == "code" || kind == "pre";
    let quoted = (a.2 == "blockquote") != (b.2 == "blockquote");
    apart || (nested && (quoted || !(code(a.2) || code(b.2))))
}

/// The rates: 30 messages a second, 20 a minute in a group, and about one a second in a chat, of which five may come at once.
#[derive(Default)]
pub(super) struct Rates {
    sent: HashMap<i64, Vec<Instant>>,
}

impl Rates {
    /// Counts a message, or gives the seconds after which it may be sent.
    pub(super) fn admit(&mut self, chat: i64) -> Result<(), u64> {
        let now = Instant::now();
        let within = |sent: &[Instant], span: u64| {
            sent.iter().filter(|at| now.duration_since(**at) < Duration::from_secs(span)).count()
        };
        let everywhere: usize = self.sent.values().map(|sent| within(sent, 1)).sum();
        let own = self.sent.entry(chat).or_default();
        if everywhere >= 30 {
            return Err(1);
        }
        if within(own, 5) >= 5 {
            return Err(2);
        }
        if chat < 0 && within(own, 60) >= 20 {
            return Err(30);
        }
        own.push(now);
        Ok(())
    }
}
