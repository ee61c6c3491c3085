//! Files of messages as rows: those that come in, in parts, until the jail has them; and those that go out by a delivery.

use super::deliveries::to_sql_id;
use super::{Store, StoreFault, Tx, bounded, to_sql_ms};
use ipc_proto::Text;
use ipc_proto::channel::{DeliveryId, FILES, InboxFile};
use ipc_proto::ids::CallId;
use rusqlite::{Row, params};

/// Files of one message.
const MOST: u32 = 8;
const _: () = assert!(MOST as usize == FILES);

/// A whole file of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WholeFile {
    pub(crate) id: i64,
    pub(crate) size: u64,
}

/// The file of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentFile {
    pub(crate) name: Text<255>,
    pub(crate) bytes: Vec<u8>,
}

impl Store {
    /// Bytes of all files, and of those of one account.
    pub(crate) fn file_room(&self, channel: &str) -> Result<(u64, u64), StoreFault> {
        let sql =
            "SELECT coalesce(sum(size), 0), coalesce(sum(CASE WHEN channel = ? THEN size END), 0) FROM files";
        Ok(self.one(sql, [channel], |row| Ok((size(row, 0)?, size(row, 1)?)))?.unwrap_or_default())
    }

    /// The file of an account with this digest.
    pub(crate) fn whole_file(
        &self,
        channel: &str,
        digest: &[u8; 32],
    ) -> Result<Option<WholeFile>, StoreFault> {
        let sql = "SELECT id, size FROM files WHERE channel = ? AND digest = ?";
        self.one(sql, params![channel, digest], |row| Ok(WholeFile { id: row.get(0)?, size: size(row, 1)? }))
    }

    /// The files of a message that are here, in order.
    pub(crate) fn files_of(&self, message: i64) -> Result<Vec<(i64, InboxFile)>, StoreFault> {
        let sql = "SELECT f.id, f.digest, n.name, f.size FROM message_files n JOIN files f ON f.id = n.file
                   WHERE n.message = ? AND f.digest IS NOT NULL ORDER BY n.number LIMIT ?";
        self.all(sql, params![message, MOST], |row| {
            let name = bounded("file name", Text::new(row.get::<_, String>(2)?))?;
            Ok((row.get(0)?, InboxFile { digest: row.get(1)?, name, size: size(row, 3)? }))
        })
    }

    /// The part of a file that begins at this byte.
    pub(crate) fn file_part(&self, file: i64, start: u64) -> Result<Option<Vec<u8>>, StoreFault> {
        let sql = "SELECT bytes FROM file_parts WHERE file = ? AND start = ?";
        self.one(sql, params![file, to_sql_ms(start)], |row| Ok(row.get(0)?))
    }

    /// All bytes of a file.
    pub(crate) fn file_bytes(&self, file: i64) -> Result<Vec<u8>, StoreFault> {
        let sql = "SELECT bytes FROM file_parts WHERE file = ? ORDER BY start";
        Ok(self.all(sql, [file], |row| Ok(row.get::<_, Vec<u8>>(0)?))?.concat())
    }

    /// Files that nothing needs any more: whole ones that no message named by `loose_ms`, and those whose messages are all over and
    /// that came before `over_ms`; oldest first, at most 64.
    pub(crate) fn files_to_drop(&self, loose_ms: u64, over_ms: u64) -> Result<Vec<i64>, StoreFault> {
        let sql = "SELECT id FROM files f WHERE digest IS NOT NULL AND CASE
                   WHEN NOT EXISTS (SELECT 1 FROM message_files n WHERE n.file = f.id) THEN at_ms < ?1
                   ELSE at_ms < ?2 AND NOT EXISTS (
                       SELECT 1 FROM message_files n JOIN messages m ON m.seq = n.message
                       WHERE n.file = f.id AND m.state IN ('accepted', 'queued', 'running'))
                   END ORDER BY at_ms LIMIT 64";
        self.all(sql, params![to_sql_ms(loose_ms), to_sql_ms(over_ms)], |row| Ok(row.get(0)?))
    }

    /// Files whose process never sent their end.
    pub(crate) fn broken_files(&self) -> Result<Vec<i64>, StoreFault> {
        self.all("SELECT id FROM files WHERE digest IS NULL", [], |row| Ok(row.get(0)?))
    }

    /// Returns true if this call has sent its file already.
    pub(crate) fn has_sent(&self, call: CallId) -> Result<bool, StoreFault> {
        let sql = "SELECT 1 FROM sent_files WHERE call = ?";
        Ok(self.one(sql, [call.bytes()], |_| Ok(()))?.is_some())
    }

