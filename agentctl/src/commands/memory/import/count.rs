//! The counts of an import, and the rows that were left out with their reasons.

use crate::app::App;
use crate::failure::Failure;
use crate::text;
use ipc_proto::control::ControlError;
use ipc_proto::memory::MemoryError;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;

/// The reason for a file that was left out, by its name for programs.
const UNREAD: &str = "unreadable";

/// The result of an import.
#[derive(Default)]
pub(super) struct Count {
    /// Imported, or to be imported.
    pub(super) taken: u64,
    /// Left as they are.
    pub(super) left: u64,
    /// Sessions that were imported, or would be.
    pub(super) sessions: u64,
    /// Refused by memory, with the number of the line or note and the reason.
    pub(super) refused: Vec<(usize, MemoryError)>,
    /// Files that could not be read, with the error.
    pub(super) unread: Vec<(String, io::Error)>,
    /// The file names of the notes in their order; empty for an import of lines.
    pub(super) names: Vec<String>,
}

impl Count {
    /// The number of rows that were left out for each reason, by its name for programs.
    pub(super) fn reasons(&self) -> BTreeMap<&'static str, u64> {
        let mut reasons = BTreeMap::new();
        for why in self.refused.iter().map(|(_, why)| reason(*why)).chain(self.unread.iter().map(|_| UNREAD))
        {
            *reasons.entry(why).or_default() += 1;
        }
        reasons
    }

    /// The rows that were left out, as JSON.
    pub(super) fn left_out(&self) -> Vec<Value> {
        let refused = self.refused.iter().map(|(line, why)| {
            json!({ "line": line, "file": self.file(*line), "reason": reason(*why), "why": why.to_string() })
        });
        let unread = self.unread.iter().map(
            |(file, why)| json!({ "line": null, "file": file, "reason": UNREAD, "why": why.to_string() }),
        );
        refused.chain(unread).collect()
    }

    /// The name of a refused row: a note's file, or a line's number.
    pub(super) fn name(&self, number: usize) -> String {
        self.file(number).map_or_else(|| format!("line {number}"), str::to_owned)
    }

    /// The file that a note is made of.
    fn file(&self, number: usize) -> Option<&str> {
        number.checked_sub(1).and_then(|place| self.names.get(place)).map(String::as_str)
    }

    /// Counts the result of one row. A failure that concerns all rows ends the import, with a remark on its progress.
    pub(super) fn count(
        &mut self,
        app: &App,
        number: usize,
        result: Result<bool, Failure>,
    ) -> Result<(), Failure> {
        match result {
            Ok(true) => self.taken += 1,
            Ok(false) => self.left += 1,
            Err(failure) => match refusal(failure) {
                Ok(why) => self.refused.push((number, why)),
                Err(failure) => {
                    let sessions = text::count(self.sessions, "session", "sessions");
                    app.out.hint(&format!("{} were taken in before this, {sessions}", self.taken));
                    return Err(failure);
                }
            },
        }
        Ok(())
    }
}

/// A reason by its name for programs.
fn reason(why: MemoryError) -> &'static str {
    match why {
        MemoryError::Refused(why) => why.name(),
        why => Failure::Control(ControlError::Memory(why)).kind(),
    }
}

/// The reason why memory refuses one row. A failure that concerns all rows ends the import.
fn refusal(failure: Failure) -> Result<MemoryError, Failure> {
    match failure {
        Failure::Control(ControlError::Memory(
            why @ (MemoryError::Refused(_)
            | MemoryError::NeedsPerson
            | MemoryError::NotFound
            | MemoryError::Full
            | MemoryError::ShareFull),
        )) => Ok(why),
        failure => Err(failure),
    }
}
