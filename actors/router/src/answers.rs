//! Persons' answers, and the grants that go with them. An answer goes on the record first. Of several that come at once one is recorded
//! and wins, and the others learn its outcome.
//!
//! It must never accept an answer for another action than the stored one: the hash that the person was shown decides.

use crate::approvals::answered_event;
use crate::port;
use crate::state::RouterState;
use crate::state::effects::{PendingRequest, Recorded};
use crate::state::requests::AnswerRequest;
use crate::store::{Asked, Settled};
use ipc_proto::approval::{ApprovalInfo, GRANTS, Grant, Question, Reply, State};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::config::UserRole;
use ipc_proto::ids::{ApprovalId, UserId};
use ipc_proto::router::RouterError;
use ipc_proto::{List, Name};

impl RouterState {
    /// Takes a person's answer.
    pub(crate) fn answer(&mut self, request: AnswerRequest) {
        // Answers to one question go one after the other: the second learns the outcome of the first.
        let Some(request) = self.approvals.queue_behind(request) else { return };
        let (asked, question) = match self.may_answer(&request) {
            Ok(found) => found,
            Err(RouterError::NotPending(_)) if self.has_answered_so(&request) => {
                let info = self.visible(request.user, request.id).map(|asked| asked.info(self.now.ms));
                return self.give_answer(request.port, info);
            }
            Err(refusal) => return self.give_answer(request.port, Err(refusal)),
        };
        self.approvals.begin_answer(request.id);
        let event = record_of(&asked, &request);
        let (request, asked, question) = (Box::new(request), Box::new(asked), Box::new(question));
        self.record(event, Recorded::Answer { request, asked, question });
    }

    /// An answer is on the record, or could not be put there. The grant that goes with it comes next.
    pub(crate) fn answer_recorded(
        &mut self,
        request: Box<AnswerRequest>,
        asked: Box<Asked>,
        question: &Question,
        recorded: bool,
    ) {
        if !recorded || request.reply != Reply::Session {
            return self.answered(*request, &asked, None, recorded);
        }
        let grant = Box::new(grant_of(&asked, question, &request.by, self.now.ms));
        let event = grant_event(&grant, &request.by, "given");
        self.record(event, Recorded::Granted { request, asked, grant });
    }

    /// Returns the question if this person may answer it so, now.
    fn may_answer(&self, request: &AnswerRequest) -> Result<(Asked, Question), RouterError> {
        let asked = self.visible(request.user, request.id)?;
        let question = self.store.question(request.id)?.ok_or(RouterError::NoApproval)?;
        match asked.state_at(self.now.ms) {
            State::Pending => {}
            settled => return Err(RouterError::NotPending(settled)),
        }
        // A guest talks and decides nothing, whatever control lets through.
        let may = |user| !question.owner_only && self.people.role(user) >= UserRole::User;
        if request.user.is_some_and(|user| !may(user)) {
            return Err(RouterError::OwnerOnly);
        }
        if request.hash != asked.hash {
            return Err(RouterError::WrongHash);
        }
        if request.reply == Reply::Session {
            let held = self.store.grants_in(asked.session)?;
            let again = held.iter().any(|grant| grant.scope == question.scope);
            if !question.grantable || (held.len() >= GRANTS && !again) {
                return Err(RouterError::NotGrantable);
            }
        }
        Ok((asked, question))
    }

    /// Returns true if this very answer was given before, by the same person: control asks again when this process died before it
    /// could confirm the answer.
    fn has_answered_so(&self, request: &AnswerRequest) -> bool {
        let (Ok(asked), Ok(grant)) = (self.visible(request.user, request.id), self.store.granted(request.id))
        else {
            return false;
        };
        let denied = asked.state_at(self.now.ms) == State::Denied;
        let same = match request.reply {
            Reply::Deny => denied,
            Reply::Once => !denied && grant.is_none(),
            Reply::Session => !denied && grant.is_some(),
        };
        let form = self.store.form(request.id).is_ok_and(|form| form.is_empty() || form == request.form);
        same && form && asked.hash == request.hash && asked.answered_by.as_ref() == Some(&request.by)
    }

