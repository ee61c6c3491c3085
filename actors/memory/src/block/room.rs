//! The room that is left in a block. Tokens are estimated as everywhere in memory, a quarter of the characters, rounded
//! up; bytes are bounded by the size of a frame.

use ipc_proto::memory::BLOCK_BOUND;

/// Most tokens of any block.
const MOST: u32 = 64_000;
/// Characters that are one token.
const CHARS: usize = 4;

/// Room that is left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    chars: usize,
    bytes: usize,
}

impl Room {
    /// The room of a block of this many tokens.
    pub(super) fn of(tokens: u32) -> Self {
        let tokens = usize::try_from(tokens.min(MOST)).unwrap_or(0);
        Self { chars: tokens * CHARS, bytes: BLOCK_BOUND }
    }

    /// This many hundredths of it.
    pub(super) const fn share(self, hundredths: usize) -> Self {
        Self { chars: self.chars * hundredths / 100, bytes: self.bytes * hundredths / 100 }
    }

    /// One of `parts` equal parts of it.
    pub(super) fn one_of(self, parts: usize) -> Self {
        let parts = parts.max(1);
        Self { chars: self.chars / parts, bytes: self.bytes / parts }
    }

    /// Returns whether the text fits.
    pub(super) fn holds(self, text: &str) -> bool {
        text.chars().count() <= self.chars && text.len() <= self.bytes
    }

    /// Takes the room of a text, if it fits.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let fits = self.holds(text);
        if fits {
            self.chars -= text.chars().count();
            self.bytes -= text.len();
        }
        fits
    }

    /// Characters of which a text may consist, whatever they are.
    pub(super) fn any(self) -> usize {
        self.chars.min(self.bytes / 4)
    }
}

/// Tokens of a text.
pub(super) fn tokens(text: &str) -> u32 {
    u32::try_from(text.chars().count().div_ceil(CHARS)).unwrap_or(u32::MAX)
}
