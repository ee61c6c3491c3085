//! The one writer. Appends that wait together are made durable together: one flush serves them all, and those that come
//! during it share the next.

mod upkeep;

use crate::ahead::{Background, Work};
use crate::alerts::Alerts;
use crate::batch::Batch;
use crate::intake::{Append, Intake, Reply};
use crate::log::Log;
use crate::open::Opened;
use crate::retention::Retention;
use crate::standing::Standing;
use ipc_proto::audit::{AuditError, Event, Receipt};
use ipc_proto::config::{self, Checkpoint};
use kit::Flusher;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long until a checkpoint that could not be written is tried again.
const SIGN_AGAIN: Duration = Duration::from_secs(2);
/// Entries that are not waited beyond to be more: where others are taken in while a flush is under way, and where they are
/// not. With all in one flush, nothing would be left to be taken in meanwhile.
const ENOUGH: usize = 32;
const FULL: usize = 512;
/// The least number of callers that wait for one flush for it to run beside others' appends: a single one is served
/// sooner without.
const TOGETHER: usize = 4;
/// When retention begins after a start, how often it goes on, and when it begins again.
const RETAIN: (Duration, Duration, Duration) =
    (Duration::from_secs(30), Duration::from_secs(1), Duration::from_secs(86_400));

/// Something to do with the log; it is `None` where the record does not hold.
type Ask = Box<dyn FnOnce(Option<&mut Log>) + Send>;

/// A request to the writer.
pub(crate) enum Message {
    /// There are appends in the intake.
    Appends,
    /// Sent by the writer to itself behind the appends that are already waiting; holds the size of the batch at that
    /// time.
    Commit(usize),
    /// A flush is over.
    Flushed,
    /// Anything else that needs the log.
    With(Ask),
    /// Time for a checkpoint.
    Sign,
    /// Time to look for entries past their retention.
    Retain,
}

/// The writer.
pub(crate) struct Writer;

/// The arguments with which the writer starts.
pub(crate) struct Setup {
    pub(crate) opened: Opened,
    pub(crate) config: config::Audit,
    pub(crate) intake: Arc<Intake>,
    pub(crate) entries: watch::Sender<u64>,
    pub(crate) flusher: Option<Flusher>,
    /// Room may be set aside for entries to come.
    pub(crate) roomy: bool,
    pub(crate) standing: Standing,
}

/// Entries that were written, and are being flushed.
struct Flight {
    batch: Batch,
    waiting: Vec<(u64, Reply)>,
}

pub(crate) struct State {
    log: Option<Box<Log>>,
    intake: Arc<Intake>,
    background: Option<Background>,
    flight: Option<Flight>,
    /// Entries that come after those.
    batch: Batch,
    waiting: Vec<(u64, Reply)>,
    /// The writer has told itself to commit.
    committing: bool,
    /// Alerts that are not on the record yet.
    raised: Vec<Event>,
    entries: watch::Sender<u64>,
    alerts: Alerts,
    retention: Retention,
    checkpoint: Checkpoint,
    /// A checkpoint is on its way, or the next try to write.
    signing: bool,
    standing: Standing,
}

impl Actor for Writer {
    type Msg = Message;
    type State = State;
    type Arguments = Setup;

    async fn pre_start(
        &self,
        myself: ActorRef<Message>,
        setup: Self::Arguments,
    ) -> Result<State, ActorProcessingErr> {
        drop(myself.send_after(RETAIN.0, || Message::Retain));
        Ok(State::new(setup))
    }

    async fn handle(
        &self,
        myself: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Appends => {
                state.take_in();
                if state.flight.is_none() && !state.waiting.is_empty() && !state.committing {
                    state.committing = true;
                    myself.cast(Message::Commit(0))?;
                }
            }
            Message::Commit(then) if state.waiting.len() > then && state.waits_for_more() => {
                // Lets the event loop look at the sockets: appends that lie in them share the flush.
                tokio::task::yield_now().await;
                myself.cast(Message::Commit(state.waiting.len()))?;
            }
            Message::Commit(_) => {
                state.committing = false;
                state.launch(true);
                state.settle(&myself);
            }
            Message::Flushed => {
                state.land(false);
                state.take_in();
                state.launch(true);
                state.settle(&myself);
            }
            Message::With(ask) => {
                state.drain();
                ask(state.log.as_deref_mut());
                state.settle(&myself);
            }
            Message::Sign => {
                state.signing = false;
                state.try_again();
                state.sign(&myself);
            }
            Message::Retain => state.retain(&myself),
        }
        Ok(())
    }
}

impl State {
    fn new(setup: Setup) -> Self {
        let Setup { opened, config, intake, entries, flusher, roomy, standing } = setup;
        let mut log = match opened {
            Opened::Whole(log) => Some(log),
            Opened::Broken(_) | Opened::Foreign(_) => None,
        };
        entries.send_replace(log.as_ref().map_or(0, |log| log.entries()));
        if let (Some(log), true) = (&mut log, roomy)
            && let Err(error) = log.tail.make_room()
        {
            tracing::debug!(%error, "no room could be set aside");
        }
        Self {
            log,
            intake,
            background: flusher.map(|flusher| Background::new(flusher, roomy)),
            flight: None,
            batch: Batch::default(),
            waiting: Vec::new(),
            committing: false,
            raised: Vec::new(),
            entries,
            alerts: Alerts::new(&config.alerts),
            retention: Retention::new(config.retention_days),
            checkpoint: config.checkpoint,
            signing: false,
            standing,
        }
    }

