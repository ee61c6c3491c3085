//! The answer streams of one edge. Each answer belongs to the edge that began it, and ends with it. An answer never goes to
//! another edge, and none goes on that nobody pulls.

use crate::passthrough::admit;
use crate::passthrough::answer::Answer;
use crate::passthrough::answer::decided::Decided;
use crate::passthrough::client::Background;
use crate::state::context::GateContext;
use crate::state::errors::relay_down;
use crate::state::rates::StreamPermit;
use crate::turn::requester::Requester;
use ipc_proto::List;
use ipc_proto::api::Caller;
use ipc_proto::gate::{Begun, RelayError};
use ipc_proto::model::{ModelError, Piece, Request, StreamId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, Notify, oneshot};
use tokio::time::{sleep, timeout};

/// The time without a pull after which an answer is ended.
const FORGOTTEN: Duration = Duration::from_secs(120);

/// The pieces that come within this time are returned with the beginning, which saves the client a call.
const AT_ONCE: Duration = Duration::from_millis(100);

/// One answer, and the means to end it.
#[derive(Clone)]
struct Entry {
    answer: Rc<Mutex<Answer>>,
    /// Notified when it is ended while a pull is under way.
    ended: Rc<Notify>,
    pulled: Instant,
    /// Its permit, held while it is in the table.
    _permit: Rc<StreamPermit>,
}

#[derive(Default)]
struct Table {
    last: u64,
    /// A task watches for answers that nobody pulls.
    watched: bool,
    answers: HashMap<StreamId, Entry>,
}

/// The answer streams of one edge.
#[derive(Clone, Default)]
pub(crate) struct Streams(Rc<RefCell<Table>>);

impl Streams {
    /// Starts an answer, and returns the pieces that come at once: of a short one, all.
    pub(crate) async fn begin(
        &self,
        gate: &GateContext,
        caller: Caller,
        request: Request,
    ) -> Result<Begun, RelayError> {
        let stream = self.admitted(gate, Box::pin(admit::answer(gate, caller, request))).await?;
        // In a task of its own, so that a slower answer goes on until the next pull.
        let (streams, host) = (self.clone(), gate.clone());
        let listening = tokio::task::spawn_local(async move { streams.listen(&host, stream).await });
        if timeout(AT_ONCE, listening).await.is_err() {
            return Ok(Begun { stream, pieces: List::default() });
        }
        Ok(Begun { stream, pieces: self.pull(gate, stream, u16::MAX).await? })
    }

    async fn listen(&self, gate: &GateContext, stream: StreamId) {
        let Some(entry) = self.touch(stream) else { return };
        let heard = async { entry.answer.lock().await.listen(gate).await };
        tokio::select! {
            () = heard => {}
            () = entry.ended.notified() => {}
        }
    }

    /// Starts an answer for a program in a jail.
    pub(crate) async fn begin_run(
        &self,
        gate: &GateContext,
        requester: &Requester,
        request: Request,
    ) -> Result<StreamId, RelayError> {
        self.admitted(gate, admit::run(gate, requester, request)).await
    }

    /// Starts an answer for background work.
    pub(crate) async fn begin_background(
        &self,
        gate: &GateContext,
        work: Background,
        request: Request,
    ) -> Result<StreamId, RelayError> {
        self.admitted(gate, admit::background(gate, work, request)).await
    }

    /// Starts an answer once its request is admitted.
    async fn admitted(
        &self,
        gate: &GateContext,
        admission: impl Future<Output = Result<(Decided, StreamPermit), RelayError>>,
    ) -> Result<StreamId, RelayError> {
        let (decided, permit) = admission.await?;
        let (sender, receiver) = oneshot::channel();
        let host = gate.clone();
        // In a task of its own: otherwise model would keep a prepared answer, and its money, for a client that went away
        // meanwhile.
        tokio::task::spawn_local(async move {
            let begun = Answer::begin(&host, decided).await.map(|answer| (answer, permit));
            if let Err(Ok((mut answer, _permit))) = sender.send(begun) {
                answer.give_up(&host).await;
            }
        });
        let (answer, permit) = receiver.await.map_err(|_| relay_down("model"))??;
        let stream = self.add(answer, permit);
        self.watch(gate);
        Ok(stream)
    }

