//! Clients of the API: each speaks as the user whose key it presents, in sessions of its own, and sees nothing else of
//! that user's. Whose a wish is, is looked up here and never taken from gateway.

use crate::audience::FollowPort;
use crate::desk::Desk;
use crate::submit::DEFAULT_AGENT;
use ipc_proto::api::{Caller, Holder};
use ipc_proto::config::UserRole;
use ipc_proto::ids::{SessionId, TurnId, UserId};
use ipc_proto::router::{Accepted, NamedEvent, QueueInfo, RouterError, SessionName, Submission, Task};
use ipc_proto::{List, Name, Text};
use std::collections::HashMap;

/// The channel that messages of the API come by.
pub(crate) const API: &str = "api";

/// Which named events a client sees.
pub(crate) enum Sight {
    /// All of the host.
    All,
    /// Those of this user's sessions whose names begin so.
    Own(UserId, String),
}

impl Desk {
    /// Accepts a message of a client.
    pub(crate) fn api_submit(&mut self, caller: Caller, said: Submission) -> Result<Accepted, RouterError> {
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
        let submission = Submission {
            user: holder.user,
            session: own_session(&holder, &said.session)?,
            agent: Some(agent),
            channel: Name::clip(API),
            key: own_key(&holder, &said.key)?,
            content: said.content,
            task: Task::Chat,
            workspace: None,
            workspace_label: None,
        };
        self.submit_with(&submission, holder.key, None)
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
    fn whose_turn(&mut self, caller: Caller, turn: TurnId) -> Result<UserId, RouterError> {
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

/// The client's own word for this message: the same word of another key is another message.
pub(crate) fn own_key(holder: &Holder, key: &str) -> Result<Text<256>, RouterError> {
    let whose = holder.key.map_or_else(String::new, |id| id.to_string());
    Text::new(format!("{whose}:{key}")).map_err(|_| RouterError::BadMessage)
}
