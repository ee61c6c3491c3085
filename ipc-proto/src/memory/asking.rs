//! What memory can be asked, and what it answers. Every question is for one scope, which its bearer takes from the
//! connection; none names an owner.

use super::entry::{Entry, FilePath, KindName, ObservationType, Project, Row, StateName};
use super::{BEHIND, BLOCK_BOUND, HITS, LEFT_OUT, LISTED, MOST_IDS, MemoryError, RAW_BOUND, WORDS};
use crate::ids::{MemoryId, SessionId};
use crate::label::Label;
use crate::{Blob, List, Name, Text};
use serde::{Deserialize, Serialize};
use std::ops::Range;

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

/// Which rows. What is empty or none asks for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Of one of these kinds.
    pub kinds: List<KindName, 6>,
    /// Observations of one of these types.
    pub types: List<ObservationType, 6>,
    /// With every one of these tags, whatever the case of their ASCII letters.
    pub tags: List<Name, 16>,
    /// With one of these tags.
    pub any_tags: List<Name, 16>,
    /// That read or changed a file whose path holds one of these.
    pub files: List<Text<256>, 16>,
    /// Of this project; about none if its name is empty.
    pub project: Option<Project>,
    /// Of this session.
    pub session: Option<SessionId>,
    /// That matter at least so much, 1 to 5.
    pub importance: Option<u8>,
    /// That matter at most so much, 1 to 5.
    pub importance_most: Option<u8>,
    /// Of this time or later, unix ms.
    pub since_ms: Option<u64>,
    /// Of before this time, unix ms.
    pub until_ms: Option<u64>,
    /// In this state.
    pub state: StateName,
}

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// As [`words`](super::words) makes them of any text at all.
    pub words: Text<WORDS>,
    /// Only among these rows.
    pub filter: Filter,
    /// By what rows are ranked.
    pub manner: Manner,
    /// True if a row that repeats a better one is put behind those that say something else.
    pub varied: bool,
    /// At most so many rows.
    pub limit: u16,
    /// The words as the embedder of this host understands them. Whoever asks for a person or a model leaves it empty: the
    /// gate has it made.
    pub vector: Option<Vector>,
    /// True if a model is to put the first of the rows into order, also where the configuration does not say so. Memory
    /// itself asks no model.
    pub reorder: bool,
    /// What else than how well it fits a row's score is multiplied by; each once, whatever their order.
    pub weigh: List<Signal, SIGNALS>,
}

impl Question {
    /// A question by words alone.
    #[must_use]
    pub fn new(words: Text<WORDS>, limit: u16) -> Self {
        Self {
            words,
            filter: Filter::default(),
            manner: Manner::default(),
            varied: false,
            limit,
            vector: None,
            reorder: false,
            weigh: List::default(),
        }
    }
}

/// What an embedder made of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vector {
    /// The embedder: `provider/model`, or `local`.
    pub by: Name,
    /// 32-bit floats, little-endian, at most 4,096.
    pub values: Blob<16384>,
}

/// By what rows are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manner {
    /// By words; by both, as [`Self::Fused`], where the question comes with a vector.
    #[default]
    Usual,
    /// By words: their stems and their kin, the turns around, who said it and when.
    Words,
    /// By likeness of the whole text.
    Meaning,
    /// Both, by reciprocal rank.
    Fused,
    /// Both, by weighted scores.
    Weighted,
    /// By the full-text index alone, any of the words: what the others are measured against.
    Plain,
}

/// What a row's score is multiplied by where it is asked for. Each has its formula in docs/memory.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Signal {
    /// How new it is.
    Recency,
    /// How often and how lately it was read.
    Salience,
    /// How far its origin is trusted.
    Trust,
    /// How much it matters, as whoever wrote it said.
    Importance,
}

/// How many signals there are.
pub const SIGNALS: usize = 4;

impl Signal {
    /// Every signal.
    pub const ALL: [Self; SIGNALS] = [Self::Recency, Self::Salience, Self::Trust, Self::Importance];

    /// Its name, as it is asked for.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recency => "recency",
            Self::Salience => "salience",
            Self::Trust => "trust",
            Self::Importance => "importance",
        }
    }
}

/// What a signal came to for one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weighed {
    /// Which.
    pub signal: Signal,
    /// What the score was multiplied by, in thousandths.
    pub factor: i32,
}

/// A row that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The row.
    pub row: Row,
    /// The words around the match, with `[` `]` about it.
    pub snippet: Text<512>,
    /// Higher is better, in thousandths.
    pub score: i32,
}

/// Why a row is where it is among what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// Its place by words, from 1; none if no word led to it.
    pub by_words: Option<u32>,
    /// Its place by meaning, from 1; none if that was not asked for.
    pub by_meaning: Option<u32>,
    /// Its place as a model put it, from 1; none if no model was asked about it.
    pub by_model: Option<u32>,
    /// What its own words are worth, in thousandths.
    pub own: i32,
    /// What the turns around it lend it, in thousandths.
    pub around: i32,
    /// Likeness of meaning, in thousandths.
    pub likeness: i32,
    /// A tag of it, such as who said it, is in the question.
    pub named: bool,
    /// It is about the time that the question names.
    pub dated: bool,
    /// It holds what the question asks for: a time, a number or a name.
    pub answers: bool,
    /// The signals that were asked for, and what each came to.
    pub weighed: List<Weighed, SIGNALS>,
}

/// A row that was found, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The row.
    pub hit: Hit,
    /// Why.
    pub why: Why,
}

/// What was found, and what is to be said of how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// Rows, best first.
    pub rows: List<Found, HITS>,
    /// What was to be done and was not, each a sentence for whoever asks: their embedder or their model failed.
    pub notes: List<Text<256>, 4>,
    /// What is known of all that a model read to put them into order, whether or not it is among them; none if none did.
    pub read: Option<Label>,
}

impl Answered {
    /// Rows of which there is nothing to say.
    #[must_use]
    pub fn of(rows: impl IntoIterator<Item = Found>) -> Self {
        Self { rows: List::clip(rows), ..Self::default() }
    }
}

/// What a client's hook saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// The client: `claude-code`, `opencode`.
    pub client: Name,
    /// The session, as the client names it.
    pub session: Text<128>,
    /// The project it works in.
    pub project: Project,
    /// What happened.
    pub event: CaptureEvent,
}

/// What happened in a client's session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CaptureEvent {
    /// It began, or was taken up again.
    Started,
    /// A tool answered. The same call twice is one row.
    Tool {
        /// Which tool.
        tool: Name,
        /// The call, as the client names it.
        call: Text<128>,
        /// What the client calls it.
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
        /// What they wrote.
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
    /// Whether it goes on.
    pub status: SessionStatus,
    /// Current observations of it.
    pub observations: u32,
    /// Its summary, once there is one.
    pub summary: Option<MemoryId>,
    /// It is neither taken down nor given anything.
    pub muted: bool,
}

/// Whether a client's session goes on.
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

/// What to forget.
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

/// What was forgotten, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    /// How many rows.
    pub rows: u32,
    /// The first of them.
    pub first: List<MemoryId, MOST_IDS>,
    /// There are more; asking again goes on.
    pub more: bool,
}

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
