//! The browser of a session: the commands that the gate gives to the jail in which it runs, and the replies. Whatever comes back is
//! a stranger's.

use crate::{Blob, List, Text};
use serde::{Deserialize, Serialize};

/// Bytes of an address.
pub const ADDRESS: usize = 2048;
/// Bytes of a text that is typed.
pub const TYPED: usize = 8 * 1024;
/// Bytes of a snapshot.
pub const SNAPSHOT: usize = 64 * 1024;
/// Lines of a snapshot, each one element or one piece of text.
pub const SNAPSHOT_LINES: u32 = 2000;
/// Bytes of a picture.
pub const PICTURE: usize = 1_000_000;
/// Seconds until a page must have begun to show, and until any other command is given up.
pub const NAVIGATION_SECONDS: u16 = 30;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Opens an address of `http` or `https`.
    Navigate {
        /// The address.
        url: Text<ADDRESS>,
    },
    /// Describes the page, and numbers what can be used in it. References of earlier snapshots end.
    Snapshot,
    /// Clicks an element.
    Click {
        /// Its number in the last snapshot.
        reference: u32,
    },
    /// Puts a text into a field, in place of what it holds.
    Type {
        /// Its number in the last snapshot.
        reference: u32,
        /// The text.
        text: Text<TYPED>,
    },
    /// Chooses options of a list.
    Select {
        /// Its number in the last snapshot.
        reference: u32,
        /// Values or labels of the options; all others are left.
        values: List<Text<256>, 16>,
    },
    /// Presses a key, in the element that has the focus.
    Press {
        /// The key.
        key: Key,
    },
    /// Goes back to the page before.
    Back,
    /// Takes a picture of the visible part of the page.
    Screenshot,
    /// Ends the browser.
    Close,
}

/// A key. Letters are typed, and shortcuts do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is the name on the key")]
pub enum Key {
    Enter,
    Tab,
    Escape,
    Space,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
}

/// The state of the page after a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Its address.
    pub url: Text<ADDRESS>,
    /// Its title.
    pub title: Text<256>,
    /// Events since the last command.
    pub notes: List<Note, 8>,
}

/// An event that the page caused and the browser did not follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Note {
    /// A dialog was dismissed: its text.
    DialogDismissed(Text<256>),
    /// The page asked for more than ten dialogs, so its script was stopped.
    ScriptStopped,
    /// A second window was refused: its address.
    PopupRefused(Text<256>),
    /// A download was refused: the name of its file.
    DownloadRefused(Text<256>),
    /// The page asked for a file of the person's and was given none.
    ChooserRefused,
    /// The page still loads; it is shown as far as it is.
    StillLoading,
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The state of the page.
    Page(Page),
    /// A description of the page.
    Snapshot {
        /// The state of the page.
        page: Page,
        /// A line for each element and piece of text. `[N]` begins the line of an element that can be used, and no other.
        text: Text<SNAPSHOT>,
        /// The first reference in it. A session gives no number twice.
        first: u32,
        /// How many references there are.
        count: u32,
        /// The page has more than is shown.
        cut: bool,
    },
    /// A picture.
    Picture {
        /// The state of the page.
        page: Page,
        /// Its format.
        format: Format,
        /// Its bytes.
        bytes: Blob<PICTURE>,
    },
    /// The browser has ended.
    Closed,
}

/// The format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// `image/png`.
    Png,
    /// `image/jpeg`, where a PNG would be over the bound.
    Jpeg,
}

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum BrowserError {
    /// The reference is of no element that is there now.
    #[error("stale_ref: the page no longer has this element; take a new snapshot")]
    StaleRef,
    /// Another element covers it, or it has no place on the page.
    #[error("the element is not visible, or another covers it; take a new snapshot")]
    Covered,
    /// The element does not take this: a link is not typed into, and a field has no options.
    #[error("the element does not take this command: {0}")]
    Unfit(Text<128>),
    /// The address is not of `http` or `https`.
    #[error("the address must begin with http:// or https:// and name a host")]
    BadUrl,
    /// The page did not load: the browser's own word for it.
    #[error("the page did not load: {0}")]
    NotLoaded(Text<64>),
    /// There is no page before this one.
    #[error("there is no page before this one")]
    NoPage,
    /// It took too long.
    #[error("it took longer than {NAVIGATION_SECONDS} seconds")]
    TooLong,
    /// The page made the browser say more than is taken in.
    #[error("the page is too large for this command")]
    TooLarge,
    /// The page's process died. After a click nobody knows whether it had an effect.
    #[error("the browser has ended; the outcome of the last command is unknown")]
    Dead,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_s_commands_are_bounded_in_both_directions() {
        let long = "x".repeat(ADDRESS + 1);
        assert!(Text::<ADDRESS>::new(long).is_err());
        let typed = Command::Type { reference: 1, text: Text::clip("secret") };
        assert!(!format!("{typed:?}").contains("secret"), "what is typed is no part of a log");
    }
}
