//! Cursors: how far a list was read, bound to the question that it is an answer to. Nothing is secret in one; a cursor of
//! another question is refused, since going on with it would give neither list.

use crate::envelope::Fault;
use data_encoding::BASE64URL_NOPAD as CODE;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Bytes of a hash that stand for a question.
const HASH: usize = 12;

/// A question that an answer may be read on of.
#[derive(Clone, Debug)]
pub(crate) struct Bound([u8; HASH]);

impl Bound {
    /// A question, by its tool, its place and its arguments without those that only say how much of it.
    pub(crate) fn to(parts: &Value) -> Self {
        let hash = Sha256::digest(parts.to_string().as_bytes());
        let mut bound = [0; HASH];
        bound.iter_mut().zip(hash).for_each(|(into, from)| *into = from);
        Self(bound)
    }

    /// The cursor that goes on from here.
    pub(crate) fn at(&self, place: u64) -> String {
        CODE.encode(&[&self.0[..], &place.to_be_bytes()].concat())
    }

    /// How far a cursor is.
    ///
    /// # Errors
    /// It is none, or of another question.
    pub(crate) fn read(&self, cursor: &str) -> Result<u64, Fault> {
        let place = CODE.decode(cursor.as_bytes()).ok().and_then(|bytes| {
            let place = bytes.strip_prefix(&self.0[..])?;
            Some(u64::from_be_bytes(place.try_into().ok()?))
        });
        let valid = json!("the `meta.nextCursor` of an answer to the same question, or none");
        place.ok_or_else(|| Fault::field("cursor", "is of another question, or no cursor", valid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_good_for_its_own_question_alone() {
        let (one, other) = (Bound::to(&json!(["mem-find", "a"])), Bound::to(&json!(["mem-find", "b"])));
        assert_eq!(one.read(&one.at(7)).unwrap(), 7);
        assert!(other.read(&one.at(7)).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_text_at_all_is_answered(text: String) {
            let _ = Bound::to(&Value::Null).read(&text);
        }
    }
}
