//! A piece at the moment when its process can send it: it is taken then, `sending` and durable, and no sooner, so that what waits for a
//! conversation's pace or for a process that is away was not sent for certain. And whether the beginning of an answer may be shown.

use crate::channel_outbox::is_due;
use crate::state::RouterState;
use crate::store::{Delivery, PieceHead};
use ipc_proto::approval::Reply;
use ipc_proto::channel::{Body, Button, ChannelError, Claim, DeliveryId, DeliveryState, PieceId};
use ipc_proto::ids::TurnId;
use ipc_proto::{Blob, List, Name, Text};
use manifest::Process;

/// The caption of the button that has an answer sent again.
const SEND_AGAIN: &str = "Send the last answer again";
/// The captions of the buttons below a question.
const APPROVE: &str = "Approve once";
const DENY: &str = "Deny";
impl RouterState {
    /// Gives a piece to the process that can send it now.
    pub(crate) fn channel_take(
        &mut self,
        caller: Process,
        account: &str,
        life: u64,
        piece: PieceId,
        preview: Option<Text<128>>,
    ) -> Result<Claim, ChannelError> {
        let channel = self.own_channel(caller, account)?.name;
        let taken = self.take_piece(&channel, i64::from_ne_bytes(life.to_ne_bytes()), piece, preview);
        if taken.is_err() {
            self.channels.let_go(&channel, piece);
        }
        taken
    }

    /// A piece that this life took before is given again: its answer did not arrive.
    fn take_piece(
        &mut self,
        channel: &Name,
        life: i64,
        piece: PieceId,
        preview: Option<Text<128>>,
    ) -> Result<Claim, ChannelError> {
        if self.store.account(channel)?.paused {
            return Err(ChannelError::Paused);
        }
        let mut delivery = self.store.delivery(channel, piece.delivery)?.ok_or(ChannelError::NoDelivery)?;
        let next = self.store.pieces(piece.delivery)?.into_iter().find(|it| it.state != DeliveryState::Sent);
        let head = next.filter(|head| head.number == piece.number).ok_or(ChannelError::NoDelivery)?;
        let is_taken = head.state == DeliveryState::Sending && head.life == life;
        let first = self.store.first_delivery(channel, &delivery.conversation)?;
        if first != Some(piece.delivery) || !(is_taken || is_due(head, self.now.ms)) {
            return Err(ChannelError::NoDelivery);
        }
        delivery.edits = delivery.edits.or(preview);
        let claim = self.claim_of(&delivery, head)?;
        self.store.commit(|tx| tx.take_piece(piece, life, claim.edits.as_deref()))?;
        kit::fault_point!("router.piece.sending");
        Ok(claim)
    }

    /// A piece with all that its process needs to send it.
    pub(crate) fn claim_of(&self, delivery: &Delivery, head: PieceHead) -> Result<Claim, ChannelError> {
        let piece = PieceId { delivery: delivery.id, number: head.number };
        let first = head.number == 0;
        let last = head.number.saturating_add(1) >= delivery.planned;
        let mut content = self.store.piece(piece)?.ok_or(ChannelError::NoDelivery)?;
        if let Body::File { bytes, .. } = &mut content.body
            && delivery.has_file
            && last
        {
            let file = self.store.sent_file(delivery.id)?.ok_or(ChannelError::NoDelivery)?;
            *bytes = Blob::new(file.bytes).map_err(|_| ChannelError::NoDelivery)?;
        }
        let buttons = if last { self.buttons(delivery.id)? } else { Vec::new() };
        Ok(Claim {
            piece,
            conversation: delivery.conversation.clone(),
            reply_to: delivery.reply_to.clone().filter(|_| first),
            edits: delivery.edits.clone().filter(|_| first),
            content,
            buttons: List::clip(buttons),
            attempt: head.attempt,
        })
    }

    /// The buttons below the last piece of a delivery.
    fn buttons(&self, id: DeliveryId) -> Result<Vec<Button>, ChannelError> {
        let button = |caption: &str, nonce| Button { caption: Text::clip(caption), nonce };
        let again = self.store.buttons(id)?.into_iter().map(|nonce| button(SEND_AGAIN, nonce));
        let choices = self
            .store
            .choice_buttons(id)?
            .into_iter()
            .map(|(nonce, reply)| button(if reply == Reply::Deny { DENY } else { APPROVE }, nonce));
        Ok(again.chain(choices).collect())
    }

    /// Returns true if nothing waits that is to be sent to the conversation of a turn: a preview which is sent before an earlier
    /// answer would leave the later answer above it.
    pub(crate) fn channel_may_show(
        &mut self,
        caller: Process,
        account: &str,
        turn: TurnId,
    ) -> Result<bool, ChannelError> {
        let channel = self.own_channel(caller, account)?.name;
        let live = self.live_turn(turn).filter(|live| live.head.channel == channel);
        let message = live.ok_or(ChannelError::NoTurn)?.head.seq;
        let arrival = self.store.arrival_of(message)?.ok_or(ChannelError::NoTurn)?;
        Ok(self.store.first_delivery(&channel, &arrival.conversation)?.is_none())
    }
}
