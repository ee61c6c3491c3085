//! The work that goes on once an event is on the record, or could not be put there.

use crate::port::Reply;
use crate::state::RouterState;
use crate::state::effects::{PendingRequest, Recorded};
use ipc_proto::router::RouterError;

impl RouterState {
    /// Goes on with this work. `recorded` is false if the event could not be put on the record.
    pub(crate) fn recorded(&mut self, what: Recorded, recorded: bool) {
        match what {
            Recorded::Nothing => {}
            Recorded::Acceptance(seq) => self.acceptance_recorded(seq, recorded),
            Recorded::RaisedAtStart { seq, label, start } => {
                self.raised_at_start(seq, label, *start, recorded)
            }
            Recorded::Start { seq, label } => self.started(seq, &label, recorded),
            Recorded::BeforeStep { turn, new, others, port } => {
                self.before_step_recorded(turn, new, others, port, recorded);
            }
            Recorded::RunnerExit(seq) => self.runner_exit_recorded(seq, recorded),
            Recorded::End(seq) => self.end_recorded(seq, recorded),
            Recorded::Answer { request, asked, question } => {
                self.answer_recorded(request, asked, &question, recorded);
            }
            Recorded::Granted { request, asked, grant } => {
                self.answered(*request, &asked, Some(*grant), recorded);
            }
            Recorded::Expired(asked) => self.expiry_recorded(&asked, recorded),
            Recorded::Request(request) => self.request_recorded(request, recorded),
        }
    }

    /// Does a request once it is on the record.
    fn request_recorded(&mut self, request: PendingRequest, recorded: bool) {
        match request {
            PendingRequest::GrantRevoked { id, port } => {
                self.reply(port, recorded, |it| it.store_revocation(id))
            }
            PendingRequest::KeyCreated(wanted, port) => {
                self.reply(port, recorded, |it| it.store_key(*wanted))
            }
            PendingRequest::KeyRevoked(id, port) => {
                self.reply(port, recorded, |it| it.store_key_revocation(id))
            }
            PendingRequest::Requeued(request, port) => self.reply(port, recorded, |it| it.replace(&request)),
            PendingRequest::Paused { scope, paused, port } => {
                self.reply(port, recorded, |it| it.store_pause(scope, paused));
            }
            PendingRequest::Stopped { stopped, durable, port } => {
                self.reply(port, recorded && durable, |_| Ok(stopped));
            }
            PendingRequest::SessionEnded(session, port) => {
                self.reply(port, recorded, |it| it.close_session(&session));
            }
            PendingRequest::WorkspaceRemoved { user, id, port } => {
                self.reply(port, recorded, |it| it.forget_workspace(user, id));
            }
            PendingRequest::UserAdded(person, port) => {
                self.reply(port, recorded, |it| it.store_user(*person))
            }
            PendingRequest::UserEdited(edit, port) => {
                self.reply(port, recorded, |it| it.store_user_edit(&edit))
            }
            PendingRequest::UserRemoved(id, port) => {
                self.reply(port, recorded, |it| it.store_user_removal(id))
            }
            PendingRequest::Channel(request) => self.channel_recorded(request, recorded),
        }
    }

    /// Answers a request with the result of its work, which is done only if it is on the record.
    fn reply<T>(
        &mut self,
        port: Reply<T>,
        recorded: bool,
        work: impl FnOnce(&mut Self) -> Result<T, RouterError>,
    ) {
        let done = if recorded { work(self) } else { Err(RouterError::NotDurable) };
        drop(port.send(done));
    }
}
