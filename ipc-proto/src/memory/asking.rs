//! What memory can be asked, and what it answers. Every question is for one scope, which its bearer takes from the
//! connection; none names an owner.

use super::block::{Block, BlockAsk, Muted, Stats};
use super::entry::{Entry, Project, Row};
use super::search::{Answered, Filter, Question};
use super::session::{Capture, Forget, Forgotten, SessionRow};
use super::{BEHIND, HITS, MOST_IDS, MemoryError, RAW_BOUND};
use crate::ids::{MemoryId, SessionId};
use crate::label::Label;
use crate::{List, Text};
use serde::{Deserialize, Serialize};

/// A question or a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// Stores a row; private parts are dropped and the rest is scanned, with secrets cut out. Said: [`Said::Id`].
    Write(Box<Entry>),
    /// Takes down what a client's hook saw. Durable when it is answered. Said: [`Said::Taken`].
    Capture(Box<Capture>),
    /// Rows by their ids, whatever their state, in the order of the ids; those that are not here are left out.
    /// Said: [`Said::Rows`].
    Read(List<MemoryId, MOST_IDS>),
    /// What an observation was made from. Said: [`Said::Raw`].
    Raw(MemoryId),
    /// Rows, newest first. Said: [`Said::Rows`].
    List {
        /// Which.
        filter: Box<Filter>,
        /// At most so many.
        limit: u16,
        /// From where on.
        start: Start,
    },
    /// Rows that answer a question best, best first. Said: [`Said::Found`].
    Find(Box<Question>),
    /// Rows around an anchor in the order of time, oldest first; around the newest without one. Said: [`Said::Rows`].
    Timeline {
        /// The anchor.
        anchor: Option<MemoryId>,
        /// Among which.
        filter: Box<Filter>,
        /// So many before it.
        before: u16,
        /// So many after it.
        after: u16,
    },
    /// Sessions that clients' hooks told of, newest first. Said: [`Said::Sessions`].
    Sessions {
        /// Of this project alone.
        project: Option<Project>,
        /// At most so many.
        limit: u16,
        /// From where on.
        start: Start<SessionId>,
    },
    /// Writes a new row in the place of one, in one transaction. Said: [`Said::Id`].
    Revise {
        /// The one that is superseded.
        id: MemoryId,
        /// The new one.
        entry: Box<Entry>,
        /// Why.
        reason: Text<512>,
    },
    /// Every revision of a row, oldest first. Said: [`Said::Rows`].
    History(MemoryId),
    /// Removes a row and leaves it as a tombstone that only its id, its history and [`StateName::Removed`] show.
    /// Said: [`Said::Done`].
    Remove {
        /// Which.
        id: MemoryId,
        /// Why.
        reason: Text<512>,
    },
    /// Has a row hold again that was removed: what it was made from is gone, all else is as it was. Said: [`Said::Done`].
    Unremove(MemoryId),
    /// Has a proposed row hold, as the person's own word from now on. Said: [`Said::Done`].
    Accept(MemoryId),
    /// Forgets rows: as tombstones, or so that nothing is left but their hashes on the record. Said: [`Said::Forgotten`].
    Forget {
        /// Which.
        what: Box<Forget>,
        /// Leave nothing.
        purge: bool,
        /// Only say what would be forgotten.
        dry_run: bool,
    },
    /// What is to be put before a model. Said: [`Said::Block`].
    Block(Box<BlockAsk>),
    /// Puts back a row that was exported, with its id, its times and its state. Said: [`Said::Taken`]: its id, none if the
    /// row that is here was left as it is.
    Restore {
        /// The row. The area is that of the question, whatever it names.
        row: Box<Row>,
        /// What it was made from.
        raw: Text<RAW_BOUND>,
        /// What happens where a row with its id is here.
        over: Over,
        /// The person says that it is theirs, so that its label may stand; without that it is a stranger's.
        mine: bool,
        /// Only say what would become of it.
        dry_run: bool,
    },
    /// Puts back a client's session that was exported; what is counted of it is not taken over. Said: [`Said::Session`].
    RestoreSession {
        /// The session.
        session: Box<SessionRow>,
        /// What happens where it is here.
        over: Over,
        /// The person says that it is theirs; without that it changes none that is here.
        mine: bool,
        /// Only say what would become of it.
        dry_run: bool,
    },
    /// Judges a row as [`Self::Write`] does and stores nothing. Said: [`Said::Done`].
    Judge(Box<Entry>),
    /// Whether a session or a project is given its block, and whether its hooks are taken down. Said: [`Said::Done`].
    Mute {
        /// Which.
        what: Muted,
        /// Neither from now on, or both again.
        mute: bool,
    },
    /// How much there is. Said: [`Said::Stats`].
    Stats,
    /// Which rows of the area cannot be read. Said: [`Said::Unread`].
    Unread {
        /// Look at each row of a sound database too, which takes as long as reading all of them.
        each: bool,
    },
    /// Builds the indexes anew and has every vector made again. Said: [`Said::Stats`].
    Reindex,
}

