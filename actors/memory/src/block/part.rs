//! A part of a block under way: its text within the room that it may take, and which row each stretch of it tells of, so
//! that whoever finds something in the text can say whose it is. Pure.

use super::room::Room;
use ipc_proto::ids::MemoryId;
use std::ops::Range;

/// A stretch: the row that it tells of, none of a session; and its bytes.
pub(super) type Stretch = (Option<MemoryId>, Range<usize>);

/// Text, and whose the stretches of it are that tell of something stored.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub(super) text: String,
    pub(super) of: Vec<Stretch>,
}

impl Told {
    /// The host's own words.
    pub(super) fn say(&mut self, words: &str) {
        self.text.push_str(words);
    }

    /// What a row or a session says.
    pub(super) fn tell(&mut self, row: Option<MemoryId>, text: &str) {
        let from = self.text.len();
        self.text.push_str(text);
        self.of.push((row, from..self.text.len()));
    }

    /// What follows.
    pub(super) fn then(&mut self, next: Self) {
        let behind = self.text.len();
        self.text.push_str(&next.text);
        self.of.extend(next.of.into_iter().map(|(row, at)| (row, at.start + behind..at.end + behind)));
    }
}

/// A part, and the room that it has left.
pub(super) struct Part {
    pub(super) told: Told,
    pub(super) room: Room,
}

impl Part {
    pub(super) fn new(room: Room) -> Self {
        Self { told: Told::default(), room }
    }

    /// Says it, if it fits.
    pub(super) fn say(&mut self, words: &str) -> bool {
        let fits = self.room.take(words);
        if fits {
            self.told.say(words);
        }
        fits
    }

    /// Tells it, if it fits.
    pub(super) fn tell(&mut self, row: Option<MemoryId>, text: &str) -> bool {
        let fits = self.room.take(text);
        if fits {
            self.told.tell(row, text);
        }
        fits
    }

    /// What it tells; nothing where it only has its heading.
    pub(super) fn told(self) -> Told {
        if self.told.of.is_empty() { Told::default() } else { self.told }
    }
}
