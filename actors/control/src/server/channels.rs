//! Channels, pairings, identities and deliveries.

use crate::caller::Caller;
use ipc_proto::channel::{
    ACCOUNTS, ChannelInfo, ChannelView, DeliveryId, DeliveryInfo, FINDINGS, Finding, GroupRule, LinkCode,
    PairingInfo,
};
use ipc_proto::config::UserRole;
use ipc_proto::control::Answer;
use ipc_proto::ids::MessageId;
use ipc_proto::router::{UserInfo, method};
use ipc_proto::{List, Name, Text};

impl Caller {
    /// Every channel.
    pub(crate) async fn list_channels(&self) -> Answer<List<ChannelInfo, ACCOUNTS>> {
        self.router(&method::channels, |router, context| async move { router.channels(context).await }).await
    }

    /// One channel in full.
    pub(crate) async fn show_channel(&self, name: Name) -> Answer<ChannelView> {
        self.channels(&method::channel, |router, context| {
            let name = name.clone();
            async move { router.channel(context, name).await }
        })
        .await
    }

    /// Pauses a channel, or resumes it; the router records it first.
    pub(crate) async fn hold_channel(&self, name: Name, paused: bool) -> Answer<()> {
        let by = self.user().await?.name;
        self.channels(&method::pause_channel, |router, context| {
            let (by, name) = (by.clone(), name.clone());
            async move { router.pause_channel(context, by, name, paused).await }
        })
        .await
    }

    /// Admits a group, or no longer; the router records it first.
    pub(crate) async fn put_group(
        &self,
        channel: Name,
        group: Text<128>,
        rule: Option<GroupRule>,
    ) -> Answer<()> {
        let by = self.user().await?.name;
        self.channels(&method::set_group, |router, context| {
            let (by, channel, group) = (by.clone(), channel.clone(), group.clone());
            async move { router.set_group(context, by, channel, group, rule).await }
        })
        .await
    }

    /// Pairings of the last day.
    pub(crate) async fn list_pairings(&self) -> Answer<List<PairingInfo, 256>> {
        self.channels(&method::pairings, |router, context| async move { router.pairings(context).await })
            .await
    }

    /// Approves a pairing; the router records it first.
    pub(crate) async fn accept_pairing(&self, code: Name, user: Name, role: UserRole) -> Answer<UserInfo> {
        let by = self.user().await?.name;
        self.channels(&method::approve_pairing, |router, context| {
            let (by, code, user) = (by.clone(), code.clone(), user.clone());
            async move { router.approve_pairing(context, by, code, user, role).await }
        })
        .await
    }

    /// Refuses a pairing; the router records it first.
    pub(crate) async fn reject_pairing(&self, code: Name) -> Answer<()> {
        let by = self.user().await?.name;
        self.channels(&method::refuse_pairing, |router, context| {
            let (by, code) = (by.clone(), code.clone());
            async move { router.refuse_pairing(context, by, code).await }
        })
        .await
    }

    /// Makes a one-time code for a user.
    pub(crate) async fn make_link(&self, user: Name) -> Answer<LinkCode> {
        let by = self.user().await?.name;
        self.channels(&method::create_link, |router, context| {
            let (by, user) = (by.clone(), user.clone());
            async move { router.create_link(context, by, user).await }
        })
        .await
    }

    /// Adds an identity to a user; the router records it first.
    pub(crate) async fn add_identity(&self, user: Name, identity: Text<256>) -> Answer<UserInfo> {
        let by = self.user().await?.name;
        self.channels(&method::link_user, |router, context| {
            let (by, user, identity) = (by.clone(), user.clone(), identity.clone());
            async move { router.link_user(context, by, user, identity).await }
        })
        .await
    }

    /// Takes an identity from a user; the router records it first.
    pub(crate) async fn remove_identity(&self, user: Name, identity: Text<256>) -> Answer<UserInfo> {
        let by = self.user().await?.name;
        self.channels(&method::unlink_user, |router, context| {
            let (by, user, identity) = (by.clone(), user.clone(), identity.clone());
            async move { router.unlink_user(context, by, user, identity).await }
        })
        .await
    }

    /// Has a channel's process look at its account.
    pub(crate) async fn look_at_channel(&self, name: Name) -> Answer<List<Finding, FINDINGS>> {
        self.channels(&method::check_channel, |router, context| {
            let name = name.clone();
            async move { router.check_channel(context, name).await }
        })
        .await
    }

    /// Sends a line of the host's own to a conversation; the router records it first.
    pub(crate) async fn try_channel(&self, name: Name, to: Text<128>) -> Answer<DeliveryId> {
        let by = self.user().await?.name;
        self.channels(&method::test_channel, |router, context| {
            let (by, name, to) = (by.clone(), name.clone(), to.clone());
            async move { router.test_channel(context, by, name, to).await }
        })
        .await
    }

    /// Deliveries of one message, or of all that the caller may see.
    pub(crate) async fn list_deliveries(
        &self,
        message: Option<MessageId>,
        unknown: bool,
    ) -> Answer<List<DeliveryInfo, 256>> {
        let user = self.scope();
        self.channels(&method::deliveries, |router, context| async move {
            router.deliveries(context, user, message, unknown).await
        })
        .await
    }

    /// Sends again what of a message did not arrive.
    pub(crate) async fn resend_message(&self, message: MessageId) -> Answer<u32> {
        let (by, user) = (self.user().await?.name, self.scope());
        self.channels(&method::resend, |router, context| {
            let by = by.clone();
            async move { router.resend(context, user, by, message).await }
        })
        .await
    }
}
