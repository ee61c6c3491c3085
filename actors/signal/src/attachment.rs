//! The file in a reply of `getAttachment`: base64 in the text under `data`, which is decoded as it comes. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use channel::Decode;

/// The key of the text.
const KEY: &[u8] = b"\"data\"";
/// The longest beginning of a reply before that text, in bytes.
const BEGINNING: usize = 4096;

/// The place in a reply.
#[derive(Default)]
enum Place {
    /// Before the text.
    #[default]
    Before,
    /// In the text.
    Within,
    /// Behind it.
    Behind,
}

/// The decoder of one reply.
#[derive(Default)]
pub(crate) struct Data {
    place: Place,
    /// The beginning of the reply, and later characters that are no whole group of four yet.
    held: Vec<u8>,
}

impl Decode for Data {
    fn push(&mut self, part: &[u8], last: bool) -> Option<Vec<u8>> {
        let file = match self.place {
            Place::Before => {
                self.held.extend_from_slice(part);
                self.begin()?
            }
            Place::Within => self.decode(part)?,
            Place::Behind => Vec::new(),
        };
        (!last || matches!(self.place, Place::Behind)).then_some(file)
    }
}

impl Data {
    /// Looks for the text in the beginning of the reply.
    fn begin(&mut self) -> Option<Vec<u8>> {
        let held = &self.held;
        let key = held.windows(KEY.len()).position(|window| window == KEY);
        let colon = |byte: &u8| *byte == b':' || byte.is_ascii_whitespace();
        let value = key.and_then(|at| {
            let behind = at.saturating_add(KEY.len());
            let skipped = held.get(behind..)?.iter().take_while(|byte| colon(byte)).count();
            Some(behind.saturating_add(skipped)).filter(|at| *at < held.len())
        });
        let Some(value) = value else { return (held.len() <= BEGINNING).then(Vec::new) };
        let text = held.get(value..)?.strip_prefix(b"\"")?.to_vec();
        (self.place, self.held) = (Place::Within, Vec::new());
        self.decode(&text)
    }

    fn decode(&mut self, part: &[u8]) -> Option<Vec<u8>> {
        let text = match part.iter().position(|byte| *byte == b'"') {
            Some(end) => {
                self.place = Place::Behind;
                part.get(..end)?
            }
            None => part,
        };
        // JSON may write a slash behind a backslash.
        self.held.extend(text.iter().filter(|byte| **byte != b'\\'));
        if matches!(self.place, Place::Behind) {
            return STANDARD.decode(std::mem::take(&mut self.held)).ok();
        }
        // The last group, which may be padded, is decoded at the end.
        let whole = self.held.len().saturating_sub(1) / 4 * 4;
        let rest = self.held.split_off(whole);
        STANDARD
            .decode(std::mem::replace(&mut self.held, rest))
            .ok()
            .filter(|bytes| bytes.len() == whole / 4 * 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(reply: &[u8], size: usize) -> Option<Vec<u8>> {
        let (mut data, mut file) = (Data::default(), Vec::new());
        let parts: Vec<&[u8]> = reply.chunks(size.max(1)).collect();
        for (at, part) in parts.iter().enumerate() {
            file.extend(data.push(part, at + 1 == parts.len())?);
        }
        Some(file)
    }

    // Holds P11-55.
    #[test]
    fn a_reply_without_a_whole_file_gives_none() {
        for reply in [
            r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"no","data":null},"id":1}"#,
            r#"{"result":{"data":"AAAA"#,
            r#"{"result":{"data":"A=AA"}}"#,
            r#"{"result":{"data":"AA==AAAAA"}}"#,
            r#"{"result":{"data":"!!!!"}}"#,
            r#"{"result":{}}"#,
            "",
        ] {
            for size in 1..=reply.len().max(1) {
                let read = read(reply.as_bytes(), size);
                assert!(read.is_none_or(|file| file.is_empty() && reply.is_empty()), "{reply} {size}");
            }
        }
        assert_eq!(read(&[b' '; 5000], 1000), None);
    }

    proptest! {
        // Holds P11-55.
        #[test]
        fn a_file_comes_out_however_its_reply_is_cut(
            file in prop::collection::vec(any::<u8>(), 0..200), size in 1_usize..300, escaped in any::<bool>(),
        ) {
            let mut text = STANDARD.encode(&file);
            if escaped {
                text = text.replace('/', "\\/");
            }
            for reply in [
                format!(r#"{{"jsonrpc":"2.0","result":{{"data":"{text}"}},"id":1}}"#),
                format!(r#"{{"result": {{"data" : "{text}"}} }}"#),
            ] {
                prop_assert_eq!(read(reply.as_bytes(), size), Some(file.clone()));
            }
        }

        #[test]
        fn no_bytes_stop_the_decoder(bytes in prop::collection::vec(any::<u8>(), 0..200), size in 1_usize..50) {
            let _ = read(&bytes, size);
            let _ = read(&[b"{\"data\":\"".as_slice(), &bytes].concat(), size);
        }
    }
}
