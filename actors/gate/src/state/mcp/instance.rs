//! A server that runs: the requests under way, and the label of all that it was ever told, so that its state launders nothing.

use super::browsing::Browsing;
use ipc_proto::label::Label;
use ipc_proto::mcp::{Act, AskAnswer, Reply, Request, Terms, Trouble};
use ipc_proto::{List, Text};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot, watch};

/// Requests of a server that wait to be passed on.
const WAITING: usize = 16;
/// How much longer the gate waits for a reply than the bridge does for the server.
const GRACE: Duration = Duration::from_secs(5);

/// How often a server may ask somebody who is not asked.
const ROUNDS: usize = 4;

/// The id that agentd knows a jail by.
pub(crate) type JailId = [u8; 16];

/// A running server.
pub(crate) struct Instance {
    pub(crate) id: JailId,
    pub(crate) terms: Terms,
    label: Mutex<Label>,
    standing: watch::Sender<Standing>,
    requests: mpsc::Sender<Request>,
    queue: tokio::sync::Mutex<mpsc::Receiver<Request>>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Reply>>>,
    numbers: AtomicU64,
    used: Mutex<Instant>,
    /// The page of a browser; empty for a server.
    pub(crate) browsing: Browsing,
}

/// The standing of a server.
#[derive(Clone, Debug)]
pub(crate) enum Standing {
    Starting,
    /// It has said what it offers; or the package is installed.
    Ready(Option<ipc_proto::mcp::Installed>),
    Ended(Trouble),
}

/// The server did not reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The request may have been carried out.
    Unknown,
    /// It was not passed on.
    Unsent,
}

impl Instance {
    pub(super) fn new(id: JailId, terms: Terms) -> Self {
        let (requests, queue) = mpsc::channel(WAITING);
        Self {
            id,
            terms,
            label: Mutex::new(Label::bottom()),
            standing: watch::Sender::new(Standing::Starting),
            requests,
            queue: tokio::sync::Mutex::new(queue),
            waiting: Mutex::default(),
            numbers: AtomicU64::default(),
            used: Mutex::new(Instant::now()),
            browsing: Browsing::default(),
        }
    }

