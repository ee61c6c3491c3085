//! The users: the built-in owner, the configured users and those who were added. It maps a uid to a user and fails closed: a uid without
//! a user, and the kernel's number for an unmapped one, belong to nobody.

use crate::store::{Origin, Person, Store, StoreFault};
use ipc_proto::config::{self, UserRole};
use ipc_proto::ids::UserId;
use ipc_proto::router::UserInfo;
use ipc_proto::{List, Name, Text};
use manifest::settings::ordinary;
use std::collections::BTreeMap;

/// The built-in owner's name.
const OWNER: &str = "owner";

/// Why the configured users cannot be taken over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PeopleFault {
    #[error(transparent)]
    Store(#[from] StoreFault),
    #[error(
        "the configured user {0:?} is over a bound: 64 bytes of name, 16 uids, 16 identities of 256 bytes"
    )]
    TooLong(String),
    #[error("a user named `owner` must have the role owner")]
    OwnerWithoutRole,
}

/// All known users.
pub(crate) struct People {
    people: Vec<Person>,
    owner_uid: u32,
    /// Identities that were added to users, besides those of the users' own rows.
    linked: BTreeMap<Text<256>, UserId>,
}

impl People {
    /// Brings the rows in step with the configuration: a configured user has the id that goes with the name,
    /// one who is configured no longer is gone.
    pub(crate) fn settle(
        store: &mut Store,
        config: &config::Router,
        now_ms: u64,
    ) -> Result<Self, PeopleFault> {
        let (have, gone) = (store.people(false)?, store.people(true)?);
        let mut wanted: Vec<Person> = config.users.iter().map(configured).collect::<Result<_, _>>()?;
        match wanted.iter().find(|it| it.name.as_str() == OWNER) {
            Some(it) if it.role != UserRole::Owner => return Err(PeopleFault::OwnerWithoutRole),
            Some(_) => {}
            None => wanted.push(built_in(config.owner_uid)),
        }
        for person in &mut wanted {
            let mut rows = have.iter().chain(gone.iter().filter(|it| it.origin != Origin::Added));
            if let Some(row) = rows.find(|it| it.name == person.name) {
                person.id = row.id;
            }
        }
        let lost =
            have.iter().filter(|it| it.origin != Origin::Added && wanted.iter().all(|w| w.id != it.id));
        let changed = wanted.iter().filter(|it| !have.contains(it));
        store.commit(|tx| {
            lost.clone().try_for_each(|it| tx.mark_person_gone(it.id, now_ms))?;
            changed.clone().try_for_each(|it| tx.put_person(it))
        })?;
        let added =
            have.iter().filter(|it| it.origin == Origin::Added && wanted.iter().all(|w| w.id != it.id));
        let people = wanted.iter().chain(added).cloned().collect();
        let linked = store.linked()?.into_iter().collect();
        Ok(Self { people, owner_uid: config.owner_uid, linked })
    }

    /// The user with this uid.
    pub(crate) fn by_uid(&self, uid: u32) -> Option<&Person> {
        // The kernel shows such a number for a uid that a user namespace does not map; no process has it.
        if uid != 0 && !ordinary(uid) {
            return None;
        }
        if uid == 0 || uid == self.owner_uid {
            return self.owner(uid);
        }
        // Configured users come first: one who was added does not take a uid from them.
        self.people.iter().find(|it| it.uids.contains(&uid))
    }

    /// Root and the uid that the host belongs to are one owner: the configured one if there is one.
    fn owner(&self, uid: u32) -> Option<&Person> {
        let owners =
            || self.people.iter().filter(|it| it.origin == Origin::Configured && it.role == UserRole::Owner);
        let named = |uid: u32| owners().find(|it| it.uids.contains(&uid));
        let built_in =
            || self.people.iter().find(|it| it.name.as_str() == OWNER && it.role == UserRole::Owner);
        named(uid).or_else(|| named(self.owner_uid)).or_else(built_in)
    }

    /// The user of this id.
    pub(crate) fn by_id(&self, id: UserId) -> Option<&Person> {
        self.people.iter().find(|it| it.id == id)
    }

