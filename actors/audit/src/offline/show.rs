//! `query` and `stats`: entries that a filter admits, and how many of what there are.

use super::entries::Entries;
use super::export::document;
use super::words::Words;
use super::{OfflineFault, filter};
use crate::counts::{Counts, word};
use serde_json::json;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

/// Prints the entries that are asked for, one JSON object a line.
pub(crate) fn query(words: &Words) -> Result<ExitCode, OfflineFault> {
    let (dir, filter) = (words.log()?, filter(words)?);
    let mut out = BufWriter::new(std::io::stdout().lock());
    for (entry, record) in Entries::from(&dir, words.number("from")?.unwrap_or(0)) {
        if filter.admits(&record) {
            writeln!(out, "{}", document(&entry, &record))?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints how many of what there are.
pub(crate) fn stats(words: &Words) -> Result<ExitCode, OfflineFault> {
    let mut counts = Counts::default();
    for (_, record) in Entries::from(&words.log()?, 0) {
        let _ = counts.add(&record);
    }
    let mut out = std::io::stdout().lock();
    if words.has("json") {
        let counted = counts.counts.iter().map(|count| {
            json!({ "action": count.action, "result": count.result, "total": count.total, "today": count.today })
        });
        let document = json!({ "ok": true, "entries": counts.size, "counts": counted.collect::<Vec<_>>() });
        writeln!(out, "{document}")?;
    } else {
        writeln!(out, "{} entries", counts.size)?;
        for count in &counts.counts {
            writeln!(out, "{} {} {} {}", word(count.action), word(count.result), count.total, count.today)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