    /// Stores an answer that is on the record, and then takes the answers that came meanwhile.
    pub(crate) fn answered(
        &mut self,
        request: AnswerRequest,
        asked: &Asked,
        grant: Option<Grant>,
        recorded: bool,
    ) {
        let stored = if recorded { self.store_answer(&request, grant) } else { Err(RouterError::NotDurable) };
        let waiting = self.approvals.end_answer(request.id);
        if stored.is_ok() {
            self.schedule_expiry();
            self.publish_answer(asked, becomes(request.reply));
            self.clock_of(asked.turn);
        }
        self.wake_asker(request.id);
        self.give_answer(request.port, stored);
        for request in waiting {
            self.answer(request);
        }
    }

    fn store_answer(
        &mut self,
        request: &AnswerRequest,
        grant: Option<Grant>,
    ) -> Result<ApprovalInfo, RouterError> {
        let to = becomes(request.reply);
        let settled =
            Settled { id: request.id, to, by: Some(&request.by), form: &request.form, now_ms: self.now.ms };
        let won = self.store.commit(|tx| {
            let won = tx.settle(&settled)?;
            if won && let Some(grant) = &grant {
                tx.grant(grant)?;
            }
            Ok(won)
        })?;
        kit::fault_point!("router.answer.committed");
        // Its turn may have ended while the record was under way.
        let now = self.store.asked(request.id)?.ok_or(RouterError::NoApproval)?;
        if won { Ok(now.info(self.now.ms)) } else { Err(RouterError::NotPending(now.state_at(self.now.ms))) }
    }

    /// Grants that hold.
    pub(crate) fn grants(&self, user: Option<UserId>) -> Result<List<Grant, 256>, RouterError> {
        Ok(List::clip(self.store.grants(user)?))
    }

    /// Revokes a grant. Asked for twice, it is done once.
    pub(crate) fn revoke(&mut self, user: Option<UserId>, by: &Name, id: ApprovalId, port: port::Reply<()>) {
        let grant = match self.store.granted(id) {
            Ok(Some((owner, grant, revoked))) if user.is_none_or(|user| user == owner) => {
                if revoked {
                    return drop(port.send(Ok(())));
                }
                grant
            }
            Ok(_) => return drop(port.send(Err(RouterError::NoApproval))),
            Err(fault) => return drop(port.send(Err(fault.into()))),
        };
        self.record(
            grant_event(&grant, by, "taken back"),
            Recorded::Request(PendingRequest::GrantRevoked { id, port }),
        );
    }

    /// The revocation of a grant is on the record.
    pub(crate) fn store_revocation(&mut self, id: ApprovalId) -> Result<(), RouterError> {
        let now_ms = self.now.ms;
        self.store.commit(|tx| tx.revoke(id, now_ms))?;
        kit::fault_point!("router.grant.revoked");
        Ok(())
    }
}

const fn becomes(reply: Reply) -> State {
    match reply {
        Reply::Once | Reply::Session => State::Approved,
        Reply::Deny => State::Denied,
    }
}

fn record_of(asked: &Asked, request: &AnswerRequest) -> Event {
    let (result, word) = match request.reply {
        Reply::Once => (Result3::Success, "once"),
        Reply::Session => (Result3::Success, "for the session"),
        Reply::Deny => (Result3::Blocked, "denied"),
    };
    let place = request.port.channel().map(|channel| format!(", at {channel}")).unwrap_or_default();
    answered_event(asked, result, &format!("{word}, by {}{place}", request.by))
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

/// The event for a grant that is given or taken back. The scope stands in it as a hash.
fn grant_event(grant: &Grant, by: &Name, what: &str) -> Event {
    let mut event = Event::new(Action::GrantChanged, Result3::Success)
        .about(&grant.tool)
        .because(&format!("{what}, by {by}"));
    event.session = Some(grant.session);
    event.hash = Some(grant.scope);
    event
}
