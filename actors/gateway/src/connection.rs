//! The client of a connection, as its admitted requests show it. A connection of which none was admitted is closed before any other.

use ipc_proto::api::Holder;
use ipc_proto::ids::UserId;
use tokio::sync::watch;

/// The user whom a connection serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) user: UserId,
    /// True for the host's owners.
    pub(crate) owner: bool,
}

/// Tells the door of a connection whom it serves; every request of the connection has one.
#[derive(Clone)]
pub(crate) struct Connection(watch::Sender<Option<Client>>);

impl Connection {
    /// A connection whose client is not known yet, and a receiver that says when it is.
    pub(crate) fn new() -> (Self, watch::Receiver<Option<Client>>) {
        let (sender, receiver) = watch::channel(None);
        (Self(sender), receiver)
    }

    /// A request of this client was admitted.
    pub(crate) fn admitted(&self, holder: &Holder) {
        let client = Some(Client { user: holder.user, owner: holder.owner });
        self.0.send_if_modified(|known| std::mem::replace(known, client) != client);
    }
}
