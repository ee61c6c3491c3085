//! The responses of a server, out of the bytes of its line. A response that is over its bound, or announces a literal over it, is
//! malformed before it is read.

use super::values::{Value, announced, number, values};

/// Bytes of one response, literals included.
pub(crate) const BOUND: usize = 1024 * 1024;
/// Numbers of one search that are kept.
const NUMBERS: usize = 100_000;

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Response {
    /// `+`: the server waits for more.
    More,
    /// The end of the command with this tag.
    Done {
        /// The tag.
        tag: String,
        /// True for `OK`.
        ok: bool,
        /// The code in brackets, in upper case.
        code: String,
    },
    /// `OK`, `NO` or `BAD` without a tag.
    Status {
        /// The code in brackets, in upper case.
        code: String,
    },
    /// The server ends the session.
    Bye,
    /// The number of messages in the mailbox.
    Exists(u32),
    /// Parts of a message.
    Fetched(Fetched),
    /// Messages that were found, ascending.
    Found(Vec<u32>),
    /// A mailbox.
    Mailbox {
        /// Its attributes, in lower case.
        attributes: Vec<String>,
        /// Its name.
        name: Vec<u8>,
    },
    /// The abilities of the server, in upper case.
    Capable(Vec<String>),
    /// One that is not used here.
    Other,
}

/// Parts of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fetched {
    /// Its UID.
    pub(crate) uid: u32,
    /// Its size in bytes, as the server says.
    pub(crate) size: u64,
    /// The date of its arrival.
    pub(crate) date: String,
    /// Bytes of it.
    pub(crate) body: Option<Vec<u8>>,
}

/// Bytes that are no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The bytes of a line, which become responses.
#[derive(Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
    /// The beginning of the next response.
    start: usize,
    /// The beginning of its line that is looked at, behind the literals before it.
    line: usize,
    /// The end of what was searched for the end of that line.
    searched: usize,
}

impl Reader {
    /// Adds bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.line = self.line.saturating_sub(self.start);
        self.searched = self.searched.saturating_sub(self.start);
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next response; none until more bytes came.
    ///
    /// # Errors
    /// [`Malformed`]: the line cannot be used any more.
    pub(crate) fn next(&mut self) -> Result<Option<Response>, Malformed> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(end) = unsearched.windows(2).position(|pair| pair == b"\r\n") else {
                self.searched = self.buffer.len().saturating_sub(1).max(self.searched);
                let length = self.buffer.len().saturating_sub(self.start);
                return if length > BOUND { Err(Malformed) } else { Ok(None) };
            };
            let end = self.searched + end;
            let line = self.buffer.get(self.line..end).unwrap_or_default();
            let Some(literal) = announced(line) else {
                let text = self.buffer.get(self.start..end).unwrap_or_default();
                let response = response(text).ok_or(Malformed)?;
                self.start = end + 2;
                (self.line, self.searched) = (self.start, self.start);
                return Ok(Some(response));
            };
            let next = usize::try_from(literal).ok().and_then(|length| length.checked_add(end + 2));
            let next = next.filter(|next| next - self.start <= BOUND).ok_or(Malformed)?;
            if self.buffer.len() < next {
                return Ok(None);
            }
            (self.line, self.searched) = (next, next);
        }
    }
}

fn response(text: &[u8]) -> Option<Response> {
    if text.first() == Some(&b'+') {
        return Some(Response::More);
    }
    let (tag, rest) = word(text);
    let (first, after) = word(rest);
    if tag != b"*" {
        let tag = std::str::from_utf8(tag).ok()?.to_owned();
        let ok = first.eq_ignore_ascii_case(b"OK");
        let refused = [b"NO".as_slice(), b"BAD"].iter().any(|word| first.eq_ignore_ascii_case(word));
        return (ok || refused).then(|| Response::Done { tag, ok, code: code(after) });
    }
    if let Some(number) = number(first) {
        return counted(number, after);
    }
    match first.to_ascii_uppercase().as_slice() {
        b"OK" | b"NO" | b"BAD" => Some(Response::Status { code: code(after) }),
        b"BYE" => Some(Response::Bye),
        b"SEARCH" => found(after),
        b"LIST" => mailbox(&values(after)?),
        b"CAPABILITY" => Some(Response::Capable(words(after))),
        _ => Some(Response::Other),
    }
}

/// The first word of a text, and what follows its space.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (word, rest.strip_prefix(b" ").unwrap_or(rest))
}

fn words(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).split_ascii_whitespace().map(str::to_ascii_uppercase).take(256).collect()
}

/// The code in brackets at the beginning of a text.
fn code(text: &[u8]) -> String {
    let inner = text.strip_prefix(b"[").and_then(|rest| rest.split(|byte| *byte == b']').next());
    String::from_utf8_lossy(inner.unwrap_or_default()).to_ascii_uppercase()
}

