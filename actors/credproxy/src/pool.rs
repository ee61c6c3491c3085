//! Connections that are kept for the next request: one that was made for a secret, a host and its TLS serves these
//! again and nothing else. It makes none itself, and closes those that wait too long.

use ::upstream::Conversation;
use ipc_proto::Name;
use ipc_proto::dialer::HostPort;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a connection waits for another request. Servers close theirs after 5 s to some minutes.
const IDLE: Duration = Duration::from_secs(50);
/// Connections that wait, in all.
const MOST_WAITING: usize = 64;

/// The purpose of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Purpose {
    /// The secret that goes over it, if one does.
    pub(crate) secret: Option<Name>,
    /// The other end.
    pub(crate) target: HostPort,
    /// True if it speaks TLS.
    pub(crate) tls: bool,
}

/// The connections that wait.
#[derive(Clone, Default)]
pub(crate) struct Pool(Rc<Inner>);

#[derive(Default)]
struct Inner {
    waiting: RefCell<HashMap<Purpose, Vec<Waiting>>>,
    sweeping: Cell<bool>,
}

struct Waiting {
    conversation: Conversation,
    since: Instant,
}

impl Pool {
    /// The connection for this purpose that waits the shortest, if one does.
    pub(crate) fn take(&self, purpose: &Purpose) -> Option<Conversation> {
        self.sweep();
        let mut waiting = self.0.waiting.borrow_mut();
        waiting.get_mut(purpose)?.pop().map(|waiting| waiting.conversation)
    }

    /// True if a connection for this purpose waits.
    pub(crate) fn has(&self, purpose: &Purpose) -> bool {
        self.sweep();
        self.0.waiting.borrow().get(purpose).is_some_and(|waiting| !waiting.is_empty())
    }

    /// A connection in use, which may come back.
    pub(crate) fn lease(&self, purpose: Purpose, conversation: Conversation) -> Lease {
        Lease { pool: self.clone(), purpose, conversation }
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.0.waiting.borrow().values().map(Vec::len).sum()
    }

    fn keep(&self, purpose: Purpose, conversation: Conversation) {
        self.sweep();
        if conversation.is_over() || self.len() >= MOST_WAITING {
            return;
        }
        let waiting = Waiting { conversation, since: Instant::now() };
        self.0.waiting.borrow_mut().entry(purpose).or_default().push(waiting);
        if !self.0.sweeping.replace(true) {
            let pool = self.clone();
            tokio::task::spawn_local(async move { pool.sweep_until_empty().await });
        }
    }

    async fn sweep_until_empty(&self) {
        while self.len() > 0 {
            tokio::time::sleep(IDLE / 4).await;
            self.sweep();
        }
        self.0.sweeping.set(false);
    }

    fn sweep(&self) {
        let fresh = |waiting: &Waiting| waiting.since.elapsed() < IDLE && !waiting.conversation.is_over();
        self.0.waiting.borrow_mut().retain(|_, waiting| {
            waiting.retain(fresh);
            !waiting.is_empty()
        });
    }
}

/// A connection in use. Dropped, it is closed.
pub(crate) struct Lease {
    pool: Pool,
    purpose: Purpose,
    conversation: Conversation,
}

impl Lease {
    /// The reply was read to its end: the next request may go over it.
    pub(crate) fn give_back(self) {
        self.pool.keep(self.purpose, self.conversation);
    }
}
