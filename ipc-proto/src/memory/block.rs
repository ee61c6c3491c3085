//! A block: what is recalled for a conversation.

use super::entry::{KindName, ObservationType, Project};
use super::{BLOCK_BOUND, LEFT_OUT, LISTED, WORDS};
use crate::ids::MemoryId;
use crate::label::Label;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A request for a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockAsk {
    /// The project that the model works in.
    pub project: Option<Project>,
    /// The client and its name for the session: a muted one gets an empty block.
    pub session: Option<(Name, Text<128>)>,
    /// Words that rows are preferred by, such as the question that is to be answered, as
    /// [`words`](super::words) makes them.
    pub words: Text<WORDS>,
    /// Only rows that the words find, best first; an empty block where they find none.
    pub only: bool,
    /// Most tokens of the whole block, everything counted; without it those of the agent, or [`BLOCK_TOKENS`].
    pub tokens: Option<u32>,
    /// Most rows of its index, if fewer than `memory.max_index_entries`.
    pub rows: Option<u16>,
    /// The number of the newest rows in full; of the best rows if the block holds only rows that the words find.
    pub full: u16,
    /// The block is for a conversation that is being compacted: fewer rows, more of each.
    pub compacting: bool,
    /// Text that the block is laid out without. The gate fills it in.
    pub without: Without,
}

impl BlockAsk {
    /// A block for the start of a session, with this many of the newest rows in full.
    #[must_use]
    pub fn new(project: Option<Project>, session: Option<(Name, Text<128>)>, full: u16) -> Self {
        Self {
            project,
            session,
            words: Text::default(),
            only: false,
            tokens: None,
            rows: None,
            full,
            compacting: false,
            without: Without::default(),
        }
    }
}

/// Text that a block is laid out without, since the scanner would withhold the whole block for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Without {
    /// These rows.
    pub rows: List<MemoryId, LEFT_OUT>,
    /// Recent sessions.
    pub sessions: bool,
}

/// Text that is put before a model: quoted data, never instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The text, byte for byte as it is given to the model; empty if there is nothing to say.
    pub text: Text<BLOCK_BOUND>,
    /// The join of every row in it.
    pub label: Option<Label>,
    /// Its tokens.
    pub tokens: u32,
    /// The tokens that the block's content cost when it was found out.
    pub discovery_tokens: u32,
    /// The rows in it.
    pub rows: List<MemoryId, 256>,
    /// The place of each row in the text, and of recent sessions. For the gate alone.
    pub parts: List<Part, 512>,
    /// It is empty because its session or project is muted.
    pub muted: bool,
    /// Rows that are left out for their content.
    pub left_out: List<LeftOut, LEFT_OUT>,
    /// The reason why nothing is given where there was something.
    pub kept_back: Option<Text<256>>,
}

impl Block {
    /// The rows that are withheld, and why: sentences for the person.
    #[must_use]
    pub fn withheld(&self) -> Vec<String> {
        let nothing = |why: &Text<256>| format!("nothing that is remembered was given to the model: {why}");
        let without = self.left_out.first().map(|first| {
            let more = match self.left_out.len() {
                1 => String::new(),
                count => format!(", and {} more", count - 1),
            };
            format!("not given to the model: {first}{more}; `agentctl memory context` names all")
        });
        without.into_iter().chain(self.kept_back.as_ref().map(nothing)).collect()
    }
}

/// A stretch of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The row that it describes; none for a session.
    pub row: Option<MemoryId>,
    /// Its first byte, and one past its last.
    pub at: Range<u32>,
}

/// A row that is left out of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The row; none for recent sessions.
    pub row: Option<MemoryId>,
    /// The reason.
    pub why: Text<200>,
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.row {
            Some(row) => write!(f, "memory {row}: {}", self.why),
            None => write!(f, "recent sessions: {}", self.why),
        }
    }
}

/// A session or project that gets no block and is not captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Muted {
    /// A client's session, by its client and its name there.
    Session(Name, Text<128>),
    /// A project.
    Project(Project),
}

/// The size of a scope, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Current rows by kind.
    pub kinds: List<(KindName, u32), 6>,
    /// Current observations by type.
    pub types: List<(ObservationType, u32), 6>,
    /// Rows that a newer one stands in the place of.
    pub superseded: u32,
    /// Tombstones.
    pub removed: u32,
    /// The number of rows that a person is still to accept or reject.
    pub proposed: u32,
    /// Client sessions.
    pub sessions: u32,
    /// Tokens of the current rows.
    pub tokens: u64,
    /// The tokens that they cost when they were found out.
    pub discovery_tokens: u64,
    /// Observations that nothing has compressed yet.
    pub plain: u32,
    /// The embedder whose vectors are kept; none if there is none.
    pub embedder: Option<Name>,
    /// Current rows that have a vector of it.
    pub embedded: u32,
    /// Rows that background work set aside, since they cannot be read.
    pub set_aside: u32,
    /// Projects that are muted.
    pub muted: List<Project, LISTED>,
}
