//! The messages of a session as a conversation, for a model or for a person.

use crate::history::{self, Fit};
use crate::message_state;
use crate::state::RouterState;
use crate::store::{Head, StoreFault};
use ipc_proto::ids::SessionId;
use ipc_proto::model::{MESSAGES, Message, Role};
use ipc_proto::router::{Labelled, MessageState, Task};

/// Messages of history in one turn: half of a request, so that the other half is left for the turn itself. With more, the newest would
/// not fit behind them.
pub(crate) const HISTORY: usize = MESSAGES / 2;
/// Earlier messages that are looked up at once.
const BATCH: u32 = 32;

/// The reader of a transcript.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TranscriptFor {
    /// A model, which gets the conversations that are over and that it may see.
    Model,
    /// A person, who gets everything.
    Person,
}

impl RouterState {
    /// The messages of a session before `seq`, as many as fit.
    pub(crate) fn transcript(
        &self,
        session: SessionId,
        mut seq: i64,
        reader: TranscriptFor,
        mut fit: Fit,
    ) -> Result<Vec<Labelled>, StoreFault> {
        loop {
            let heads = self.store.earlier(session, seq, BATCH)?;
            if heads.is_empty() {
                return Ok(fit.done());
            }
            for head in heads {
                seq = head.seq;
                let turn = self.turn_messages(&head, reader)?;
                if turn.is_some_and(|turn| !fit.older(turn)) {
                    return Ok(fit.done());
                }
            }
        }
    }

    /// Messages that a model would get between message `after` and this one, counted up to those that one turn takes.
    pub(crate) fn messages_since(&self, head: &Head, after: i64) -> Result<u32, StoreFault> {
        let (mut seq, mut count) = (head.seq, 0_usize);
        loop {
            let heads = self.store.earlier(head.session, seq, BATCH)?;
            let Some(oldest) = heads.last().map(|head| head.seq) else { break };
            for head in heads.iter().filter(|head| head.seq > after) {
                count += self.turn_messages(head, TranscriptFor::Model)?.map_or(0, |messages| messages.len());
            }
            if oldest <= after || count >= HISTORY {
                break;
            }
            seq = oldest;
        }
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// One turn as messages; `None` if it is not wanted.
    fn turn_messages(&self, head: &Head, reader: TranscriptFor) -> Result<Option<Vec<Labelled>>, StoreFault> {
        // A steering message stands in the turn that took it in.
        if head.state == MessageState::TakenIn {
            return Ok(None);
        }
        let (content, task, label) = self.store.content_without_media(head.seq)?;
        let withheld = matches!(head.state, MessageState::Blocked | MessageState::Recalled);
        let unseen = task != Task::Chat || withheld || !message_state::over(head.state);
        if reader == TranscriptFor::Model && unseen {
            return Ok(None);
        }
        let text = if reader == TranscriptFor::Model { content.past() } else { content.plain() };
        // A message without a label has the default label: the lowest trust.
        let message = Message::text(Role::User, &text);
        let said = Labelled { message, label: label.unwrap_or_default() };
        let answered = matches!(head.state, MessageState::Answered | MessageState::Delivered);
        let answer = if answered { self.store.finished(head.seq)? } else { None };
        Ok(Some(history::compose(said, self.store.steps(head.seq)?, answer, closing(head.state))))
    }
}

/// The text in place of the answer of a turn that ended without one.
const fn closing(state: MessageState) -> &'static str {
    match state {
        MessageState::Cancelled => "[this turn was cancelled before it was answered]",
        MessageState::Failed => "[this turn failed and was not answered]",
        MessageState::Blocked => "[this message was blocked and not answered]",
        MessageState::Recalled => "[this message was taken back before it was answered]",
        MessageState::Quarantined => "[this turn was given up and not answered]",
        MessageState::Requeued => "[this turn was given up; its message was put into the queue again]",
        _ => "",
    }
}
