//! Bytes of media and of files stand in a table of their own, since JSON would make four times as much of them.
//! Taking them out and putting them back are each other's inverse.

use super::{Store, StoreFault, Tx};
use ipc_proto::content::{Content, Media, Part, Place};
use ipc_proto::router::Task;
use ipc_proto::{Blob, List};
use rusqlite::params;

/// Content and task without their bytes, and the bytes in order.
pub(super) fn take_out(content: &Content, task: &Task) -> (Content, Task, Vec<Vec<u8>>) {
    let mut bytes = Vec::new();
    let mut swap = |medium: &mut Media| {
        if let Place::Bytes(held) = &mut medium.place {
            bytes.push(std::mem::take(held).into_vec());
        }
    };
    let mut content = content.clone();
    each_medium(&mut content, &mut swap);
    let mut task = task.clone();
    if let Task::Put { bytes: held, .. } = &mut task {
        bytes.push(std::mem::take(held).into_vec());
    }
    (content, task, bytes)
}

/// The inverse of [`take_out`].
pub(super) fn put_back(
    content: &mut Content,
    task: &mut Task,
    bytes: Vec<Vec<u8>>,
) -> Result<(), StoreFault> {
    let mut bytes = bytes.into_iter();
    let mut whole = true;
    each_medium(content, &mut |medium: &mut Media| {
        if let Place::Bytes(held) = &mut medium.place {
            match bytes.next().map(Blob::new) {
                Some(Ok(blob)) => *held = blob,
                _ => whole = false,
            }
        }
    });
    if let Task::Put { bytes: held, .. } = task {
        *held = bytes.next().and_then(|bytes| Blob::new(bytes).ok()).ok_or(StoreFault::Column("parts"))?;
    }
    if whole { Ok(()) } else { Err(StoreFault::Column("parts")) }
}

fn each_medium(content: &mut Content, visit: &mut dyn FnMut(&mut Media)) {
    let mut parts = std::mem::take(&mut content.parts).into_vec();
    for part in &mut parts {
        match part {
            Part::Image(medium) | Part::File(medium) | Part::Audio(medium) | Part::Video(medium) => {
                visit(medium)
            }
            Part::Text(_) | Part::Foreign { .. } => {}
        }
    }
    content.parts = List::clip(parts);
}

impl Tx<'_> {
    pub(super) fn insert_parts(&self, message: i64, parts: &[Vec<u8>]) -> Result<(), StoreFault> {
        for (number, bytes) in (0_i64..).zip(parts) {
            self.run("INSERT INTO parts VALUES (?, ?, ?)", params![message, number, bytes])?;
        }
        Ok(())
    }
}

impl Store {
    /// Returns true if any bytes belong to a message.
    pub(crate) fn has_parts(&self, message: i64) -> Result<bool, StoreFault> {
        let sql = "SELECT 1 FROM parts WHERE message = ? LIMIT 1";
        Ok(self.one(sql, [message], |_| Ok(()))?.is_some())
    }

    pub(super) fn parts(&self, message: i64) -> Result<Vec<Vec<u8>>, StoreFault> {
        let sql = "SELECT bytes FROM parts WHERE message = ? ORDER BY number";
        self.all(sql, [message], |row| Ok(row.get(0)?))
    }
}
