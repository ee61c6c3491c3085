//! The calls that the tools make to memory, as messages: a [`crate::Store`] sends each by the method of its own interface.

use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::memory::{
    Answered, Block, BlockAsk, Entry, Filter, HITS, MOST_IDS, MemoryError, Neighbourhood, Project, Question,
    Raw, Restored, Row, SessionRow, Start, Unread,
};
use ipc_proto::{List, Text};

/// A call to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Rows by their ids. Answer: [`Answer::Rows`].
    Read(List<MemoryId, MOST_IDS>),
    /// The material that an observation was made from. Answer: [`Answer::Raw`].
    Raw(MemoryId),
    /// Rows, newest first. Answer: [`Answer::Rows`].
    List {
        /// Selects the rows.
        filter: Filter,
        /// The most rows to return.
        limit: u16,
        /// The start of the page.
        start: Start,
    },
    /// The rows that answer a question best. Answer: [`Answer::Found`].
    Find(Box<Question>),
    /// Rows around an anchor in time. Answer: [`Answer::Rows`].
    Timeline(Neighbourhood),
    /// Every revision of a row. Answer: [`Answer::Rows`].
    History(MemoryId),
    /// Sessions of clients, newest first. Answer: [`Answer::Sessions`].
    Sessions {
        /// Sessions of this project alone.
        project: Option<Project>,
        /// The most sessions to return.
        limit: u16,
        /// The start of the page.
        start: Start<SessionId>,
    },
    /// The block that is put before a model. Answer: [`Answer::Block`].
    Block(Box<BlockAsk>),
    /// Rows that cannot be read. Answer: [`Answer::Unread`].
    Unread {
        /// Read each row of a sound database too.
        each: bool,
    },
    /// Stores a row. Answer: [`Answer::Id`].
    Write(Box<Entry>),
    /// Writes a new row in the place of one. Answer: [`Answer::Id`].
    Revise {
        /// The row that is superseded.
        id: MemoryId,
        /// The new one.
        entry: Box<Entry>,
        /// The reason.
        reason: Text<512>,
    },
    /// Removes a row. Answer: [`Answer::Done`].
    Remove {
        /// The row.
        id: MemoryId,
        /// The reason.
        reason: Text<512>,
    },
    /// Puts back a row that was exported. Answer: [`Answer::Restored`].
    Restore(Box<Restored>),
}

/// Memory's answer; its kind follows from the [`Request`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done.
    Done,
    /// The row that was written, or was there already.
    Id(MemoryId),
    /// The row that was put back; none if the row that exists stays as it is.
    Restored(Option<MemoryId>),
    /// Rows.
    Rows(List<Row, HITS>),
    /// The material that an observation was made from.
    Raw(Raw),
    /// Rows that were found.
    Found(Box<Answered>),
    /// Sessions.
    Sessions(List<SessionRow, HITS>),
    /// A block.
    Block(Box<Block>),
    /// Rows that cannot be read.
    Unread(Unread),
}

/// One function for each kind of answer. Another kind than the request's is a defect of the store.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident: $variant:ident -> $kind:ty;)+) => {
        impl Answer {
            $(
                $(#[$doc])*
                pub(crate) fn $name(self) -> Result<$kind, MemoryError> {
                    if let Self::$variant(kind) = self { Ok(kind) } else { Err(MemoryError::Storage) }
                }
            )+
        }
    };
}
kinds! {
    /// The row that was written.
    id: Id -> MemoryId;
    /// The row that was put back.
    restored: Restored -> Option<MemoryId>;
    /// Rows.
    rows: Rows -> List<Row, HITS>;
    /// The material that an observation was made from.
    raw: Raw -> Raw;
    /// Rows that were found.
    found: Found -> Box<Answered>;
    /// Sessions.
    sessions: Sessions -> List<SessionRow, HITS>;
    /// A block.
    block: Block -> Box<Block>;
    /// Rows that cannot be read.
    unread: Unread -> Unread;
}
