//! Messages of jobs. The scheduler names user, session and key; a job is a user's own, so what its owner may not do is refused here
//! at each fire, whatever was so when it was added.

use crate::channels::SCHEDULE;
use crate::ending::note_of;
use crate::state::RouterState;
use crate::store::StoredFire;
use ipc_proto::channel::{Conversation, ConversationKind};
use ipc_proto::config::UserRole;
use ipc_proto::content::Content;
use ipc_proto::ids::UserId;
use ipc_proto::router::{Accepted, End, Fire, FireEnd, Fired, RouterError, Submission, Target, Task};
use ipc_proto::{Name, Text};

impl RouterState {
    /// Fails as accepting this message would now.
    pub(crate) fn check_fire(&self, fire: &Fire) -> Result<(), RouterError> {
        let (submission, _) = self.fire_parts(fire)?;
        self.check_place(&submission)
    }

    /// Accepts the message of a job.
    pub(crate) fn fire(&mut self, fire: &Fire) -> Result<Accepted, RouterError> {
        if let Some(head) = self.store.message_keyed(fire.user, SCHEDULE, &fire.key)? {
            return Ok(self.accepted(&head));
        }
        let (submission, stored) = self.fire_parts(fire)?;
        self.submit_fire(&submission, &stored)
    }

    /// The state of a message of a job.
    pub(crate) fn fired(&self, user: UserId, key: &str) -> Result<Fired, RouterError> {
        let head = self.store.message_keyed(user, SCHEDULE, key)?.ok_or(RouterError::NoMessage)?;
        let end = self.store.finished(head.seq)?.map(|finished| match finished.end {
            End::Answered | End::Exited { .. } | End::TakenIn(_) => FireEnd::Answered,
            End::Cancelled | End::Recalled => FireEnd::Stopped,
            failed => FireEnd::Failed(Text::clip(&note_of(&failed))),
        });
        Ok(Fired { message: head.id, end })
    }

    fn fire_parts(&self, fire: &Fire) -> Result<(Submission, StoredFire), RouterError> {
        if self.people.role(fire.user) < UserRole::User {
            return Err(RouterError::NoUser);
        }
        let to = fire.to.as_ref().map(|target| self.conversation_of(fire.user, target)).transpose()?;
        let submission = Submission {
            user: fire.user,
            session: fire.session.clone(),
            agent: fire.agent.clone(),
            channel: Name::clip(SCHEDULE),
            key: fire.key.clone(),
            content: Content::text(Text::clip(&fire.text)),
            task: Task::Chat,
            workspace: None,
            workspace_label: None,
        };
        Ok((submission, StoredFire { unattended: fire.unattended, to }))
    }

    /// The conversation that the answers of a user's job go to: one that the account admits and, unless the user is an owner, the
    /// user's own.
    fn conversation_of(&self, user: UserId, target: &Target) -> Result<(Name, Conversation), RouterError> {
        let refusal = || RouterError::NoTarget(Text::clip(&target.to_string()));
        let channel = self.channel_of(&target.account).map_err(|_| refusal())?;
        let conversation = self.admitted(&channel, &target.id).map_err(|_| refusal())?;
        let identity = channel.rules.platform.identity(&channel.account, &target.id);
        let owner = identity.and_then(|identity| self.people.by_identity(&identity).map(|person| person.id));
        let own = conversation.kind == ConversationKind::Direct && owner == Some(user);
        if own || self.is_owner(user) { Ok((channel.name, conversation)) } else { Err(refusal()) }
    }
}
