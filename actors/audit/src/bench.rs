//! A log and its process without a host: for benches and for tests of the offline program. The same code writes it.

use crate::batch::Batch;
use crate::open;
use crate::retention::Retention;
use crate::server::{self, Auditor};
use ipc_proto::Name;
use ipc_proto::audit::{Action, Event, Result3, Serial};
use ipc_proto::config::Audit;
use ipc_proto::ids::{CallId, SessionId, TurnId};
use ipc_proto::label::{Class, Label, Trust};
use kit::Actor;
use manifest::Process;
use std::io;
use std::path::Path;
use tokio::net::UnixStream;

/// Entries made durable together where many are written.
const TOGETHER: u64 = 4096;
/// When the first of them is of, unix ms.
const BEGIN: u64 = 1_790_000_000_000;

/// The event that a tool call leaves on the record: one of the usual length, about 480 bytes as an entry.
#[must_use]
pub fn event(number: u64) -> Event {
    let id = u128::from(number).to_be_bytes();
    let mut event = Event::new(Action::ToolEnded, Result3::Success)
        .about("bash")
        .because("ran to its end")
        .in_turn(SessionId::from_bytes(id), TurnId::from_bytes(id));
    event.call = Some(CallId::from_bytes(id));
    event.hash = Some([7; 32]);
    (event.bytes, event.duration_ms) = (number % 4096, 12);
    event.label = Some(Label::of(Trust::User, Class::Internal, "user"));
    event
}

/// Adds this many of them to the log of a folder, and signs it.
///
/// # Errors
/// It cannot be opened or written.
pub fn fill(folder: &Path, entries: u64) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut log = Log::open(folder)?;
    let mut first = 0;
    while first < entries {
        let next = (first + TOGETHER).min(entries);
        log.append(BEGIN + first, (first..next).map(event))?;
        first = next;
    }
    log.sign()
}

/// A log that is written by hand.
pub struct Log {
    log: crate::log::Log,
    number: u64,
}

impl Log {
    /// Opens the log of a folder, or begins one.
    ///
    /// # Errors
    /// It cannot be opened, or does not hold.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let opened = open::open(folder).map_err(io::Error::other)?;
        Ok(Self { log: opened.whole().map_err(io::Error::other)?, number: 0 })
    }

    /// Entries in it.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.log.entries()
    }

    /// Makes events durable together, as of a witness `gate` at this time, unix ms.
    ///
    /// # Errors
    /// They could not be made so.
    pub fn append(&mut self, time_ms: u64, events: impl IntoIterator<Item = Event>) -> io::Result<()> {
        let (mut batch, life) = (Batch::default(), 1 + self.log.own.life / 2);
        for event in events {
            self.number += 1;
            let serial = Serial { life, number: self.number };
            let before = self.log.entries();
            batch.add(before, time_ms, Name::clip("gate"), serial, event).map_err(io::Error::other)?;
        }
        self.log.commit(batch)
    }

    /// Signs the log.
    ///
    /// # Errors
    /// A file could not be written.
    pub fn sign(&mut self) -> io::Result<()> {
        self.log.sign()
    }

    /// Ends the log as a kill does: nothing more is signed.
    pub fn kill(self) {
        std::mem::forget(self.log);
    }

    /// Removes the entries that are past their retention at this time, unix ms.
    ///
    /// # Errors
    /// A file could not be written.
    pub fn retain(&mut self, now_ms: u64) -> io::Result<()> {
        let mut retention = Retention::new(Audit::DEFAULT.retention_days);
        while retention.step(&mut self.log, now_ms)? {}
        Ok(())
    }
}

/// The process without agentd: it serves edges over the log of a folder, unsealed. To be used by a task of
/// [`kit::bench::run`].
pub struct Served(Auditor);

impl Served {
    /// Opens the log of a folder, or begins one.
    ///
    /// # Errors
    /// It cannot be opened.
    pub async fn open(folder: &Path) -> io::Result<Self> {
        let opened = open::open(folder).map_err(io::Error::other)?;
        Ok(Self(
            Auditor::begin(
                opened,
                folder.to_owned(),
                Audit::DEFAULT,
                server::flushing(),
                server::is_roomy(folder),
            )
            .await,
        ))
    }

    /// Serves an edge from `caller` until it ends.
    pub async fn serve(&self, stream: UnixStream, caller: Process) {
        self.0.serve(kit::bench::edge(stream, Process::Audit, caller)).await;
    }
}