    /// The file that goes out by a delivery.
    pub(crate) fn sent_file(&self, delivery: DeliveryId) -> Result<Option<SentFile>, StoreFault> {
        let sql = "SELECT name, bytes FROM sent_files WHERE delivery = ?";
        self.one(sql, [to_sql_id(delivery)], |row| {
            let name = bounded("file name", Text::new(row.get::<_, String>(0)?))?;
            Ok(SentFile { name, bytes: row.get(1)? })
        })
    }
}

impl Tx<'_> {
    /// Begins a file; gives its id.
    pub(crate) fn begin_file(&self, channel: &str, now_ms: u64) -> Result<i64, StoreFault> {
        let sql = "INSERT INTO files (channel, size, digest, at_ms) VALUES (?, 0, NULL, ?)";
        self.run_one("file", sql, params![channel, to_sql_ms(now_ms)])?;
        Ok(self.0.last_insert_rowid())
    }

    /// Adds a part to a file, at its end.
    pub(crate) fn add_file_part(&self, file: i64, start: u64, bytes: &[u8]) -> Result<(), StoreFault> {
        let row = params![file, to_sql_ms(start), bytes];
        self.run_one("file part", "INSERT INTO file_parts VALUES (?, ?, ?)", row)?;
        let more = i64::try_from(bytes.len()).map_err(|_| StoreFault::Column("file parts"))?;
        self.run_one("file", "UPDATE files SET size = size + ? WHERE id = ?", params![more, file])
    }

    /// A file is whole. Where the account has one of these bytes already, that one stays and this one goes.
    pub(crate) fn finish_file(
        &self,
        file: i64,
        digest: &[u8; 32],
        same: Option<WholeFile>,
        now_ms: u64,
    ) -> Result<(), StoreFault> {
        let Some(same) = same else {
            let sql = "UPDATE files SET digest = ? WHERE id = ?";
            return self.run_one("file", sql, params![digest, file]);
        };
        self.drop_file(file)?;
        let sql = "UPDATE files SET at_ms = ? WHERE id = ?";
        self.run_one("file", sql, params![to_sql_ms(now_ms), same.id])
    }

    /// Has every file seem to have this size.
    #[cfg(test)]
    pub(crate) fn set_file_sizes(&self, size: i64) -> Result<(), StoreFault> {
        self.run("UPDATE files SET size = ?", [size]).map(drop)
    }

    /// Drops a file; messages that name it name it no more.
    pub(crate) fn drop_file(&self, file: i64) -> Result<(), StoreFault> {
        self.run("DELETE FROM message_files WHERE file = ?", [file])?;
        self.run("DELETE FROM file_parts WHERE file = ?", [file])?;
        self.run_one("file", "DELETE FROM files WHERE id = ?", [file])
    }

    /// Names a file of a message.
    pub(crate) fn name_file(
        &self,
        message: i64,
        number: u8,
        file: i64,
        name: &str,
    ) -> Result<(), StoreFault> {
        let row = params![message, number, file, name];
        self.run_one("file of a message", "INSERT INTO message_files VALUES (?, ?, ?, ?)", row)
    }

    /// A message has the files of the dead letter in whose place it stands.
    pub(crate) fn take_over_files(&self, from: i64, to: i64) -> Result<(), StoreFault> {
        let sql =
            "INSERT INTO message_files SELECT ?2, number, file, name FROM message_files WHERE message = ?1";
        self.run(sql, [from, to]).map(drop)
    }

    /// Drops the bytes of a file that has arrived; its call stays done.
    pub(crate) fn drop_sent_bytes(&self, delivery: DeliveryId) -> Result<(), StoreFault> {
        let sql = "UPDATE sent_files SET bytes = x'' WHERE delivery = ?";
        self.run(sql, [to_sql_id(delivery)]).map(drop)
    }

    /// Adds the file of a delivery.
    pub(crate) fn add_sent_file(
        &self,
        delivery: DeliveryId,
        call: CallId,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), StoreFault> {
        let row = params![to_sql_id(delivery), call.bytes(), name, bytes];
        self.run_one("file of a delivery", "INSERT INTO sent_files VALUES (?, ?, ?, ?)", row)
    }
}

fn size(row: &Row<'_>, column: usize) -> Result<u64, StoreFault> {
    u64::try_from(row.get::<_, i64>(column)?).map_err(|_| StoreFault::Column("size"))
}