fn counted(number: u32, after: &[u8]) -> Option<Response> {
    let (kind, rest) = word(after);
    match kind.to_ascii_uppercase().as_slice() {
        b"EXISTS" => Some(Response::Exists(number)),
        b"FETCH" => fetched(&values(rest)?),
        _ => Some(Response::Other),
    }
}

fn fetched(values: &[Value<'_>]) -> Option<Response> {
    let [Value::List(items)] = values else { return None };
    let mut fetched = Fetched::default();
    for pair in items.chunks(2) {
        let [Value::Atom(name), value] = pair else { return None };
        let name = name.to_ascii_uppercase();
        match name.as_slice() {
            b"UID" => fetched.uid = value.number()?,
            b"RFC822.SIZE" => fetched.size = value.number()?,
            b"INTERNALDATE" => fetched.date = String::from_utf8_lossy(value.bytes()?).into_owned(),
            name if name.starts_with(b"BODY[") => {
                fetched.body = Some(value.bytes().unwrap_or_default().to_vec());
            }
            _ => {}
        }
    }
    Some(Response::Fetched(fetched))
}

fn found(text: &[u8]) -> Option<Response> {
    let words = text.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let mut numbers = words.take(NUMBERS).map(number).collect::<Option<Vec<u32>>>()?;
    numbers.sort_unstable();
    Some(Response::Found(numbers))
}

fn mailbox(values: &[Value<'_>]) -> Option<Response> {
    let [Value::List(attributes), _, name] = values else { return None };
    let attributes = attributes.iter().filter_map(Value::bytes);
    let attributes = attributes.map(|one| String::from_utf8_lossy(one).to_ascii_lowercase());
    Some(Response::Mailbox { attributes: attributes.collect(), name: name.bytes()?.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every response in these bytes, pushed in parts of this length.
    fn read(bytes: &[u8], part: usize) -> Result<Vec<Response>, Malformed> {
        let (mut reader, mut all) = (Reader::default(), Vec::new());
        for part in bytes.chunks(part.max(1)) {
            reader.push(part);
            while let Some(response) = reader.next()? {
                all.push(response);
            }
        }
        Ok(all)
    }

    const SAID: &[u8] = b"* OK [UIDVALIDITY 12] x\r\n* 3 EXISTS\r\n* CAPABILITY IMAP4rev1 idle\r\n\
        * LIST (\\HasNoChildren \\Sent) \"/\" \"Gesendet\"\r\n* SEARCH 9 4\r\n+ idling\r\n\
        * 3 FETCH (UID 9 RFC822.SIZE 5 INTERNALDATE \"17-Jul-1996 02:44:25 -0700\" BODY[]<0> {5}\r\na\r\n)b FLAGS ())\r\n\
        x7 NO [TRYCREATE] no\r\n";

    #[test]
    fn responses_are_read_however_their_bytes_come() {
        let whole = read(SAID, SAID.len()).unwrap();
        let fetched = Fetched {
            uid: 9,
            size: 5,
            date: "17-Jul-1996 02:44:25 -0700".to_owned(),
            body: Some(b"a\r\n)b".to_vec()),
        };
        let expected = [
            Response::Status { code: "UIDVALIDITY 12".to_owned() },
            Response::Exists(3),
            Response::Capable(vec!["IMAP4REV1".to_owned(), "IDLE".to_owned()]),
            Response::Mailbox {
                attributes: vec!["\\hasnochildren".to_owned(), "\\sent".to_owned()],
                name: b"Gesendet".to_vec(),
            },
            Response::Found(vec![4, 9]),
            Response::More,
            Response::Fetched(fetched),
            Response::Done { tag: "x7".to_owned(), ok: false, code: "TRYCREATE".to_owned() },
        ];
        assert_eq!(whole, expected);
        for part in 1..40 {
            assert_eq!(read(SAID, part).as_ref(), Ok(&whole), "in parts of {part}");
        }
    }

    #[test]
    fn a_response_over_its_bound_is_refused_before_it_is_read() {
        assert_eq!(read(b"* 1 FETCH (BODY[] {2000000}\r\n", 7), Err(Malformed));
        assert_eq!(read(b"* 1 FETCH (BODY[] {18446744073709551615}\r\n", 7), Err(Malformed));
        assert_eq!(read(&vec![b'a'; BOUND + 1], 65536), Err(Malformed));
    }

    #[test]
    fn a_literal_that_is_shorter_than_it_says_is_malformed() {
        assert_eq!(read(b"* 1 FETCH (UID 1 BODY[] {8}\r\nab)\r\nx1 OK\r\n", 64), Err(Malformed));
    }

    proptest! {
        #[test]
        fn whatever_a_server_says_is_read_the_same_in_any_parts(
            text in "(\\* |x1 OK|1 FETCH |\\(|\\)|UID 1|BODY\\[\\] |\\{[0-9]\\}\r\n|\r\n|\0|[a-z]| ){0,40}",
            part in 1_usize..9,
        ) {
            let whole = read(text.as_bytes(), text.len());
            if whole.is_ok() {
                prop_assert_eq!(read(text.as_bytes(), part), whole);
            }
        }
    }
}
