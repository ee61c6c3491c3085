//! Messages, turns, sessions and workspaces: the router's, in the caller's own scope.

use crate::caller::Caller;
use ipc_proto::List;
use ipc_proto::Name;
use ipc_proto::Text;
use ipc_proto::control::{Answer, Ask, ControlError};
use ipc_proto::ids::{MessageId, TurnId, UserId, WorkspaceId};
use ipc_proto::router::{
    Accepted, Followed, MessageInfo, NamedEvent, Node, Passed, RouterError, SessionInfo, SessionName,
    SessionView, Steer, Steering, Submission, TREE, Typed, WorkspaceInfo, method,
};

/// The channel that messages of `agentctl` come by.
const CHANNEL: &str = "control";

impl Caller {
    /// Accepts a message.
    pub(crate) async fn send(&self, ask: Ask) -> Answer<Accepted> {
        let submission = submission(ask, self.user().await?.id, self.uid)?;
        self.router(&method::submit, |router, context| {
            let submission = submission.clone();
            async move { router.submit(context, submission).await }
        })
        .await
    }

    /// Accepts words for a turn under way. The key is the caller's own, as that of a message is.
    pub(crate) async fn say_into(&self, steer: Steer) -> Answer<Steering> {
        let user = self.user().await?.id;
        let steer = Steer { key: key_of(self.uid, &steer.key)?, ..steer };
        self.router(&method::steer, |router, context| {
            let steer = steer.clone();
            async move { router.steer(context, user, steer).await }
        })
        .await
    }

    /// Events of a turn.
    pub(crate) async fn follow_turn(&self, turn: TurnId, from: u64, credit: u16) -> Answer<Followed> {
        let scope = self.scope();
        self.router(&method::follow, |router, context| async move {
            router.follow(context, scope, turn, from, credit).await
        })
        .await
    }

    /// A turn and those that work on its tasks.
    pub(crate) async fn show_tree(&self, turn: TurnId) -> Answer<List<Node, TREE>> {
        let scope = self.scope();
        self.router(&method::tree, |router, context| async move { router.tree(context, scope, turn).await })
            .await
    }

    /// Cancels a turn.
    pub(crate) async fn cancel_turn(&self, turn: TurnId) -> Answer<()> {
        let scope = self.scope();
        self.router(
            &method::cancel,
            |router, context| async move { router.cancel(context, scope, turn).await },
        )
        .await
    }

    /// Types for a turn's program.
    pub(crate) async fn type_into(&self, turn: TurnId, number: u64, typed: Typed) -> Answer<bool> {
        let scope = self.scope();
        self.router(&method::type_in, |router, context| {
            let typed = typed.clone();
            async move { router.type_in(context, scope, turn, number, typed).await }
        })
        .await
    }

    /// Sessions.
    pub(crate) async fn list_sessions(&self) -> Answer<List<SessionInfo, 256>> {
        let scope = self.scope();
        self.router(&method::sessions, |router, context| async move { router.sessions(context, scope).await })
            .await
    }

    /// One session.
    pub(crate) async fn show_session(&self, name: SessionName) -> Answer<SessionView> {
        let scope = self.scope();
        self.router(&method::session, |router, context| {
            let name = name.clone();
            async move { router.session(context, scope, name).await }
        })
        .await
    }

    /// Ends a session.
    pub(crate) async fn close_session(&self, name: SessionName) -> Answer<()> {
        let scope = self.scope();
        self.router(&method::end_session, |router, context| {
            let name = name.clone();
            async move { router.end_session(context, scope, name).await }
        })
        .await
    }

    /// Messages, newest first; with `dead` the dead letters alone.
    pub(crate) async fn list_messages(&self, limit: u16, dead: bool) -> Answer<List<MessageInfo, 256>> {
        let scope = self.scope();
        self.router(&method::messages, |router, context| async move {
            router.messages(context, scope, limit, dead).await
        })
        .await
    }

    /// Every state a message went through.
    pub(crate) async fn trace_message(&self, message: MessageId) -> Answer<List<Passed, 128>> {
        let scope = self.scope();
        self.router(
            &method::trace,
            |router, context| async move { router.trace(context, scope, message).await },
        )
        .await
    }

    /// Workspaces.
    pub(crate) async fn list_workspaces(&self) -> Answer<List<WorkspaceInfo, 256>> {
        let scope = self.scope();
        self.router(
            &method::workspaces,
            |router, context| async move { router.workspaces(context, scope).await },
        )
        .await
    }

    /// Forgets a workspace.
    pub(crate) async fn forget_workspace(&self, id: WorkspaceId) -> Answer<()> {
        let scope = self.scope();
        self.router(&method::remove_workspace, |router, context| async move {
            router.remove_workspace(context, scope, id).await
        })
        .await
    }

    /// Named events.
    pub(crate) async fn named_events(&self, after: u64, wait_ms: u32) -> Answer<List<NamedEvent, 256>> {
        let router = &self.state.router;
        self.state
            .ask(router, &method::events, |router, context| async move {
                router.events(context, after, wait_ms).await
            })
            .await
    }
}

/// The message as the router takes it. The key is the caller's own: the same key of two uids is two messages.
fn submission(ask: Ask, user: UserId, uid: u32) -> Answer<Submission> {
    Ok(Submission {
        user,
        session: ask.session,
        agent: ask.agent,
        channel: Name::clip(CHANNEL),
        key: key_of(uid, &ask.key)?,
        content: ask.content,
        task: ask.task,
        workspace: ask.workspace,
        workspace_label: ask.workspace_label,
    })
}

fn key_of(uid: u32, key: &str) -> Answer<Text<256>> {
    Text::new(format!("{uid}:{key}")).map_err(|_| ControlError::Router(RouterError::BadMessage))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::content::Content;
    use ipc_proto::label::{Class, Trust};
    use ipc_proto::router::Task;

    fn ask(key: &str) -> Ask {
        Ask {
            session: Text::clip("work"),
            agent: Some(Name::clip("helper")),
            content: Content::text(Text::clip("hello")),
            task: Task::Chat,
            workspace: Some(WorkspaceId::from_bytes([3; 16])),
            workspace_label: Some((Trust::User, Class::Sensitive)),
            key: Text::new(key).unwrap(),
        }
    }

    #[test]
    fn a_message_is_sent_as_its_caller_and_its_key_is_theirs_alone() {
        let user = UserId::from_bytes([9; 16]);
        let sent = submission(ask("k"), user, 1000).unwrap();
        assert_eq!((sent.user, sent.channel.as_str(), sent.key.as_str()), (user, "control", "1000:k"));
        assert_eq!((sent.session.as_str(), sent.agent.as_deref()), ("work", Some("helper")));
        assert_eq!(
            (sent.content, sent.task, sent.workspace),
            (ask("k").content, Task::Chat, ask("k").workspace)
        );
        assert_eq!(sent.workspace_label, ask("k").workspace_label, "what its owner declares goes with it");
        // Neither uid can make the other's key.
        assert_ne!(
            submission(ask("0:k"), user, 100).unwrap().key,
            submission(ask("k"), user, 1000).unwrap().key
        );
    }

    #[test]
    fn a_key_that_does_not_fit_with_its_uid_is_refused_rather_than_cut() {
        let long = ask(&"k".repeat(256));
        let refused = submission(long, UserId::from_bytes([9; 16]), 1000).unwrap_err();
        assert_eq!(refused, ControlError::Router(RouterError::BadMessage));
    }
}
