//! A part of a block under way: its text within its room, and the row that each span of the text comes from, so that a
//! reader who finds something in the text knows its source. Pure.

use super::room::Room;
use ipc_proto::ids::MemoryId;
use std::ops::Range;

/// A span: its row, none for a session; and its bytes.
pub(super) type Span = (Option<MemoryId>, Range<usize>);

/// Text, with the spans of it that come from something stored.
#[derive(Clone, Debug, Default)]
pub(super) struct AttributedText {
    pub(super) text: String,
    pub(super) spans: Vec<Span>,
}

impl AttributedText {
    /// Adds the host's own text.
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds the text of a row or a session.
    pub(super) fn push_row(&mut self, row: Option<MemoryId>, text: &str) {
        let from = self.text.len();
        self.text.push_str(text);
        self.spans.push((row, from..self.text.len()));
    }

    /// Appends another part.
    pub(super) fn append(&mut self, next: Self) {
        let behind = self.text.len();
        self.text.push_str(&next.text);
        self.spans.extend(next.spans.into_iter().map(|(row, at)| (row, at.start + behind..at.end + behind)));
    }
}

/// A part, and the room that it has left.
pub(super) struct Part {
    pub(super) text: AttributedText,
    pub(super) room: Room,
}

impl Part {
    pub(super) fn new(room: Room) -> Self {
        Self { text: AttributedText::default(), room }
    }

    /// Adds the host's own text, if it fits.
    pub(super) fn push(&mut self, text: &str) -> bool {
        let fits = self.room.take(text);
        if fits {
            self.text.push(text);
        }
        fits
    }

    /// Adds the text of a row or a session, if it fits.
    pub(super) fn push_row(&mut self, row: Option<MemoryId>, text: &str) -> bool {
        let fits = self.room.take(text);
        if fits {
            self.text.push_row(row, text);
        }
        fits
    }

    /// The part's text; nothing where it only has its heading.
    pub(super) fn into_text(self) -> AttributedText {
        if self.text.spans.is_empty() { AttributedText::default() } else { self.text }
    }
}
