//! One line of the record: `{"body":{...},"hash":"..."}`. The hash is SHA-256 of the hash before and the bytes of
//! the body as they stand in the file, so that verifying needs no re-encoding.

use ipc_proto::Name;
use ipc_proto::audit::{Event, Record, Serial};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A SHA-256 hash.
pub(crate) type Hash = [u8; 32];
/// What stands before the first hash.
pub(crate) const GENESIS: Hash = [0; 32];
/// Bytes of one line, line break included: a record has no free-form part, so it is far shorter.
pub(crate) const BOUND: usize = 16 * 1024;

const HEAD: &str = "{\"body\":";
const MIDDLE: &str = ",\"hash\":\"";
const TAIL: &str = "\"}";

/// A record without its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Body {
    pub(crate) index: u64,
    pub(crate) time_ms: u64,
    pub(crate) witness: Name,
    pub(crate) serial: Serial,
    pub(crate) event: Event,
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LineFault {
    #[error("not a line of the record")]
    Form,
    #[error("the hash does not follow from the entry and the one before")]
    Hash,
    #[error("the index is not the next one")]
    Index,
}

/// The line of a body, with its line break, and its hash.
pub(crate) fn write(before: &Hash, body: &Body) -> Result<(String, Hash), LineFault> {
    let json = serde_json::to_string(body).map_err(|_| LineFault::Form)?;
    let hash = joined(before, json.as_bytes());
    Ok((format!("{HEAD}{json}{MIDDLE}{}{TAIL}\n", hex(&hash)), hash))
}

/// Checks a line (without its line break) against the hash before it.
pub(crate) fn read(before: &Hash, index: u64, line: &str) -> Result<(Body, Hash), LineFault> {
    let (json, hash) = parts(line).ok_or(LineFault::Form)?;
    let computed = joined(before, json.as_bytes());
    if hex(&computed) != hash {
        return Err(LineFault::Hash);
    }
    let body: Body = serde_json::from_str(json).map_err(|_| LineFault::Form)?;
    if body.index == index { Ok((body, computed)) } else { Err(LineFault::Index) }
}

/// A line's record, unchecked: for showing.
pub(crate) fn show(line: &str) -> Option<Record> {
    let (json, hash) = parts(line)?;
    let Body { index, time_ms, witness, serial, event } = serde_json::from_str(json).ok()?;
    Some(Record { index, time_ms, witness, serial, event, hash: unhex(hash)? })
}

fn parts(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix(HEAD)?.strip_suffix(TAIL)?;
    let at = rest.len().checked_sub(64)?;
    let (json, hash) = rest.split_at_checked(at)?;
    Some((json.strip_suffix(MIDDLE)?, hash))
}

fn joined(before: &Hash, body: &[u8]) -> Hash {
    Sha256::new().chain_update(before).chain_update(body).finalize().into()
}

pub(crate) fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Hash> {
    let digits: Option<Vec<u8>> =
        (0..64).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect();
    digits?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::audit::{Action, Result3};

    pub(crate) fn body(index: u64) -> Body {
        let event = Event::new(Action::ToolDecided, Result3::Success).about("bash");
        Body {
            index,
            time_ms: 1,
            witness: Name::clip("gate"),
            serial: Serial { life: 1, number: index + 1 },
            event,
        }
    }

    #[test]
    fn a_line_reads_back_and_an_edited_byte_anywhere_is_found() {
        let (line, hash) = write(&GENESIS, &body(0)).unwrap();
        let line = line.trim_end();
        assert_eq!(read(&GENESIS, 0, line), Ok((body(0), hash)));
        assert_eq!(show(line).map(|record| record.hash), Some(hash));
        for at in 0..line.len() {
            let mut bytes = line.as_bytes().to_vec();
            bytes[at] ^= 1;
            let edited = String::from_utf8_lossy(&bytes).into_owned();
            assert!(read(&GENESIS, 0, &edited).is_err(), "byte {at}");
        }
        assert!(read(&hash, 0, line).is_err());
        assert_eq!(read(&GENESIS, 1, line), Err(LineFault::Index));
    }

    proptest::proptest! {
        #[test]
        fn any_line_at_all_is_read_or_refused(text in ".{0,300}") {
            let _ = read(&GENESIS, 0, &text);
            let _ = show(&text);
        }
    }
}
