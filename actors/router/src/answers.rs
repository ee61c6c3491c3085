//! A person's answer, and the grants that go with one. An answer goes on the record first; of several that come at
//! once, one is recorded and wins, and the others are told what became of it.
//!
//! It must never take an answer for another action than the one that is kept: the hash that was shown decides.

use crate::approvals::answered_event;
use crate::desk::Desk;
use crate::queue::Port;
use crate::store::{Asked, Settled};
use ipc_proto::approval::{ApprovalInfo, GRANTS, Grant, Question, Reply, State};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::config::UserRole;
use ipc_proto::ids::{ApprovalId, UserId};
use ipc_proto::router::RouterError;
use ipc_proto::{List, Name};

/// An answer on its way.
pub(crate) struct Given {
    /// Whose sessions this person may answer for; everybody's is `None`.
    pub(crate) user: Option<UserId>,
    /// Who answers.
    pub(crate) by: Name,
    pub(crate) id: ApprovalId,
    /// SHA-256 of the action that they were shown.
    pub(crate) hash: [u8; 32],
    pub(crate) reply: Reply,
    pub(crate) port: Port<Result<ApprovalInfo, RouterError>>,
}

impl Desk {
    /// Takes a person's answer.
    pub(crate) fn answer(&mut self, given: Given) {
        // One after the other: whoever comes second is told what the first has made of it.
        if let Some(waiting) = self.approvals.answering.get_mut(&given.id) {
            return waiting.push(given);
        }
        let (asked, question) = match self.may_answer(&given) {
            Ok(found) => found,
            Err(RouterError::NotPending(_)) if self.has_answered_so(&given) => {
                let said = self.visible(given.user, given.id).map(|asked| asked.info(self.now.ms));
                return drop(given.port.send(said));
            }
            Err(refusal) => return drop(given.port.send(Err(refusal))),
        };
        self.approvals.answering.insert(given.id, Vec::new());
        let event = record_of(&asked, &given);
        self.record(event, move |desk, recorded| {
            if !recorded || given.reply != Reply::Session {
                return desk.answered(given, &asked, None, recorded);
            }
            let grant = grant_of(&asked, &question, &given.by, desk.now.ms);
            let event = changed(&grant, &given.by, "given");
            desk.record(event, move |desk, recorded| desk.answered(given, &asked, Some(grant), recorded));
        });
    }

    /// Returns whether this person may answer this question so, now.
    fn may_answer(&self, given: &Given) -> Result<(Asked, Question), RouterError> {
        let asked = self.visible(given.user, given.id)?;
        let question = self.store.question(given.id)?.ok_or(RouterError::NoApproval)?;
        match asked.state_at(self.now.ms) {
            State::Pending => {}
            settled => return Err(RouterError::NotPending(settled)),
        }
        // A guest talks and decides nothing, whatever control lets through.
        let role = |id| self.people.by_id(id).map_or(UserRole::Guest, |person| person.role);
        if given.user.is_some_and(|user| question.owner_only || role(user) < UserRole::User) {
            return Err(RouterError::OwnerOnly);
        }
        if given.hash != asked.hash {
            return Err(RouterError::WrongHash);
        }
        if given.reply == Reply::Session {
            let held = self.store.grants_in(asked.session)?;
            let again = held.iter().any(|grant| grant.scope == question.scope);
            if !question.grantable || (held.len() >= GRANTS && !again) {
                return Err(RouterError::NotGrantable);
            }
        }
        Ok((asked, question))
    }

    /// Returns whether this very answer was given before, by the same person: control asks again when this process died
    /// before it could say that it was taken.
    fn has_answered_so(&self, given: &Given) -> bool {
        let (Ok(asked), Ok(grant)) = (self.visible(given.user, given.id), self.store.granted(given.id))
        else {
            return false;
        };
        let denied = asked.state_at(self.now.ms) == State::Denied;
        let same = match given.reply {
            Reply::Deny => denied,
            Reply::Once => !denied && grant.is_none(),
            Reply::Session => !denied && grant.is_some(),
        };
        same && asked.hash == given.hash && asked.answered_by.as_ref() == Some(&given.by)
    }

