//! A block: what is recalled for a conversation.

use super::entry::{KindName, ObservationType, Project};
use super::{BLOCK_BOUND, LEFT_OUT, LISTED, WORDS};
use crate::ids::MemoryId;
use crate::label::Label;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// For what a block is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockAsk {
    /// The project that the model works in.
    pub project: Option<Project>,
    /// The client and its name for the session: what is muted gets an empty block.
    pub session: Option<(Name, Text<128>)>,
    /// What the block is for: words that rows are preferred by, such as the question that is to be answered; as
    /// [`words`](super::words) makes them.
    pub words: Text<WORDS>,
    /// Only what the words find, best first, and nothing where nothing fits them.
    pub only: bool,
    /// Most tokens of the whole block, everything counted; without it those of the agent, or [`BLOCK_TOKENS`].
    pub tokens: Option<u32>,
    /// Most rows of its index, if fewer than `memory.max_index_entries`.
    pub rows: Option<u16>,
    /// So many of the newest in full; of the best where it is only what the words find.
    pub full: u16,
    /// It is to stand for a conversation that is made smaller: fewer rows, more of each.
    pub compacting: bool,
    /// What it is laid out without. The gate fills it in.
    pub without: Without,
}

impl BlockAsk {
    /// A block that is given at the start of a session, with so many of the newest in full.
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

/// What a block is laid out without, as the scanner would have all of it kept back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Without {
    /// These rows.
    pub rows: List<MemoryId, LEFT_OUT>,
    /// Recent sessions.
    pub sessions: bool,
}

/// What is to be put before a model: quoted data, never instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The text, byte for byte as it is given to the model; empty if there is nothing to say.
    pub text: Text<BLOCK_BOUND>,
    /// The join of every row in it.
    pub label: Option<Label>,
    /// Its tokens.
    pub tokens: u32,
    /// What it cost to find out what it says.
    pub discovery_tokens: u32,
    /// The rows in it.
    pub rows: List<MemoryId, 256>,
    /// Where in the text each of them stands, and where recent sessions do. For the gate alone.
    pub parts: List<Part, 512>,
    /// It is empty because its session or project is muted.
    pub muted: bool,
    /// What does not stand in it for what it says.
    pub left_out: List<LeftOut, LEFT_OUT>,
    /// Why nothing is given where something was there.
    pub kept_back: Option<Text<256>>,
}

impl Block {
    /// What of it is not given, and why: sentences for the person.
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
    /// The row that it tells of; none of a session.
    pub row: Option<MemoryId>,
    /// Its first byte, and one past its last.
    pub at: Range<u32>,
}

/// What does not stand in a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The row; none for recent sessions.
    pub row: Option<MemoryId>,
    /// Why.
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

/// What is neither given a block nor taken down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Muted {
    /// A client's session, by its client and its name there.
    Session(Name, Text<128>),
    /// A project.
    Project(Project),
}

/// How much there is in a scope.
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
    /// What a person is still to accept or reject.
    pub proposed: u32,
    /// Client sessions.
    pub sessions: u32,
    /// Tokens of the current rows.
    pub tokens: u64,
    /// Tokens that it cost to find them out.
    pub discovery_tokens: u64,
    /// Observations that nothing has compressed yet.
    pub plain: u32,
    /// The embedder whose vectors are kept; none if there is none.
    pub embedder: Option<Name>,
    /// Current rows that have a vector of it.
    pub embedded: u32,
    /// Rows that background work was set aside of, since they cannot be read.
    pub set_aside: u32,
    /// Projects that are muted.
    pub muted: List<Project, LISTED>,
}
