//! Pairings, links and identities: how an identity of a platform becomes a user's. Every change is on the record before it holds, no tool
//! reaches any of this, and no model sees a code.

use crate::channel_accounts::Channel;
use crate::channels::{admission, codes};
use crate::port::ChannelPort;
use crate::state::RouterState;
use crate::state::effects::{ChannelRequest, PendingRequest, Recorded};
use crate::store::{Origin, Pairing, Person};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::channel::{
    ChannelError, Conversation, DropReason, Inbound, LinkCode, PairingInfo, PairingState, Platform,
};
use ipc_proto::config::UserRole;
use ipc_proto::ids::UserId;
use ipc_proto::router::{UserInfo, is_user_name};
use ipc_proto::{List, Name, Text};
use manifest::Process;

/// How long a pairing waits, ms.
const PAIRING_MS: u64 = 3_600_000;
/// How long a link's code holds, ms.
const LINK_MS: u64 = 600_000;
/// Pairings of one account that may wait.
const PENDING: usize = 3;
/// How long a pairing waits at least, ms; then it gives way to another.
const GIVES_WAY_MS: u64 = 600_000;
/// Pairings are listed for so long, ms.
const LISTED_MS: u64 = 86_400_000;
/// Identities of one user.
const IDENTITIES: usize = 16;

/// Takes the user after a change.
pub(crate) type UserPort = ChannelPort<UserInfo>;

impl RouterState {
    /// A stranger writes: the sender gets a code, one at a time, and nothing of the text is stored. Where as many pairings wait as may,
    /// the oldest gives way.
    pub(crate) fn ask_pairing(
        &mut self,
        channel: &Channel,
        inbound: &Inbound,
        identity: &Text<256>,
    ) -> Result<(), ChannelError> {
        let now_ms = self.now.ms;
        let earlier = self.store.pairing_of(identity)?;
        let waits = earlier.is_some_and(|Pairing { info, .. }| match info.state {
            PairingState::Pending => info.until_ms > now_ms,
            _ => info.asked_ms.saturating_add(PAIRING_MS) > now_ms,
        });
        let pending = self.store.pairings_pending(&channel.name, now_ms)?;
        let full = pending.len() >= PENDING;
        let oldest = pending.into_iter().next().filter(|_| full).map(|oldest| oldest.info);
        let holds = |info: &PairingInfo| info.asked_ms.saturating_add(GIVES_WAY_MS) > now_ms;
        if waits || oldest.as_ref().is_some_and(holds) {
            return Ok(());
        }
        let code = codes::pairing();
        let info = PairingInfo {
            channel: channel.name.clone(),
            identity: identity.clone(),
            display: inbound.sender.name.clone(),
            state: PairingState::Pending,
            asked_ms: now_ms,
            until_ms: now_ms.saturating_add(PAIRING_MS),
        };
        let pairing = Pairing { info, conversation: inbound.conversation.clone() };
        self.store.commit(|tx| {
            oldest.iter().try_for_each(|oldest| tx.end_pairing(&oldest.identity, now_ms))?;
            tx.put_pairing(&pairing, codes::hash(&code))
        })?;
        let text = format!(
            "I do not know you yet. Give the owner of this host this code within an hour: {code}\n\
             They run: agentctl pairing approve {code} --as NAME"
        );
        self.send_notice(&channel.name, &inbound.conversation, None, &text)?;
        self.record(pairing_event(&pairing, Result3::Success, "asked"), Recorded::Nothing);
        Ok(())
    }

    /// Pairings of the last day.
    pub(crate) fn pairings(&self) -> Result<List<PairingInfo, 256>, ChannelError> {
        let now_ms = self.now.ms;
        let all = self.store.pairings_since(now_ms.saturating_sub(LISTED_MS))?;
        Ok(List::clip(all.into_iter().map(|Pairing { mut info, .. }| {
            if info.state == PairingState::Pending && info.until_ms <= now_ms {
                info.state = PairingState::Expired;
            }
            info
        })))
    }

