//! Streams of lines and of server-sent events, split as they come: bytes in, whole lines or the data of whole events
//! out. It does not read their content, keeps at most one of them, and takes any bytes at all.

/// Bytes of one line, and of the data of one event.
pub(crate) const BOUND: usize = 1024 * 1024;
/// A mark that some servers put before everything.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line or an event is over the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// A stream of lines that is being taken apart. Each ends with `\n`, `\r` or both.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    line: Vec<u8>,
    /// The last byte was a `\r`, which ended a line; a `\n` now belongs to it.
    after_return: bool,
}

impl Lines {
    /// Takes bytes, and gives the lines that they complete, without their ends.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut lines = Vec::new();
        let mut rest = bytes;
        if self.after_return && !rest.is_empty() {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            self.after_return = false;
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (part, after) = rest.split_at_checked(end).unwrap_or((rest, b""));
            self.keep(part)?;
            rest = match after {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_return = true;
                    b""
                }
                [_, rest @ ..] => rest,
                [] => b"",
            };
            lines.push(std::mem::take(&mut self.line));
        }
        self.keep(rest)?;
        Ok(lines)
    }

    /// The part that the end of the stream cut short.
    pub(crate) fn end(self) -> Vec<u8> {
        self.line
    }

    fn keep(&mut self, part: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + part.len() > BOUND {
            return Err(TooLong);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }
}

/// A stream of events that is being taken apart.
#[derive(Debug, Default)]
pub(crate) struct Sse {
    lines: Lines,
    data: Option<Vec<u8>>,
    begun: bool,
}

impl Sse {
    /// Takes bytes, and gives the data of the events that they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut events = Vec::new();
        for line in self.lines.feed(bytes)? {
            events.extend(self.line(&line)?);
        }
        Ok(events)
    }

    /// The data of an event that the end of the stream cut short: its last line may not be whole.
    pub(crate) fn end(mut self) -> Result<Option<String>, TooLong> {
        let line = std::mem::take(&mut self.lines).end();
        // A line of nothing is the blank one that ends an event.
        let ended = self.line(&line)?;
        Ok(ended.or_else(|| self.dispatch()))
    }

    fn line(&mut self, line: &[u8]) -> Result<Option<String>, TooLong> {
        let first = !std::mem::replace(&mut self.begun, true);
        let line = if first { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => (line.get(..at).unwrap_or_default(), line.get(at + 1..).unwrap_or_default()),
            None => (line, &b""[..]),
        };
        if field == b"data" {
            self.add(value.strip_prefix(b" ").unwrap_or(value))?;
        }
        Ok(None)
    }

    fn add(&mut self, value: &[u8]) -> Result<(), TooLong> {
        let Some(data) = &mut self.data else {
            self.data = Some(value.to_vec());
            return Ok(());
        };
        if data.len() + value.len() >= BOUND {
            return Err(TooLong);
        }
        data.push(b'\n');
        data.extend_from_slice(value);
        Ok(())
    }

    /// Bytes that are not UTF-8 become U+FFFD, as the format has it.
    fn dispatch(&mut self) -> Option<String> {
        self.data.take().map(|data| String::from_utf8_lossy(&data).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(parts: &[&[u8]]) -> Vec<String> {
        let mut sse = Sse::default();
        parts.iter().flat_map(|part| sse.feed(part).unwrap()).collect()
    }

    #[test]
    fn fields_comments_and_line_ends_are_as_the_format_has_them() {
        for (stream, events) in [
            ("data: a\n\ndata:b\n\n", &["a", "b"][..]),
            ("\u{feff}data: a\r\n\r\ndata:  b\r\rdata: c\n\n", &["a", " b", "c"]),
            (": comment\nevent: x\nid: 1\nretry: 5\ndata: a\ndata: b\n\n\n\n", &["a\nb"]),
            ("data\n\n", &[""]),
            ("datum: a\n\nDATA: b\n\n", &[]),
            ("data: not ended\n", &[]),
            ("", &[]),
        ] {
            assert_eq!(whole(&[stream.as_bytes()]), events, "{stream:?}");
        }
    }

    #[test]
    fn lines_end_as_they_may_and_the_last_is_kept_apart() {
        let mut lines = Lines::default();
        let parts = [&b"a\n\nb\r"[..], b"\nc\rd", b""];
        let whole: Vec<Vec<u8>> = parts.iter().flat_map(|part| lines.feed(part).unwrap()).collect();
        assert_eq!(whole, [&b"a"[..], b"", b"b", b"c"]);
        assert_eq!(lines.end(), b"d");
    }

    #[test]
    fn the_same_events_come_wherever_the_stream_is_cut() {
        let stream = "\u{feff}: hi\r\ndata: {\"a\":\"é→\u{1F600}\"}\r\n\r\ndata: 2\n\ndata: 3\rdata: 4\r\rdata: [DONE]\n\n";
        let expected = whole(&[stream.as_bytes()]);
        assert_eq!(expected.len(), 4);
        for at in 0..=stream.len() {
            let (first, second) = stream.as_bytes().split_at(at);
            assert_eq!(whole(&[first, second]), expected, "{at}");
        }
        let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        assert_eq!(whole(&bytes), expected);
    }

    #[test]
    fn an_event_that_the_end_cuts_short_is_given_as_it_is() {
        let mut sse = Sse::default();
        assert_eq!(sse.feed(b"data: [DONE]").unwrap(), [""; 0]);
        assert_eq!(sse.end(), Ok(Some("[DONE]".to_owned())));
        let mut sse = Sse::default();
        assert_eq!(sse.feed(b"data: [DONE]\n").unwrap(), [""; 0], "the blank line is missing");
        assert_eq!(sse.end(), Ok(Some("[DONE]".to_owned())));
        assert_eq!(Sse::default().end(), Ok(None));
    }

    // Holds B-92.
    #[test]
    fn a_line_or_an_event_over_the_bound_ends_it() {
        let mut sse = Sse::default();
        let half = vec![b'x'; BOUND / 2];
        assert_eq!(sse.feed(b"data: ").unwrap(), [""; 0]);
        assert!(sse.feed(&half).is_ok());
        assert_eq!(sse.feed(&half), Err(TooLong));

        let mut sse = Sse::default();
        let line = [b"data: ", half.as_slice(), b"\n"].concat();
        assert!(sse.feed(&line).is_ok());
        assert_eq!(sse.feed(&line), Err(TooLong));
    }

    proptest! {
        #[test]
        fn any_bytes_cut_anyhow_give_the_same_events(stream in "(data: |data|:|x|é|\r|\n){0,40}", cut in 1usize..7) {
            let parts: Vec<&[u8]> = stream.as_bytes().chunks(cut).collect();
            prop_assert_eq!(whole(&parts), whole(&[stream.as_bytes()]));
        }

        #[test]
        fn bytes_that_are_no_text_do_no_harm(bytes: Vec<u8>) {
            let mut sse = Sse::default();
            sse.feed(&bytes).unwrap();
            sse.end().unwrap();
        }
    }
}
