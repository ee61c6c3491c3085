//! Acceptance of a batch of a platform's messages: admission comes before anything of a message is stored or scanned; what is admitted, the
//! pairings and the cursor are durable in one commit. Then the platform is acknowledged.

use crate::channel_accounts::Channel;
use crate::channel_outbox::talk;
use crate::channel_sessions::{session_base, submission};
use crate::channels::admission::{self, Decision};
use crate::channels::commands::{self, Command};
use crate::channels::loops::{Heard, PAUSE};
use crate::state::RouterState;
use crate::state::effects::{Effect, PendingRequest, Recorded};
use crate::state::requests::{AnswerPort, CodedAnswer};
use crate::store::{Arrival, DAY_MS};
use crate::submit::{Beside, StoredMessage};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::channel::{Admitted, BATCH, Batch, ChannelError, ConversationKind, DropReason, Inbound};
use ipc_proto::ids::UserId;
use ipc_proto::router::{End, RouterError};
use ipc_proto::{List, Text};
use manifest::Process;
use sha2::{Digest, Sha256};

/// Answers of one conversation, and of one account, that may wait to be sent.
pub(crate) const WAITING: (u32, u32) = (4096, 256);

/// A batch while it is stored.
#[derive(Default)]
pub(crate) struct Progress {
    /// Its messages that are stored and not queued yet.
    pub(crate) stored: Vec<StoredMessage>,
    /// Messages of it that a later one of it stops, durably, with the note of the stop.
    pub(crate) stopped: Vec<(i64, String)>,
    /// Answers to questions that came in it, each with the code of six digits that came with it.
    answers: Vec<(CodedAnswer, Option<Text<16>>)>,
    /// Effects before it.
    effects: usize,
}

impl RouterState {
    /// Accepts a batch.
    pub(crate) fn channel_accept(
        &mut self,
        caller: Process,
        account: &str,
        batch: &Batch,
    ) -> Result<List<Admitted, BATCH>, ChannelError> {
        let channel = self.own_channel(caller, account)?;
        if self.store.account(&channel.name)?.paused {
            return Err(ChannelError::Paused);
        }
        // While owners find room in the queue, the messages of a batch are looked at one by one.
        let total = usize::try_from(self.config.queue_total).unwrap_or(usize::MAX);
        if self.disk_has_room().is_err() || self.lanes.waiting() >= total {
            return Err(ChannelError::Busy { retry_s: 5 });
        }
        let users = self.people.ids();
        let mut progress = Progress { effects: self.effects.len(), ..Progress::default() };
        self.store.begin_batch()?;
        let fates = self.store_batch(&channel, batch, &mut progress);
        let done = match fates {
            Ok(fates) => {
                kit::fault_point!("router.channel.stored");
                self.store.commit_batch().map(|()| fates).map_err(ChannelError::from)
            }
            Err(fault) => {
                self.store.abort_batch();
                Err(fault)
            }
        };
        kit::fault_point!("router.channel.committed");
        match done {
            Ok(fates) => {
                for stored in progress.stored {
                    self.announce(stored);
                }
                for (seq, note) in progress.stopped {
                    self.end_as_decided(seq, End::Cancelled, &note, true, None);
                }
                for (answer, digits) in progress.answers {
                    self.answer_with_code(&channel, answer, digits);
                }
                self.wake_channel(&channel.name);
                Ok(List::clip(fates))
            }
            Err(fault) => {
                // Guests of the batch never were, and neither were its records.
                let fresh = self.people.ids();
                fresh.into_iter().filter(|id| !users.contains(id)).for_each(|id| self.people.remove(id));
                let added = self.effects.split_off(progress.effects.min(self.effects.len()));
                self.effects.extend(added.into_iter().filter(|effect| !is_of_batch(effect)));
                Err(fault)
            }
        }
    }

