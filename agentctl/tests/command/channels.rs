//! The canned host's answers about users and the channels that they come through.

/// The methods of control for users and channels.
macro_rules! channel_methods {
    () => {
        async fn users(self, _: Context) -> Answer<ipc_proto::List<ipc_proto::router::UserInfo, 256>> {
            self.guard().map(|()| ipc_proto::List::clip([crate::samples::user_info()]))
        }

        async fn add_user(
            self,
            _: Context,
            name: ipc_proto::Name,
            role: ipc_proto::config::UserRole,
            uids: ipc_proto::List<u32, 16>,
            identities: ipc_proto::List<ipc_proto::Text<256>, 16>,
        ) -> Answer<ipc_proto::router::UserInfo> {
            self.guard().map(|()| ipc_proto::router::UserInfo {
                name,
                role,
                uids,
                identities,
                configured: false,
                id: crate::samples::USER,
            })
        }

        async fn edit_user(
            self,
            _: Context,
            name: ipc_proto::Name,
            role: Option<ipc_proto::config::UserRole>,
            uids: Option<ipc_proto::List<u32, 16>>,
        ) -> Answer<ipc_proto::router::UserInfo> {
            self.guard()?;
            let was = crate::samples::user_info();
            let uids = uids.unwrap_or_else(|| was.uids.clone());
            Ok(ipc_proto::router::UserInfo { name, role: role.unwrap_or(was.role), uids, ..was })
        }

        async fn remove_user(self, _: Context, name: ipc_proto::Name) -> Answer<()> {
            self.guard()?;
            let gone = ipc_proto::router::RouterError::NoUser;
            if name.as_str() == "nobody" {
                Err(ipc_proto::control::ControlError::Router(gone))
            } else {
                Ok(())
            }
        }

        async fn channels(
            self,
            _: Context,
        ) -> Answer<ipc_proto::List<ipc_proto::channel::ChannelInfo, { ipc_proto::channel::ACCOUNTS }>> {
            self.guard().map(|()| ipc_proto::List::default())
        }

        async fn channel(self, _: Context, _: ipc_proto::Name) -> Answer<ipc_proto::channel::ChannelView> {
            self.guard()?;
            Err(ipc_proto::control::ControlError::Channel(ipc_proto::channel::ChannelError::NoChannel))
        }

        async fn pause_channel(self, _: Context, _: ipc_proto::Name, _: bool) -> Answer<()> {
            self.guard()
        }

        async fn set_group(
            self,
            _: Context,
            _: ipc_proto::Name,
            _: ipc_proto::Text<128>,
            _: Option<ipc_proto::channel::GroupRule>,
        ) -> Answer<()> {
            self.guard()
        }

        async fn pairings(self, _: Context) -> Answer<ipc_proto::List<ipc_proto::channel::PairingInfo, 256>> {
            self.guard().map(|()| ipc_proto::List::default())
        }

        async fn approve_pairing(
            self,
            _: Context,
            _: ipc_proto::Name,
            _: ipc_proto::Name,
            _: ipc_proto::config::UserRole,
        ) -> Answer<ipc_proto::router::UserInfo> {
            self.guard().map(|()| crate::samples::user_info())
        }

        async fn refuse_pairing(self, _: Context, _: ipc_proto::Name) -> Answer<()> {
            self.guard()
        }

        async fn create_link(self, _: Context, _: ipc_proto::Name) -> Answer<ipc_proto::channel::LinkCode> {
            self.guard()?;
            Err(ipc_proto::control::ControlError::Channel(ipc_proto::channel::ChannelError::NoChannel))
        }

        async fn link_user(
            self,
            _: Context,
            _: ipc_proto::Name,
            _: ipc_proto::Text<256>,
        ) -> Answer<ipc_proto::router::UserInfo> {
            self.guard().map(|()| crate::samples::user_info())
        }

        async fn unlink_user(
            self,
            _: Context,
            _: ipc_proto::Name,
            _: ipc_proto::Text<256>,
        ) -> Answer<ipc_proto::router::UserInfo> {
            self.guard().map(|()| crate::samples::user_info())
        }

        async fn check_channel(
            self,
            _: Context,
            _: ipc_proto::Name,
        ) -> Answer<ipc_proto::List<ipc_proto::channel::Finding, { ipc_proto::channel::FINDINGS }>> {
            self.guard().map(|()| ipc_proto::List::default())
        }

        async fn test_channel(
            self,
            _: Context,
            _: ipc_proto::Name,
            _: ipc_proto::Text<128>,
        ) -> Answer<ipc_proto::channel::DeliveryId> {
            self.guard()?;
            Err(ipc_proto::control::ControlError::Channel(ipc_proto::channel::ChannelError::NotAdmitted))
        }

        async fn deliveries(
            self,
            _: Context,
            _: Option<ipc_proto::ids::MessageId>,
            _: bool,
        ) -> Answer<ipc_proto::List<ipc_proto::channel::DeliveryInfo, 256>> {
            self.guard().map(|()| ipc_proto::List::default())
        }

        async fn resend(self, _: Context, _: ipc_proto::ids::MessageId) -> Answer<u32> {
            self.guard().map(|()| 0)
        }
    };
}
pub(crate) use channel_methods;
