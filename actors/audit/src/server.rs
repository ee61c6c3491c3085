//! The interface: each method is a message to the writer.

use crate::log::Log;
use crate::writer::{Message, Writer};
use ipc_proto::audit::{Audit, AuditError, Event, FRAME_BOUND, Receipt, Record, Report, Serial, TAIL};
use ipc_proto::config::Nothing;
use ipc_proto::{List, Name};
use kit::{Actor, Edge, Host, OpenFault, Place};
use manifest::Process;
use ractor::{ActorRef, RpcReplyPort};
use std::time::Duration;
use tarpc::context::Context;
use tokio::sync::watch;

/// Bytes of records in one answer: leaves room in the frame.
const ANSWER: usize = 200 * 1024;
/// The longest that a tail waits, ms.
const WAIT: u32 = 20_000;

/// The process.
pub(crate) struct Auditor {
    writer: ActorRef<Message>,
    entries: watch::Receiver<u64>,
}

impl Actor for Auditor {
    const PROCESS: Process = Process::Audit;
    type Config = Nothing;
    type Opened = Log;

    fn open(_: Nothing, place: &Place) -> Result<Log, OpenFault> {
        Log::open(&place.own()).map_err(|error| OpenFault::new("the record in the audit folder", error))
    }

    async fn start(log: Log, _: Host) -> Self {
        let (sender, entries) = watch::channel(0);
        match ractor::Actor::spawn(None, Writer, (log, sender)).await {
            Ok((writer, _)) => Self { writer, entries },
            // Its start only moves values: there is nothing that could fail but memory.
            Err(_) => std::process::abort(),
        }
    }

    async fn serve(&self, edge: Edge) {
        let witness = Name::clip(edge.caller().name());
        let server = Server { witness, writer: self.writer.clone(), entries: self.entries.clone() };
        edge.serve(FRAME_BOUND, server.serve()).await;
    }
}

#[derive(Clone)]
struct Server {
    witness: Name,
    writer: ActorRef<Message>,
    entries: watch::Receiver<u64>,
}

impl Server {
    async fn ask<T: Send + 'static>(
        &self,
        message: impl FnOnce(RpcReplyPort<Result<T, AuditError>>) -> Message,
    ) -> Result<T, AuditError> {
        let (reply, answer) = ractor::concurrency::oneshot();
        self.writer.cast(message(reply.into())).map_err(|_| AuditError::NotDurable)?;
        answer.await.map_err(|_| AuditError::NotDurable)?
    }
}

impl Audit for Server {
    async fn append(self, _: Context, serial: Serial, event: Event) -> Result<Receipt, AuditError> {
        let witness = self.witness.clone();
        self.ask(|reply| Message::Append(witness, serial, Box::new(event), reply)).await
    }

    async fn tail(
        mut self,
        _: Context,
        from: u64,
        max: u16,
        wait_ms: u32,
    ) -> Result<List<Record, TAIL>, AuditError> {
        let wait = Duration::from_millis(wait_ms.min(WAIT).into());
        // That none came in time is an empty answer.
        let _ = tokio::time::timeout(wait, self.entries.wait_for(|entries| *entries > from)).await;
        let max = usize::from(max).min(TAIL);
        let records = self.ask(|reply| Message::Read(from, max, reply)).await?;
        Ok(List::clip(fitting(records)))
    }

    async fn verify(self, _: Context) -> Result<Report, AuditError> {
        self.ask(Message::Verify).await
    }
}

/// As many records as fit one answer, estimated generously.
fn fitting(records: Vec<Record>) -> impl Iterator<Item = Record> {
    let mut bytes = 0;
    records.into_iter().take_while(move |record| {
        let label = record.event.label.as_ref().map_or(0, |label| label.sources.len() * 72);
        bytes += 600 + label;
        bytes <= ANSWER
    })
}