    /// An answer is on the record, or could not be put there; then whoever came meanwhile has their turn.
    fn answered(&mut self, given: Given, asked: &Asked, grant: Option<Grant>, recorded: bool) {
        let kept = if recorded { self.keep_answer(&given, grant) } else { Err(RouterError::NotDurable) };
        let waiting = self.approvals.answering.remove(&given.id).unwrap_or_default();
        if kept.is_ok() {
            self.look_ahead();
            self.tell_of_answer(asked, becomes(given.reply));
            self.clock_of(asked.turn);
        }
        self.wake_asker(given.id);
        drop(given.port.send(kept));
        for given in waiting {
            self.answer(given);
        }
    }

    fn keep_answer(&mut self, given: &Given, grant: Option<Grant>) -> Result<ApprovalInfo, RouterError> {
        let to = becomes(given.reply);
        let settled = Settled { id: given.id, to, by: Some(&given.by), now_ms: self.now.ms };
        let won = self.store.commit(|tx| {
            let won = tx.settle(&settled)?;
            if won && let Some(grant) = &grant {
                tx.grant(grant)?;
            }
            Ok(won)
        })?;
        kit::fault_point!("router.answer.committed");
        // Its turn may have ended while the record was under way.
        let now = self.store.asked(given.id)?.ok_or(RouterError::NoApproval)?;
        if won { Ok(now.info(self.now.ms)) } else { Err(RouterError::NotPending(now.state_at(self.now.ms))) }
    }

    /// Grants that hold.
    pub(crate) fn grants(&self, user: Option<UserId>) -> Result<List<Grant, 256>, RouterError> {
        Ok(List::clip(self.store.grants(user)?))
    }

    /// Takes a grant back; twice is once.
    pub(crate) fn revoke(
        &mut self,
        user: Option<UserId>,
        by: &Name,
        id: ApprovalId,
        port: Port<Result<(), RouterError>>,
    ) {
        let grant = match self.store.granted(id) {
            Ok(Some((whose, grant, revoked))) if user.is_none_or(|user| user == whose) => {
                if revoked {
                    return drop(port.send(Ok(())));
                }
                grant
            }
            Ok(_) => return drop(port.send(Err(RouterError::NoApproval))),
            Err(fault) => return drop(port.send(Err(fault.into()))),
        };
        self.record(changed(&grant, by, "taken back"), move |desk, recorded| {
            let now_ms = desk.now.ms;
            let revoked = if recorded {
                desk.store.commit(|tx| tx.revoke(id, now_ms)).map_err(Into::into)
            } else {
                Err(RouterError::NotDurable)
            };
            kit::fault_point!("router.grant.revoked");
            drop(port.send(revoked));
        });
    }
}

const fn becomes(reply: Reply) -> State {
    match reply {
        Reply::Once | Reply::Session => State::Approved,
        Reply::Deny => State::Denied,
    }
}

fn record_of(asked: &Asked, given: &Given) -> Event {
    let (result, word) = match given.reply {
        Reply::Once => (Result3::Success, "once"),
        Reply::Session => (Result3::Success, "for the session"),
        Reply::Deny => (Result3::Blocked, "denied"),
    };
    answered_event(asked, result, &format!("{word}, by {}", given.by))
}

fn grant_of(asked: &Asked, question: &Question, by: &Name, now_ms: u64) -> Grant {
    Grant {
        id: asked.id,
        session: asked.session,
        tool: question.tool.clone(),
        scope: question.scope,
        given_by: by.clone(),
        given_ms: now_ms,
    }
}

/// The record of a grant that is given or taken back: the scope stands in it as a hash.
fn changed(grant: &Grant, by: &Name, what: &str) -> Event {
    let mut event = Event::new(Action::GrantChanged, Result3::Success)
        .about(&grant.tool)
        .because(&format!("{what}, by {by}"));
    event.session = Some(grant.session);
    event.hash = Some(grant.scope);
    event
}
