//! Files that platforms' processes are sending: how far each is, and the digest of what is here. After a restart of this process none is
//! under way, and a file is sent again from its beginning.

use ipc_proto::Name;
use sha2::Sha256;
use std::collections::VecDeque;

/// Whole files that are remembered, so that a repeated end is one end; the oldest is forgotten.
const REMEMBERED: usize = 64;

/// A file that is being sent, or was.
pub(crate) struct Upload {
    pub(crate) channel: Name,
    /// The random number of its process.
    pub(crate) number: u64,
    /// Its row.
    pub(crate) file: i64,
    /// Bytes that are here.
    pub(crate) size: u64,
    pub(crate) hash: Sha256,
    /// SHA-256 of all of it, once it is whole.
    pub(crate) whole: Option<[u8; 32]>,
}

/// All of them, oldest first.
#[derive(Default)]
pub(crate) struct Uploads(VecDeque<Upload>);

impl Uploads {
    /// The one of this account and number.
    pub(crate) fn find(&mut self, channel: &str, number: u64) -> Option<&mut Upload> {
        self.0.iter_mut().find(|upload| upload.channel.as_str() == channel && upload.number == number)
    }

    /// Adds one.
    pub(crate) fn add(&mut self, upload: Upload) {
        self.0.push_back(upload);
        if self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
    }

    /// The rows of an account's files whose end did not come. Its process sends one file at a time.
    pub(crate) fn broken(&self, channel: &str) -> Vec<i64> {
        let broken = self.0.iter().filter(|it| it.channel.as_str() == channel && it.whole.is_none());
        broken.map(|upload| upload.file).collect()
    }

    /// Forgets the one with this row.
    pub(crate) fn forget(&mut self, file: i64) {
        self.0.retain(|upload| upload.file != file);
    }
}