    fn store_batch(
        &mut self,
        channel: &Channel,
        batch: &Batch,
        progress: &mut Progress,
    ) -> Result<Vec<Admitted>, ChannelError> {
        let mut fates = Vec::with_capacity(batch.messages.len());
        for inbound in &batch.messages {
            fates.push(self.store_inbound(channel, inbound, progress)?);
        }
        let admitted = fates.iter().any(|fate| matches!(fate, Admitted::Accepted { .. } | Admitted::Command));
        let now_ms = self.now.ms;
        self.store.commit(|tx| {
            if admitted {
                tx.note_admitted(&channel.name, now_ms)?;
            }
            tx.set_cursor(&channel.name, &batch.cursor)
        })?;
        Ok(fates)
    }

    fn store_inbound(
        &mut self,
        channel: &Channel,
        inbound: &Inbound,
        progress: &mut Progress,
    ) -> Result<Admitted, ChannelError> {
        if let Some(before) = self.store.arrival_keyed(&channel.name, &inbound.key)? {
            let Some(seq) = before.message else { return Ok(Admitted::Command) };
            let head = self.store.message_at(seq)?.ok_or(ChannelError::NotDurable)?;
            return Ok(Admitted::Repeated { message: head.id, turn: head.turn });
        }
        let Some(identity) = channel.rules.platform.identity(&channel.account, &inbound.sender.id) else {
            return Ok(self.drop_inbound(channel, inbound, DropReason::Empty));
        };
        if let Some(from) = &inbound.moved_from
            && self.move_group(channel, from, &inbound.conversation)?
            && inbound.parts.is_empty()
        {
            return self.arrived(channel, inbound, None).map(|()| Admitted::Command);
        }
        let group = match inbound.conversation.kind {
            ConversationKind::Group => self.group_rule(channel, &inbound.conversation.id)?,
            ConversationKind::Direct => None,
        };
        let known = self.people.by_identity(&identity).map(|person| (person.id, person.role));
        let decision = admission::decide(&channel.rules, inbound, known.map(|(_, role)| role), group);
        let direct = inbound.conversation.kind == ConversationKind::Direct;
        // A link's code admits by itself: it is the way in for those who are not known yet.
        let link = match commands::parse(inbound) {
            Some(Command::Link(code)) if direct => Some(code),
            _ => None,
        };
        let open = matches!(decision, Decision::Drop(DropReason::NotAdmitted) | Decision::Pairing);
        match decision {
            Decision::Drop(reason) if link.is_none() || !open => {
                return Ok(self.drop_inbound(channel, inbound, reason));
            }
            _ => {}
        }
        if !self.channels.rates.admit(&identity, self.now.at) {
            return self.too_many(channel, inbound, DropReason::TooMany, "You write faster than I may read.");
        }
        if self.goes_round(channel, inbound)? {
            return Ok(self.drop_inbound(channel, inbound, DropReason::Loop));
        }
        if let Some(code) = link {
            return self.try_link(channel, inbound, &identity, &code);
        }
        let user = match (decision, known) {
            (Decision::User, Some((user, _))) => Some(user),
            (Decision::Pairing, _) => {
                self.ask_pairing(channel, inbound, &identity)?;
                return self.arrived(channel, inbound, None).map(|()| Admitted::Pairing);
            }
            (Decision::Guest, _) => self.admit_guest(channel, "guest", &identity)?,
            (Decision::Group, _) => {
                let group = format!("{}:{}", channel.name, self.first_id(channel, &inbound.conversation.id)?);
                self.admit_guest(channel, "group", &group)?
            }
            _ => return Ok(self.drop_inbound(channel, inbound, DropReason::NotAdmitted)),
        };
        match user {
            Some(user) => self.store_admitted(channel, inbound, user, progress),
            None => self.too_many(channel, inbound, DropReason::TooMany, "No more for today."),
        }
    }

