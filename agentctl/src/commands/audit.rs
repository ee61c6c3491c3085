//! `agentctl audit`: the record and its checks.
//!
//! Commands that need no host run the audit process's own program, so that the same code decides.

mod prove;
mod query;
mod verify;
mod witness;

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{text, view};
use ipc_proto::audit::{Record, TAIL};
use ipc_proto::control::method;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// The audit process's program.
const PROGRAM: &str = "audit";
/// Entries shown when no first one is named.
const LATEST: u64 = 20;
/// The longest wait for new entries, ms.
const WAIT_MS: u32 = 20_000;

/// The commands of `audit`.
#[derive(clap::Subcommand)]
pub(crate) enum Audit {
    /// Show the latest entries of the record
    Tail {
        /// Follow entries as they are written
        #[arg(long, short)]
        follow: bool,
        /// Start at this entry
        #[arg(long, value_name = "INDEX")]
        from: Option<u64>,
        /// Show this many of the latest entries
        #[arg(long, short = 'n', value_name = "COUNT", default_value_t = LATEST, conflicts_with = "from")]
        limit: u64,
    },
    /// Show the entries that match
    Query(query::Query),
    /// Check every hash and signature of the record
    Verify(verify::Verify),
    /// Prove that an entry is in the record, and that the record only grew
    Prove {
        /// The entry
        index: u64,
        /// Prove that the record extends this checkpoint
        #[arg(long, value_name = "FILE")]
        checkpoint: Option<PathBuf>,
        /// Read the record in this folder, without a host
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Print the signed checkpoint of the record, to be stored elsewhere
    Checkpoint,
    /// Store checkpoints elsewhere, and check the record against the last one
    Witness(witness::Witness),
    /// Count the entries of the record by action
    Stats {
        /// Read the record in this folder, without a host
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Export entries for other programs
    Export(query::Export),
    /// Print the signed digest of a day
    Digest {
        /// The day, as YYYY-MM-DD (UTC)
        day: String,
    },
    /// Sign the record with a new key from now on
    RotateKey,
}

/// Runs the command.
pub(crate) async fn run(app: &App, command: Audit) -> Outcome {
    match command {
        Audit::Tail { follow, from, limit } => tail(app, follow, from, limit).await,
        Audit::Query(query) => query::query(app, query).await,
        Audit::Verify(verify) => verify::verify(app, verify).await,
        Audit::Prove { index, checkpoint, dir } => prove::prove(app, index, checkpoint, dir).await,
        Audit::Checkpoint => prove::checkpoint(app).await,
        Audit::Witness(witness) => witness::witness(app, witness).await,
        Audit::Stats { dir } => query::stats(app, dir).await,
        Audit::Export(export) => query::export(app, export).await,
        Audit::Digest { day } => prove::digest(app, &day).await,
        Audit::RotateKey => prove::rotate(app).await,
    }
}

/// Shows entries.
async fn tail(app: &App, follow: bool, from: Option<u64>, limit: u64) -> Outcome {
    let mut from = match from {
        Some(from) => from,
        None => length(app).await?.saturating_sub(limit),
    };
    let mut records = Vec::new();
    loop {
        let more = entries(app, from, 0).await?;
        let Some(last) = more.last() else { break };
        from = last.index + 1;
        records.extend(more);
    }
    if app.out.json && !follow {
        app.out.document(json!({ "records": records.iter().map(view::record).collect::<Vec<_>>() }))?;
        return Ok(ExitCode::SUCCESS);
    }
    print(app, &records, true)?;
    if !follow {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        let more = entries(app, from, WAIT_MS).await?;
        from = more.last().map_or(from, |last| last.index + 1);
        print(app, &more, false)?;
    }
}

async fn entries(app: &App, from: u64, wait_ms: u32) -> Result<Vec<Record>, Failure> {
    let most = u16::try_from(TAIL).unwrap_or(u16::MAX);
    let found =
        app.link.ask(&method::audit_tail, async |c, cx| c.audit_tail(cx, from, most, wait_ms).await).await?;
    Ok(found.into_vec())
}

/// The number of entries, found by doubling and then halving, with one entry a step.
async fn length(app: &App) -> Result<u64, Failure> {
    let there = async |index: u64| -> Result<bool, Failure> {
        let one =
            app.link.ask(&method::audit_tail, async |c, cx| c.audit_tail(cx, index, 1, 0).await).await?;
        Ok(!one.is_empty())
    };
    let (mut known, mut beyond) = (0, 1);
    while beyond < u64::MAX / 2 && there(beyond - 1).await? {
        known = beyond;
        beyond *= 2;
    }
    while beyond - known > 1 {
        let middle = known + (beyond - known) / 2;
        if there(middle - 1).await? { known = middle } else { beyond = middle }
    }
    Ok(known)
}

fn print(app: &App, records: &[Record], head: bool) -> std::io::Result<()> {
    if app.out.json {
        return records.iter().try_for_each(|record| app.out.json_line(&view::record(record)));
    }
    let names = ["INDEX", "TIME", "WITNESS", "ACTION", "RESULT", "SUBJECT", "REASON", "LABEL"];
    let rows = records.iter().map(|record| {
        let event = &record.event;
        let name =
            |name: &Option<ipc_proto::Name>| name.as_ref().map(ToString::to_string).unwrap_or_default();
        vec![
            record.index.to_string(),
            text::utc(record.time_ms),
            record.witness.to_string(),
            view::word(event.action),
            view::word(event.result),
            name(&event.subject),
            name(&event.reason),
            event.label.as_ref().map(view::label).unwrap_or_default(),
        ]
    });
    app.out.table(if head { &names } else { &[] }, rows.collect())
}
