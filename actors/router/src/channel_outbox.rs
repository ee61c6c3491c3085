//! The outbox of messaging platforms: answers become deliveries, each is planned into pieces once, and a piece is `sending`, durably,
//! before its process has it. An outcome that nobody can know is `unknown` and is never tried again by itself.

use crate::channel_sending::with_file;
use crate::channels::question;
use crate::state::RouterState;
use crate::state::channels::Claim as Waiting;
use crate::state::effects::Recorded;
use crate::store::{Delivery, PieceHead, Transition, from_sql_id};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::channel::{
    Answer, ChannelError, Claim, Conversation, DeliveryId, DeliveryState, Due, Outcome, PIECES, Piece,
    PieceId, Platform, Work, WorkBatch,
};
use ipc_proto::router::MessageState;
use ipc_proto::{List, Name, Text};
use manifest::Process;

/// How long a delivery waits before it expires, ms.
const EXPIRES_MS: u64 = 86_400_000;
/// How long a piece waits that a platform refused for now, ms.
const RETRY_MS: u64 = 30_000;
/// How long a piece waits at most that was not sent, ms.
const LONGEST_MS: u64 = 3_600_000;
/// Bytes of one batch of work; one more piece may come over it.
const WORK_BYTES: usize = 1 << 20;
/// Works of one batch.
const WORKS: usize = 16;

impl RouterState {
    /// Gives work to the process of an account, now or when there is some.
    pub(crate) fn channel_claim(&mut self, caller: Process, account: &str, waiting: Waiting) {
        let channel = match self.own_channel(caller, account) {
            Ok(channel) => channel.name,
            Err(refusal) => return drop(waiting.port.send(Err(refusal))),
        };
        self.give_work(&channel, waiting);
    }

    fn give_work(&mut self, channel: &Name, waiting: Waiting) {
        match self.work(channel, life(&waiting), &waiting.holding) {
            Ok(work) if work.is_empty() => self.channels.wait(channel, waiting),
            // A call that waits no longer holds none of it, which its next call says.
            outcome => drop(waiting.port.send(outcome)),
        }
    }

    /// Gives an account's process the work that came, if it waits.
    pub(crate) fn wake_channel(&mut self, channel: &str) {
        if let Some(waiting) = self.channels.take_waiting(channel) {
            self.give_work(&Name::clip(channel), waiting);
        }
    }

    /// Gives processes that wait the work that the request under way has made.
    pub(crate) fn wake_channels(&mut self) {
        for channel in self.channels.take_to_wake() {
            self.wake_channel(&channel);
        }
    }

    /// Gives processes that wait the work that is due by now.
    pub(crate) fn channels_tick(&mut self) {
        for channel in self.channels.waiting() {
            self.wake_channel(&channel);
        }
    }

    /// The work of an account, but for the pieces that its process holds.
    fn work(&mut self, channel: &Name, life: i64, holding: &[PieceId]) -> Result<WorkBatch, ChannelError> {
        if let Some(number) = self.channels.take_check(channel) {
            return Ok(List::clip([Work::Check(number)]));
        }
        if !self.store.has_open_deliveries(channel)? || self.store.account(channel)?.paused {
            return Ok(WorkBatch::default());
        }
        let mut works = self.settle_lost(channel, life, holding)?;
        self.expire_deliveries(channel)?;
        let mut bytes = 0;
        for id in self.store.first_deliveries(channel)? {
            if works.len() >= WORKS || bytes >= WORK_BYTES {
                break;
            }
            let Some(delivery) = self.store.delivery(channel, from_sql_id(id))? else { continue };
            if delivery.planned == 0 {
                bytes += delivery.text.len();
                works.push(Work::Plan(answer(delivery)));
            } else if let Some(due) = self.next_piece(&delivery, holding)? {
                works.push(Work::Send(due));
            }
        }
        Ok(List::clip(works))
    }

