//! The pass-through: what clients of the API ask of models without an agent, over an edge of gateway's. Each answer is
//! the edge's that began it, and ends with it. It must never give an answer to another edge, nor let one go on that
//! nobody pulls.

mod admit;
mod answer;
mod around;
mod clean;
mod finding;
mod memory;
mod orders;
mod rates;
#[cfg(test)]
mod testing;
mod trying;

pub(crate) use admit::{Background, Callers, Client};
pub(crate) use around::relayed;
pub(crate) use finding::find;
pub(crate) use memory::{asked, memory};
pub(crate) use orders::Orders;
use rates::Seat;
pub(crate) use rates::{Load, Rates, Whose};
pub(crate) use trying::try_model;

use crate::host::{Shared, down};
use crate::running::Asker;
use crate::source;
use answer::Answer;
use answer::Decided;
use ipc_proto::Fault;
use ipc_proto::List;
use ipc_proto::api::Caller;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::gate::{Begun, RelayError};
use ipc_proto::model::{self, Embedded, Embedding, ModelError, Piece, Request, StreamId, Usage};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, Notify, oneshot};
use tokio::time::{sleep, timeout};

/// An answer that nobody pulled for so long is given up.
const FORGOTTEN: Duration = Duration::from_secs(120);
/// What comes of an answer within so long is given out as it begins: it saves its client a call.
const AT_ONCE: Duration = Duration::from_millis(100);

/// One answer, and what it takes to end it.
#[derive(Clone)]
struct Entry {
    answer: Rc<Mutex<Answer>>,
    /// Told when it is given up while a pull is under way.
    ended: Rc<Notify>,
    pulled: Instant,
    /// Its place among those that come at once, for as long as it is in the table.
    _seat: Rc<Seat>,
}

#[derive(Default)]
struct Table {
    last: u64,
    /// A task waits for those that nobody pulls.
    watched: bool,
    answers: HashMap<StreamId, Entry>,
}

/// The answers that come over one edge.
#[derive(Clone, Default)]
pub(crate) struct Relays(Rc<RefCell<Table>>);

impl Relays {
    /// Begins an answer, and gives what comes of it at once: of a short one, all.
    pub(crate) async fn begin(
        &self,
        shared: &Shared,
        caller: Caller,
        request: Request,
    ) -> Result<Begun, RelayError> {
        let stream = self.admitted(shared, Box::pin(admit::answer(shared, caller, request))).await?;
        // In a task of its own: what is slower goes on, and is there for whoever pulls next.
        let (relays, host) = (self.clone(), shared.clone());
        let listening = tokio::task::spawn_local(async move { relays.listen(&host, stream).await });
        if timeout(AT_ONCE, listening).await.is_err() {
            return Ok(Begun { stream, pieces: List::default() });
        }
        Ok(Begun { stream, pieces: self.pull(shared, stream, u16::MAX).await? })
    }

    async fn listen(&self, shared: &Shared, stream: StreamId) {
        let Some(entry) = self.touch(stream) else { return };
        let heard = async { entry.answer.lock().await.listen(shared).await };
        tokio::select! {
            () = heard => {}
            () = entry.ended.notified() => {}
        }
    }

    /// Begins an answer for a program that a person runs.
    pub(crate) async fn begin_run(
        &self,
        shared: &Shared,
        asker: &Asker,
        request: Request,
    ) -> Result<StreamId, RelayError> {
        self.admitted(shared, admit::run(shared, asker, request)).await
    }

    /// Begins an answer for background work.
    pub(crate) async fn begin_background(
        &self,
        shared: &Shared,
        work: Background,
        request: Request,
    ) -> Result<StreamId, RelayError> {
        self.admitted(shared, admit::background(shared, work, request)).await
    }

    /// Begins an answer once whoever asks is let in.
    async fn admitted(
        &self,
        shared: &Shared,
        admission: impl Future<Output = Result<(Decided, Seat), RelayError>>,
    ) -> Result<StreamId, RelayError> {
        let (decided, seat) = admission.await?;
        let (tell, told) = oneshot::channel();
        let host = shared.clone();
        // In a task of its own: model would keep what it made ready, and the money for it, for whoever went away meanwhile.
        tokio::task::spawn_local(async move {
            let begun = Answer::begin(&host, decided).await.map(|answer| (answer, seat));
            if let Err(Ok((mut answer, _seat))) = tell.send(begun) {
                answer.give_up(&host).await;
            }
        });
        let (answer, seat) = told.await.map_err(|_| relayed(down("model")))??;
        let stream = self.add(answer, seat);
        self.watch(shared);
        Ok(stream)
    }

    fn add(&self, answer: Answer, seat: Seat) -> StreamId {
        let mut table = self.0.borrow_mut();
        table.last += 1;
        let id = StreamId(table.last);
        let entry = Entry {
            answer: Rc::new(Mutex::new(answer)),
            ended: Rc::default(),
            pulled: Instant::now(),
            _seat: Rc::new(seat),
        };
        table.answers.insert(id, entry);
        id
    }

