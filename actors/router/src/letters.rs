//! Messages in full, and dead letters: one that failed or was given up stays, is shown with what is known of every
//! effect of its turn, and is put into the queue again as another message at the end of its lane: by a person, or by its own
//! client where there was no money for it. The host does so by itself never.

use crate::calls::{self, Standing};
use crate::desk::{Desk, Live, Noted, Phase};
use crate::queue::Port;
use crate::state;
use crate::store::{Fresh, Head, Pass};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::content::{Content, Part, TEXT_BOUND};
use ipc_proto::ids::{MessageId, TurnId, UserId};
use ipc_proto::model::ModelError;
use ipc_proto::router::{Accepted, End, Finished, MessageState, MessageView, RouterError, Submission};
use ipc_proto::{List, Name, Text};
use sha2::{Digest, Sha256};

/// A dead letter that is to be put into the queue again.
#[derive(Clone)]
pub(crate) struct Again {
    /// Whose it must be; everybody's is `None`.
    pub(crate) user: Option<UserId>,
    /// Who wants it.
    pub(crate) by: Name,
    pub(crate) id: MessageId,
    /// Other words.
    pub(crate) text: Option<Text<TEXT_BOUND>>,
    /// The dead letter's own key, where its successor is to have it: whoever repeats the message then finds that one.
    pub(crate) key: Option<Text<256>>,
}

/// A message that is to stand in a dead letter's place.
struct Successor {
    id: MessageId,
    turn: TurnId,
    submission: Submission,
    bytes: u32,
}

impl Desk {
    /// One message in full.
    pub(crate) fn message(&self, user: Option<UserId>, id: MessageId) -> Result<MessageView, RouterError> {
        let head = self.letter(user, id)?;
        let (content, _, label) = self.store.said_without_media(head.seq)?;
        let steps = self.store.steps(head.seq)?.into_iter().map(|kept| kept.step);
        let running = head.state == MessageState::Running;
        let standing = Standing { over: state::over(head.state), attempt: running.then_some(head.attempts) };
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

    /// Puts a dead letter into the queue again, with other words if there are some.
    pub(crate) fn requeue(&mut self, again: Again, port: Port<Result<Accepted, RouterError>>) {
        let (head, successor) = match self.may_requeue(&again) {
            Ok(Ok(found)) => found,
            Ok(Err(done)) => return drop(port.send(Ok(done))),
            Err(refusal) => return drop(port.send(Err(refusal))),
        };
        let event = Event::new(Action::MessageRequeued, Result3::Success)
            .about(&again.by)
            .because(&successor.id.to_string())
            .in_turn(head.session, head.turn);
        self.record(event, move |desk, recorded| {
            let done = if recorded { desk.replace(&again) } else { Err(RouterError::NotDurable) };
            drop(port.send(done));
        });
    }

    /// What would stand in its place; or what does already.
    fn may_requeue(&self, again: &Again) -> Result<Result<(Head, Successor), Accepted>, RouterError> {
        let Again { user, id, text, key, .. } = again;
        let head = self.letter(*user, *id)?;
        if head.state == MessageState::Requeued {
            let successor = self.store.links(head.seq)?.successor.ok_or(RouterError::NoMessage)?;
            let successor = self.store.message(successor)?.ok_or(RouterError::NoMessage)?;
            return Ok(Err(self.accepted(&successor)));
        }
        if !state::dead(head.state) {
            return Err(RouterError::NotDead(head.state));
        }
        let session = self.store.session(head.session)?;
        if session.ended {
            return Err(RouterError::SessionOver);
        }
        self.people.by_id(head.user).ok_or(RouterError::NoUser)?;
        self.known_agent(&session.agent)?;
        self.room(head.session, head.user)?;
        let (content, task, _) = self.store.said(head.seq)?;
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

    /// Its place is taken, on the record: in one change the dead letter is one no more and its successor waits.
    fn replace(&mut self, again: &Again) -> Result<Accepted, RouterError> {
        // Somebody else may have done it while the record was under way.
        let (old, successor) = match self.may_requeue(again)? {
            Ok(found) => found,
            Err(done) => return Ok(done),
        };
        let Successor { id: message, turn, submission, bytes } = successor;
        let now_ms = self.now.ms;
        let (session, key) = (old.session, old.key);
        let fresh = Fresh { id: message, turn, session, submission: &submission, key, bytes, now_ms };
        let pass = Pass::of(&old, MessageState::Requeued, now_ms);
        let seq = self.store.commit(|tx| {
            if again.key.is_some() {
                tx.give_up_key(old.seq, old.id)?;
            }
            let seq = tx.accept(&fresh)?;
            tx.tie((old.seq, old.id), (seq, message))?;
            tx.pass(&pass)?;
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
        self.tell_of(&head, false);
        self.take_in(head.clone());
        Ok(self.accepted(&head))
    }

    /// What stands in a message's place by now: the last of its successors that is still kept, or it itself.
    pub(crate) fn stands_now(&self, mut head: Head) -> Result<Head, RouterError> {
        while let Some(successor) = self.store.links(head.seq)?.successor {
            let Some(next) = self.store.message(successor)? else { break };
            head = next;
        }
        Ok(head)
    }

    /// Returns whether a message's turn failed for want of money, and nothing stands in its place. What cannot be read is taken for
    /// any other failure.
    pub(crate) fn was_unpaid(&self, head: &Head) -> bool {
        let finished = if state::dead(head.state) { self.store.finished(head.seq) } else { Ok(None) };
        matches!(finished, Ok(Some(Finished { end: End::Failed(why), .. })) if ModelError::is_for_money(&why))
    }

    /// Takes in a message that was just made durable. What comes next is not waited for by its sender.
    pub(crate) fn take_in(&mut self, head: Head) {
        self.lanes.join(head.session, self.whose(head.user), head.seq);
        self.admission.join(head.seq);
        let (phase, noted) = (Phase::Accepted, Noted::No);
        self.enter(Live { head, phase, noted, due: None, left: None, taken: false, waits: None });
        self.is_behind = true;
    }
}

/// The same with other words: one text in the place of all, and everything that is no text as it was.
fn reworded(content: Content, text: &Text<TEXT_BOUND>) -> Result<Content, RouterError> {
    let mut parts = vec![Part::Text(text.clone())];
    parts.extend(content.parts.into_iter().filter(|part| !matches!(part, Part::Text(_))));
    Ok(Content { parts: List::new(parts).map_err(|_| RouterError::BadMessage)?, ..content })
}

/// An id that follows from a dead letter's: whoever asks again, after whatever died, comes to the same message.
fn derived(what: &str, id: MessageId) -> [u8; 16] {
    let digest = Sha256::new().chain_update("requeue ").chain_update(what).chain_update(id.bytes());
    let digest: [u8; 32] = digest.finalize().into();
    digest.first_chunk().copied().unwrap_or_default()
}
