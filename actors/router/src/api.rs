//! Clients of the API. Each acts as the user whose key it presents, in sessions of its own, and sees nothing else of that user's. The user
//! of a request is looked up here and never taken from gateway.

use crate::channels::API;
use crate::port::Reply;
use crate::state::RouterState;
use crate::state::requests::RequeueRequest;
use crate::state::subscribers::FollowPort;
use crate::submit::DEFAULT_AGENT;
use ipc_proto::api::{Caller, Holder};
use ipc_proto::content::{Content, Part, Place};
use ipc_proto::ids::{SessionId, TurnId, UserId};
use ipc_proto::router::{Accepted, NamedEvent, QueueInfo, RouterError, SessionName, Submission, Task};
use ipc_proto::{List, Name, Text};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// The character between a client's key for its message and the digest of the message. No header of a request can have it.
const SEPARATOR: char = '\u{1f}';

impl RouterState {
    /// Accepts a message of a client. A message that failed for want of money counts as new when it comes again, and one that was replaced
    /// as the one in its place.
    pub(crate) fn api_submit(&mut self, caller: Caller, message: Submission, port: Reply<Accepted>) {
        let accepted = self.own_submission(caller, message).and_then(|(holder, submission)| {
            let before = self.store.message_keyed(holder.user, API, &submission.key)?;
            let Some(first) = before else {
                return self.submit_with(&submission, holder.key, None).map(Ok);
            };
            let id = first.id;
            let last = self.stands_now(first)?;
            if self.was_unpaid(&last) {
                // Only the message that has the key can give it up: after a person's own requeue it stays where it was.
                let key = (last.id == id).then_some(submission.key);
                Ok(Err((holder, key, last.id)))
            } else {
                Ok(Ok(self.accepted(&last)))
            }
        });
        match accepted {
            Ok(Ok(accepted)) => drop(port.send(Ok(accepted))),
            Ok(Err((holder, key, id))) => {
                let request =
                    RequeueRequest { user: Some(holder.user), by: holder.name, id, text: None, key };
                self.requeue(request, port);
            }
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    /// A message of a client as it is stored, and the client.
    fn own_submission(
        &mut self,
        caller: Caller,
        message: Submission,
    ) -> Result<(Holder, Submission), RouterError> {
        let holder = self.holder(caller)?;
        let agent = message.agent.unwrap_or_else(|| Name::clip(DEFAULT_AGENT));
        if !holder.agents.contains(&agent) {
            // The error lists no agents that the key does not reach.
            let names: Vec<&str> = holder.agents.iter().map(Name::as_str).collect();
            let names = Text::clip(&names.join(", "));
            if holder.scope.agents.is_empty() {
                return Err(RouterError::NoAgent(names));
            }
            self.refuse_api(&holder.name, "this agent is not one of its key's");
            return Err(RouterError::NotInScope(names));
        }
        if message.task != Task::Chat || message.key.is_empty() || message.session.is_empty() {
            return Err(RouterError::BadMessage);
        }
        let session = own_session(&holder, &message.session)?;
        let digest = digest_of(&session, &agent, &message.content);
        let submission = Submission {
            user: holder.user,
            session,
            agent: Some(agent),
            channel: Name::clip(API),
            key: self.stored_key(&holder, &message.key, &digest)?,
            content: message.content,
            task: Task::Chat,
            workspace: None,
            workspace_label: None,
        };
        Ok((holder, submission))
    }

    /// The key under which a message of a client is stored: the client's own key, and the digest of the message. The same key for the same
    /// message is one message; for another it is refused.
    pub(crate) fn stored_key(
        &self,
        holder: &Holder,
        key: &str,
        digest: &str,
    ) -> Result<Text<256>, RouterError> {
        let own = own_key(holder, key)?;
        let begin = format!("{own}{SEPARATOR}");
        let key = format!("{begin}{digest}");
        match self.store.key_beginning(holder.user, API, &begin)? {
            Some(other) if other != key => Err(RouterError::KeyReused),
            _ => Text::new(key).map_err(|_| RouterError::BadMessage),
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
        match self.turn_owner(caller, turn) {
            Ok(user) => self.follow(Some(user), turn, from, credit, port),
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    /// The client's user, if the turn is in one of the client's sessions.
    pub(crate) fn turn_owner(&mut self, caller: Caller, turn: TurnId) -> Result<UserId, RouterError> {
        let holder = self.holder(caller)?;
        let head = self.head_of(turn)?;
        let session = self.store.session(head.session)?;
        let own = session.user == holder.user && session.name.starts_with(&prefix(&holder));
        if own { Ok(holder.user) } else { Err(RouterError::NoTurn) }
    }

    /// The events of these that a client sees: the owner without a key sees all of the host, any other those of its own sessions.
    pub(crate) fn api_events(
        &mut self,
        caller: Caller,
        events: List<NamedEvent, 256>,
    ) -> Result<List<NamedEvent, 256>, RouterError> {
        let holder = self.holder(caller)?;
        if holder.key.is_none() && self.is_owner(holder.user) {
            return Ok(events);
        }
        let prefix = prefix(&holder);
        let mut known: HashMap<SessionId, bool> = HashMap::new();
        let mut own = |id: SessionId| {
            *known.entry(id).or_insert_with(|| {
                let session = self.store.session(id);
                session.is_ok_and(|it| it.user == holder.user && it.name.starts_with(&prefix))
            })
        };
        Ok(List::clip(events.into_iter().filter(|event| event.session.is_some_and(&mut own))))
    }

    /// The queue in numbers.
    pub(crate) fn api_queue(&mut self, caller: Caller) -> Result<QueueInfo, RouterError> {
        let holder = self.holder(caller)?;
        let user = Some(holder.user).filter(|user| !self.is_owner(*user));
        Ok(QueueInfo { paused_sessions: List::default(), ..self.queue(user)? })
    }
}

/// The prefix of the names of a client's sessions. No name of a key has a colon.
fn prefix(holder: &Holder) -> String {
    format!("{API}:{}:", holder.name)
}

/// The name of a session of the client's own.
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

/// The digest of a message, its session and its agent.
fn digest_of(session: &SessionName, agent: &Name, content: &Content) -> String {
    let mut parts: Vec<&[u8]> = vec![session.as_bytes(), agent.as_bytes()];
    for part in content.parts.iter() {
        match part {
            Part::Text(text) => parts.extend([b"text".as_slice(), text.as_bytes()]),
            Part::Foreign { kind, text } => parts.extend([kind.name().as_bytes(), text.as_bytes()]),
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

/// The client's own key for this message. The same key of another API key is another message.
fn own_key(holder: &Holder, key: &str) -> Result<Text<256>, RouterError> {
    let prefix = holder.key.map_or_else(String::new, |id| id.to_string());
    Text::new(format!("{prefix}:{key}")).map_err(|_| RouterError::BadMessage)
}
