//! The one writer. Appends that wait together are made durable together: one flush serves them all.

use crate::line::Body;
use crate::log::{Batch, Log};
use ipc_proto::Name;
use ipc_proto::audit::{AuditError, Event, Receipt, Record, Report, Serial};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tokio::sync::watch;

/// What the writer is asked.
pub(crate) enum Message {
    Append(Name, Serial, Box<Event>, RpcReplyPort<Result<Receipt, AuditError>>),
    /// Sent by the writer to itself behind the appends that are already waiting.
    Commit,
    Read(u64, usize, RpcReplyPort<Result<Vec<Record>, AuditError>>),
    Verify(RpcReplyPort<Result<Report, AuditError>>),
}

/// The writer.
pub(crate) struct Writer;

pub(crate) struct State {
    log: Log,
    batch: Batch,
    waiting: Vec<(u64, RpcReplyPort<Result<Receipt, AuditError>>)>,
    entries: watch::Sender<u64>,
}

impl Actor for Writer {
    type Msg = Message;
    type State = State;
    type Arguments = (Log, watch::Sender<u64>);

    async fn pre_start(
        &self,
        _: ActorRef<Message>,
        (log, entries): Self::Arguments,
    ) -> Result<State, ActorProcessingErr> {
        entries.send_replace(log.entries);
        Ok(State { log, batch: Batch::default(), waiting: Vec::new(), entries })
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
                    myself.cast(Message::Commit)?;
                }
            }
            Message::Commit => state.commit(),
            Message::Read(from, max, reply) => {
                let records = state.log.read(from, max).map_err(|_| AuditError::NotDurable);
                let _ = reply.send(records);
            }
            Message::Verify(reply) => {
                let _ = reply.send(state.log.verify().map_err(|_| AuditError::NotDurable));
            }
        }
        Ok(())
    }
}

impl State {
    /// Adds to the batch; whether it is the batch's first entry.
    fn append(
        &mut self,
        witness: Name,
        serial: Serial,
        event: Event,
        reply: RpcReplyPort<Result<Receipt, AuditError>>,
    ) -> bool {
        if self.log.broken {
            let _ = reply.send(Err(AuditError::Broken));
            return false;
        }
        let first = self.waiting.is_empty();
        let known = self.log.known(&witness, serial, &self.batch);
        let index = known.map_or_else(
            || {
                let body = Body { index: 0, time_ms: kit::now_ms(), witness, serial, event };
                self.log.add(&mut self.batch, body)
            },
            Ok,
        );
        match index {
            Ok(index) => self.waiting.push((index, reply)),
            Err(_) => drop(reply.send(Err(AuditError::NotDurable))),
        }
        first && !self.waiting.is_empty()
    }

    fn commit(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        let durable = self.log.commit(&batch);
        kit::fault_point!("audit.committed");
        if let Err(error) = &durable {
            tracing::error!(%error, "the record cannot be written");
        }
        for (index, reply) in self.waiting.drain(..) {
            let receipt = durable.as_ref().map(|()| Receipt { index }).map_err(|_| AuditError::NotDurable);
            let _ = reply.send(receipt);
        }
        self.entries.send_replace(self.log.entries);
    }
}
