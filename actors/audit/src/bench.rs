//! A log without a host, for benches and for tests of the offline program: the same code writes it.

use crate::log::Batch;
use crate::open::{self, Opened};
use crate::retention::Retention;
use ipc_proto::Name;
use ipc_proto::audit::{Event, Serial};
use std::io;
use std::path::Path;

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
        match open::open(folder).map_err(io::Error::other)? {
            Opened::Whole(log) => Ok(Self { log: *log, number: 0 }),
            Opened::Broken(fault) => Err(io::Error::other(fault)),
        }
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
            self.log.add(&mut batch, time_ms, Name::clip("gate"), serial, event).map_err(io::Error::other)?;
        }
        self.log.commit(batch).1
    }

    /// Signs what is there.
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

    /// Removes what is past its retention at this time, unix ms.
    ///
    /// # Errors
    /// A file could not be written.
    pub fn retain(&mut self, now_ms: u64) -> io::Result<()> {
        let mut retention = Retention::default();
        while retention.step(&mut self.log, now_ms)? {}
        Ok(())
    }
}
