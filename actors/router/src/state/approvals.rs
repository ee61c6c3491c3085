//! Work on questions to persons that is under way. What holds is in the store.

use super::requests::AnswerRequest;
use crate::port::Reply;
use ipc_proto::List;
use ipc_proto::approval::{PENDING_PER_SESSION, State};
use ipc_proto::ids::{ApprovalId, TurnId};
use std::collections::{HashMap, HashSet};
use std::time::Instant;

/// The questions of a turn that wait.
pub(crate) type Questions = List<ApprovalId, PENDING_PER_SESSION>;
/// Takes the first question that is settled, and its state.
pub(crate) type AnsweredPort = Reply<Option<(ApprovalId, State)>>;

/// A call that waits for the first answer to any of a turn's questions.
pub(crate) struct AnswerPoll {
    pub(crate) turn: TurnId,
    pub(crate) ids: Questions,
    pub(crate) port: AnsweredPort,
}

/// Work on questions that is under way.
#[derive(Default)]
pub(crate) struct Approvals {
    /// Calls that wait for an answer, one for each turn that asks.
    waiting: Vec<AnswerPoll>,
    /// Answers that are on their way to the record, and those that came meanwhile.
    answering: HashMap<ApprovalId, Vec<AnswerRequest>>,
    /// Expiries that are on their way to the record.
    expiring: HashSet<ApprovalId>,
    /// When the next question expires, unix ms.
    pub(crate) next_ms: Option<u64>,
    /// True if every expiry is on the record, as far as is known.
    pub(crate) all_recorded: bool,
    /// Expiries go to the record not before then: it was asked just now, or is away.
    pub(crate) not_before: Option<Instant>,
    /// Expiries are stored not before then: the disk was away.
    pub(crate) stuck_until: Option<Instant>,
}

impl Approvals {
    /// A call waits for an answer.
    pub(crate) fn wait(&mut self, poll: AnswerPoll) {
        self.drop_closed();
        self.waiting.push(poll);
    }

    /// The calls that wait for the answer to this question, which wait no longer.
    pub(crate) fn take_waiting(&mut self, id: ApprovalId) -> Vec<AnswerPoll> {
        self.drop_closed();
        self.waiting.extract_if(.., |poll| poll.ids.contains(&id)).collect()
    }

    /// Drops calls that nobody waits for.
    pub(crate) fn drop_closed(&mut self) {
        self.waiting.retain(|waiting| !waiting.port.is_closed());
    }

    /// Queues an answer behind one to the same question that is on its way to the record. Gives it back if there is none.
    pub(crate) fn queue_behind(&mut self, request: AnswerRequest) -> Option<AnswerRequest> {
        match self.answering.get_mut(&request.id) {
            Some(waiting) => {
                waiting.push(request);
                None
            }
            None => Some(request),
        }
    }

    /// An answer is on its way to the record.
    pub(crate) fn begin_answer(&mut self, id: ApprovalId) {
        self.answering.insert(id, Vec::new());
    }

    /// Returns true while an answer to this question is on its way to the record.
    pub(crate) fn is_answering(&self, id: ApprovalId) -> bool {
        self.answering.contains_key(&id)
    }

    /// The answer arrived at the record, or could not. Returns those that came meanwhile.
    pub(crate) fn end_answer(&mut self, id: ApprovalId) -> Vec<AnswerRequest> {
        self.answering.remove(&id).unwrap_or_default()
    }

    /// An expiry is on its way to the record. Returns false if it was before.
    pub(crate) fn begin_expiry(&mut self, id: ApprovalId) -> bool {
        self.expiring.insert(id)
    }

    pub(crate) fn end_expiry(&mut self, id: ApprovalId) {
        self.expiring.remove(&id);
    }
}