    /// Pieces that were taken and are in nobody's hands: those that this life never got are due again, those of a life
    /// that is over may have been sent. Where the platform takes ids they are sent again; where it can be read, or an edit can be
    /// made again, they are looked for, and stay those of the earlier life until they have an outcome.
    fn settle_lost(
        &mut self,
        channel: &Name,
        life: i64,
        holding: &[PieceId],
    ) -> Result<Vec<Work>, ChannelError> {
        let platform = channel.split_once(':').and_then(|(platform, _)| Platform::named(platform));
        let sends_once = platform.is_some_and(Platform::sends_once);
        let finds = platform.is_some_and(Platform::finds_sent);
        let repeats = platform.is_some_and(Platform::repeats_edits);
        let sending = self.store.sending(channel)?;
        let mut works = Vec::new();
        for (piece, given) in sending.into_iter().filter(|(piece, _)| !holding.contains(piece)) {
            if given == life || sends_once {
                self.store.commit(|tx| tx.put_piece_back(piece, 0, given != life))?;
                continue;
            }
            let lost = self.lost_piece(channel, piece)?;
            match lost.filter(|claim| finds || (repeats && claim.edits.is_some())) {
                Some(claim) => works.push(Work::Find(claim)),
                None => self.settle_unknown(channel, piece)?,
            }
        }
        works.truncate(WORKS);
        Ok(works)
    }

    /// A piece that an earlier life of its process took.
    fn lost_piece(&mut self, channel: &Name, piece: PieceId) -> Result<Option<Claim>, ChannelError> {
        let Some(delivery) = self.store.delivery(channel, piece.delivery)? else { return Ok(None) };
        let heads = self.store.pieces(piece.delivery)?;
        match heads.into_iter().find(|head| head.number == piece.number) {
            Some(head) => self.claim_of(&delivery, head).map(Some),
            None => Ok(None),
        }
    }

    fn settle_unknown(&mut self, channel: &Name, piece: PieceId) -> Result<(), ChannelError> {
        self.store.commit(|tx| {
            tx.settle_piece(piece, DeliveryState::Unknown, None)?;
            tx.set_delivery(piece.delivery, DeliveryState::Unknown, "")
        })?;
        self.record(sent_event(channel, Result3::Error, "unknown"), Recorded::Nothing);
        Ok(())
    }

    fn expire_deliveries(&mut self, channel: &Name) -> Result<(), ChannelError> {
        let old = self.store.old_deliveries(channel, self.now.ms.saturating_sub(EXPIRES_MS))?;
        if old.is_empty() {
            return Ok(());
        }
        Ok(self.store.commit(|tx| {
            old.iter().try_for_each(|id| tx.set_delivery(*id, DeliveryState::Expired, "not sent within 24 h"))
        })?)
    }

    /// The next piece of a delivery; `None` if its process has it, or it is not due.
    fn next_piece(&self, delivery: &Delivery, holding: &[PieceId]) -> Result<Option<Due>, ChannelError> {
        let piece = |head: PieceHead| PieceId { delivery: delivery.id, number: head.number };
        let due = |head: &PieceHead| is_due(*head, self.now.ms) && !holding.contains(&piece(*head));
        let next = self.store.pieces(delivery.id)?.into_iter().find(|head| head.state != DeliveryState::Sent);
        Ok(next.filter(due).map(|head| Due {
            piece: piece(head),
            conversation: delivery.conversation.clone(),
            reply_to: delivery.reply_to.clone().filter(|_| head.number == 0),
        }))
    }

    /// Stores the plan of a delivery. One that is stored is never replaced.
    pub(crate) fn channel_plan(
        &mut self,
        caller: Process,
        account: &str,
        id: DeliveryId,
        pieces: &List<Piece, PIECES>,
    ) -> Result<(), ChannelError> {
        let channel = self.own_channel(caller, account)?;
        let delivery = self.store.delivery(&channel.name, id)?.ok_or(ChannelError::NoDelivery)?;
        if pieces.is_empty() || delivery.planned > 0 {
            return Err(ChannelError::BadPlan);
        }
        let file = if delivery.has_file { self.store.sent_file(id)? } else { None };
        let whole = file.map(|file| with_file(pieces, file.name));
        let pieces = whole.as_ref().unwrap_or(pieces);
        self.store.commit(|tx| {
            if pieces.len() > question::PIECES {
                tx.leave_denying(id)?;
            }
            tx.plan_delivery(id, pieces)
        })?;
        kit::fault_point!("router.plan.committed");
        self.channels.wake_later(&channel.name);
        Ok(())
    }