    /// Links a sender by the code of a link, for as long as they may try codes.
    fn try_link(
        &mut self,
        channel: &Channel,
        inbound: &Inbound,
        identity: &Text<256>,
        code: &str,
    ) -> Result<Admitted, ChannelError> {
        if !self.channels.rates.may_try_code(identity, self.now.at) {
            return Ok(self.drop_inbound(channel, inbound, DropReason::TooMany));
        }
        self.link_by_code(channel, &inbound.conversation, identity, code)?;
        self.arrived(channel, inbound, None).map(|()| Admitted::Command)
    }

    /// Returns true if the conversation is paused because it goes back and forth faster than people write. The pause is an alert, and
    /// is said once. Commands pass it.
    fn goes_round(&mut self, channel: &Channel, inbound: &Inbound) -> Result<bool, ChannelError> {
        if commands::parse(inbound).is_some() {
            return Ok(false);
        }
        let talk = talk(&channel.name, &inbound.conversation);
        match self.channels.loops.heard(&talk, &inbound.sender.id, self.now.at) {
            Heard::GoesOn => return Ok(false),
            Heard::Paused => return Ok(true),
            Heard::Pauses => {}
        }
        let minutes = PAUSE.as_secs() / 60;
        let why = format!("loop: a peer answers within 2 s, over 5 times in 60 s; paused for {minutes} min");
        let event = Event::new(Action::Alert, Result3::Blocked).about(&channel.name).because(&why);
        self.record(event, Recorded::Nothing);
        let text =
            format!("Your messages come faster than I can be read: I pause here for {minutes} minutes.");
        self.send_notice(&channel.name, &inbound.conversation, None, &text)?;
        Ok(true)
    }

    /// A guest of an account, who has a share of its day; `None` if that is used up.
    fn admit_guest(
        &mut self,
        channel: &Channel,
        kind: &str,
        of: &str,
    ) -> Result<Option<UserId>, ChannelError> {
        let (day, most) = (self.now.ms / DAY_MS, channel.rules.guest_messages);
        if self.channels.admit_guest(&channel.name, day, most) { self.guest(kind, of) } else { Ok(None) }
    }

    /// Stores the message of an admitted sender, or does the command that it is.
    fn store_admitted(
        &mut self,
        channel: &Channel,
        inbound: &Inbound,
        user: UserId,
        progress: &mut Progress,
    ) -> Result<Admitted, ChannelError> {
        match commands::parse(inbound) {
            None => return self.store_message(channel, inbound, user, progress),
            Some(Command::Approval(reply, code, digits)) => {
                match self.coded_choice(channel, inbound, reply, &code.unwrap_or_default())? {
                    Some(choice) => {
                        let port = AnswerPort::Chat(channel.name.clone(), inbound.conversation.clone());
                        progress.answers.push((CodedAnswer { choice, reply, port }, digits));
                    }
                    None => {
                        let text = "No question waits here for this code.";
                        self.send_notice(&channel.name, &inbound.conversation, Some(&inbound.message), text)?;
                    }
                }
            }
            Some(command) => self.chat_command(channel, inbound, user, &command, progress)?,
        }
        self.arrived(channel, inbound, None).map(|()| Admitted::Command)
    }

