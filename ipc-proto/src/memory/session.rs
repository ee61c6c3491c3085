//! Sessions of clients and what hooks report of them, and the removal of memories.

use super::entry::{FilePath, Project};
use super::{MOST_IDS, RAW_BOUND};
use crate::ids::{MemoryId, SessionId};
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// An event that a client's hook captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// The client: `claude-code`, `opencode`.
    pub client: Name,
    /// The session, as the client names it.
    pub session: Text<128>,
    /// The project it works in.
    pub project: Project,
    /// The event.
    pub event: CaptureEvent,
}

/// An event in a client's session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CaptureEvent {
    /// It began, or was taken up again.
    Started,
    /// A tool answered. The same call twice is one row.
    Tool {
        /// The tool.
        tool: Name,
        /// The call, as the client names it.
        call: Text<128>,
        /// The client's title for it.
        title: Text<200>,
        /// The file that it worked on, as the client says; whatever stands in its output is no such file.
        file: Option<FilePath>,
        /// Its output; cut to the bound by whoever sends it, with a mark where.
        output: Text<RAW_BOUND>,
    },
    /// The person wrote. The same message twice is one row.
    Message {
        /// The message, as the client names it.
        message: Text<128>,
        /// The text.
        text: Text<RAW_BOUND>,
    },
    /// Nothing goes on.
    Idle,
    /// Its context is about to be made smaller.
    Compacting,
    /// It is over.
    Ended,
}

/// A client's session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    /// Its id here: what rows of it name.
    pub id: SessionId,
    /// The client.
    pub client: Name,
    /// Its name there.
    pub name: Text<128>,
    /// The project.
    pub project: Project,
    /// When it began, unix ms.
    pub started_ms: u64,
    /// When it ended, unix ms.
    pub ended_ms: Option<u64>,
    /// The session's status.
    pub status: SessionStatus,
    /// Current observations of it.
    pub observations: u32,
    /// Its summary, once there is one.
    pub summary: Option<MemoryId>,
    /// It is neither taken down nor given anything.
    pub muted: bool,
}

/// The status of a client's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    /// It does.
    Active,
    /// Nothing happens in it just now.
    Idle,
    /// It is over.
    Completed,
}

/// Selects rows to forget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Forget {
    /// These rows.
    Ids(List<MemoryId, MOST_IDS>),
    /// Every row of a project.
    Project(Project),
    /// Every row of a session.
    Session(SessionId),
    /// Every row of before this time, unix ms.
    Before(u64),
    /// Every row that has all of these words, or a tag that is them.
    Topic(Text<256>),
}

/// The rows that were forgotten, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    /// How many rows.
    pub rows: u32,
    /// The first of them.
    pub first: List<MemoryId, MOST_IDS>,
    /// There are more; asking again goes on.
    pub more: bool,
}