    /// Stores how a piece came out.
    pub(crate) fn channel_done(
        &mut self,
        caller: Process,
        account: &str,
        piece: PieceId,
        outcome: &Outcome,
    ) -> Result<(), ChannelError> {
        let channel = self.own_channel(caller, account)?.name;
        let delivery = self.store.delivery(&channel, piece.delivery)?.ok_or(ChannelError::NoDelivery)?;
        let pieces = self.store.pieces(piece.delivery)?;
        let head = pieces.iter().find(|head| head.number == piece.number).ok_or(ChannelError::NoDelivery)?;
        if head.state != DeliveryState::Sending {
            return if is_settled_so(head.state, outcome) { Ok(()) } else { Err(ChannelError::NoDelivery) };
        }
        let now_ms = self.now.ms;
        match outcome {
            Outcome::Sent { id } => self.piece_sent(&channel, &delivery, piece, id)?,
            Outcome::Refused { why, finally: true } => {
                self.store.commit(|tx| {
                    tx.settle_piece(piece, DeliveryState::Refused, None)?;
                    tx.set_delivery(piece.delivery, DeliveryState::Refused, why)
                })?;
                self.record(sent_event(&channel, Result3::Blocked, "refused"), Recorded::Nothing);
            }
            Outcome::Refused { finally: false, .. } => {
                self.store.commit(|tx| tx.put_piece_back(piece, now_ms.saturating_add(RETRY_MS), true))?;
            }
            Outcome::Unsent { after_ms } => {
                let after = now_ms.saturating_add(u64::from(*after_ms).min(LONGEST_MS));
                self.store.commit(|tx| tx.put_piece_back(piece, after, true))?;
            }
            Outcome::Unknown => self.settle_unknown(&channel, piece)?,
        }
        kit::fault_point!("router.piece.settled");
        self.channels.let_go(&channel, piece);
        self.wake_channel(&channel);
        Ok(())
    }

    fn piece_sent(
        &mut self,
        channel: &Name,
        delivery: &Delivery,
        piece: PieceId,
        id: &Text<128>,
    ) -> Result<(), ChannelError> {
        let last = piece.number.saturating_add(1) >= delivery.planned;
        let message = delivery.message.filter(|_| last && !delivery.has_file);
        let head = message.map(|seq| self.store.message_at(seq)).transpose()?.flatten();
        let answered = head.filter(|head| head.state == MessageState::Answered);
        let now_ms = self.now.ms;
        // The message is delivered with the outcome: nobody would say so after a death between the two.
        self.store.commit(|tx| {
            tx.settle_piece(piece, DeliveryState::Sent, Some(id))?;
            tx.note_sent(channel, now_ms)?;
            if let Some(head) = &answered {
                tx.mark_delivered(head.seq, now_ms)?;
                tx.transition(&Transition::of(head, MessageState::Delivered, now_ms))?;
            }
            if last && delivery.has_file {
                tx.drop_sent_bytes(piece.delivery)?;
            }
            if last { tx.set_delivery(piece.delivery, DeliveryState::Sent, "") } else { Ok(()) }
        })?;
        self.record(sent_event(channel, Result3::Success, "sent"), Recorded::Nothing);
        if last {
            self.channels.loops.answered(&talk(channel, &delivery.conversation), self.now.at);
        }
        Ok(())
    }
}

/// The name of a conversation among those of all accounts.
pub(crate) fn talk(channel: &str, conversation: &Conversation) -> String {
    let thread = conversation.thread.as_deref().unwrap_or_default();
    format!("{channel} {} {thread}", conversation.id)
}

fn answer(delivery: Delivery) -> Answer {
    Answer {
        delivery: delivery.id,
        conversation: delivery.conversation,
        turn: delivery.turn,
        text: delivery.text,
        plain_links: delivery.plain_links,
    }
}

/// Returns true if a piece may be sent by now.
pub(crate) fn is_due(head: PieceHead, now_ms: u64) -> bool {
    head.state == DeliveryState::Ready && head.after_ms <= now_ms
}

/// The life of the process that asks, as the store holds it.
const fn life(waiting: &Waiting) -> i64 {
    i64::from_ne_bytes(waiting.life.to_ne_bytes())
}

const fn is_settled_so(state: DeliveryState, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Sent { .. } => matches!(state, DeliveryState::Sent),
        Outcome::Refused { finally: true, .. } => matches!(state, DeliveryState::Refused),
        Outcome::Refused { finally: false, .. } | Outcome::Unsent { .. } => {
            matches!(state, DeliveryState::Ready)
        }
        Outcome::Unknown => matches!(state, DeliveryState::Unknown),
    }
}

fn sent_event(channel: &Name, result: Result3, how: &str) -> Event {
    Event::new(Action::PieceSent, result).about(channel).because(how)
}
