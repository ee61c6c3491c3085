//! The host's acknowledgements of requests: the laws hold it to them.

use ipc_proto::approval::Reply;
use ipc_proto::control::Ask;
use ipc_proto::ids::{MemoryId, TurnId};
use ipc_proto::router::Accepted;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The act that a message asks of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// One line in the ledger of its workspace.
    Line,
    /// The same, if a person says yes.
    Asked,
    /// A script's lines `one` and `two`, in a session and so a workspace of its own.
    Script,
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    /// Stands in its line of the ledger, and nowhere else.
    pub(crate) token: String,
    pub(crate) effect: Effect,
    pub(crate) ask: Ask,
    /// The acknowledged outcome; `None` while it is not known.
    pub(crate) accepted: Option<Accepted>,
    /// The host refused it.
    pub(crate) refused: bool,
    /// It was taken back, and the host said so.
    pub(crate) recalled: bool,
}

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct Promises {
    pub(crate) said: Vec<Said>,
    /// Memories that the host said it keeps.
    pub(crate) memories: Vec<(MemoryId, String)>,
    /// Answers that the host said it took, by the turn that asked.
    pub(crate) answers: HashMap<TurnId, Reply>,
    /// Turns of which somebody tried to answer a question and does not know whether it was taken.
    pub(crate) unsure: HashSet<TurnId>,
    /// Sessions that somebody has paused.
    pub(crate) paused: BTreeSet<String>,
    /// Signed notes of the record, oldest first.
    pub(crate) notes: Vec<String>,
}

impl Promises {
    /// The messages that were acknowledged, with what was said of them.
    pub(crate) fn accepted(&self) -> impl Iterator<Item = (&Said, &Accepted)> {
        self.said.iter().filter_map(|said| Some((said, said.accepted.as_ref()?)))
    }
}
