//! Requests of persons about users and keys of the API.

use crate::port::{Port, Reply};
use crate::state::RouterState;
use crate::state::requests::{NewKey, UserEdit};
use crate::store::Person;
use ipc_proto::api::{KEYS, KeyInfo};
use ipc_proto::ids::UserId;
use ipc_proto::router::UserInfo;
use ipc_proto::{List, Name};

/// A request of persons about users and keys of the API, with the port for its answer.
pub(crate) enum UserRequest {
    Identify { uid: u32, reply: Reply<UserInfo> },
    List { reply: Port<List<UserInfo, 256>> },
    Add { person: Box<Person>, reply: Reply<UserInfo> },
    Edit { edit: Box<UserEdit>, reply: Reply<UserInfo> },
    Remove { name: Name, reply: Reply<()> },
    CreateKey { key: Box<NewKey>, reply: Reply<KeyInfo> },
    Keys { user: Option<UserId>, reply: Port<List<KeyInfo, KEYS>> },
    RevokeKey { user: Option<UserId>, by: Name, name: Name, reply: Reply<()> },
}

impl RouterState {
    /// Handles one of them.
    pub(crate) fn user_request(&mut self, request: UserRequest) {
        match request {
            UserRequest::Identify { uid, reply } => drop(reply.send(self.identify(uid))),
            UserRequest::List { reply } => drop(reply.send(self.users())),
            UserRequest::Add { person, reply } => self.add_user(*person, reply),
            UserRequest::Edit { edit, reply } => self.edit_user(*edit, reply),
            UserRequest::Remove { name, reply } => self.remove_user(&name, reply),
            UserRequest::CreateKey { key, reply } => self.create_key(*key, reply),
            UserRequest::Keys { user, reply } => drop(reply.send(self.list_keys(user))),
            UserRequest::RevokeKey { user, by, name, reply } => self.revoke_key(user, &by, &name, reply),
        }
    }
}
