//! Users that are added and removed while the host runs.

use crate::port::Reply;
use crate::state::RouterState;
use crate::state::effects::{PendingRequest, Recorded};
use crate::state::requests::UserEdit;
use crate::store::{Origin, Person};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::UserId;
use ipc_proto::router::{RouterError, UserInfo, is_user_name};
use ipc_proto::{List, Name};

/// Bytes of a reason on the record.
const REASON: usize = 64;
/// Users there may be.
const MOST: usize = 256;

/// The reasons, each within its bound, that say role and uids of a user.
fn reasons(verb: &str, person: &Person) -> Vec<String> {
    let begin = format!("{verb} as {}, uid", person.role.word());
    if person.uids.is_empty() {
        return vec![format!("{begin} none")];
    }
    let mut reasons = vec![begin.clone()];
    for uid in person.uids.iter().map(|uid| format!(" {uid}")) {
        match reasons.last_mut() {
            Some(reason) if reason.len() + uid.len() <= REASON => reason.push_str(&uid),
            _ => reasons.push(begin.clone() + &uid),
        }
    }
    reasons
}

impl RouterState {
    /// The user of this uid.
    pub(crate) fn identify(&self, uid: u32) -> Result<UserInfo, RouterError> {
        let person = self.people.by_uid(uid).ok_or(RouterError::NoUser)?;
        Ok(self.people.info(person))
    }

    /// All users.
    pub(crate) fn users(&self) -> List<UserInfo, 256> {
        List::clip(self.people.all())
    }

    /// Adds a user. The same user twice is one.
    pub(crate) fn add_user(&mut self, person: Person, port: Reply<UserInfo>) {
        match self.can_add(&person) {
            Ok(None) => {
                let event = self.describe_user("added", &person);
                self.record(event, Recorded::Request(PendingRequest::UserAdded(Box::new(person), port)));
            }
            Ok(Some(already)) => drop(port.send(Ok(already))),
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    /// The event of a user who is added or changed, with role and uids. Uids that its reason has no room for come before it, in events
    /// of their own.
    fn describe_user(&mut self, verb: &str, person: &Person) -> Event {
        let mut reasons = reasons(verb, person);
        let last = reasons.pop().unwrap_or_default();
        let event = |reason: &str| {
            Event::new(Action::UserAdded, Result3::Success).about(&person.name).because(reason)
        };
        reasons.iter().for_each(|reason| self.record(event(reason), Recorded::Nothing));
        event(&last)
    }

    /// Returns the user if they are there already; fails if they may not be added.
    fn can_add(&self, person: &Person) -> Result<Option<UserInfo>, RouterError> {
        if let Some(have) = self.people.by_name(&person.name) {
            let same = Person { id: have.id, ..person.clone() } == *have;
            return if same { Ok(Some(self.people.info(have))) } else { Err(RouterError::UserExists) };
        }
        let full = self.people.all().count() >= MOST;
        if full || !is_user_name(&person.name) || self.people.in_use(&person.uids, &person.identities) {
            return Err(RouterError::BadUser);
        }
        Ok(None)
    }

    /// Stores a user whose addition is on the record.
    pub(crate) fn store_user(&mut self, person: Person) -> Result<UserInfo, RouterError> {
        // Another request may have added one while the record was under way.
        if let Some(already) = self.can_add(&person)? {
            return Ok(already);
        }
        self.store.commit(|tx| tx.put_person(&person))?;
        let id = person.id;
        self.people.add(person);
        self.people.info_of(id).ok_or(RouterError::NoUser)
    }

    /// Changes role and uids of a user who was added.
    pub(crate) fn edit_user(&mut self, edit: UserEdit, port: Reply<UserInfo>) {
        match self.edited(&edit) {
            Ok(person) => {
                let event = self.describe_user("changed", &person);
                self.record(event, Recorded::Request(PendingRequest::UserEdited(Box::new(edit), port)));
            }
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    /// The user after the change. A user that nobody could be, and another user's uid, are refused.
    fn edited(&self, edit: &UserEdit) -> Result<Person, RouterError> {
        let have = self.people.by_name(&edit.name).ok_or(RouterError::NoUser)?;
        if have.origin != Origin::Added {
            return Err(RouterError::UserExists);
        }
        let mut person = have.clone();
        person.role = edit.role.unwrap_or(have.role);
        if let Some(uids) = &edit.uids {
            let new: Vec<u32> = uids.iter().copied().filter(|uid| !have.uids.contains(uid)).collect();
            if self.people.in_use(&new, &[]) {
                return Err(RouterError::BadUser);
            }
            person.uids = uids.clone();
        }
        let is_somebody = !person.uids.is_empty() || self.people.identities(person.id) > 0;
        if is_somebody { Ok(person) } else { Err(RouterError::BadUser) }
    }

    /// Stores a user whose change is on the record.
    pub(crate) fn store_user_edit(&mut self, edit: &UserEdit) -> Result<UserInfo, RouterError> {
        // Another request may have changed the user while the record was under way.
        let person = self.edited(edit)?;
        self.store.commit(|tx| tx.put_person(&person))?;
        let changed = self.people.info(&person);
        self.people.replace(person);
        Ok(changed)
    }

    /// Removes a user who was added. A user who is gone already is no error.
    pub(crate) fn remove_user(&mut self, name: &Name, port: Reply<()>) {
        let id = match self.people.by_name(name) {
            Some(person) if person.origin == Origin::Added => person.id,
            Some(_) => return drop(port.send(Err(RouterError::UserExists))),
            None => return drop(port.send(self.was_removed(name))),
        };
        let event = Event::new(Action::UserRemoved, Result3::Success).about(name);
        self.record(event, Recorded::Request(PendingRequest::UserRemoved(id, port)));
    }

    fn was_removed(&self, name: &Name) -> Result<(), RouterError> {
        let gone = self.store.people(true)?;
        let was = gone.iter().any(|it| it.origin == Origin::Added && it.name == *name);
        if was { Ok(()) } else { Err(RouterError::NoUser) }
    }

    /// Removes a user whose removal is on the record.
    pub(crate) fn store_user_removal(&mut self, id: UserId) -> Result<(), RouterError> {
        if self.people.by_id(id).is_some() {
            self.store.commit(|tx| {
                tx.remove_identities(id)?;
                tx.mark_person_gone(id, self.now.ms)
            })?;
            self.people.remove(id);
        }
        for seq in self.live_where(|live| live.head.user == id) {
            self.cancel_live(seq, "its user was removed");
        }
        Ok(())
    }
}
