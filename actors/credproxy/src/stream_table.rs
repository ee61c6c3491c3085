//! The open streams of one caller. They end with its edge.

use crate::line_stream::LineStream;
use crate::socket_stream::SocketStream;
use ::upstream::Upload;
use ipc_proto::Name;
use ipc_proto::credproxy::{CredError, STREAMS, Stream};
use ipc_proto::dialer::HostPort;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

/// A table of streams by id.
#[derive(Clone)]
pub(crate) struct Streams(Rc<Table>);

struct Table {
    entries: RefCell<HashMap<Stream, Rc<Entry>>>,
    last: Cell<u64>,
    rooms: Arc<Semaphore>,
}

/// An open stream.
pub(crate) struct Entry {
    /// The account that it was opened for.
    pub(crate) account: Name,
    /// The connection.
    pub(crate) open: Open,
    // Given back when the stream is closed.
    _room: OwnedSemaphorePermit,
}

/// The connection of a stream.
pub(crate) enum Open {
    /// A socket, and where it leads.
    Socket {
        /// Its messages.
        socket: SocketStream,
        /// The other end.
        target: HostPort,
        /// The path of the upgrade, with the mark of a secret.
        path: String,
    },
    /// A line after its login.
    Line(LineStream),
    /// An upload until its reply was asked for, with room for that reply.
    Upload(Mutex<Option<(Upload, OwnedSemaphorePermit)>>),
}

impl Default for Streams {
    fn default() -> Self {
        let rooms = Arc::new(Semaphore::new(STREAMS));
        Self(Rc::new(Table { entries: RefCell::default(), last: Cell::default(), rooms }))
    }
}

impl Streams {
    /// Room for one more.
    pub(crate) fn room(&self) -> Result<OwnedSemaphorePermit, CredError> {
        Arc::clone(&self.0.rooms).try_acquire_owned().map_err(|_| CredError::Full)
    }

    /// Keeps one that was opened for this account.
    pub(crate) fn insert(&self, account: Name, open: Open, room: OwnedSemaphorePermit) -> Stream {
        let id = Stream(self.0.last.get() + 1);
        self.0.last.set(id.0);
        self.0.entries.borrow_mut().insert(id, Rc::new(Entry { account, open, _room: room }));
        id
    }

    /// The stream of this id.
    pub(crate) fn get(&self, id: Stream) -> Result<Rc<Entry>, CredError> {
        self.0.entries.borrow().get(&id).map(Rc::clone).ok_or(CredError::NoReply)
    }

    /// Closes one.
    pub(crate) fn close(&self, id: Stream) {
        let entry = self.0.entries.borrow_mut().remove(&id);
        if let Some(Open::Socket { socket, .. }) = entry.as_deref().map(|entry| &entry.open) {
            socket.close();
        }
    }
}
