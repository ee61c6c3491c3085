//! Chat commands of admitted people, done before any model sees the text.

use crate::channel_accept::Progress;
use crate::channel_accounts::Channel;
use crate::channel_sessions::session_base;
use crate::channels::commands::{self, Command};
use crate::state::RouterState;
use crate::state::effects::{ChannelRequest, PendingRequest, Recorded};
use crate::stopping::stop_note;
use crate::store::{DAY_MS, Spent};
use ipc_proto::Name;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::channel::{ChannelError, ConversationKind, Inbound};
use ipc_proto::config::UserRole;
use ipc_proto::ids::UserId;
use ipc_proto::router::{End, RouterError, Stopped};
use ractor::concurrency::oneshot;

impl RouterState {
    /// Does a command, and answers it in its conversation.
    pub(crate) fn chat_command(
        &mut self,
        channel: &Channel,
        inbound: &Inbound,
        user: UserId,
        command: &Command,
        progress: &mut Progress,
    ) -> Result<(), ChannelError> {
        let text = match command {
            Command::Help | Command::Link(_) | Command::Approval(..) => {
                commands::help(channel.rules.platform.command_mark())
            }
            Command::AskLink => match self.ask_link(channel, inbound, user) {
                None => return Ok(()),
                Some(refusal) => refusal.to_owned(),
            },
            Command::WhoAmI => self.who(user),
            Command::Status => self.chat_status(user),
            Command::New => {
                let base = session_base(channel, &inbound.conversation);
                self.store.commit(|tx| tx.renew(user, &base))?;
                "A new conversation begins with your next message.".to_owned()
            }
            Command::Stop => self.chat_stop(channel, inbound, user, progress)?,
            Command::Usage => self.usage_today(user)?,
        };
        self.send_notice(&channel.name, &inbound.conversation, Some(&inbound.message), &text)
    }

    fn who(&self, user: UserId) -> String {
        self.people.by_id(user).map_or_else(String::new, |person| {
            format!("You are {} here, with the role {}.", person.name, person.role.word())
        })
    }

    /// Has a code be made that links another account of this person, once that is on the record; or says why not. For an owner it is
    /// the host that makes one: a taken-over process of a platform could ask here, and would have an owner's account to keep.
    fn ask_link(&mut self, channel: &Channel, inbound: &Inbound, user: UserId) -> Option<&'static str> {
        if inbound.conversation.kind != ConversationKind::Direct {
            return Some("A code is made in direct messages alone.");
        }
        match self.people.role(user) {
            UserRole::Guest => Some("Guests have no further accounts; ask the owner of the host."),
            UserRole::Owner => {
                Some("An owner's accounts are linked on the host: agentctl user link NAME IDENTITY")
            }
            UserRole::User => {
                let name = self.people.by_id(user).map(|person| person.name.clone()).unwrap_or_default();
                let event = Event::new(Action::IdentityChanged, Result3::Success)
                    .about(&name)
                    .because(&format!("code made, at {}", channel.name));
                let (channel, conversation) = (channel.name.clone(), inbound.conversation.clone());
                let request = ChannelRequest::ChatLink { user, channel, conversation };
                self.record(event, Recorded::Request(PendingRequest::Channel(request)));
                None
            }
        }
    }

    /// The usage of a person's turns that ended today.
    fn usage_today(&self, user: UserId) -> Result<String, ChannelError> {
        let Spent { answers, input, output, cost_micros } = self.store.spent(user, self.now.ms / DAY_MS)?;
        let (whole, part) = (cost_micros / 1_000_000, cost_micros % 1_000_000 / 100);
        Ok(format!(
            "Today (UTC): {answers} turns, {input} tokens read, {output} tokens written, {whole}.{part:04} USD."
        ))
    }

    fn chat_status(&self, user: UserId) -> String {
        let mine = || self.heads_where(move |live| live.head.user == user);
        let running = mine().filter(|head| head.attempts > 0).count();
        let waiting = mine().count().saturating_sub(running);
        format!("{running} of your messages are being answered, {waiting} wait.")
    }

    /// Ends the turns of a conversation, whatever the queue and the scanner do, and the messages before it in its batch.
    fn chat_stop(
        &mut self,
        channel: &Channel,
        inbound: &Inbound,
        user: UserId,
        progress: &mut Progress,
    ) -> Result<String, ChannelError> {
        let session = self.channel_session(channel, &inbound.conversation, user)?;
        let known = self.store.session_known(user, &session)?.map(|session| session.id);
        let live = self.live_where(|live| live.head.user == user && Some(live.head.session) == known);
        let batched = progress.stored.iter().map(|stored| &stored.head);
        let batched = batched.filter(|head| head.user == user && Some(head.session) == known);
        let batched: Vec<i64> = batched.map(|head| head.seq).collect();
        if live.is_empty() && batched.is_empty() {
            return Ok("Nothing is under way here.".to_owned());
        }
        let by = self.people.by_id(user).map_or_else(Name::default, |person| person.name.clone());
        let note = stop_note(&by);
        for seq in &batched {
            self.store.commit(|tx| tx.decide_end(*seq, &End::Cancelled, &note))?;
            progress.stopped.push((*seq, note.clone()));
        }
        // The answer goes to the conversation and not to this port.
        let (port, _) = oneshot::<Result<Stopped, RouterError>>();
        self.stop((Some(user), &by), Some(session), false, port.into());
        Ok(format!("Stopped: {} of your messages.", live.len() + batched.len()))
    }
}
