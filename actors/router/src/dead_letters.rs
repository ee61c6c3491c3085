//! Messages in full, and dead letters. A dead letter failed or was given up. It stays, is shown with what is known of every effect of its
//! turn, and is queued again as another message at the end of its lane: by a person, or by its own client where there was no money for it.
//! The host never does so by itself.

use crate::calls::{self, TurnProgress};
use crate::message_state;
use crate::port::Reply;
use crate::state::RouterState;
use crate::state::effects::{PendingRequest, Recorded};
use crate::state::requests::RequeueRequest;
use crate::store::{Head, NewMessage, Transition};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::content::{Content, Part, TEXT_BOUND};
use ipc_proto::ids::{MessageId, TurnId, UserId};
use ipc_proto::model::ModelError;
use ipc_proto::router::{Accepted, End, Finished, MessageState, MessageView, RouterError, Submission};
use ipc_proto::{List, Text};
use sha2::{Digest, Sha256};

/// A message that is to stand in a dead letter's place.
struct Successor {
    id: MessageId,
    turn: TurnId,
    submission: Submission,
    bytes: u32,
}

impl RouterState {
    /// One message in full.
    pub(crate) fn message(&self, user: Option<UserId>, id: MessageId) -> Result<MessageView, RouterError> {
        let head = self.find_message(user, id)?;
        let (content, _, label) = self.store.content_without_media(head.seq)?;
        let steps = self.store.steps(head.seq)?.into_iter().map(|stored| stored.step);
        let running = head.state == MessageState::Running;
        let standing =
            TurnProgress { over: message_state::over(head.state), attempt: running.then_some(head.attempts) };
        let calls = calls::listed(steps, &self.store.call_attempts(head.seq)?, &standing);
        let links = self.store.links(head.seq)?;
        Ok(MessageView {
            info: self.store.message_info(head.seq, self.now.ms)?,
            text: Text::clip(&content.plain()),
            label,
            states: List::clip(self.store.trace(head.seq)?),
            calls: List::clip(calls),
            finished: self.store.finished(head.seq)?,
            stands_for: links.predecessor,
            replaced_by: links.successor,
        })
    }

    /// Queues a dead letter again, with another text if there is one.
    pub(crate) fn requeue(&mut self, request: RequeueRequest, port: Reply<Accepted>) {
        let (head, successor) = match self.may_requeue(&request) {
            Ok(Ok(found)) => found,
            Ok(Err(done)) => return drop(port.send(Ok(done))),
            Err(refusal) => return drop(port.send(Err(refusal))),
        };
        let event = Event::new(Action::MessageRequeued, Result3::Success)
            .about(&request.by)
            .because(&successor.id.to_string())
            .in_turn(head.session, head.turn);
        self.record(event, Recorded::Request(PendingRequest::Requeued(Box::new(request), port)));
    }

    /// The message that would stand in its place, or the one that does already.
    fn may_requeue(
        &self,
        request: &RequeueRequest,
    ) -> Result<Result<(Head, Successor), Accepted>, RouterError> {
        let RequeueRequest { user, id, text, key, .. } = request;
        let head = self.find_message(*user, *id)?;
        if head.state == MessageState::Requeued {
            let successor = self.store.links(head.seq)?.successor.ok_or(RouterError::NoMessage)?;
            let successor = self.store.message(successor)?.ok_or(RouterError::NoMessage)?;
            return Ok(Err(self.accepted(&successor)));
        }
        if !message_state::dead(head.state) {
            return Err(RouterError::NotDead(head.state));
        }
        let session = self.store.session(head.session)?;
        if session.ended {
            return Err(RouterError::SessionOver);
        }
        self.people.by_id(head.user).ok_or(RouterError::NoUser)?;
        self.known_agent(&session.agent)?;
        self.room(head.session, head.user)?;
        let (content, task, _) = self.store.content(head.seq)?;
        let content = match text {
            Some(text) => reworded(content, text)?,
            None => content,
        };
        let submission = Submission {
            user: head.user,
            session: session.name,
            agent: None,
            channel: head.channel.clone(),
            key: key.clone().unwrap_or_else(|| Text::clip(&format!("requeue/{id}"))),
            content,
            task,
            workspace: None,
            workspace_label: None,
        };
        let bytes = crate::submit::check(&submission)?;
        let (message, turn) = (MessageId::from_bytes(derived("message", *id)), derived("turn", *id));
        Ok(Ok((head, Successor { id: message, turn: TurnId::from_bytes(turn), submission, bytes })))
    }

    /// Replaces a dead letter once that is on the record. In one change it is a dead letter no more, and its successor waits.
    pub(crate) fn replace(&mut self, request: &RequeueRequest) -> Result<Accepted, RouterError> {
        // Another request may have done it while the record was under way.
        let (old, successor) = match self.may_requeue(request)? {
            Ok(found) => found,
            Err(done) => return Ok(done),
        };
        let Successor { id: message, turn, submission, bytes } = successor;
        let now_ms = self.now.ms;
        let (session, key) = (old.session, old.key);
        let fresh = NewMessage { id: message, turn, session, submission: &submission, key, bytes, now_ms };
        let transition = Transition::of(&old, MessageState::Requeued, now_ms);
        let seq = self.store.commit(|tx| {
            if request.key.is_some() {
                tx.give_up_key(old.seq, old.id)?;
            }
            let seq = tx.accept(&fresh)?;
            tx.link((old.seq, old.id), (seq, message))?;
            tx.take_over_files(old.seq, seq)?;
            tx.transition(&transition)?;
            Ok(seq)
        })?;
        kit::fault_point!("router.requeue.committed");
        let head = Head {
            seq,
            id: message,
            turn,
            state: MessageState::Accepted,
            attempts: 0,
            failures: 0,
            losses: 0,
            accepted_ms: now_ms,
            bytes,
            ..old
        };
        self.publish_received(&head, false);
        self.enqueue(head.clone());
        Ok(self.accepted(&head))
    }

    /// The message that stands in the place of this one: the last of its successors that is still stored, or the message itself.
    pub(crate) fn stands_now(&self, mut head: Head) -> Result<Head, RouterError> {
        while let Some(successor) = self.store.links(head.seq)?.successor {
            let Some(next) = self.store.message(successor)? else { break };
            head = next;
        }
        Ok(head)
    }

    /// Returns true if a message's turn failed for want of money, and nothing stands in its place. An end that cannot be read counts as
    /// any other failure.
    pub(crate) fn was_unpaid(&self, head: &Head) -> bool {
        let finished = if message_state::dead(head.state) { self.store.finished(head.seq) } else { Ok(None) };
        matches!(finished, Ok(Some(Finished { end: End::Failed(why), .. })) if ModelError::is_for_money(&why))
    }
}

/// The same content with another text: one text in the place of all, and all other parts as they were.
fn reworded(content: Content, text: &Text<TEXT_BOUND>) -> Result<Content, RouterError> {
    let mut parts = vec![Part::Text(text.clone())];
    parts.extend(
        content.parts.into_iter().filter(|part| !matches!(part, Part::Text(_) | Part::Foreign { .. })),
    );
    Ok(Content { parts: List::new(parts).map_err(|_| RouterError::BadMessage)?, ..content })
}

/// An id derived from a dead letter's: a request that is repeated after a crash comes to the same message.
fn derived(what: &str, id: MessageId) -> [u8; 16] {
    let digest = Sha256::new().chain_update("requeue ").chain_update(what).chain_update(id.bytes());
    let digest: [u8; 32] = digest.finalize().into();
    digest.first_chunk().copied().unwrap_or_default()
}
