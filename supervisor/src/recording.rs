//! Which rules of the table are needed: debug builds' `--record FILE` has every process tell agentd of every call it
//! makes, so that the tests find rules which nothing makes use of. What the row allows is let through, here and nowhere
//! else; what it does not allow is dealt with as ever.

use crate::host::Host;
use confine::notices::{self, Notice};
use manifest::{Row, syscalls};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

/// What was seen so far.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    file: Option<PathBuf>,
    seen: BTreeSet<String>,
}

impl Recording {
    /// To this file, if there is one.
    pub(crate) const fn new(file: Option<PathBuf>) -> Self {
        Self { file, seen: BTreeSet::new() }
    }

    /// Returns whether anything is recorded.
    pub(crate) const fn is_on(&self) -> bool {
        self.file.is_some()
    }

    /// Notes each rule by which the call is allowed: process, call, and which of its alternatives.
    fn note(&mut self, row: &'static Row, name: &str, arguments: &[u64; 6], own: u32) {
        for call in syscalls::calls(row, name).filter(|call| call.takes(arguments, own)) {
            let alternative = call.alternative(arguments, own).unwrap_or_default();
            let conditions = call.when.get(alternative).copied().unwrap_or_default();
            let line = format!("{} {name} {conditions:?}", row.process.name());
            let file = self.file.as_ref().filter(|_| !self.seen.contains(&line));
            if let Some(file) = file
                && let Ok(mut file) = OpenOptions::new().create(true).append(true).open(file)
            {
                drop(writeln!(file, "{line}"));
                self.seen.insert(line);
            }
        }
    }
}

/// Notes a call that the row allows, which is then to be let through; whether it is one.
pub(crate) fn noted(host: &mut Host, row: &'static Row, notice: &Notice, pid: i32) -> bool {
    let Some(name) = notices::name(notice.number).filter(|_| host.recording.is_on()) else { return false };
    let own = pid.unsigned_abs();
    if !syscalls::allows(row, name, &notice.arguments, own) {
        return false;
    }
    host.recording.note(row, name, &notice.arguments, own);
    true
}
