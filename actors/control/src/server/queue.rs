//! The queue: one message in full, taken back, put in again; and what is paused and stopped. The router decides and
//! records; callers see and move their own messages alone, the owner everyone's.

use crate::caller::Caller;
use ipc_proto::Text;
use ipc_proto::content::TEXT_BOUND;
use ipc_proto::control::Answer;
use ipc_proto::ids::MessageId;
use ipc_proto::router::{Accepted, MessageView, QueueInfo, SessionName, Stopped, method};
use std::cell::Cell;

impl Caller {
    /// One message in full.
    pub(crate) async fn show_message(&self, id: MessageId) -> Answer<MessageView> {
        let scope = self.scope();
        self.router(
            &method::message,
            |router, context| async move { router.message(context, scope, id).await },
        )
        .await
    }

    /// Takes back a message that has not begun.
    pub(crate) async fn recall_message(&self, id: MessageId) -> Answer<Text<TEXT_BOUND>> {
        let scope = self.scope();
        self.router(&method::recall, |router, context| async move { router.recall(context, scope, id).await })
            .await
    }

    /// Puts a dead letter into the queue again, as the caller.
    pub(crate) async fn requeue_message(
        &self,
        id: MessageId,
        text: Option<Text<TEXT_BOUND>>,
    ) -> Answer<Accepted> {
        let (scope, by) = (self.scope(), self.user().await?.name);
        self.router(&method::requeue, |router, context| {
            let (by, text) = (by.clone(), text.clone());
            async move { router.requeue(context, scope, by, id, text).await }
        })
        .await
    }

    /// Has nothing be started in a session, or in any, or takes that back.
    pub(crate) async fn pause_queue(&self, session: Option<SessionName>, paused: bool) -> Answer<()> {
        let (scope, by) = (self.scope(), self.user().await?.name);
        self.router(&method::pause, |router, context| {
            let (by, session) = (by.clone(), session.clone());
            async move { router.pause(context, scope, by, session, paused).await }
        })
        .await
    }

    /// Ends every turn of a session, or of all that are in the caller's scope, and what waits behind them.
    /// A router that died before it could answer is asked `again`.
    pub(crate) async fn stop_turns(&self, session: Option<SessionName>, again: bool) -> Answer<Stopped> {
        let (scope, by) = (self.scope(), self.user().await?.name);
        let asked = Cell::new(again);
        self.router(&method::stop, |router, context| {
            let (by, session, again) = (by.clone(), session.clone(), asked.replace(true));
            async move { router.stop(context, scope, by, session, again).await }
        })
        .await
    }

    /// The queue in numbers.
    pub(crate) async fn show_queue(&self) -> Answer<QueueInfo> {
        let scope = self.scope();
        self.router(&method::queue, |router, context| async move { router.queue(context, scope).await }).await
    }
}
