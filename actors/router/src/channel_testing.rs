//! Tests of a channel by an operator: a look at the account by its own process, and a line of the host's own to a conversation that
//! the account admits.

use crate::channel_accounts::{Channel, command_event};
use crate::channels::admission;
use crate::port::ChannelPort;
use crate::state::RouterState;
use crate::state::channels::Check;
use crate::state::effects::{ChannelRequest, PendingRequest, Recorded};
use crate::store::NewDelivery;
use ipc_proto::channel::{
    ChannelError, Conversation, ConversationKind, DeliveryId, FINDINGS, Finding, Platform,
};
use ipc_proto::{List, Name, Text};
use manifest::Process;

/// Takes the findings of a look at an account.
pub(crate) type FindingsPort = ChannelPort<List<Finding, FINDINGS>>;

impl RouterState {
    /// Has an account's process look at it. A second look takes the place of one that was not answered.
    pub(crate) fn check_channel(&mut self, account: &str, port: FindingsPort) {
        let channel = match self.channel_of(account) {
            Ok(channel) => channel.name,
            Err(refusal) => return drop(port.send(Err(refusal))),
        };
        let number = self.channels.next_check();
        if let Some(earlier) = self.channels.account(&channel).check.replace(Check::new(number, port)) {
            drop(earlier.port.send(Err(ChannelError::NoAnswer)));
        }
        self.wake_channel(&channel);
    }

    /// Hands on what a process has found. Findings that nobody waits for any more are dropped.
    pub(crate) fn channel_checked(
        &mut self,
        caller: Process,
        account: &str,
        number: u64,
        findings: List<Finding, FINDINGS>,
    ) -> Result<(), ChannelError> {
        let channel = self.own_channel(caller, account)?.name;
        let state = self.channels.account(&channel);
        if state.check.as_ref().is_some_and(|check| check.number == number)
            && let Some(check) = state.check.take()
        {
            drop(check.port.send(Ok(findings)));
        }
        Ok(())
    }

    /// Sends a line of the host's own to a conversation, once that is on the record.
    pub(crate) fn test_channel(
        &mut self,
        by: &Name,
        account: &str,
        to: &Text<128>,
        port: ChannelPort<DeliveryId>,
    ) {
        let found = self.channel_of(account).and_then(|channel| {
            let conversation = self.admitted(&channel, to)?;
            Ok((channel, conversation))
        });
        match found {
            Ok((channel, conversation)) => {
                let event = command_event(&channel.name, &format!("test message, by {by}"));
                let text =
                    format!("A test of the host, by {by}: messages of {} arrive here.", channel.account);
                let request = ChannelRequest::Tested { channel: channel.name, conversation, text, port };
                self.record(event, Recorded::Request(PendingRequest::Channel(request)));
            }
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    /// The conversation of this group or person, if the account admits it.
    pub(crate) fn admitted(&self, channel: &Channel, to: &Text<128>) -> Result<Conversation, ChannelError> {
        let conversation = |kind| Conversation { id: to.clone(), thread: None, kind };
        if self.group_rule(channel, to)?.is_some() {
            return Ok(conversation(ConversationKind::Group));
        }
        let platform = channel.rules.platform;
        let identity = platform.identity(&channel.account, to).ok_or(ChannelError::NotAdmitted)?;
        let (identity, direct) = match self.store.direct_conversation(&channel.name, &identity, to)? {
            Some(found) => found,
            // These platforms name a person's conversation as they name the person.
            None if matches!(platform, Platform::Telegram | Platform::Signal | Platform::Email) => {
                (identity, conversation(ConversationKind::Direct))
            }
            None => return Err(ChannelError::NotAdmitted),
        };
        let sender = identity.splitn(3, ':').nth(2).unwrap_or_default();
        let known = self.people.by_identity(&identity).map(|person| person.role);
        if admission::admits(&channel.rules, sender, known) {
            Ok(direct)
        } else {
            Err(ChannelError::NotAdmitted)
        }
    }

    /// Stores a test message that is on the record.
    pub(crate) fn store_test(
        &mut self,
        channel: &Name,
        conversation: &Conversation,
        text: &str,
    ) -> Result<DeliveryId, ChannelError> {
        let now_ms = self.now.ms;
        let id = self.store.commit(|tx| {
            tx.add_delivery(&NewDelivery {
                channel,
                conversation,
                message: None,
                reply_to: None,
                edits: None,
                text,
                plain_links: true,
                now_ms,
            })
        })?;
        self.channels.wake_later(channel);
        Ok(id)
    }
}
