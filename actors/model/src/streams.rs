//! The running answers of one edge: a bounded table. Each answer is a task of its own that fills a short queue, so a
//! caller that pulls slowly slows that one answer down, up to the provider's socket, and nothing else. An answer starts
//! with its first pull: until then its caller can prepare.
//!
//! The table belongs to the edge: when the caller is gone, its answers end. It must never give an answer to an edge
//! that did not start it.

use ipc_proto::List;
use ipc_proto::model::{ModelError, Piece, StreamId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::{Instant, timeout};

/// Answers of one edge at once. The gate is the one edge there is, and everybody's answers come over it.
pub(crate) const AT_ONCE: usize = 256;
/// Pieces that are ready before they are pulled; then the answer waits.
const READY: usize = 64;
/// Pieces that one pull gives at most: the bound of `next`.
const BATCH: usize = 64;
/// How long a pull waits for the first piece.
const PULL_WAIT: Duration = Duration::from_secs(20);
/// An answer that was not pulled for this long makes room for another.
const FORGOTTEN: Duration = Duration::from_secs(120);

/// Ends when the caller no longer wants the answer.
pub(crate) type Stop = oneshot::Receiver<()>;

/// Where an answer puts its pieces.
pub(crate) struct Outlet(mpsc::Sender<Piece>);

impl Outlet {
    /// An outlet of one attempt, and its other end: one piece at a time, so that a reader that takes none slows the
    /// provider down.
    pub(crate) fn pair() -> (Self, mpsc::Receiver<Piece>) {
        let (sender, pieces) = mpsc::channel(1);
        (Self(sender), pieces)
    }

    /// Gives a piece; waits while as many as may be are ready. For a caller that is gone it waits for ever, which
    /// `Stop` ends: to come back at once would let an answer that never waits hold the whole process.
    pub(crate) async fn give(&self, piece: Piece) {
        if self.0.send(piece).await.is_err() {
            std::future::pending().await
        }
    }
}

/// One answer that is coming.
struct Running {
    ready: Rc<Mutex<mpsc::Receiver<Piece>>>,
    /// Dropped with the entry, which stops the task.
    _stop: oneshot::Sender<()>,
    /// Has the task begin, at the first pull.
    begin: Option<oneshot::Sender<()>>,
    pulled: Instant,
}

/// The answers of one edge.
#[derive(Default)]
pub(crate) struct Streams {
    running: RefCell<HashMap<StreamId, Running>>,
    /// Answers of all edges, for `status`.
    all: Rc<Cell<u64>>,
}

/// Counts an answer for as long as it is held.
struct Counted(Rc<Cell<u64>>);

impl Counted {
    fn new(all: &Rc<Cell<u64>>) -> Self {
        all.set(all.get().saturating_add(1));
        Self(Rc::clone(all))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

impl Streams {
    /// An empty table that counts its answers in `all`.
    pub(crate) fn new(all: Rc<Cell<u64>>) -> Self {
        Self { running: RefCell::default(), all }
    }

    /// Makes an answer ready in a task of its own, which begins at the first pull; dropped before that, it never does.
    /// The task has to end soon after its `Stop` has resolved.
    pub(crate) fn start<F>(&self, answer: impl FnOnce(Outlet, Stop) -> F) -> Result<StreamId, ModelError>
    where
        F: Future<Output = ()> + 'static,
    {
        let mut running = self.running.borrow_mut();
        if running.len() >= AT_ONCE {
            running.retain(|_, answer| answer.pulled.elapsed() < FORGOTTEN);
        }
        if running.len() >= AT_ONCE {
            return Err(ModelError::Busy);
        }
        let (sender, ready) = mpsc::channel(READY);
        let (stop, stopped) = oneshot::channel();
        let (answer, counted) = (answer(Outlet(sender), stopped), Counted::new(&self.all));
        let (begin, pulled) = oneshot::channel();
        tokio::task::spawn_local(async move {
            // One whose caller lost it must not keep the money that is set aside for it.
            if let Ok(Ok(())) = timeout(FORGOTTEN, pulled).await {
                answer.await;
            }
            drop(counted);
        });
        // Random, so that an id from before a restart never names another answer.
        let id = StreamId(uuid::Uuid::new_v4().as_u64_pair().0);
        let ready = Rc::new(Mutex::new(ready));
        let entry = Running { ready, _stop: stop, begin: Some(begin), pulled: Instant::now() };
        running.insert(id, entry);
        Ok(id)
    }

    /// The next pieces: waits for the first, and may come back empty. An answer whose end was given is forgotten.
    pub(crate) async fn next(&self, id: StreamId, credit: u16) -> Result<List<Piece, BATCH>, ModelError> {
        let ready = self.touch(id).ok_or(ModelError::NoStream)?;
        let most = usize::from(credit).min(BATCH);
        if most == 0 {
            return Ok(List::default());
        }
        let mut batch = Vec::with_capacity(most);
        let pull = async {
            let mut ready = ready.lock().await;
            ready.recv_many(&mut batch, most).await;
            ready
        };
        let Ok(mut ready) = timeout(PULL_WAIT, pull).await else { return Ok(List::default()) };
        if batch.is_empty() {
            // Cancelled while this pull waited.
            self.cancel(id);
            return Err(ModelError::NoStream);
        }
        // Pieces that come with the first one are given with it: else a short answer would be pulled and scanned twice.
        tokio::task::yield_now().await;
        while batch.len() < most
            && let Ok(piece) = ready.try_recv()
        {
            batch.push(piece);
        }
        if matches!(batch.last(), Some(Piece::Done(_) | Piece::Failed(_))) {
            self.cancel(id);
        } else {
            self.touch(id);
        }
        Ok(List::clip(batch))
    }

    /// Ends an answer. Nothing happens if there is none.
    pub(crate) fn cancel(&self, id: StreamId) {
        self.running.borrow_mut().remove(&id);
    }

    fn touch(&self, id: StreamId) -> Option<Rc<Mutex<mpsc::Receiver<Piece>>>> {
        let mut running = self.running.borrow_mut();
        let answer = running.get_mut(&id)?;
        answer.pulled = Instant::now();
        if let Some(begin) = answer.begin.take() {
            // A task that has ended meanwhile begins nothing.
            let _ = begin.send(());
        }
        Some(Rc::clone(&answer.ready))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;
    use ipc_proto::model::Finish;
    use tokio::task::LocalSet;

    fn word(text: &str) -> Piece {
        Piece::Text(Text::clip(text))
    }

    async fn endless(outlet: Outlet, stop: Stop, given: Rc<Cell<u32>>) {
        let work = async {
            loop {
                outlet.give(word("x")).await;
                given.set(given.get() + 1);
            }
        };
        tokio::select! { _ = stop => {}, () = work => {} }
    }

    async fn local(test: impl Future<Output = ()>) {
        LocalSet::new().run_until(test).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_pull_gives_at_most_its_credit_and_the_end_is_the_last() {
        local(async {
            let streams = Streams::default();
            let id = streams
                .start(async |outlet, _| {
                    for text in ["a", "b", "c"] {
                        outlet.give(word(text)).await;
                    }
                    outlet.give(Piece::Done(Finish::Stop)).await;
                })
                .unwrap();
            assert_eq!(streams.next(id, 0).await.unwrap().len(), 0);
            assert_eq!(streams.next(id, 2).await.unwrap().into_vec(), [word("a"), word("b")]);
            assert_eq!(
                streams.next(id, 999).await.unwrap().into_vec(),
                [word("c"), Piece::Done(Finish::Stop)]
            );
            assert_eq!(streams.next(id, 1).await, Err(ModelError::NoStream));
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_pull_of_a_silent_answer_comes_back_empty_after_twenty_seconds() {
        local(async {
            let streams = Streams::default();
            let id = streams.start(async |_outlet, stop| drop(stop.await)).unwrap();
            let before = Instant::now();
            assert_eq!(streams.next(id, 8).await.unwrap().len(), 0);
            assert_eq!(before.elapsed().as_secs(), 20);
        })
        .await;
    }

    // Holds B-90, P8-19.
    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_not_pulled_stops_at_what_is_ready() {
        local(async {
            let (streams, given) = (Streams::default(), Rc::new(Cell::new(0)));
            let count = Rc::clone(&given);
            let id = streams.start(move |outlet, stop| endless(outlet, stop, count)).unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(given.get(), 0, "nothing is asked before the first pull");
            assert_eq!(streams.next(id, 0).await.unwrap().len(), 0);
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(given.get(), u32::try_from(READY).unwrap());
            assert_eq!(streams.next(id, 10).await.unwrap().len(), 10);
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(given.get(), u32::try_from(READY).unwrap() + 10);
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_answer_ends_and_so_does_a_pull_that_waits_for_it() {
        local(async {
            let all = Rc::new(Cell::new(0));
            let streams = Rc::new(Streams::new(Rc::clone(&all)));
            let id = streams.start(async |_outlet, stop| drop(stop.await)).unwrap();
            assert_eq!(all.get(), 1);
            let pulling = tokio::task::spawn_local({
                let streams = Rc::clone(&streams);
                async move { streams.next(id, 8).await }
            });
            tokio::time::sleep(Duration::from_millis(1)).await;
            streams.cancel(id);
            assert_eq!(pulling.await.unwrap(), Err(ModelError::NoStream));
            assert_eq!(all.get(), 0);
        })
        .await;
    }

    // Holds B-56.
    #[tokio::test(start_paused = true)]
    async fn the_table_is_bounded_and_a_forgotten_answer_makes_room() {
        local(async {
            let streams = Streams::default();
            let begin = || streams.start(async |_outlet, stop| drop(stop.await));
            let first = begin().unwrap();
            assert!((1..AT_ONCE).all(|_| begin().is_ok()));
            assert_eq!(begin(), Err(ModelError::Busy));
            tokio::time::sleep(FORGOTTEN).await;
            assert!(begin().is_ok());
            assert_eq!(streams.next(first, 1).await, Err(ModelError::NoStream));
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_never_pulled_is_let_go_with_all_that_it_holds() {
        local(async {
            let (all, held) = (Rc::new(Cell::new(0)), Rc::new(()));
            let (streams, holds) = (Streams::new(Rc::clone(&all)), Rc::clone(&held));
            let id = streams.start(move |_, stop| async move { drop((stop.await, holds)) }).unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!((Rc::strong_count(&held), all.get()), (2, 1));
            tokio::time::sleep(FORGOTTEN).await;
            assert_eq!((Rc::strong_count(&held), all.get()), (1, 0));
            assert_eq!(streams.next(id, 1).await, Err(ModelError::NoStream));
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_answers_of_a_caller_that_is_gone_end() {
        local(async {
            let all = Rc::new(Cell::new(0));
            let streams = Streams::new(Rc::clone(&all));
            let given = Rc::new(Cell::new(0));
            streams.start(move |outlet, stop| endless(outlet, stop, given)).unwrap();
            drop(streams);
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(all.get(), 0);
        })
        .await;
    }
}