    /// The role of the user of this id; one who is gone has the least.
    pub(crate) fn role(&self, id: UserId) -> UserRole {
        self.by_id(id).map_or(UserRole::Guest, |person| person.role)
    }

    /// The user of this name.
    pub(crate) fn by_name(&self, name: &str) -> Option<&Person> {
        self.people.iter().find(|it| it.name.as_str() == name)
    }

    /// All users, as listed.
    pub(crate) fn all(&self) -> impl Iterator<Item = UserInfo> {
        self.people.iter().map(|person| self.info(person))
    }

    /// The user with this identity, `PLATFORM:NAME:ID`. A configured identity is found before one that was added.
    pub(crate) fn by_identity(&self, identity: &str) -> Option<&Person> {
        let own = self.people.iter().find(|it| it.identities.iter().any(|id| id.as_str() == identity));
        own.or_else(|| {
            let (_, user) = self.linked.iter().find(|(id, _)| id.as_str() == identity)?;
            self.by_id(*user)
        })
    }

    /// Returns true if a user's own row has this identity.
    pub(crate) fn is_configured(&self, identity: &str) -> bool {
        self.people.iter().any(|it| it.identities.iter().any(|id| id.as_str() == identity))
    }

    /// How many identities a user has.
    pub(crate) fn identities(&self, user: UserId) -> usize {
        let own = self.by_id(user).map_or(0, |person| person.identities.len());
        own + self.linked.values().filter(|owner| **owner == user).count()
    }

    /// Adds an identity, whose row is durable, to a user.
    pub(crate) fn link(&mut self, identity: Text<256>, user: UserId) {
        self.linked.insert(identity, user);
    }

    /// Takes away an identity whose row is gone.
    pub(crate) fn unlink(&mut self, identity: &Text<256>) {
        self.linked.remove(identity);
    }

    /// A user as listed, with every identity.
    pub(crate) fn info(&self, person: &Person) -> UserInfo {
        let linked = self.linked.iter().filter(|(_, user)| **user == person.id).map(|(id, _)| id.clone());
        UserInfo {
            id: person.id,
            name: person.name.clone(),
            role: person.role,
            uids: person.uids.clone(),
            identities: List::clip(person.identities.iter().cloned().chain(linked)),
            configured: person.origin != Origin::Added,
        }
    }

    /// The ids of all users.
    pub(crate) fn ids(&self) -> Vec<UserId> {
        self.people.iter().map(|person| person.id).collect()
    }

    /// The user of this id, as listed.
    pub(crate) fn info_of(&self, id: UserId) -> Option<UserInfo> {
        self.by_id(id).map(|person| self.info(person))
    }

    /// Returns true if another user has one of these uids or identities already, or no user may.
    pub(crate) fn in_use(&self, uids: &[u32], identities: &[Text<256>]) -> bool {
        let reserved = |uid: &u32| !ordinary(*uid) || *uid == self.owner_uid;
        uids.iter().any(reserved)
            || self.people.iter().any(|it| uids.iter().any(|uid| it.uids.contains(uid)))
            || identities.iter().any(|id| self.by_identity(id).is_some())
    }

    /// Adds a user whose row is durable.
    pub(crate) fn add(&mut self, person: Person) {
        self.people.push(person);
    }

    /// Replaces a user whose changed row is durable.
    pub(crate) fn replace(&mut self, person: Person) {
        if let Some(have) = self.people.iter_mut().find(|it| it.id == person.id) {
            *have = person;
        }
    }

    /// Removes a user whose row is marked as gone.
    pub(crate) fn remove(&mut self, id: UserId) {
        self.people.retain(|it| it.id != id);
        self.linked.retain(|_, user| *user != id);
    }
}

/// Returns true if a key may have this name: printable, without spaces, not empty.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.@".contains(c))
}

fn configured(user: &config::User) -> Result<Person, PeopleFault> {
    let too_long = || PeopleFault::TooLong(user.name.clone());
    let identities: Result<Vec<_>, _> = user.identities.iter().map(Text::new).collect();
    Ok(Person {
        id: UserId::random(),
        name: Name::new(&user.name).map_err(|_| too_long())?,
        role: user.role,
        uids: List::new(user.uids.clone()).map_err(|_| too_long())?,
        identities: List::new(identities.map_err(|_| too_long())?).map_err(|_| too_long())?,
        origin: Origin::Configured,
    })
}

