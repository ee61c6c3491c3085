//! Keys of the API: the user of a client that presents one, or connects as a uid, and its rights. Nothing else that gateway says of a
//! client is believed.

use crate::port::Reply;
use crate::state::RouterState;
use crate::state::effects::{PendingRequest, Recorded};
use crate::state::keys::hash_of;
use crate::state::people::is_name;
use crate::state::requests::NewKey;
use crate::store::Key;
use ipc_proto::api::{
    Caller, Holder, KEYS, KEYS_OF_OWNERS, KEYS_PER_USER, KeyInfo, KeyScope, NO_MODEL, Presented,
};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::config::UserRole;
use ipc_proto::ids::{KeyId, UserId};
use ipc_proto::router::{PayingKey, RouterError};
use ipc_proto::{List, Name, Text};

/// The name that a client without a key has; no key has it.
const PEER: &str = "peer";
/// Bytes of a key's name, which is part of the names of its sessions.
const NAME: usize = 48;
/// A key's last use is stored to the minute.
const MINUTE: u64 = 60_000;

/// A client without a user, for the record: its name, and the reason.
struct Nobody(String, &'static str);

impl RouterState {
    /// The client that presents this key or uid, and its rights. A client without a user goes on the record, except for the uid that no
    /// process has: with it gateway asks if this process serves.
    pub(crate) fn holder(&mut self, caller: Caller) -> Result<Holder, RouterError> {
        let found = match caller {
            Caller::Key(presented) => self.key_holder(&presented),
            Caller::Peer(uid) => self.peer(uid),
        };
        found.map_err(|Nobody(whom, reason)| {
            if caller != Caller::Peer(u32::MAX) {
                self.refuse_api(&whom, reason);
            }
            RouterError::NoKey
        })
    }

    /// Puts a refusal on the record, up to a bound. The refusal stands even if that fails.
    pub(crate) fn refuse_api(&mut self, whom: &str, reason: &str) {
        let because = format!("{whom}: {reason}");
        if self.keys.refusals.admits(&because, self.now.at) {
            let event = Event::new(Action::ApiRefused, Result3::Blocked).about(whom).because(&because);
            self.record(event, Recorded::Nothing);
        }
    }

    fn key_holder(&mut self, presented: &Presented) -> Result<Holder, Nobody> {
        let now_ms = self.now.ms;
        let minute = now_ms - now_ms % MINUTE;
        let key = self.keys.presented(presented);
        let key = key.ok_or_else(|| Nobody("a key".to_owned(), "it is none of this host's"))?;
        let refused = |reason| Err(Nobody(key.name.to_string(), reason));
        if key.revoked_ms.is_some() {
            return refused("the key was revoked");
        }
        if key.scope.expires_ms.is_some_and(|ends| ends <= now_ms) {
            return refused("the key has ended");
        }
        let Some(person) = self.people.by_id(key.user) else { return refused("the key's user is gone") };
        let (id, name, scope) = (key.id, key.name.clone(), key.scope.clone());
        if std::mem::replace(&mut key.used_ms, minute) != minute {
            self.keys.touched.insert(id);
        }
        Ok(holder_of(&self.config, person, (Some(id), name, scope)))
    }

    /// The key that pays for a turn, and its bound. A key that was revoked meanwhile pays all the same.
    pub(crate) fn bound_of(&self, id: KeyId) -> PayingKey {
        let key = self.keys.all.iter().find(|key| key.id == id);
        PayingKey { id, day_micros: key.and_then(|key| key.scope.day_micros) }
    }

    fn peer(&self, uid: u32) -> Result<Holder, Nobody> {
        let person = self.people.by_uid(uid);
        let person = person.ok_or_else(|| Nobody(format!("uid {uid}"), "it is nobody's"))?;
        Ok(holder_of(&self.config, person, (None, Name::clip(PEER), KeyScope::default())))
    }

    /// Creates a key once that is on the record. Asked for twice, it is created once.
    pub(crate) fn create_key(&mut self, wanted: NewKey, port: Reply<KeyInfo>) {
        match self.can_create(&wanted) {
            Ok(None) => {
                let by = format!("by {}", wanted.by);
                let event = Event::new(Action::KeyCreated, Result3::Success).about(&wanted.name).because(&by);
                self.record(event, Recorded::Request(PendingRequest::KeyCreated(Box::new(wanted), port)));
            }
            Ok(Some(already)) => drop(port.send(Ok(already))),
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    /// Returns the key if it is there already; fails if it may not be created.
    fn can_create(&self, wanted: &NewKey) -> Result<Option<KeyInfo>, RouterError> {
        let NewKey { user, name, scope, presented, .. } = wanted;
        self.people.by_id(*user).ok_or(RouterError::NoUser)?;
        if !is_name(name) || name.len() > NAME || name.as_str() == PEER {
            return Err(RouterError::BadKey);
        }
        if scope.expires_ms.is_some_and(|ends| ends <= self.now.ms) {
            return Err(RouterError::BadKey);
        }
        scope.agents.iter().try_for_each(|agent| self.known_agent(agent))?;
        let hash = hash_of(presented);
        if let Some(key) = self.keys.living(name) {
            let same = key.user == *user && key.scope == *scope && key.hash == hash;
            return if same { Ok(Some(self.key_info(key))) } else { Err(RouterError::KeyExists) };
        }
        // A key that was revoked cannot be used again under another name.
        if self.keys.all.iter().any(|key| key.hash == hash) {
            return Err(RouterError::KeyExists);
        }
        self.room_for_key(*user).map(|()| None)
    }

    /// Fails if there are as many keys as there may be. One user's leave room for other users', and all of theirs for owners'.
    fn room_for_key(&self, user: UserId) -> Result<(), RouterError> {
        let living = || self.keys.all.iter().filter(|key| key.revoked_ms.is_none());
        let (of_user, in_all) =
            if self.is_owner(user) { (KEYS, KEYS) } else { (KEYS_PER_USER, KEYS - KEYS_OF_OWNERS) };
        let counts = [(living().filter(|key| key.user == user).count(), of_user), (living().count(), in_all)];
        match counts.into_iter().find(|(count, bound)| count >= bound) {
            Some((keys, _)) => {
                Err(RouterError::TooManyKeys { keys: u32::try_from(keys).unwrap_or(u32::MAX) })
            }
            None => Ok(()),
        }
    }

    /// Stores a key whose creation is on the record.
    pub(crate) fn store_key(&mut self, wanted: NewKey) -> Result<KeyInfo, RouterError> {
        // Another request may have created it while the record was under way.
        if let Some(already) = self.can_create(&wanted)? {
            return Ok(already);
        }
        let key = Key {
            id: KeyId::random(),
            name: wanted.name,
            user: wanted.user,
            hash: hash_of(&wanted.presented),
            scope: wanted.scope,
            created_ms: self.now.ms,
            used_ms: 0,
            revoked_ms: None,
        };
        let full = self.keys.all.len() >= KEYS;
        let oldest = self.keys.all.iter().filter(|key| full && key.revoked_ms.is_some());
        let oldest = oldest.min_by_key(|key| key.revoked_ms).map(|key| key.id);
        self.store.commit(|tx| {
            oldest.map_or(Ok(()), |id| tx.forget_key(id))?;
            tx.add_key(&key)
        })?;
        self.keys.all.retain(|key| Some(key.id) != oldest);
        let info = self.key_info(&key);
        self.keys.all.insert(0, key);
        Ok(info)
    }

    /// Keys, newest first.
    pub(crate) fn list_keys(&self, user: Option<UserId>) -> List<KeyInfo, KEYS> {
        let theirs = self.keys.all.iter().filter(|key| user.is_none_or(|user| user == key.user));
        List::clip(theirs.map(|key| self.key_info(key)))
    }

    fn key_info(&self, key: &Key) -> KeyInfo {
        KeyInfo {
            id: key.id,
            name: key.name.clone(),
            user: self.people.by_id(key.user).map(|it| it.name.clone()).unwrap_or_default(),
            scope: key.scope.clone(),
            created_ms: key.created_ms,
            used_ms: key.used_ms,
            revoked_ms: key.revoked_ms,
        }
    }

    /// Revokes a key once that is on the record. Asked for twice, it is done once.
    pub(crate) fn revoke_key(&mut self, user: Option<UserId>, by: &Name, name: &Name, port: Reply<()>) {
        let theirs = |key: &&Key| key.name == *name && user.is_none_or(|user| user == key.user);
        let mut named = self.keys.all.iter().filter(theirs).peekable();
        let known = named.peek().is_some();
        let Some(id) = named.find(|key| key.revoked_ms.is_none()).map(|key| key.id) else {
            return drop(port.send(if known { Ok(()) } else { Err(RouterError::NoKey) }));
        };
        let event = Event::new(Action::KeyRevoked, Result3::Success).about(name).because(&format!("by {by}"));
        self.record(event, Recorded::Request(PendingRequest::KeyRevoked(id, port)));
    }

    /// Stores the revocation of a key that is on the record.
    pub(crate) fn store_key_revocation(&mut self, id: KeyId) -> Result<(), RouterError> {
        let now_ms = self.now.ms;
        self.store.commit(|tx| tx.revoke_key(id, now_ms))?;
        if let Some(key) = self.keys.all.iter_mut().find(|key| key.id == id && key.revoked_ms.is_none()) {
            key.revoked_ms = Some(now_ms);
        }
        Ok(())
    }

    /// Stores the last use of keys. A use that cannot be stored is stored with the next.
    pub(crate) fn keys_tick(&mut self) {
        let touched = std::mem::take(&mut self.keys.touched);
        if touched.is_empty() {
            return;
        }
        let used: Vec<&Key> = self.keys.all.iter().filter(|key| touched.contains(&key.id)).collect();
        let written = self.store.commit(|tx| used.iter().try_for_each(|key| tx.use_key(key.id, key.used_ms)));
        if let Err(fault) = written {
            tracing::warn!(%fault, "the last use of keys is not written");
        }
    }
}

/// The rights of a user's client. A guest may use agents and no model.
fn holder_of(
    config: &ipc_proto::config::Router,
    person: &crate::store::Person,
    (key, name, mut scope): (Option<KeyId>, Name, KeyScope),
) -> Holder {
    if person.role < UserRole::User {
        scope.models = List::clip([Text::clip(NO_MODEL)]);
    }
    let allowed = |agent: &Name| scope.agents.is_empty() || scope.agents.contains(agent);
    let agents = List::clip(config.agents.keys().map(|agent| Name::clip(agent)).filter(allowed));
    let owner = person.role == UserRole::Owner;
    Holder { key, name, user: person.id, user_name: person.name.clone(), owner, scope, agents }
}
