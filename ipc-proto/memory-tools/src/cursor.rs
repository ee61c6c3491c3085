//! Cursors: a position in a list, bound to the question that the list answers. No cursor is secret; a cursor of another
//! question is refused, since its list is another one.

use crate::envelope::Fault;
use data_encoding::BASE64URL_NOPAD as CODE;
use ipc_proto::List;
use ipc_proto::memory::{BEHIND, Start};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Bytes of a hash that stand for a question.
const HASH: usize = 12;

/// Bytes of an id.
const ID: usize = 16;

/// A position in a list of rows or sessions, by ids: a count would be wrong after rows are added or removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reached {
    /// The list that the cursor belongs to, of several.
    pub(crate) list: u8,
    /// The ids of the last of it, oldest last; none at its beginning.
    ids: Vec<[u8; ID]>,
}

impl Reached {
    /// The beginning of a list.
    pub(crate) fn list(list: u8) -> Self {
        Self { list, ids: Vec::new() }
    }

    /// The one with this id was read.
    pub(crate) fn past(&mut self, id: [u8; ID]) {
        if self.ids.len() == BEHIND {
            self.ids.remove(0);
        }
        self.ids.push(id);
    }

    /// Where the list goes on, its ids being those that `id` makes of bytes.
    pub(crate) fn start<T>(&self, id: fn([u8; ID]) -> T) -> Start<T> {
        Start::Behind(List::clip(self.ids.iter().copied().map(id)))
    }
}

/// A question whose answer may continue.
#[derive(Clone, Debug)]
pub(crate) struct Bound([u8; HASH]);

impl Bound {
    /// The question of a tool's call: its place and its arguments without those that only limit the page.
    pub(crate) fn to(parts: &Value) -> Self {
        let hash = Sha256::digest(parts.to_string().as_bytes());
        let mut bound = [0; HASH];
        bound.iter_mut().zip(hash).for_each(|(into, from)| *into = from);
        Self(bound)
    }

    /// The cursor that continues from here.
    pub(crate) fn at(&self, place: u64) -> String {
        CODE.encode(&[&self.0[..], &place.to_be_bytes()].concat())
    }

    /// The cursor that continues behind these.
    pub(crate) fn behind(&self, reached: &Reached) -> String {
        let mut bytes = [&self.0[..], &[reached.list]].concat();
        bytes.extend(reached.ids.as_flattened());
        CODE.encode(&bytes)
    }

    /// The position of a cursor.
    ///
    /// # Errors
    /// It is none, or of another question.
    pub(crate) fn read(&self, cursor: &str) -> Result<u64, Fault> {
        self.decoded(cursor, |place| Some(u64::from_be_bytes(place.try_into().ok()?)))
    }

    /// The rows or sessions behind which a cursor continues.
    ///
    /// # Errors
    /// It is none, or of another question.
    pub(crate) fn reached(&self, cursor: &str) -> Result<Reached, Fault> {
        self.decoded(cursor, |place| {
            let (list, ids) = place.split_first()?;
            let (ids, rest) = ids.as_chunks::<ID>();
            (rest.is_empty() && ids.len() <= BEHIND).then(|| Reached { list: *list, ids: ids.to_vec() })
        })
    }

    fn decoded<T>(&self, cursor: &str, read: impl FnOnce(&[u8]) -> Option<T>) -> Result<T, Fault> {
        let bytes = CODE.decode(cursor.as_bytes()).ok();
        let place = bytes.as_ref().and_then(|bytes| read(bytes.strip_prefix(&self.0[..])?));
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
        let mut reached = Reached::list(2);
        for n in (0..).take(BEHIND + 1) {
            assert_eq!(one.reached(&one.behind(&reached)).unwrap(), reached);
            assert!(other.reached(&one.behind(&reached)).is_err());
            reached.past([n; ID]);
        }
        let last: Vec<[u8; ID]> = (1..).take(BEHIND).map(|n| [n; ID]).collect();
        assert_eq!(reached.ids, last, "the last of them are enough");
        assert!(one.behind(&reached).len() <= 256, "it is as short as the field may be");
    }

    proptest::proptest! {
        #[test]
        fn any_text_at_all_is_answered(text: String) {
            let _ = Bound::to(&Value::Null).read(&text);
            let _ = Bound::to(&Value::Null).reached(&text);
        }
    }
}