    /// Stores a message for an agent, as long as its conversation has room for the answer.
    fn store_message(
        &mut self,
        channel: &Channel,
        inbound: &Inbound,
        user: UserId,
        progress: &mut Progress,
    ) -> Result<Admitted, ChannelError> {
        let (all, here) = self.store.open_deliveries(&channel.name, &inbound.conversation)?;
        if all >= WAITING.0 || here >= WAITING.1 {
            return self.too_many(channel, inbound, DropReason::Busy, "Too many answers wait to be sent.");
        }
        let taken = self.taken_files(channel, inbound)?;
        // A second try is for a session that was ended or has another agent: the conversation goes on in a new one.
        let mut shows_images = true;
        for _ in 0..3 {
            let session = self.channel_session(channel, &inbound.conversation, user)?;
            let submission = submission(channel, inbound, user, session, (&taken, shows_images));
            match self.store_submission(&submission, None, Beside::default(), &progress.stored) {
                Ok(stored) => {
                    let (message, turn, seq) = (stored.head.id, stored.head.turn, stored.head.seq);
                    progress.stored.push(stored);
                    self.arrived(channel, inbound, Some(seq))?;
                    self.name_files(seq, &taken)?;
                    self.tell_missed(channel, inbound)?;
                    return Ok(Admitted::Accepted { message, turn });
                }
                Err(RouterError::SessionOver | RouterError::Taken) => {
                    let base = session_base(channel, &inbound.conversation);
                    self.store.commit(|tx| tx.renew(user, &base))?;
                }
                Err(RouterError::NoVision(_)) => shows_images = false,
                Err(RouterError::BadMessage) => {
                    return Ok(self.drop_inbound(channel, inbound, DropReason::Empty));
                }
                Err(RouterError::Busy { .. } | RouterError::TooManyRuns { .. }) => {
                    let text = "Too many of your messages wait already; this one was not accepted.";
                    return self.too_many(channel, inbound, DropReason::Busy, text);
                }
                Err(RouterError::NoRoom { .. }) => return Err(ChannelError::Busy { retry_s: 30 }),
                Err(fault) => {
                    tracing::error!(%fault, "a message of a channel was not stored");
                    return Err(ChannelError::NotDurable);
                }
            }
        }
        Err(ChannelError::NotDurable)
    }

    /// Stores the key of a message, so that it is taken once.
    fn arrived(
        &mut self,
        channel: &Channel,
        inbound: &Inbound,
        message: Option<i64>,
    ) -> Result<(), ChannelError> {
        let identity = channel.rules.platform.identity(&channel.account, &inbound.sender.id);
        let arrival = Arrival {
            message,
            identity: identity.unwrap_or_default(),
            conversation: inbound.conversation.clone(),
            reply_to: inbound.message.clone(),
            preview: None,
        };
        Ok(self.store.commit(|tx| tx.add_arrival(&channel.name, &inbound.key, &arrival))?)
    }

    /// Drops a message, and has its sender read why, once an hour.
    fn too_many(
        &mut self,
        channel: &Channel,
        inbound: &Inbound,
        reason: DropReason,
        text: &str,
    ) -> Result<Admitted, ChannelError> {
        if self.channels.once(&channel.name, reason.name(), &inbound.sender.id, self.now.at) {
            self.send_notice(&channel.name, &inbound.conversation, Some(&inbound.message), text)?;
        }
        Ok(self.drop_inbound(channel, inbound, reason))
    }

    /// Drops a message. That is on the record once an hour for each sender and reason, by a hash and without its text.
    fn drop_inbound(&mut self, channel: &Channel, inbound: &Inbound, reason: DropReason) -> Admitted {
        self.channels.count_dropped(&channel.name, reason);
        if !matches!(reason, DropReason::Edit | DropReason::NotMentioned) && !inbound.sender.itself {
            self.record_dropped(channel, &inbound.sender.id, reason);
        }
        Admitted::Dropped(reason)
    }

    /// Puts on the record that a sender was dropped, once an hour for each reason.
    pub(crate) fn record_dropped(&mut self, channel: &Channel, sender: &str, reason: DropReason) {
        let record = format!("record {}", reason.name());
        if self.channels.once(&channel.name, &record, sender, self.now.at) {
            let mut event = Event::new(Action::SenderDropped, Result3::Blocked)
                .about(&channel.name)
                .because(reason.name());
            let identity: Text<512> = Text::clip(&format!("{}:{sender}", channel.name));
            event.hash = Some(Sha256::digest(identity.as_bytes()).into());
            self.record(event, Recorded::Nothing);
        }
    }
}

/// Returns true for an effect that is void without its batch. A stop of turns that were there before holds nevertheless.
const fn is_of_batch(effect: &Effect) -> bool {
    let Effect::Record(_, then) = effect else { return false };
    matches!(then, Recorded::Nothing | Recorded::Request(PendingRequest::Channel(_)))
}
