//! The rooms of the account: how many people are in each, and their names. It is read when a message comes, and again after members
//! have come or gone: a room of two is a direct conversation, and a third person makes it a group.

use crate::api::Api;
use crate::cursor::Me;
use crate::reply::{Failure, Kind};
use channel::{Lost, percent_encoded};
use serde::Deserialize;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Rooms that are remembered.
const REMEMBERED: usize = 512;
/// Names that are remembered of a room; a larger room's are their ids.
const NAMES: usize = 256;
/// Tries to read the members of a room whose list does not come although the homeserver answers. Then it is a group: such a list is
/// too long to be read.
const TRIES: u32 = 3;

/// A room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Room {
    /// Its id.
    pub id: String,
    /// The number of its members.
    pub joined: usize,
    /// The display names of its members, by their ids.
    pub names: HashMap<String, String>,
}

impl Room {
    /// Returns true if there are the account and one person.
    pub(crate) const fn is_direct(&self) -> bool {
        self.joined == 2
    }

    /// The display name of a member; the id where it has none.
    pub(crate) fn name<'a>(&'a self, user: &'a str) -> &'a str {
        self.names.get(user).map_or(user, String::as_str)
    }
}

#[derive(Deserialize)]
struct Members {
    joined: BTreeMap<String, Member>,
}

#[derive(Deserialize)]
struct Member {
    display_name: Option<String>,
}

/// The rooms that are known.
#[derive(Default)]
pub(crate) struct Rooms {
    known: RefCell<HashMap<String, Rc<Room>>>,
    lost: RefCell<HashMap<String, u32>>,
}

impl Rooms {
    /// Forgets a room whose members have changed.
    pub(crate) fn forget(&self, room: &str) {
        self.known.borrow_mut().remove(room);
    }

    /// A room; none if the account is not in it any more.
    ///
    /// # Errors
    /// The homeserver cannot be asked now.
    pub(crate) async fn room(&self, api: &Api, id: &str) -> Result<Option<Rc<Room>>, Failure> {
        if let Some(room) = self.known.borrow().get(id) {
            return Ok(Some(Rc::clone(room)));
        }
        let members = api.get::<Members>(&format!("/rooms/{}/joined_members", percent_encoded(id))).await;
        let room = match members {
            Ok(members) => named(id, members),
            Err(Failure::Lost(Lost::Unknown)) => {
                // The list of a homeserver that is away is read once it is back.
                drop(api.get::<Me>("/account/whoami").await?);
                if !self.gives_up(id) {
                    return Err(Lost::Unknown.into());
                }
                Room { id: id.to_owned(), joined: usize::MAX, names: HashMap::new() }
            }
            Err(failure) if failure.is(Kind::Forbidden) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        self.lost.borrow_mut().remove(id);
        let mut known = self.known.borrow_mut();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        let room = Rc::new(room);
        known.insert(id.to_owned(), Rc::clone(&room));
        Ok(Some(room))
    }

    fn gives_up(&self, id: &str) -> bool {
        let mut lost = self.lost.borrow_mut();
        if lost.len() >= REMEMBERED {
            lost.clear();
        }
        let tries = lost.entry(id.to_owned()).or_default();
        *tries += 1;
        *tries >= TRIES
    }
}

fn named(id: &str, members: Members) -> Room {
    let joined = members.joined.len();
    let names = members.joined.into_iter().take(NAMES);
    let names = names.filter_map(|(user, member)| Some((user, member.display_name?))).collect();
    Room { id: id.to_owned(), joined, names }
}