    /// Returns true if a flush is delayed while others come to share it.
    fn waits_for_more(&self) -> bool {
        let enough = if self.background.is_some() { ENOUGH } else { FULL };
        self.flight.is_none() && self.waiting.len() < enough
    }

    /// Adds the waiting appends to the batch.
    fn take_in(&mut self) {
        for append in self.intake.take() {
            self.append(append);
        }
    }

    fn append(&mut self, append: Append) {
        let Append { witness, serial, event, reply } = append;
        let Some(log) = &self.log else {
            let _ = reply.send(Err(AuditError::Broken));
            return;
        };
        if let Some(index) = log.known(&witness, serial, &event) {
            let _ = reply.send(Ok(Receipt { index }));
            return;
        }
        let flight = self.flight.as_mut();
        if let Some((flight, index)) =
            flight.and_then(|it| it.batch.index(&witness, serial).map(|at| (it, at)))
        {
            return flight.waiting.push((index, reply));
        }
        let ahead = self.flight.as_ref().map_or(0, |flight| flight.batch.len() as u64);
        let index = match self.batch.index(&witness, serial) {
            Some(index) => Ok(index),
            None => self.batch.add(log.entries() + ahead, kit::now_ms(), witness, serial, event),
        };
        match index {
            Ok(index) => self.waiting.push((index, reply)),
            Err(_) => {
                let _ = reply.send(Err(AuditError::NotDurable));
            }
        }
    }

    /// Has the batch made durable, unless a flush is under way: beside others' appends if `beside` and it is worth it.
    /// Then the work ahead is started.
    fn launch(&mut self, beside: bool) {
        while self.flight.is_none() && !self.batch.is_empty() {
            let Some(log) = &mut self.log else { return };
            let room = match log.room() {
                Ok(room) => room,
                Err(error) => return self.fail(&error, Vec::new()),
            };
            let batch = self.batch.split(room);
            let end = log.entries() + batch.len() as u64;
            let later = if self.batch.is_empty() {
                Vec::new()
            } else {
                self.waiting.extract_if(.., |(index, _)| *index >= end).collect()
            };
            let waiting = std::mem::replace(&mut self.waiting, later);
            let flight = Flight { batch, waiting };
            let begun = self.begin(&flight, beside);
            match begun {
                Ok(true) => self.flight = Some(flight),
                Ok(false) => self.landed(flight, Ok(())),
                Err(error) => self.landed(flight, Err(error)),
            }
        }
        if let (Some(log), Some(background), true) = (&mut self.log, &mut self.background, beside) {
            log.look_ahead(background);
        }
    }

    /// Writes entries and flushes them, or begins to: then it is true.
    fn begin(&mut self, flight: &Flight, beside: bool) -> io::Result<bool> {
        let Some(log) = &mut self.log else { return Err(io::ErrorKind::NotFound.into()) };
        log.tail.write(flight.batch.bytes())?;
        kit::fault_point!("audit.written");
        if beside
            && flight.waiting.len() >= TOGETHER
            && let Some(background) = &mut self.background
            && background.begin(log.tail.file(), Work::Entries).is_ok()
        {
            return Ok(true);
        }
        log.tail.flush().map(|()| false)
    }

    /// Takes up the flushes that are over; with `wait` until the entries on their way are.
    fn land(&mut self, wait: bool) {
        while let Some(background) = &mut self.background {
            let over = match background.next(wait && self.flight.is_some()) {
                Ok(Some(over)) => over,
                Ok(None) => return,
                // It cannot be known whether they are durable, nor of any that would be begun so.
                Err(error) => {
                    self.background = None;
                    (Work::Entries, Err(error))
                }
            };
            match (over, &mut self.log) {
                ((Work::Entries, result), _) => match self.flight.take() {
                    Some(flight) => self.landed(flight, result),
                    None => return,
                },
                ((work, result), Some(log)) => log.flushed(work, &result),
                (_, None) => {}
            }
        }
    }

    /// Entries are durable, or cannot be: tells those who wait.
    fn landed(&mut self, flight: Flight, result: io::Result<()>) {
        let Some(log) = &mut self.log else { return };
        log.tail.settle(flight.batch.bytes().len(), result.is_ok());
        if let Err(error) = result {
            return self.fail(&error, flight.waiting);
        }
        log.keep(&flight.batch);
        self.standing.whole();
        kit::fault_point!("audit.committed");
        for (index, reply) in flight.waiting {
            let _ = reply.send(Ok(Receipt { index }));
        }
        self.raised.extend(flight.batch.records().iter().filter_map(|record| self.alerts.see(record)));
    }

    /// The record cannot be written: all waiting appends fail. Later ones have indices that follow on the missing
    /// entries.
    fn fail(&mut self, error: &io::Error, waiting: Vec<(u64, Reply)>) {
        tracing::error!(%error, "the record cannot be written");
        self.standing.unwritable();
        self.batch = Batch::default();
        for (_, reply) in waiting.into_iter().chain(std::mem::take(&mut self.waiting)) {
            let _ = reply.send(Err(AuditError::NotDurable));
        }
    }

    /// Makes all appends so far durable. This happens before any other work on the log: entries under way have their
    /// indices, and an entry of audit's own would take the same.
    fn drain(&mut self) {
        self.take_in();
        self.land(true);
        self.launch(false);
    }

    /// Puts the alerts that were raised on the record.
    fn raise(&mut self) {
        while !self.raised.is_empty() {
            self.drain();
            let Some(log) = &mut self.log else { return };
            for event in std::mem::take(&mut self.raised) {
                tracing::warn!(alert = ?event.subject, reason = ?event.reason, "alert");
                if let Err(error) = log.append_own(event) {
                    tracing::error!(%error, "an alert is not on the record");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
