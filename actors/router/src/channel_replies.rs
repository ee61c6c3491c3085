//! Answers for messaging platforms: how the end of a turn becomes a delivery, the turns that a platform's process may see, and deliveries
//! as operators see and repeat them.

use crate::channel_accounts::command_event;
use crate::channels::{self, codes};
use crate::ending::note_of;
use crate::port::ChannelPort;
use crate::state::RouterState;
use crate::state::effects::{ChannelRequest, PendingRequest, Recorded};
use crate::state::live::Live;
use crate::store::{Head, NewDelivery, StoreFault};
use ipc_proto::channel::{
    ChannelError, Conversation, DeliveryInfo, DeliveryState, LiveTurn, Press, PressAnswer,
};
use ipc_proto::ids::{MessageId, TurnId, UserId};
use ipc_proto::label::Trust;
use ipc_proto::router::{End, Finished};
use ipc_proto::{List, Name, Text};
use manifest::Process;

/// The answer to a message that came by a platform.
pub(crate) struct ChannelReply {
    pub(crate) channel: Name,
    pub(crate) conversation: Conversation,
    message: i64,
    reply_to: Option<Text<128>>,
    edits: Option<Text<128>>,
    text: String,
    plain_links: bool,
    /// The message whose answer may not have arrived, and the nonce of the button that has it sent again.
    pub(crate) offer: Option<(i64, [u8; 16])>,
}

/// The place of an answer on a platform.
struct ReplyPlace {
    channel: Name,
    conversation: Conversation,
    reply_to: Option<Text<128>>,
    edits: Option<Text<128>>,
}

impl ChannelReply {
    /// The delivery that it becomes.
    pub(crate) fn delivery(&self, now_ms: u64) -> NewDelivery<'_> {
        NewDelivery {
            channel: &self.channel,
            conversation: &self.conversation,
            message: Some(self.message),
            reply_to: self.reply_to.as_deref(),
            edits: self.edits.as_deref(),
            text: &self.text,
            plain_links: self.plain_links,
            now_ms,
        }
    }
}

impl RouterState {
    /// The answer to a message, if it came by a platform or its job names a conversation, and there is something to say.
    pub(crate) fn reply_by_channel(
        &self,
        head: &Head,
        finished: &Finished,
    ) -> Result<Option<ChannelReply>, StoreFault> {
        let Some(place) = self.place_of_reply(head)? else { return Ok(None) };
        let text = match &finished.end {
            End::Answered | End::Exited { .. } => finished.text.to_string(),
            End::Cancelled | End::Recalled | End::TakenIn(_) => String::new(),
            failed if place.reply_to.is_none() => {
                let session = self.store.session(head.session)?.name;
                format!("The message of the job in session {session} was not answered: {}.", note_of(failed))
            }
            failed => format!("I could not answer: {}.", note_of(failed)),
        };
        if text.trim().is_empty() {
            return Ok(None);
        }
        let unknown = self.store.unknown_in(&place.channel, &place.conversation)?;
        let buttons = channels::account(&place.channel)
            .and_then(|account| self.channel_of(account).ok())
            .is_some_and(|channel| channel.rules.platform.has_buttons());
        let before = match unknown.map(|seq| self.store.message_at(seq)).transpose()?.flatten() {
            Some(_) if buttons => {
                "My last answer may not have arrived; the button sends it again.\n\n".to_owned()
            }
            Some(head) => format!(
                "My last answer may not have arrived; `agentctl message resend {}` sends it again.\n\n",
                head.id
            ),
            None => String::new(),
        };
        Ok(Some(ChannelReply {
            channel: place.channel,
            conversation: place.conversation,
            message: head.seq,
            reply_to: place.reply_to,
            edits: place.edits,
            text: format!("{before}{text}"),
            plain_links: finished.label.trust == Trust::Untrusted,
            offer: unknown.filter(|_| buttons).map(|seq| (seq, codes::nonce())),
        }))
    }

