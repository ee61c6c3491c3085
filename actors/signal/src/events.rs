//! The stream of events, as server-sent events write it: lines of `data:`, ended by an empty one. Pure.

/// The longest event, in bytes.
const LONGEST: usize = 1024 * 1024;

/// The bytes that came and are no whole event yet.
#[derive(Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    /// The event is over its bound: it is skipped to its end.
    skipped: bool,
}

impl Events {
    /// Adds bytes; gives the data of each event that they end, none for one that was too long.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Option<Vec<u8>>> {
        let mut ended = Vec::new();
        for byte in bytes {
            if *byte != b'\n' {
                if self.line.len() < LONGEST {
                    self.line.push(*byte)
                } else {
                    self.skipped = true
                }
                continue;
            }
            let mut line = std::mem::take(&mut self.line);
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            if line.is_empty() {
                ended.extend(self.end());
            } else if let Some(data) = line.strip_prefix(b"data:") {
                self.skipped |= self.data.len() + data.len() > LONGEST;
                if !self.skipped {
                    self.data.extend_from_slice(data);
                }
            }
        }
        ended
    }

    fn end(&mut self) -> Option<Option<Vec<u8>>> {
        let (data, skipped) = (std::mem::take(&mut self.data), std::mem::take(&mut self.skipped));
        if skipped { Some(None) } else { (!data.is_empty()).then_some(Some(data)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_ends_at_an_empty_line_however_it_is_cut() {
        let stream = b":keep\n\nevent:receive\r\ndata:{\"a\":\r\ndata: 1}\r\n\r\ndata:x\n\n";
        for size in 1..stream.len() {
            let mut events = Events::default();
            let all: Vec<_> = stream.chunks(size).flat_map(|part| events.push(part)).flatten().collect();
            assert_eq!(all, [b"{\"a\": 1}".to_vec(), b"x".to_vec()], "{size}");
        }
    }

    #[test]
    fn an_event_over_the_bound_is_skipped_and_the_next_is_read() {
        let mut events = Events::default();
        let long = [b"data:".to_vec(), vec![b'x'; LONGEST + 1], b"\n\ndata:y\n\n".to_vec()].concat();
        assert_eq!(events.push(&long), [None, Some(b"y".to_vec())]);
    }
}