/// Where a list begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Start<T = MemoryId> {
    /// Behind so many of the newest. Those that cannot be read count as well, here and in what is listed, so that the next
    /// page begins where this one ends.
    After(u32),
    /// Behind these rows or sessions of a list, whatever became of them since: behind the furthest of those that are still
    /// here, or with the newest if none is named. A list that is shorter than it may be is the end.
    /// [`MemoryError::NotFound`] if none of them is here any more.
    Behind(List<T, BEHIND>),
}

/// What happens to a row that is here when one with its id is put back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// It stays as it is.
    #[default]
    Skip,
    /// Its text stays, and of both states the later holds: removed, superseded, current.
    Merge,
    /// The other one takes its place.
    Replace,
}

/// What an observation was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raw {
    /// The text; empty where nothing is kept.
    pub text: Text<RAW_BOUND>,
    /// The label of the observation, which is the text's as well.
    pub label: Label,
}

/// Rows that cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The database is damaged, and only read.
    pub damaged: bool,
    /// How many.
    pub rows: u32,
    /// The ids of the first of them, as far as they are known: of a damaged database none is.
    pub first: List<MemoryId, MOST_IDS>,
}

/// An answer; which, [`Ask`] says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Said {
    /// Done.
    Done,
    /// The row that was written, or was there already.
    Id(MemoryId),
    /// What was taken down became this row; none where nothing is kept of it.
    Taken(Option<MemoryId>),
    /// Rows.
    Rows(List<Row, HITS>),
    /// What an observation was made from; empty where nothing was.
    Raw(Raw),
    /// Rows that were found.
    Found(Box<Answered>),
    /// Sessions.
    Sessions(List<SessionRow, HITS>),
    /// What was forgotten, or would be.
    Forgotten(Forgotten),
    /// What is to be put before a model.
    Block(Box<Block>),
    /// How much there is.
    Stats(Stats),
    /// Whether a session was put back.
    Session(bool),
    /// Rows that cannot be read.
    Unread(Unread),
}

/// The answer of one kind. Another kind than was asked for is an answer of no memory that is sound.
macro_rules! said {
    ($($(#[$doc:meta])* $name:ident: $variant:ident -> $what:ty;)+) => {
        impl Said {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// [`MemoryError::Storage`] if it is another answer.
                pub fn $name(self) -> Result<$what, MemoryError> {
                    if let Self::$variant(what) = self { Ok(what) } else { Err(MemoryError::Storage) }
                }
            )+
        }
    };
}
said! {
    /// The row that was written.
    id: Id -> MemoryId;
    /// The row that a capture became.
    taken: Taken -> Option<MemoryId>;
    /// Rows.
    rows: Rows -> List<Row, HITS>;
    /// What an observation was made from.
    raw: Raw -> Raw;
    /// Rows that were found.
    found: Found -> Box<Answered>;
    /// Sessions.
    sessions: Sessions -> List<SessionRow, HITS>;
    /// What was forgotten.
    forgotten: Forgotten -> Forgotten;
    /// A block.
    block: Block -> Box<Block>;
    /// How much there is.
    stats: Stats -> Stats;
    /// Whether a session was put back.
    session: Session -> bool;
    /// Rows that cannot be read.
    unread: Unread -> Unread;
}