    /// The conversation that the answer to a message goes to: the one it came from, or the one that its job names.
    fn place_of_reply(&self, head: &Head) -> Result<Option<ReplyPlace>, StoreFault> {
        if let Some(arrival) = self.store.arrival_of(head.seq)? {
            return Ok(Some(ReplyPlace {
                channel: head.channel.clone(),
                conversation: arrival.conversation,
                reply_to: Some(arrival.reply_to),
                edits: arrival.preview,
            }));
        }
        let to = self.store.fire_of(head.seq)?.and_then(|fire| fire.to);
        Ok(to.map(|(channel, conversation)| ReplyPlace {
            channel,
            conversation,
            reply_to: None,
            edits: None,
        }))
    }

    /// Puts a notice of the host's own into the outbox.
    pub(crate) fn send_notice(
        &mut self,
        channel: &Name,
        conversation: &Conversation,
        reply_to: Option<&str>,
        text: &str,
    ) -> Result<(), ChannelError> {
        let now_ms = self.now.ms;
        let notice = NewDelivery {
            channel,
            conversation,
            message: None,
            reply_to,
            edits: None,
            text,
            plain_links: false,
            now_ms,
        };
        self.store.commit(|tx| tx.add_delivery(&notice).map(drop))?;
        self.channels.wake_later(channel);
        Ok(())
    }

    /// The same for a change that holds already, with or without its notice.
    pub(crate) fn try_notice(&mut self, channel: &Name, conversation: &Conversation, text: &str) {
        if let Err(fault) = self.send_notice(channel, conversation, None, text) {
            tracing::warn!(%fault, "a notice could not be stored");
        }
    }

    /// The turns of an account that are not over.
    pub(crate) fn channel_turns(
        &self,
        caller: Process,
        account: &str,
    ) -> Result<List<LiveTurn, 64>, ChannelError> {
        let channel = self.own_channel(caller, account)?.name;
        let mut turns = Vec::new();
        for head in self.heads_where(|live: &Live| live.head.channel == channel) {
            if let Some(arrival) = self.store.arrival_of(head.seq)? {
                turns.push(LiveTurn {
                    turn: head.turn,
                    conversation: arrival.conversation,
                    reply_to: Some(arrival.reply_to),
                    preview: arrival.preview,
                });
            }
        }
        Ok(List::clip(turns))
    }

    /// Stores the platform's id of the preview of a turn. It may be over by now: its answer takes that place if it still waits.
    pub(crate) fn channel_preview(
        &mut self,
        caller: Process,
        account: &str,
        turn: TurnId,
        id: &Text<128>,
    ) -> Result<(), ChannelError> {
        let channel = self.own_channel(caller, account)?.name;
        let head = self.head_of(turn).map_err(|_| ChannelError::NoTurn)?;
        if head.channel != channel {
            return Err(ChannelError::NoTurn);
        }
        Ok(self.store.commit(|tx| {
            tx.set_preview(head.seq, id)?;
            tx.set_edits(head.seq, id)
        })?)
    }

    /// Fails if a turn is not one of this account's.
    pub(crate) fn channel_may_follow(
        &mut self,
        caller: Process,
        account: &str,
        turn: TurnId,
    ) -> Result<(), ChannelError> {
        let channel = self.own_channel(caller, account)?.name;
        let head = self.head_of(turn).map_err(|_| ChannelError::NoTurn)?;
        if head.channel == channel { Ok(()) } else { Err(ChannelError::NoTurn) }
    }