    /// The label of all that it was told.
    pub(crate) fn label(&self) -> Label {
        self.label.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Joins a label into that of the server, before it is told anything of that label.
    pub(crate) fn raise_to(&self, label: &Label) {
        let mut own = self.label.lock().unwrap_or_else(PoisonError::into_inner);
        *own = own.join(label);
    }

    /// Returns true if it has not ended.
    pub(crate) fn lives(&self) -> bool {
        !matches!(*self.standing.borrow(), Standing::Ended(_))
    }

    pub(crate) fn set(&self, standing: Standing) {
        self.standing.send_if_modified(|now| {
            let stands = !matches!(now, Standing::Ended(_));
            if stands {
                *now = standing;
            }
            stands
        });
        if !self.lives() {
            // Those that wait hear that nothing comes.
            self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// Waits until it has started.
    ///
    /// # Errors
    /// The reason for which it has not.
    pub(crate) async fn ready(&self) -> Result<Option<ipc_proto::mcp::Installed>, Trouble> {
        let mut standing = self.standing.subscribe();
        let settled = standing.wait_for(|standing| !matches!(standing, Standing::Starting)).await;
        match settled.as_deref() {
            Ok(Standing::Ready(installed)) => Ok(installed.clone()),
            Ok(Standing::Ended(trouble)) => Err(trouble.clone()),
            Ok(Standing::Starting) | Err(_) => Err(Trouble::TooSlow),
        }
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(&self) {
        let mut standing = self.standing.subscribe();
        drop(standing.wait_for(|standing| matches!(standing, Standing::Ended(_))).await);
    }

    /// The time since its last request; none while one is under way.
    pub(super) fn idle(&self) -> Option<Duration> {
        let busy = !self.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        (!busy).then(|| self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed())
    }

    /// Asks the server, which has `seconds` for its reply.
    ///
    /// # Errors
    /// [`Lost`]: it went away, or was not there.
    pub(crate) async fn ask(&self, act: Act, seconds: u16) -> Result<Reply, Lost> {
        let id = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (reply, replied) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, reply);
        let _end = Waiting { instance: self, id };
        if !self.lives() || self.requests.send(Request { id, seconds, act }).await.is_err() {
            return Err(Lost::Unsent);
        }
        let time = Duration::from_secs(seconds.into()) + GRACE;
        match tokio::time::timeout(time, replied).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(_)) | Err(_) => Err(Lost::Unknown),
        }
    }

    /// The same for its owner, whom the server asks nothing.
    pub(crate) async fn ask_alone(&self, act: Act, seconds: u16) -> Result<Reply, Lost> {
        let mut reply = self.ask(act, seconds).await?;
        for _ in 0..ROUNDS {
            let Reply::Asks { request, asks } = &reply else { return Ok(reply) };
            let answers = List::clip(asks.iter().map(|_| AskAnswer::Cancelled));
            reply = self.ask(Act::Resume { request: *request, answers }, seconds).await?;
        }
        Ok(Reply::Refused(Text::clip(
            "the server asks for more, which only an agent's turn can pass on to a person",
        )))
    }

    /// Counts as used for as long as the returned value lives.
    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        let id = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (nothing, _) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, nothing);
        Held { instance: Arc::clone(self), id }
    }

    fn let_go(&self, id: u64) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// The next request for the bridge, if there is one within this time.
    pub(crate) async fn next(&self, patience: Duration) -> Option<Request> {
        let next = async { self.queue.lock().await.recv().await };
        tokio::time::timeout(patience, next).await.ok().flatten()
    }

    /// Takes a reply of the bridge; one that nobody waits for is dropped.
    pub(crate) fn reply(&self, id: u64, reply: Reply) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let Some(waiting) = waiting {
            drop(waiting.send(reply));
        }
    }
}

/// A request under way.
struct Waiting<'a> {
    instance: &'a Instance,
    id: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.instance.let_go(self.id);
    }
}

/// A server that is kept while a person is asked.
pub(crate) struct Held {
    instance: Arc<Instance>,
    id: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.instance.let_go(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Name;
    use ipc_proto::mcp::Start;

    fn instance() -> Arc<Instance> {
        let start = Start::Program(Default::default());
        let opaque = Default::default();
        let terms = Terms { server: Name::clip("time"), start, tree: None, network: false, opaque };
        Arc::new(Instance::new([1; 16], terms))
    }

    #[tokio::test]
    async fn a_reply_reaches_the_request_of_its_number_alone() {
        let instance = instance();
        let asking = Arc::clone(&instance);
        let asked = tokio::spawn(async move { asking.ask(Act::Resources, 5).await });
        let request = instance.next(Duration::from_secs(5)).await.unwrap();
        instance.reply(request.id + 1, Reply::Gone);
        instance.reply(request.id, Reply::Refused(Text::clip("no")));
        assert_eq!(asked.await.unwrap(), Ok(Reply::Refused(Text::clip("no"))));
        assert!(instance.next(Duration::from_millis(1)).await.is_none());
    }

    #[tokio::test]
    async fn a_server_that_ends_leaves_its_requests_unknown_and_takes_no_more() {
        let instance = instance();
        let asking = Arc::clone(&instance);
        let asked = tokio::spawn(async move { asking.ask(Act::Resources, 5).await });
        instance.next(Duration::from_secs(5)).await.unwrap();
        assert!(instance.idle().is_none());
        instance.set(Standing::Ended(Trouble::TooSlow));
        assert_eq!(asked.await.unwrap(), Err(Lost::Unknown));
        assert_eq!(instance.ask(Act::Resources, 5).await, Err(Lost::Unsent));
        instance.set(Standing::Ready(None));
        assert_eq!(instance.ready().await, Err(Trouble::TooSlow));
        assert!(instance.idle().is_some());
    }
}