    fn add(&self, answer: Answer, permit: StreamPermit) -> StreamId {
        let mut table = self.0.borrow_mut();
        table.last += 1;
        let id = StreamId(table.last);
        let entry = Entry {
            answer: Rc::new(Mutex::new(answer)),
            ended: Rc::default(),
            pulled: Instant::now(),
            _permit: Rc::new(permit),
        };
        table.answers.insert(id, entry);
        id
    }

    /// Returns the next pieces of an answer. An answer that fails, or whose end was returned, is removed.
    pub(crate) async fn pull(
        &self,
        gate: &GateContext,
        stream: StreamId,
        credit: u16,
    ) -> Result<List<Piece, 64>, RelayError> {
        let entry = self.touch(stream).ok_or(RelayError::Model(ModelError::NoStream))?;
        let pulled = async {
            let mut answer = entry.answer.lock().await;
            let pieces = answer.pull(gate, credit).await;
            (pieces, answer.is_over())
        };
        let (pieces, over) = tokio::select! {
            pulled = pulled => pulled,
            () = entry.ended.notified() => return Err(RelayError::Model(ModelError::NoStream)),
        };
        if pieces.is_err() {
            self.end(gate, stream).await;
        } else if over {
            self.take(stream);
        }
        pieces.map(List::clip)
    }

    /// Ends an answer that nobody waits for. If there is none, nothing happens.
    pub(crate) async fn end(&self, gate: &GateContext, stream: StreamId) {
        if let Some(entry) = self.take(stream) {
            entry.ended.notify_waiters();
            entry.answer.lock().await.give_up(gate).await;
        }
    }

    /// Ends every answer when the edge is gone.
    pub(crate) async fn end_all(&self, gate: &GateContext) {
        let streams: Vec<StreamId> = self.0.borrow().answers.keys().copied().collect();
        for stream in streams {
            self.end(gate, stream).await;
        }
    }

    /// Ends answers that nobody has pulled for long, whether or not anything else comes over this edge, so that their permits and
    /// room are free. There is one task for an edge: a task for each answer would outlive it by two minutes, and a busy gate
    /// would hold hundreds of thousands.
    fn watch(&self, gate: &GateContext) {
        if std::mem::replace(&mut self.0.borrow_mut().watched, true) {
            return;
        }
        let (streams, host) = (self.clone(), gate.clone());
        tokio::task::spawn_local(async move {
            while let Some(left) = streams.remembered() {
                sleep(left).await;
                streams.sweep(&host).await;
            }
        });
    }

    /// The time until the first answer is ended if nobody pulls it; `None` where there is no answer, and the watch ends.
    fn remembered(&self) -> Option<Duration> {
        let mut table = self.0.borrow_mut();
        let longest = table.answers.values().map(|entry| entry.pulled.elapsed()).max();
        table.watched = longest.is_some();
        // A little later, so that the sweep finds it.
        Some(FORGOTTEN.saturating_sub(longest?) + Duration::from_millis(1))
    }

    /// Ends the answers that nobody has pulled for long.
    async fn sweep(&self, gate: &GateContext) {
        let old = |(id, entry): (&StreamId, &Entry)| (entry.pulled.elapsed() > FORGOTTEN).then_some(*id);
        let streams: Vec<StreamId> = self.0.borrow().answers.iter().filter_map(old).collect();
        for stream in streams {
            self.end(gate, stream).await;
        }
    }

    fn take(&self, stream: StreamId) -> Option<Entry> {
        self.0.borrow_mut().answers.remove(&stream)
    }

    fn touch(&self, stream: StreamId) -> Option<Entry> {
        let mut table = self.0.borrow_mut();
        let entry = table.answers.get_mut(&stream)?;
        entry.pulled = Instant::now();
        Some(entry.clone())
    }
}
