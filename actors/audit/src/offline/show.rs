//! `query` and `stats`: the entries that a filter admits, and their counts.

use super::args::Args;
use super::entries::Entries;
use super::export::document;
use super::{OfflineFault, filter};
use crate::counts::{Counts, word};
use serde_json::json;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

/// Prints the entries that are asked for, one JSON object a line.
pub(crate) fn query(args: &Args) -> Result<ExitCode, OfflineFault> {
    let (dir, filter) = (args.log()?, filter(args)?);
    let mut out = BufWriter::new(std::io::stdout().lock());
    for (entry, record) in Entries::from(&dir, args.number("from")?.unwrap_or(0)) {
        if filter.admits(&record) {
            writeln!(out, "{}", document(&entry, &record))?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the counts of entries.
pub(crate) fn stats(args: &Args) -> Result<ExitCode, OfflineFault> {
    let mut counts = Counts::default();
    for (_, record) in Entries::from(&args.log()?, 0) {
        let _ = counts.add(&record);
    }
    let mut out = std::io::stdout().lock();
    if args.has("json") {
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
