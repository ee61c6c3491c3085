//! Records which rules of the table are needed: with a debug build's `--record FILE` every process notifies agentd of every call
//! that it makes, so that tests find rules that nothing uses. A call that the row allows is let through, here and nowhere
//! else; any other is refused as ever.

use confine::notices::{self, Notice};
use manifest::{Row, syscalls};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

/// The rules that were seen so far.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    file: Option<PathBuf>,
    seen: BTreeSet<String>,
}

impl Recording {
    /// Records to this file, if there is one.
    pub(crate) const fn new(file: Option<PathBuf>) -> Self {
        Self { file, seen: BTreeSet::new() }
    }

    /// Notes a call. Returns true if the row allows it, so that it is to be let through.
    pub(crate) fn note(&mut self, row: &'static Row, notice: &Notice, pid: i32) -> bool {
        let Some(name) = notices::name(notice.number).filter(|_| self.file.is_some()) else { return false };
        let own = pid.unsigned_abs();
        if !syscalls::allows(row, name, &notice.arguments, own) {
            return false;
        }
        self.note_rules(row, name, &notice.arguments, own);
        true
    }

    /// Notes each rule that allows the call: process, call, and the matching alternative.
    fn note_rules(&mut self, row: &'static Row, name: &str, arguments: &[u64; 6], own: u32) {
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
