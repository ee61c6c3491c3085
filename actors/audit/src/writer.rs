//! The one writer. Appends that wait together are made durable together: one flush serves them all, and those that
//! come while it is under way share the next.

use crate::alerts::Alerts;
use crate::log::{Batch, Log};
use crate::open::Opened;
use crate::retention::Retention;
use ipc_proto::Name;
use ipc_proto::audit::{AuditError, Event, Receipt, Record, Serial};
use ipc_proto::config::{self, Checkpoint};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use std::time::Duration;
use tokio::sync::watch;

/// How long until a checkpoint that could not be written is tried again.
const SIGN_AGAIN: Duration = Duration::from_secs(2);
/// Entries that are not waited beyond to be more.
const FULL: usize = 512;
/// When retention begins after a start, how often it goes on, and when it begins again.
const RETAIN: (Duration, Duration, Duration) =
    (Duration::from_secs(30), Duration::from_secs(1), Duration::from_secs(86_400));

/// Who waits for an append.
type Reply = RpcReplyPort<Result<Receipt, AuditError>>;

/// Something to do with the log; it is `None` where the record does not hold.
type Ask = Box<dyn FnOnce(Option<&mut Log>) + Send>;

/// What the writer is asked.
pub(crate) enum Message {
    Append(Name, Serial, Box<Event>, Reply),
    /// Sent by the writer to itself behind the appends that are already waiting: so many were in the batch when it
    /// last looked.
    Commit(usize),
    /// Anything else that needs the log.
    With(Ask),
    /// Time for a checkpoint.
    Sign,
    /// Time to look at what is past its retention.
    Retain,
}

/// The writer.
pub(crate) struct Writer;

pub(crate) struct State {
    log: Option<Box<Log>>,
    batch: Batch,
    waiting: Vec<(u64, Reply)>,
    entries: watch::Sender<u64>,
    alerts: Alerts,
    retention: Retention,
    checkpoint: Checkpoint,
    /// A checkpoint is on its way.
    signing: bool,
}

impl Actor for Writer {
    type Msg = Message;
    type State = State;
    type Arguments = (Opened, config::Audit, watch::Sender<u64>);

    async fn pre_start(
        &self,
        myself: ActorRef<Message>,
        (opened, config, entries): Self::Arguments,
    ) -> Result<State, ActorProcessingErr> {
        let log = match opened {
            Opened::Whole(log) => Some(log),
            Opened::Broken(_) => None,
        };
        entries.send_replace(log.as_ref().map_or(0, |log| log.entries()));
        drop(myself.send_after(RETAIN.0, || Message::Retain));
        Ok(State {
            log,
            batch: Batch::default(),
            waiting: Vec::new(),
            entries,
            alerts: Alerts::new(&config.alerts),
            retention: Retention::new(config.retention_days),
            checkpoint: config.checkpoint,
            signing: false,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Append(witness, serial, event, reply) => {
                if state.append(witness, serial, *event, reply) {
                    myself.cast(Message::Commit(0))?;
                }
            }
            Message::Commit(then) if state.waiting.len() > then && then < FULL => {
                // Lets the event loop look at the sockets: appends that lie in them share the flush.
                tokio::task::yield_now().await;
                myself.cast(Message::Commit(state.waiting.len()))?;
            }
            Message::Commit(_) => {
                state.commit();
                state.settle(&myself);
            }
            Message::With(ask) => {
                state.commit();
                ask(state.log.as_deref_mut());
                state.settle(&myself);
            }
            Message::Sign => {
                state.signing = false;
                state.sign(&myself);
            }
            Message::Retain => state.retain(&myself),
        }
        Ok(())
    }
}

impl State {
    /// Adds to the batch; whether it is the batch's first entry.
    fn append(&mut self, witness: Name, serial: Serial, event: Event, reply: Reply) -> bool {
        let Some(log) = &self.log else {
            let _ = reply.send(Err(AuditError::Broken));
            return false;
        };
        let first = self.waiting.is_empty();
        let known = log.known(&witness, serial, &event, &self.batch);
        let add = || log.add(&mut self.batch, kit::now_ms(), witness, serial, event);
        match known.map_or_else(add, Ok) {
            Ok(index) => self.waiting.push((index, reply)),
            Err(_) => drop(reply.send(Err(AuditError::NotDurable))),
        }
        first && !self.waiting.is_empty()
    }

    /// Makes the batch durable, and tells those who wait. Before anything else is done with the log: entries of a
    /// batch have their indices, and what audit itself appends meanwhile would take the same.
    fn commit(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let Some(log) = &mut self.log else { return };
        let (records, written) = log.commit(std::mem::take(&mut self.batch));
        kit::fault_point!("audit.committed");
        if let Err(error) = &written {
            tracing::error!(%error, "the record cannot be written");
        }
        let durable = log.entries();
        for (index, reply) in self.waiting.drain(..) {
            let receipt = if index < durable { Ok(Receipt { index }) } else { Err(AuditError::NotDurable) };
            let _ = reply.send(receipt);
        }
        self.raise(&records);
    }

    /// Puts the alerts that these records raise on the record.
    fn raise(&mut self, records: &[Record]) {
        let Some(log) = &mut self.log else { return };
        for event in records.iter().filter_map(|record| self.alerts.see(record)) {
            tracing::warn!(alert = ?event.subject, reason = ?event.reason, "alert");
            if let Err(error) = log.append_own(event) {
                tracing::error!(%error, "an alert is not on the record");
            }
        }
    }

    /// Tells who waits for entries, and sees to the checkpoint.
    fn settle(&mut self, myself: &ActorRef<Message>) {
        let Some(log) = &self.log else { return };
        self.entries.send_replace(log.entries());
        let unsigned = log.entries() - log.signed;
        if unsigned >= u64::from(self.checkpoint.entries) {
            self.sign(myself);
        } else if unsigned > 0 {
            self.sign_in(Duration::from_millis(self.checkpoint.ms.into()), myself);
        }
    }

    fn sign(&mut self, myself: &ActorRef<Message>) {
        let Some(log) = &mut self.log else { return };
        if let Err(error) = log.sign() {
            tracing::error!(%error, "no checkpoint could be written");
            self.sign_in(SIGN_AGAIN, myself);
        }
    }

    fn sign_in(&mut self, time: Duration, myself: &ActorRef<Message>) {
        if !self.signing {
            self.signing = true;
            drop(myself.send_after(time, || Message::Sign));
        }
    }

    /// Looks at a part of the record, and then at the next, until nothing more is past its retention.
    fn retain(&mut self, myself: &ActorRef<Message>) {
        self.commit();
        let Some(log) = &mut self.log else { return };
        let more = self.retention.step(log, kit::now_ms()).unwrap_or_else(|error| {
            tracing::error!(%error, "entries past their retention could not be removed");
            false
        });
        if !more {
            self.retention.rewind();
        }
        drop(myself.send_after(if more { RETAIN.1 } else { RETAIN.2 }, || Message::Retain));
        self.settle(myself);
    }
}