fn built_in(owner_uid: u32) -> Person {
    let uids = if owner_uid == 0 { vec![0] } else { vec![0, owner_uid] };
    Person {
        id: UserId::random(),
        name: Name::clip(OWNER),
        role: UserRole::Owner,
        uids: List::clip(uids),
        identities: List::default(),
        origin: Origin::Host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{config, user};

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("queue.db")).unwrap();
        (folder, store)
    }

    fn settle(store: &mut Store, users: Vec<config::User>, owner_uid: u32) -> People {
        People::settle(store, &config::Router { users, owner_uid, ..config() }, 1).unwrap()
    }

    fn name_of(people: &People, uid: u32) -> Option<&str> {
        people.by_uid(uid).map(|it| it.name.as_str())
    }

    // Holds P3-08.
    #[test]
    fn root_and_the_hosts_uid_are_the_owner_and_unmapped_uids_are_nobody() {
        let (_folder, mut store) = store();
        let users =
            vec![user("ann", &[1001, 65534], UserRole::User), user("sly", &[0, 1000], UserRole::Guest)];
        let people = settle(&mut store, users, 1000);
        let cases = [
            (0, Some("owner")),
            (1000, Some("owner")),
            (1001, Some("ann")),
            (1002, None),
            (65534, None),
            (u32::MAX, None),
        ];
        for (uid, expected) in cases {
            assert_eq!(name_of(&people, uid), expected, "uid {uid}");
        }
        assert!(people.by_uid(0).is_some_and(|it| it.role == UserRole::Owner));
    }

    #[test]
    fn a_configured_owner_with_the_hosts_uid_is_the_owner_for_root_as_well() {
        let (_folder, mut store) = store();
        let people = settle(&mut store, vec![user("mia", &[1000], UserRole::Owner)], 1000);
        assert_eq!((name_of(&people, 0), name_of(&people, 1000)), (Some("mia"), Some("mia")));
    }

    #[test]
    fn a_configured_user_named_owner_is_the_built_in_one() {
        let (_folder, mut store) = store();
        let people = settle(&mut store, vec![user("owner", &[7], UserRole::Owner)], 1000);
        assert_eq!(people.by_uid(0).map(|it| it.id), people.by_uid(7).map(|it| it.id));
        let config = config::Router { users: vec![user("owner", &[7], UserRole::Guest)], ..config() };
        assert!(matches!(People::settle(&mut store, &config, 1), Err(PeopleFault::OwnerWithoutRole)));
    }

    #[test]
    fn a_configured_user_keeps_the_id_over_restarts() {
        let (_folder, mut store) = store();
        let first = settle(&mut store, vec![user("ann", &[5], UserRole::User)], 0).by_name("ann").unwrap().id;
        let people = settle(&mut store, vec![], 0);
        assert!(people.by_uid(5).is_none() && people.by_name("ann").is_none());
        let people = settle(&mut store, vec![user("ann", &[6], UserRole::Guest)], 0);
        let ann = people.by_name("ann").unwrap();
        assert_eq!((ann.id, ann.role, ann.uids.to_vec()), (first, UserRole::Guest, vec![6]));
    }

    #[test]
    fn whoever_was_added_stays_and_becomes_the_configured_user_of_that_name() {
        let (_folder, mut store) = store();
        let bob = Person {
            id: UserId::random(),
            name: Name::clip("bob"),
            role: UserRole::Guest,
            uids: List::clip([9]),
            identities: List::default(),
            origin: Origin::Added,
        };
        store.commit(|tx| tx.put_person(&bob)).unwrap();
        let people = settle(&mut store, vec![], 0);
        assert_eq!(people.by_uid(9), Some(&bob));
        assert!(people.in_use(&[9], &[]) && people.in_use(&[0], &[]) && !people.in_use(&[10], &[]));
        let people = settle(&mut store, vec![user("bob", &[8], UserRole::User)], 0);
        assert_eq!(people.by_uid(8).map(|it| (it.id, it.origin)), Some((bob.id, Origin::Configured)));
        assert!(people.by_uid(9).is_none());
    }
}
