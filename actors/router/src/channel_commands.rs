//! Chat commands of admitted people, done before any model sees the text.

use crate::channel_accept::Progress;
use crate::channel_accounts::Channel;
use crate::channel_sessions::session_base;
use crate::channels::commands::{Command, HELP};
use crate::state::RouterState;
use crate::stopping::stop_note;
use ipc_proto::Name;
use ipc_proto::channel::{ChannelError, Inbound};
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
            Command::Help | Command::Link(_) | Command::Approval(..) => HELP.to_owned(),
            Command::WhoAmI => self.who(user),
            Command::Status => self.chat_status(user),
            Command::New => {
                let base = session_base(channel, &inbound.conversation);
                self.store.commit(|tx| tx.renew(user, &base))?;
                "A new conversation begins with your next message.".to_owned()
            }
            Command::Stop => self.chat_stop(channel, inbound, user, progress)?,
            Command::Usage => "The owner sees the usage with `agentctl model usage`.".to_owned(),
        };
        self.send_notice(&channel.name, &inbound.conversation, Some(&inbound.message), &text)
    }

    fn who(&self, user: UserId) -> String {
        self.people.by_id(user).map_or_else(String::new, |person| {
            format!("You are {} here, with the role {}.", person.name, role_name(person.role))
        })
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

const fn role_name(role: UserRole) -> &'static str {
    match role {
        UserRole::Owner => "owner",
        UserRole::User => "user",
        UserRole::Guest => "guest",
    }
}
