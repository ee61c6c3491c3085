//! Users, asked for, added and removed. Adding and removing go on the record first; what a removed user still had
//! waiting is cancelled.

use crate::desk::Desk;
use crate::people::{self, info};
use crate::queue::Port;
use crate::store::{Origin, Person};
use ipc_proto::List;
use ipc_proto::Name;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::UserId;
use ipc_proto::router::{RouterError, UserInfo};

/// Users there may be.
const MOST: usize = 256;

impl Desk {
    /// Who this uid is.
    pub(crate) fn identify(&self, uid: u32) -> Result<UserInfo, RouterError> {
        self.people.by_uid(uid).map(info).ok_or(RouterError::NoUser)
    }

    /// Everybody.
    pub(crate) fn users(&self) -> List<UserInfo, 256> {
        List::clip(self.people.all())
    }

    /// Adds a user; the same one twice is one.
    pub(crate) fn add_user(&mut self, person: Person, port: Port<Result<UserInfo, RouterError>>) {
        match self.can_add(&person) {
            Ok(None) => {
                let event = Event::new(Action::UserAdded, Result3::Success).about(&person.name);
                self.record(event, move |desk, recorded| {
                    let added = if recorded { desk.keep_user(person) } else { Err(RouterError::NotDurable) };
                    drop(port.send(added));
                });
            }
            Ok(Some(already)) => drop(port.send(Ok(already))),
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    /// Returns whether the user may be added, or is there already.
    fn can_add(&self, person: &Person) -> Result<Option<UserInfo>, RouterError> {
        if let Some(have) = self.people.by_name(&person.name) {
            let same = Person { id: have.id, ..person.clone() } == *have;
            return if same { Ok(Some(info(have))) } else { Err(RouterError::UserExists) };
        }
        let full = self.people.all().count() >= MOST;
        if full || !people::is_name(&person.name) || self.people.is_taken(&person.uids, &person.identities) {
            return Err(RouterError::BadUser);
        }
        Ok(None)
    }

    fn keep_user(&mut self, person: Person) -> Result<UserInfo, RouterError> {
        // Somebody else may have added one while the record was under way.
        if let Some(already) = self.can_add(&person)? {
            return Ok(already);
        }
        self.store.commit(|tx| tx.put_person(&person))?;
        let added = info(&person);
        self.people.add(person);
        Ok(added)
    }

    /// Removes a user who was added; one who is gone already is no fault.
    pub(crate) fn remove_user(&mut self, name: &Name, port: Port<Result<(), RouterError>>) {
        let id = match self.people.by_name(name) {
            Some(person) if person.origin == Origin::Added => person.id,
            Some(_) => return drop(port.send(Err(RouterError::UserExists))),
            None => {
                let said = self.was_removed(name);
                return drop(port.send(said));
            }
        };
        let event = Event::new(Action::UserRemoved, Result3::Success).about(name);
        self.record(event, move |desk, recorded| {
            let removed = if recorded { desk.lose_user(id) } else { Err(RouterError::NotDurable) };
            drop(port.send(removed));
        });
    }

    fn was_removed(&self, name: &Name) -> Result<(), RouterError> {
        let gone = self.store.people(true)?;
        let was = gone.iter().any(|it| it.origin == Origin::Added && it.name == *name);
        if was { Ok(()) } else { Err(RouterError::NoUser) }
    }

    fn lose_user(&mut self, id: UserId) -> Result<(), RouterError> {
        if self.people.by_id(id).is_some() {
            self.store.commit(|tx| tx.lose_person(id, self.now.ms))?;
            self.people.remove(id);
        }
        for seq in self.live_where(|live| live.head.user == id) {
            self.cancel_live(seq, "its user was removed");
        }
        Ok(())
    }
}
