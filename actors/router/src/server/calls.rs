//! The calls of the server to the actor, each with its time.

use super::{Answer, ChannelAnswer, RouterServer};
use crate::actor::Message;
use crate::interface::{ApiRequest, ChannelsRequest, EventRequest, PlatformRequest};
use crate::port::Port;
use ipc_proto::api::Caller;
use ipc_proto::channel::ChannelError;
use ipc_proto::router::{Followed, NamedEvent, RouterError};
use ipc_proto::{List, Name};
use std::time::Duration;

/// How long a follower waits for the first event, and a reader of named events at most.
pub(super) const LONG_POLL: Duration = Duration::from_secs(20);
/// How long a request may take that goes on the record first; within each method's deadline.
pub(super) const PATIENCE: Duration = Duration::from_secs(9);

impl RouterServer {
    /// Makes a request that may be refused, and that may have to wait for the record.
    pub(super) async fn request<T, R>(&self, request: impl FnOnce(Port<Answer<T>>) -> R) -> Answer<T>
    where
        T: Send + 'static,
        R: Into<Message>,
    {
        self.handle.call(PATIENCE, request).await.unwrap_or(Err(RouterError::NotDurable))
    }

    /// Makes a request that is never refused.
    pub(super) async fn value<T, R>(&self, request: impl FnOnce(Port<T>) -> R) -> Answer<T>
    where
        T: Send + 'static,
        R: Into<Message>,
    {
        self.handle.call(PATIENCE, request).await.ok_or(RouterError::NotDurable)
    }

    /// Makes a request about channels.
    pub(super) async fn about_channels<T: Send + 'static>(
        &self,
        request: impl FnOnce(Port<ChannelAnswer<T>>) -> ChannelsRequest,
    ) -> ChannelAnswer<T> {
        self.handle.call(PATIENCE, request).await.unwrap_or(Err(ChannelError::NotDurable))
    }

    /// Makes a request of a platform's process about one of its accounts.
    pub(super) async fn platform<T: Send + 'static>(
        &self,
        account: Name,
        request: impl FnOnce(Port<ChannelAnswer<T>>) -> PlatformRequest,
    ) -> ChannelAnswer<T> {
        let caller = self.caller;
        self.about_channels(|port| ChannelsRequest::Platform { caller, account, request: request(port) })
            .await
    }

    /// Events of a turn from number `from` on; none if there is none within the time of a long poll.
    pub(super) async fn followed<R: Into<Message>>(
        &self,
        from: u64,
        request: impl FnOnce(Port<Answer<Followed>>) -> R,
    ) -> Answer<Followed> {
        let nothing = Followed { from, events: List::default(), next: from, over: false };
        self.handle.call(LONG_POLL, request).await.unwrap_or(Ok(nothing))
    }

    /// Named events after `after`: those that there are, or the first within `wait`.
    pub(super) async fn events_within(&self, after: u64, wait: Duration) -> List<NamedEvent, 256> {
        let events = if wait.is_zero() {
            self.handle.call(PATIENCE, |reply| EventRequest::After { after, reply }).await
        } else {
            self.handle.call(wait, |reply| EventRequest::Wait { after, reply }).await
        };
        events.unwrap_or_default()
    }

    /// The events of these that a client sees. A client without rights is refused.
    pub(super) async fn visible(
        &self,
        caller: Caller,
        events: List<NamedEvent, 256>,
    ) -> Answer<List<NamedEvent, 256>> {
        self.request(|reply| ApiRequest::VisibleEvents { caller, events, reply }).await
    }
}