    /// The press of a button: it is the message's own sender who may have its answer sent again, and once.
    pub(crate) fn channel_press(
        &mut self,
        caller: Process,
        account: &str,
        press: &Press,
        port: ChannelPort<PressAnswer>,
    ) {
        match self.pressed(caller, account, press) {
            Ok(Some((channel, message))) => {
                let event = command_event(&channel, "message resend, by a button");
                let request = ChannelRequest::Pressed { message, nonce: press.nonce, port };
                self.record(event, Recorded::Request(PendingRequest::Channel(request)));
            }
            Ok(None) => self.question_pressed(caller, account, press, port),
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    /// The message that a press is for; `None` for a press that has no effect.
    fn pressed(
        &self,
        caller: Process,
        account: &str,
        press: &Press,
    ) -> Result<Option<(Name, MessageId)>, ChannelError> {
        let channel = self.own_channel(caller, account)?;
        let Some(seq) = self.store.button(&channel.name, &press.conversation, press.nonce)? else {
            return Ok(None);
        };
        let identity = channel.rules.platform.identity(&channel.account, &press.sender.id);
        let presser =
            identity.and_then(|identity| self.people.by_identity(&identity).map(|person| person.id));
        let head = self.store.message_at(seq)?.filter(|head| presser == Some(head.user));
        Ok(head.map(|head| (channel.name, head.id)))
    }

    /// Deliveries of one message, or of all.
    pub(crate) fn deliveries(
        &self,
        user: Option<UserId>,
        message: Option<MessageId>,
        unknown: bool,
    ) -> Result<List<DeliveryInfo, 256>, ChannelError> {
        let seq = match message.map(|id| self.find_message(user, id)) {
            None => None,
            Some(found) => Some(found.map_err(|_| ChannelError::NothingToResend)?.seq),
        };
        Ok(List::clip(self.store.deliveries(user, seq, unknown)?))
    }

    /// Sends again what of a message did not arrive, once that is on the record.
    pub(crate) fn resend(
        &mut self,
        user: Option<UserId>,
        by: &Name,
        message: MessageId,
        port: ChannelPort<u32>,
    ) {
        match self.deliveries(user, Some(message), false) {
            Ok(found) if found.is_empty() => drop(port.send(Err(ChannelError::NothingToResend))),
            Ok(found) => {
                let channel = found.first().map(|info| info.channel.clone()).unwrap_or_default();
                let event = command_event(&channel, &format!("message resend, by {by}"));
                let request = ChannelRequest::Resent { user, message, port };
                self.record(event, Recorded::Request(PendingRequest::Channel(request)));
            }
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    /// Puts what did not arrive back, its resending being on the record, and uses up the button that asked for it. Returns the number
    /// of pieces, none if that button was used before. Asked again, there is nothing left to put back.
    pub(crate) fn store_resend(
        &mut self,
        user: Option<UserId>,
        message: MessageId,
        button: Option<[u8; 16]>,
    ) -> Result<Option<u32>, ChannelError> {
        let found = self.deliveries(user, Some(message), false)?;
        let lost = |info: &&DeliveryInfo| info.state.is_final() && info.state != DeliveryState::Sent;
        let lost: Vec<&DeliveryInfo> = found.iter().filter(lost).collect();
        let now_ms = self.now.ms;
        let is_first = self.store.commit(|tx| {
            if let Some(nonce) = button
                && !tx.use_button(nonce)?
            {
                return Ok(false);
            }
            lost.iter().try_for_each(|info| tx.renew_delivery(info.id, now_ms))?;
            Ok(true)
        })?;
        if !is_first {
            return Ok(None);
        }
        lost.iter().for_each(|info| self.channels.wake_later(&info.channel));
        let pieces = lost.iter().map(|info| u32::from(info.pieces.0.saturating_sub(info.pieces.1)).max(1));
        Ok(Some(pieces.sum()))
    }
}

/// The answer to a press, by the pieces that it has sent again; `None` for a press that has no effect.
pub(crate) fn press_answer(sent: Option<u32>) -> PressAnswer {
    let text = match sent {
        Some(_) => "It is sent again.",
        None => "This button is not for you, or no longer valid.",
    };
    PressAnswer { done: sent.is_some(), text: Text::clip(text) }
}
