//! The requests about channels that are done once they are on the record.

use crate::channel_replies::press_answer;
use crate::port::ChannelPort;
use crate::state::RouterState;
use crate::state::effects::ChannelRequest;
use ipc_proto::channel::{ChannelError, PairingState};

impl RouterState {
    /// Does a request about channels once it is on the record.
    pub(crate) fn channel_recorded(&mut self, request: ChannelRequest, recorded: bool) {
        match request {
            ChannelRequest::Paused { channel, paused, port } => {
                self.settle(port, recorded, |it| {
                    it.store.commit(|tx| tx.set_channel_paused(&channel, paused))?;
                    it.wake_channel(&channel);
                    Ok(())
                });
            }
            ChannelRequest::Group { channel, group, rule, port } => {
                self.settle(port, recorded, |it| {
                    Ok(it.store.commit(|tx| tx.set_group(&channel, &group, rule))?)
                });
            }
            ChannelRequest::PairingApproved { pairing, person, port } => {
                self.settle(port, recorded, |it| it.store_approval(&pairing, *person));
            }
            ChannelRequest::PairingRefused { identity, port } => self.settle(port, recorded, |it| {
                Ok(it.store.commit(|tx| tx.settle_pairing(&identity, PairingState::Refused))?)
            }),
            ChannelRequest::Identity { user, identity, add, port, notice } => {
                let done = if recorded {
                    self.store_identity(user, &identity, add)
                } else {
                    Err(ChannelError::NotDurable)
                };
                if let Some((channel, conversation)) = notice {
                    let text = match &done {
                        Ok(user) => format!("You are {} here now.", user.name),
                        Err(_) => "This account could not be linked; ask for a new code.".to_owned(),
                    };
                    self.try_notice(&channel, &conversation, &text);
                }
                port.map(|port| drop(port.send(done))).unwrap_or_default();
            }
            ChannelRequest::Pressed { message, nonce, port } => self
                .settle(port, recorded, |it| it.store_resend(None, message, Some(nonce)).map(press_answer)),
            ChannelRequest::Tested { channel, conversation, text, port } => {
                self.settle(port, recorded, |it| it.store_test(&channel, &conversation, &text));
            }
            ChannelRequest::ChatLink { user, channel, conversation } => {
                let code = if recorded { self.store_link(user) } else { Err(ChannelError::NotDurable) };
                let text = match code {
                    Ok(link) => format!(
                        "Within 10 minutes, send this from your other account, which is {} from then on:\n`/link {}`",
                        link.user, link.code
                    ),
                    Err(_) => "No code could be made; try again later.".to_owned(),
                };
                self.try_notice(&channel, &conversation, &text);
            }
            ChannelRequest::Link { user, port } => self.settle(port, recorded, |it| it.store_link(user)),
            ChannelRequest::Resent { user, message, port } => {
                self.settle(port, recorded, |it| {
                    it.store_resend(user, message, None).map(Option::unwrap_or_default)
                });
            }
        }
    }

    fn settle<T>(
        &mut self,
        port: ChannelPort<T>,
        recorded: bool,
        work: impl FnOnce(&mut Self) -> Result<T, ChannelError>,
    ) {
        let done = if recorded { work(self) } else { Err(ChannelError::NotDurable) };
        drop(port.send(done));
    }
}
