//! The values of a response: atoms, strings, literals and lists. Depth and number are bounded.

/// Lists in lists, at most.
const DEPTH: usize = 16;
/// Values of one response, at most.
const VALUES: usize = 16 * 1024;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// A word without quotes, brackets within it included.
    Atom(&'a [u8]),
    /// A quoted string or a literal.
    Text(Vec<u8>),
    /// A list.
    List(Vec<Self>),
    /// `NIL`.
    Nil,
}

impl Value<'_> {
    /// Its bytes; none of a list or of nothing.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Atom(bytes) => Some(bytes),
            Self::Text(bytes) => Some(bytes),
            Self::List(_) | Self::Nil => None,
        }
    }

    /// Its number.
    pub(crate) fn number<N: std::str::FromStr>(&self) -> Option<N> {
        number(self.bytes()?)
    }
}

/// The number that these digits are.
pub(crate) fn number<N: std::str::FromStr>(digits: &[u8]) -> Option<N> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()
}

/// Returns the length of the literal that is announced at the end of a line: `{12}`.
pub(crate) fn announced(line: &[u8]) -> Option<u64> {
    let inner = line.strip_suffix(b"}")?;
    let open = inner.iter().rposition(|byte| *byte == b'{')?;
    let digits = inner.get(open.saturating_add(1)..)?;
    number(digits.strip_suffix(b"+").unwrap_or(digits))
}

/// The values of a text, literals included; none if it is malformed or over a bound.
pub(crate) fn values(text: &[u8]) -> Option<Vec<Value<'_>>> {
    let mut reader = Reader { rest: text, count: 0 };
    let values = reader.list(0)?;
    reader.rest.is_empty().then_some(values)
}

struct Reader<'a> {
    rest: &'a [u8],
    count: usize,
}

impl<'a> Reader<'a> {
    /// Values up to the end of the list, which is left, or of the text.
    fn list(&mut self, depth: usize) -> Option<Vec<Value<'a>>> {
        let mut values = Vec::new();
        loop {
            let Some(first) = self.rest.first() else { return Some(values) };
            match first {
                b' ' => self.skip(1)?,
                b')' => return Some(values),
                _ => {
                    self.count += 1;
                    if self.count > VALUES {
                        return None;
                    }
                    values.push(self.value(*first, depth)?);
                }
            }
        }
    }

    fn value(&mut self, first: u8, depth: usize) -> Option<Value<'a>> {
        match first {
            b'(' if depth < DEPTH => {
                self.skip(1)?;
                let inner = self.list(depth + 1)?;
                // The text may have ended before its list.
                (self.rest.first() == Some(&b')')).then_some(())?;
                self.skip(1)?;
                Some(Value::List(inner))
            }
            b'"' => self.quoted(),
            b'{' => self.literal(),
            b'(' => None,
            _ => self.atom(),
        }
    }

    fn quoted(&mut self) -> Option<Value<'a>> {
        self.skip(1)?;
        let mut text = Vec::new();
        loop {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            match byte {
                b'"' => return Some(Value::Text(text)),
                b'\\' => {
                    let (byte, rest) = rest.split_first()?;
                    text.push(*byte);
                    self.rest = rest;
                }
                b'\r' | b'\n' => return None,
                other => text.push(*other),
            }
        }
    }

    fn literal(&mut self) -> Option<Value<'a>> {
        let end = self.rest.windows(2).position(|pair| pair == b"\r\n")?;
        let length = usize::try_from(announced(self.rest.get(..end)?)?).ok()?;
        self.skip(end.checked_add(2)?)?;
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(Value::Text(text.to_vec()))
    }

    /// A word. Brackets hold what would end it: `BODY[HEADER.FIELDS (SUBJECT)]<0>`.
    fn atom(&mut self) -> Option<Value<'a>> {
        let mut depth = 0_usize;
        let end = self.rest.iter().position(|byte| {
            match byte {
                b'[' => depth += 1,
                b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && matches!(byte, b' ' | b'(' | b')' | b'"')
        });
        let (atom, rest) = self.rest.split_at_checked(end.unwrap_or(self.rest.len()))?;
        if atom.is_empty() || atom.iter().any(u8::is_ascii_control) {
            return None;
        }
        self.rest = rest;
        Some(if atom.eq_ignore_ascii_case(b"NIL") { Value::Nil } else { Value::Atom(atom) })
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.rest = self.rest.get(bytes..)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_atoms_strings_literals_and_lists() {
        let text = b"(UID 7 BODY[HEADER.FIELDS (SUBJECT)]<0> {3}\r\na\"( FLAGS (\\Seen) X \"q\\\"\" NIL)";
        let all = values(text).unwrap();
        let [Value::List(inner)] = all.as_slice() else { panic!("one list") };
        assert_eq!(inner[1].number::<u32>(), Some(7));
        assert_eq!(inner[2], Value::Atom(b"BODY[HEADER.FIELDS (SUBJECT)]<0>"));
        assert_eq!(inner[3], Value::Text(b"a\"(".to_vec()));
        assert_eq!(inner[5], Value::List(vec![Value::Atom(b"\\Seen")]));
        assert_eq!((&inner[7], &inner[8]), (&Value::Text(b"q\"".to_vec()), &Value::Nil));
    }

    #[test]
    fn what_lies_about_its_length_or_never_ends_is_malformed() {
        let deep = "(".repeat(100_000);
        for text in
            ["({9}\r\nab)", "(a", "a)", "\"a", "\"a\r\n\"", "{99999999999999999999}\r\n", &deep, "a\0b"]
        {
            assert_eq!(values(text.as_bytes()), None, "{:.20}", text);
        }
        assert_eq!(values("a ".repeat(VALUES + 1).as_bytes()), None);
    }

    proptest! {
        #[test]
        fn whatever_a_server_says_ends(text in "(\\(|\\)|\\{[0-9]{0,3}\\}\r\n|\"|\\\\|NIL|\\[|\\]| |[a-z]){0,40}") {
            let _ = values(text.as_bytes());
        }
    }
}
