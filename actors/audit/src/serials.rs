//! Which entries each witness put on the record lately: a repeated append is one entry. It opens nothing.

use ipc_proto::Name;
use ipc_proto::audit::Serial;
use std::collections::{HashMap, VecDeque};

/// Serials remembered per witness: a repeat comes at once or not at all.
pub(crate) const REMEMBERED: usize = 512;

/// What each witness put on the record lately.
#[derive(Debug, Default)]
pub(crate) struct Serials(HashMap<Name, VecDeque<(Serial, u64)>>);

impl Serials {
    /// Remembers an entry.
    pub(crate) fn keep(&mut self, witness: &Name, serial: Serial, index: u64) {
        let recent = self.0.entry(witness.clone()).or_default();
        recent.push_back((serial, index));
        if recent.len() > REMEMBERED {
            recent.pop_front();
        }
    }

    /// The index of an entry that is there already.
    pub(crate) fn index(&self, witness: &Name, serial: Serial) -> Option<u64> {
        self.0.get(witness)?.iter().rev().find(|(known, _)| *known == serial).map(|(_, index)| *index)
    }
}
