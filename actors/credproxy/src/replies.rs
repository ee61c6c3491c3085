//! The replies of one caller. They end with its edge; one that is let go while it is waited for ends at once.

use crate::reply::Reply;
use ipc_proto::credproxy::{Chunk, CredError, Reply as ReplyId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, Notify};

/// A table of replies by id.
#[derive(Clone, Default)]
pub(crate) struct Replies(Rc<Table>);

#[derive(Default)]
struct Table {
    entries: RefCell<HashMap<ReplyId, Rc<Entry>>>,
    last: Cell<u64>,
}

struct Entry {
    reply: Mutex<Reply>,
    closed: Notify,
    touched: Cell<Instant>,
}

/// A piece, and what was cut out on the way to it.
pub(crate) struct Pulled {
    /// The piece.
    pub(crate) chunk: Chunk,
    /// How many secrets.
    pub(crate) cut_out: u64,
}

impl Replies {
    /// Keeps a reply.
    pub(crate) fn insert(&self, reply: Reply) -> ReplyId {
        let id = ReplyId(self.0.last.get() + 1);
        self.0.last.set(id.0);
        let touched = Cell::new(Instant::now());
        let entry = Rc::new(Entry { reply: Mutex::new(reply), closed: Notify::new(), touched });
        self.0.entries.borrow_mut().insert(id, entry);
        id
    }

    /// The next piece of one. After the last piece and after a fault it is gone.
    pub(crate) async fn next(&self, id: ReplyId, credit: u32) -> Result<Pulled, CredError> {
        let entry = self.0.entries.borrow().get(&id).map(Rc::clone).ok_or(CredError::NoReply)?;
        entry.touched.set(Instant::now());
        let closed = pin!(entry.closed.notified());
        let pull = async {
            let mut reply = entry.reply.lock().await;
            let before = reply.cut_out();
            let chunk = reply.next(credit).await?;
            Ok(Pulled { chunk, cut_out: reply.cut_out() - before })
        };
        let pulled = tokio::select! {
            pulled = pull => pulled,
            () = closed => return Err(CredError::NoReply),
        };
        entry.touched.set(Instant::now());
        if pulled.as_ref().map_or(true, |pulled| pulled.chunk.last) {
            self.close(id);
        }
        pulled
    }

    /// Lets one go; its connection is closed.
    pub(crate) fn close(&self, id: ReplyId) {
        if let Some(entry) = self.0.entries.borrow_mut().remove(&id) {
            entry.closed.notify_waiters();
        }
    }

    /// Drops the replies that no caller has pulled for `idle`, nor is pulling.
    pub(crate) fn sweep(&self, idle: Duration) {
        let forgotten =
            |entry: &Rc<Entry>| Rc::strong_count(entry) == 1 && entry.touched.get().elapsed() > idle;
        self.0.entries.borrow_mut().retain(|_, entry| !forgotten(entry));
    }
}
