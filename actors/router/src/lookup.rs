//! Look-ups of sessions, messages and agents for requests.

use crate::state::RouterState;
use crate::store::{Head, Session};
use ipc_proto::Text;
use ipc_proto::ids::{MessageId, TurnId, UserId};
use ipc_proto::router::{Accepted, RouterError};

/// Session names that an error lists.
const NAMES: u32 = 16;

impl RouterState {
    /// The session of this name. Without a user it is the only session of that name, or an owner's.
    pub(crate) fn find_session(&self, user: Option<UserId>, name: &str) -> Result<Session, RouterError> {
        let found = match user {
            Some(user) => self.store.session_named(user, name)?,
            None => {
                let all = self.store.sessions_named(name)?;
                let owners = |it: &&Session| self.is_owner(it.user);
                only(all.iter()).or_else(|| only(all.iter().filter(owners))).cloned()
            }
        };
        if let Some(session) = found {
            return Ok(session);
        }
        let latest = self.store.sessions(user, NAMES)?;
        let names: Vec<String> =
            latest
                .into_iter()
                .map(|it| {
                    if user.is_some() {
                        it.name.to_string()
                    } else {
                        format!("{} ({})", it.name, it.user_name)
                    }
                })
                .collect();
        Err(RouterError::NoSession(Text::clip(&names.join(", "))))
    }

    /// The message of this id, if this user may see it.
    pub(crate) fn find_message(&self, user: Option<UserId>, id: MessageId) -> Result<Head, RouterError> {
        let head = self.store.message(id)?.filter(|head| user.is_none_or(|user| user == head.user));
        head.ok_or(RouterError::NoMessage)
    }

    /// The message of a turn, whether or not that is over.
    pub(crate) fn head_of(&mut self, turn: TurnId) -> Result<Head, RouterError> {
        if let Some(live) = self.live_turn(turn) {
            return Ok(live.head.clone());
        }
        self.store.message_of(turn)?.ok_or(RouterError::NoTurn)
    }

    /// Fails if no agent of this name is configured.
    pub(crate) fn known_agent(&self, agent: &str) -> Result<(), RouterError> {
        if self.config.agents.contains_key(agent) {
            return Ok(());
        }
        let names: Vec<&str> = self.config.agents.keys().map(String::as_str).collect();
        Err(RouterError::NoAgent(Text::clip(&names.join(", "))))
    }

    /// A message that was accepted, and how many wait before it.
    pub(crate) fn accepted(&self, head: &Head) -> Accepted {
        let waiting = u32::try_from(self.lanes.before(head.session, head.seq)).unwrap_or(u32::MAX);
        Accepted { message: head.id, turn: head.turn, session: head.session, waiting }
    }
}

/// The only item, if there is exactly one.
fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.next().is_none().then_some(first)
}
