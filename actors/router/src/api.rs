//! Clients of the API: each speaks as the user whose key it presents, in sessions of its own, and sees nothing else of
//! that user's. Whose a wish is, is looked up here and never taken from gateway.

use crate::audience::FollowPort;
use crate::desk::Desk;
use crate::letters::Again;
use crate::queue::Port;
use crate::submit::DEFAULT_AGENT;
use ipc_proto::api::{Caller, Holder};
use ipc_proto::config::UserRole;
use ipc_proto::content::{Content, Part, Place};
use ipc_proto::ids::{SessionId, TurnId, UserId};
use ipc_proto::router::{Accepted, NamedEvent, QueueInfo, RouterError, SessionName, Submission, Task};
use ipc_proto::{List, Name, Text};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// The channel that messages of the API come by.
pub(crate) const API: &str = "api";

/// Between a client's word for its message and what the message says: no header of a request can have it.
const PARTING: char = '\u{1f}';

/// Which named events a client sees.
pub(crate) enum Sight {
    /// All of the host.
    All,
    /// Those of this user's sessions whose names begin so.
    Own(UserId, String),
}

impl Desk {
    /// Accepts a message of a client. One that failed for want of money is taken for a new one when it comes again, and one in
    /// whose place another stands for that one.
    pub(crate) fn api_submit(
        &mut self,
        caller: Caller,
        said: Submission,
        port: Port<Result<Accepted, RouterError>>,
    ) {
        let accepted = self.own_submission(caller, said).and_then(|(holder, submission)| {
            let before = self.store.message_keyed(holder.user, API, &submission.key)?;
            let Some(first) = before else {
                return self.submit_with(&submission, holder.key, None).map(Ok);
            };
            let id = first.id;
            let last = self.stands_now(first)?;
            if self.was_unpaid(&last) {
                // Only whoever has the key can give it up: after a person's own requeue it stays where it was.
                let key = (last.id == id).then_some(submission.key);
                Ok(Err((holder, key, last.id)))
            } else {
                Ok(Ok(self.accepted(&last)))
            }
        });
        match accepted {
            Ok(Ok(accepted)) => drop(port.send(Ok(accepted))),
            Ok(Err((holder, key, id))) => {
                let again = Again { user: Some(holder.user), by: holder.name, id, text: None, key };
                self.requeue(again, port);
            }
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    /// A message of a client as it is kept, and who the client is.
    fn own_submission(
        &mut self,
        caller: Caller,
        said: Submission,
    ) -> Result<(Holder, Submission), RouterError> {
        let holder = self.holder(caller)?;
        let agent = said.agent.unwrap_or_else(|| Name::clip(DEFAULT_AGENT));
        if !holder.agents.contains(&agent) {
            // The names of agents that a key does not reach are not told.
            let names: Vec<&str> = holder.agents.iter().map(Name::as_str).collect();
            let names = Text::clip(&names.join(", "));
            if holder.scope.agents.is_empty() {
                return Err(RouterError::NoAgent(names));
            }
            self.refuse_api(&holder.name, "this agent is not one of its key's");
            return Err(RouterError::NotInScope(names));
        }
        if said.task != Task::Chat || said.key.is_empty() || said.session.is_empty() {
            return Err(RouterError::BadMessage);
        }
        let session = own_session(&holder, &said.session)?;
        let digest = digest_of(&session, &agent, &said.content);
        let submission = Submission {
            user: holder.user,
            session,
            agent: Some(agent),
            channel: Name::clip(API),
            key: self.kept_key(&holder, &said.key, &digest)?,
            content: said.content,
            task: Task::Chat,
            workspace: None,
            workspace_label: None,
        };
        Ok((holder, submission))
    }

    /// What a message of a client is kept by: the client's own word for it, and what it says. So the same word for the same is
    /// one message, and for anything else is refused.
    pub(crate) fn kept_key(
        &self,
        holder: &Holder,
        key: &str,
        digest: &str,
    ) -> Result<Text<256>, RouterError> {
        let own = own_key(holder, key)?;
        // Versions that kept the word alone took whatever came with it for the same.
        if self.store.message_keyed(holder.user, API, &own)?.is_some() {
            return Ok(own);
        }
        let begin = format!("{own}{PARTING}");
        let kept = format!("{begin}{digest}");
        match self.store.key_beginning(holder.user, API, &begin)? {
            Some(other) if other != kept => Err(RouterError::KeyReused),
            _ => Text::new(kept).map_err(|_| RouterError::BadMessage),
        }
    }

    /// Events of a turn of this client.
    pub(crate) fn api_follow(
        &mut self,
        caller: Caller,
        turn: TurnId,
        (from, credit): (u64, u16),
        port: FollowPort,
    ) {
        match self.whose_turn(caller, turn) {
            Ok(user) => self.follow(Some(user), turn, from, credit, port),
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    /// The client's user, if the turn is in one of the client's sessions.
    pub(crate) fn whose_turn(&mut self, caller: Caller, turn: TurnId) -> Result<UserId, RouterError> {
        let holder = self.holder(caller)?;
        let head = self.head_of(turn)?;
        let session = self.store.session(head.session)?;
        let own = session.user == holder.user && session.name.starts_with(&prefix(&holder));
        if own { Ok(holder.user) } else { Self::no_turn() }
    }

    /// Which named events this client sees.
    pub(crate) fn sight(&mut self, caller: Caller) -> Result<Sight, RouterError> {
        let holder = self.holder(caller)?;
        let whole = holder.key.is_none() && self.is_owner(holder.user);
        Ok(if whole { Sight::All } else { Sight::Own(holder.user, prefix(&holder)) })
    }

    /// Those of these events that are seen.
    pub(crate) fn seen(&self, sight: &Sight, events: List<NamedEvent, 256>) -> List<NamedEvent, 256> {
        let Sight::Own(user, prefix) = sight else { return events };
        let mut known: HashMap<SessionId, bool> = HashMap::new();
        let mut own = |id: SessionId| {
            *known.entry(id).or_insert_with(|| {
                let session = self.store.session(id);
                session.is_ok_and(|it| it.user == *user && it.name.starts_with(prefix.as_str()))
            })
        };
        List::clip(events.into_iter().filter(|event| event.session.is_some_and(&mut own)))
    }

    /// The queue in numbers.
    pub(crate) fn api_queue(&mut self, caller: Caller) -> Result<QueueInfo, RouterError> {
        let holder = self.holder(caller)?;
        let user = Some(holder.user).filter(|user| !self.is_owner(*user));
        Ok(QueueInfo { paused_sessions: List::default(), ..self.queue(user)? })
    }

    fn is_owner(&self, user: UserId) -> bool {
        self.people.by_id(user).is_some_and(|person| person.role == UserRole::Owner)
    }
}

/// What the names of a client's sessions begin with. No name of a key has a colon.
fn prefix(holder: &Holder) -> String {
    format!("{API}:{}:", holder.name)
}

/// A session of the client's own, whatever it calls it.
pub(crate) fn own_session(holder: &Holder, name: &SessionName) -> Result<SessionName, RouterError> {
    let prefix = prefix(holder);
    let whole = if name.starts_with(&prefix) { name.to_string() } else { format!("{prefix}{name}") };
    Text::new(whole).map_err(|_| RouterError::BadMessage)
}

/// Digests parts, each with its length, so that no two lists of parts are one: 128 bits, in hex.
pub(crate) fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut whole = Sha256::new();
    for part in parts {
        whole.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        whole.update(part);
    }
    whole.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// What a message says, where and to whom.
fn digest_of(session: &SessionName, agent: &Name, content: &Content) -> String {
    let mut parts: Vec<&[u8]> = vec![session.as_bytes(), agent.as_bytes()];
    for part in content.parts.iter() {
        match part {
            Part::Text(text) => parts.extend([b"text".as_slice(), text.as_bytes()]),
            Part::Image(media) | Part::File(media) | Part::Audio(media) | Part::Video(media) => {
                let bytes: &[u8] = match &media.place {
                    Place::Url(address) => address.as_bytes(),
                    Place::Bytes(bytes) => bytes,
                };
                parts.extend([media.media_type.as_bytes(), bytes]);
            }
        }
    }
    digest(parts)
}

/// The client's own word for this message: the same word of another key is another message.
fn own_key(holder: &Holder, key: &str) -> Result<Text<256>, RouterError> {
    let whose = holder.key.map_or_else(String::new, |id| id.to_string());
    Text::new(format!("{whose}:{key}")).map_err(|_| RouterError::BadMessage)
}