    /// Approves a pairing: its identity becomes the user's, who is added if there is none of this name.
    pub(crate) fn approve_pairing(
        &mut self,
        by: &Name,
        code: &str,
        (user, role): (Name, UserRole),
        port: UserPort,
    ) {
        match self.can_approve(code, &user) {
            Ok((pairing, have)) => {
                let role = have.as_ref().map_or(role, |person| person.role);
                let why = format!("approved as {} {user}, by {by}", role.word());
                let event = pairing_event(&pairing, Result3::Success, &why);
                let person = have.unwrap_or_else(|| added(user, role));
                let request = ChannelRequest::PairingApproved {
                    pairing: Box::new(pairing),
                    person: Box::new(person),
                    port,
                };
                self.record(event, Recorded::Request(PendingRequest::Channel(request)));
            }
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    fn can_approve(&self, code: &str, user: &str) -> Result<(Pairing, Option<Person>), ChannelError> {
        let pairing = self.store.pairing_hashed(codes::hash(code), self.now.ms)?;
        let pairing = pairing.ok_or(ChannelError::NoPairing)?;
        let have = self.people.by_name(user).cloned();
        match &have {
            Some(person) => self.can_link(person.id, &pairing.info.identity)?,
            None if is_user_name(user) => {}
            None => return Err(ChannelError::NoUser),
        }
        Ok((pairing, have))
    }

    /// Stores an approval that is on the record.
    pub(crate) fn store_approval(
        &mut self,
        pairing: &Pairing,
        person: Person,
    ) -> Result<UserInfo, ChannelError> {
        let identity = &pairing.info.identity;
        let known = self.people.by_name(&person.name).cloned();
        let (fresh, id) = (known.is_none(), known.map_or(person.id, |known| known.id));
        self.store.commit(|tx| {
            if fresh {
                tx.put_person(&person)?;
            }
            tx.add_identity(identity, id)?;
            tx.settle_pairing(identity, PairingState::Approved)
        })?;
        if fresh {
            self.people.add(person);
        }
        self.people.link(identity.clone(), id);
        let text = "You are known here now. Write your message.";
        self.try_notice(&pairing.info.channel, &pairing.conversation, text);
        self.people.info_of(id).ok_or(ChannelError::NoUser)
    }

    /// Refuses a pairing.
    pub(crate) fn refuse_pairing(&mut self, by: &Name, code: &str, port: ChannelPort<()>) {
        let found = self.store.pairing_hashed(codes::hash(code), self.now.ms).map_err(ChannelError::from);
        match found.and_then(|found| found.ok_or(ChannelError::NoPairing)) {
            Ok(pairing) => {
                let event = pairing_event(&pairing, Result3::Blocked, &format!("refused, by {by}"));
                let identity = pairing.info.identity;
                let request = ChannelRequest::PairingRefused { identity, port };
                self.record(event, Recorded::Request(PendingRequest::Channel(request)));
            }
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    /// Makes a one-time code that links the identity which sends it to this user, once that is on the record.
    pub(crate) fn create_link(&mut self, by: &Name, user: &str, port: ChannelPort<LinkCode>) {
        let Some(person) = self.people.by_name(user) else {
            return drop(port.send(Err(ChannelError::NoUser)));
        };
        let id = person.id;
        let event = Event::new(Action::IdentityChanged, Result3::Success)
            .about(&person.name)
            .because(&format!("code made, by {by}"));
        self.record(
            event,
            Recorded::Request(PendingRequest::Channel(ChannelRequest::Link { user: id, port })),
        );
    }

    /// Returns true if an account may join a conversation that this sender invites it to. While a link's code waits, anybody may
    /// invite it: the one who is to send that code is not known yet.
    pub(crate) fn channel_invited(
        &mut self,
        caller: Process,
        account: &str,
        sender: &str,
    ) -> Result<bool, ChannelError> {
        let channel = self.own_channel(caller, account)?;
        if self.store.account(&channel.name)?.paused {
            return Err(ChannelError::Paused);
        }
        let Some(identity) = channel.rules.platform.identity(&channel.account, sender) else {
            return Ok(false);
        };
        let known = self.people.by_identity(&identity).map(|person| person.role);
        let admitted =
            admission::may_invite(&channel.rules, sender, known) || self.store.link_waits(self.now.ms)?;
        if !admitted {
            self.record_dropped(&channel, sender, DropReason::NotAdmitted);
        }
        Ok(admitted && self.channels.rates.admit(&identity, self.now.at))
    }

    /// Stores a new code that is on the record.
    pub(crate) fn store_link(&mut self, user: UserId) -> Result<LinkCode, ChannelError> {
        let person = self.people.by_id(user).ok_or(ChannelError::NoUser)?;
        let (name, role) = (person.name.clone(), person.role);
        let (code, until_ms) = (codes::link(), self.now.ms.saturating_add(LINK_MS));
        self.store.commit(|tx| tx.put_link(codes::hash(&code), user, until_ms))?;
        Ok(LinkCode { code, user: name, role, until_ms })
    }

    /// A sender links its own identity by a code. A wrong code counts against its sender alone.
    pub(crate) fn link_by_code(
        &mut self,
        channel: &Channel,
        conversation: &Conversation,
        identity: &Text<256>,
        code: &str,
    ) -> Result<(), ChannelError> {
        let hash = codes::hash(code);
        let user = self.store.link(hash, self.now.ms)?;
        let linked = user.and_then(|user| self.can_link(user, identity).ok().map(|()| user));
        let Some(user) = linked else {
            self.channels.rates.note_wrong_code(identity, self.now.at);
            return self.send_notice(&channel.name, conversation, None, "This code is not valid.");
        };
        self.store.commit(|tx| tx.remove_link(hash))?;
        let notice = Some((channel.name.clone(), conversation.clone()));
        self.record_identity(user, identity.clone(), true, "by a code", (None, notice));
        Ok(())
    }

    /// Adds an identity to a user, or takes it away.
    pub(crate) fn change_identity(
        &mut self,
        by: &Name,
        user: &str,
        (identity, add): (Text<256>, bool),
        port: UserPort,
    ) {
        match self.can_change(user, &identity, add) {
            Ok(user) => self.record_identity(user, identity, add, &format!("by {by}"), (Some(port), None)),
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    fn can_change(&self, user: &str, identity: &Text<256>, add: bool) -> Result<UserId, ChannelError> {
        let user = self.people.by_name(user).ok_or(ChannelError::NoUser)?.id;
        if add {
            self.can_link(user, identity)?;
        } else if self.people.is_configured(identity) {
            return Err(ChannelError::BadIdentity);
        }
        Ok(user)
    }

    /// Fails if an identity is malformed or another user's, or the user has as many as there may be.
    fn can_link(&self, user: UserId, identity: &str) -> Result<(), ChannelError> {
        let mut parts = identity.splitn(3, ':');
        let platform = parts.next().is_some_and(|platform| Platform::named(platform).is_some());
        let rest =
            parts.next().zip(parts.next()).is_some_and(|(account, id)| !account.is_empty() && !id.is_empty());
        let owner = self.people.by_identity(identity).map(|person| person.id);
        let full = self.people.identities(user) >= IDENTITIES && owner != Some(user);
        let other = owner.is_some_and(|owner| owner != user);
        if platform && rest && !full && !other { Ok(()) } else { Err(ChannelError::BadIdentity) }
    }

    fn record_identity(
        &mut self,
        user: UserId,
        identity: Text<256>,
        add: bool,
        why: &str,
        (port, notice): (Option<UserPort>, Option<(Name, Conversation)>),
    ) {
        let name = self.people.by_id(user).map(|person| person.name.clone()).unwrap_or_default();
        let verb = if add { "added" } else { "removed" };
        // The platform's id of a person goes into no record.
        let platform = identity.split(':').next().unwrap_or_default();
        let event = Event::new(Action::IdentityChanged, Result3::Success)
            .about(&name)
            .because(&format!("{platform} identity {verb}, {why}"));
        let request = ChannelRequest::Identity { user, identity, add, port, notice };
        self.record(event, Recorded::Request(PendingRequest::Channel(request)));
    }

    /// Stores a change of an identity that is on the record.
    pub(crate) fn store_identity(
        &mut self,
        user: UserId,
        identity: &Text<256>,
        add: bool,
    ) -> Result<UserInfo, ChannelError> {
        if add {
            // Another request may have linked it while the record was under way.
            self.can_link(user, identity)?;
            self.store.commit(|tx| tx.add_identity(identity, user))?;
            self.people.link(identity.clone(), user);
        } else {
            self.store.commit(|tx| tx.remove_identity(identity))?;
            self.people.unlink(identity);
        }
        self.people.info_of(user).ok_or(ChannelError::NoUser)
    }
}

fn added(name: Name, role: UserRole) -> Person {
    Person {
        id: UserId::random(),
        name,
        role,
        uids: List::default(),
        identities: List::default(),
        origin: Origin::Added,
    }
}

fn pairing_event(pairing: &Pairing, result: Result3, why: &str) -> Event {
    Event::new(Action::PairingChanged, result).about(&pairing.info.channel).because(why)
}