    /// The next pieces of an answer. One that fails, or whose end was given out, is forgotten.
    pub(crate) async fn pull(
        &self,
        shared: &Shared,
        stream: StreamId,
        credit: u16,
    ) -> Result<List<Piece, 64>, RelayError> {
        let entry = self.touch(stream).ok_or(RelayError::Model(ModelError::NoStream))?;
        let pulled = async {
            let mut answer = entry.answer.lock().await;
            let pieces = answer.pull(shared, credit).await;
            (pieces, answer.is_over())
        };
        let (pieces, over) = tokio::select! {
            pulled = pulled => pulled,
            () = entry.ended.notified() => return Err(RelayError::Model(ModelError::NoStream)),
        };
        if pieces.is_err() {
            self.end(shared, stream).await;
        } else if over {
            self.take(stream);
        }
        pieces.map(List::clip)
    }

    /// Ends an answer that nobody waits for; nothing happens if there is none.
    pub(crate) async fn end(&self, shared: &Shared, stream: StreamId) {
        if let Some(entry) = self.take(stream) {
            entry.ended.notify_waiters();
            entry.answer.lock().await.give_up(shared).await;
        }
    }

    /// Ends every answer: the edge is gone.
    pub(crate) async fn end_all(&self, shared: &Shared) {
        let streams: Vec<StreamId> = self.0.borrow().answers.keys().copied().collect();
        for stream in streams {
            self.end(shared, stream).await;
        }
    }

    /// Ends answers once nobody has pulled them for long, whether or not anything else is asked over this edge: their places
    /// and what they hold are somebody else's then. One task for all of an edge: one for each answer would outlive it by two
    /// minutes, and a busy gate would hold hundreds of thousands.
    fn watch(&self, shared: &Shared) {
        if std::mem::replace(&mut self.0.borrow_mut().watched, true) {
            return;
        }
        let (relays, host) = (self.clone(), shared.clone());
        tokio::task::spawn_local(async move {
            while let Some(left) = relays.remembered() {
                sleep(left).await;
                relays.sweep(&host).await;
            }
        });
    }

    /// How long until the first answer is given up if nobody pulls it. Where there is none, nothing watches any more.
    fn remembered(&self) -> Option<Duration> {
        let mut table = self.0.borrow_mut();
        let longest = table.answers.values().map(|entry| entry.pulled.elapsed()).max();
        table.watched = longest.is_some();
        // Beyond it by a little, so that the sweep finds it.
        Some(FORGOTTEN.saturating_sub(longest?) + Duration::from_millis(1))
    }

    /// Ends what nobody has pulled for long.
    async fn sweep(&self, shared: &Shared) {
        let old = |(id, entry): (&StreamId, &Entry)| (entry.pulled.elapsed() > FORGOTTEN).then_some(*id);
        let streams: Vec<StreamId> = self.0.borrow().answers.iter().filter_map(old).collect();
        for stream in streams {
            self.end(shared, stream).await;
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

/// Vectors of a client's texts.
pub(crate) async fn embed(
    shared: &Shared,
    caller: Caller,
    request: Embedding,
) -> Result<Embedded, RelayError> {
    let (request, _room) = admit::embedding(shared, caller, request).await?;
    embedded(shared, request, None).await
}

/// Vectors of a text that is kept.
pub(crate) async fn embed_background(
    shared: &Shared,
    work: Background,
    request: Embedding,
) -> Result<Embedded, RelayError> {
    let (request, _room) = admit::background_embedding(shared, work, request).await?;
    embedded(shared, request, None).await
}

/// Has a model make vectors. What fails within `patience`, if whoever waits has less than the host, is told as what it was.
async fn embedded(
    shared: &Shared,
    request: Embedding,
    patience: Option<Duration>,
) -> Result<Embedded, RelayError> {
    let begun = Instant::now();
    let patience_ms = patience.map(|patience| u32::try_from(patience.as_millis()).unwrap_or(u32::MAX));
    let embedded = shared.model.call(&model::method::embed, |model, rpc| {
        let request = request.clone();
        async move { model.embed(rpc, request, patience_ms).await }
    });
    let embedded = match embedded.await {
        Ok(embedded) => embedded.map_err(RelayError::Model),
        // What it came to is not known, and it may have cost something: it is the client's to ask again.
        Err(Fault::PeerRestarted) => Err(RelayError::Model(ModelError::Truncated)),
        Err(_) => Err(relayed(down("model"))),
    };
    let result = if embedded.is_ok() { Result3::Success } else { Result3::Error };
    let mut event = Event::new(Action::ModelEnded, result).about(&request.model).because("embedding");
    let usage = embedded.as_ref().map_or_else(|_| Usage::default(), |embedded| embedded.usage);
    event.tokens = (usage.input, 0);
    event.duration_ms = u32::try_from(begun.elapsed().as_millis()).unwrap_or(u32::MAX);
    if let Some(untrue) = source::untrue(&event, usage) {
        around::Around::note(shared, untrue);
    }
    around::Around::note(shared, event);
    embedded
}

/// An estimate of the tokens that a client's request would read.
pub(crate) async fn count(shared: &Shared, caller: Caller, request: Request) -> Result<u32, RelayError> {
    let _load = admit::count(shared, caller, &request).await?;
    counted(shared, request).await
}

/// The same for a program that a person runs.
pub(crate) async fn count_run(shared: &Shared, asker: &Asker, request: Request) -> Result<u32, RelayError> {
    let _load = admit::count_run(shared, asker, &request)?;
    counted(shared, request).await
}

async fn counted(shared: &Shared, request: Request) -> Result<u32, RelayError> {
    let counted = shared.model.call(&model::method::count, |model, rpc| {
        let request = request.clone();
        async move { model.count(rpc, request).await }
    });
    counted.await.map_err(|_| relayed(down("model")))?.map_err(RelayError::Model)
}
