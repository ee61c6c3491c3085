//! `agentctl net`: the requests that jails sent out, from the record.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{text, view};
use ipc_proto::audit::{Action, Category, Filter, Record, Result3};
use ipc_proto::control::method;
use ipc_proto::router::SessionName;
use serde_json::{Value, json};

/// The latest entries of the record that are searched.
const SEARCHED: u64 = 128 * 1024;

/// The commands of `net`.
#[derive(clap::Subcommand)]
pub(crate) enum Net {
    /// Show the hosts that jails asked for: what was decided, and what went out and came in
    Log {
        /// Only of this session
        #[arg(value_parser = crate::arguments::text::<128>)]
        session: Option<SessionName>,
        /// Show this many of the latest entries
        #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 100)]
        limit: usize,
    },
}

/// Runs the command.
pub(crate) async fn run(app: &App, command: Net) -> Outcome {
    let Net::Log { session, limit } = command;
    let records = entries(app, session).await?;
    let shown = records.get(records.len().saturating_sub(limit)..).unwrap_or_default();
    let head = ["TIME", "VERB", "HOST", "RESULT", "REASON", "CAME IN"];
    Ok(app.out.list("requests", shown, document, &head, row)?)
}

/// The entries about requests of jails, oldest first.
async fn entries(app: &App, session: Option<SessionName>) -> Result<Vec<Record>, Failure> {
    let id = match session {
        None => None,
        Some(name) => {
            let found =
                app.link.ask(&method::session, async |c, cx| c.session(cx, name.clone()).await).await?;
            Some(found.info.id)
        }
    };
    let stats = app.link.ask(&method::audit_stats, async |c, cx| c.audit_stats(cx).await).await?;
    let filter = Filter { session: id, category: Some(Category::Tool), ..Filter::default() };
    let (mut found, mut next) = (Vec::new(), Some(stats.entries.saturating_sub(SEARCHED)));
    while let Some(from) = next {
        let page = app
            .link
            .ask(&method::audit_query, async |c, cx| c.audit_query(cx, from, filter.clone()).await)
            .await?;
        found.extend(page.records.into_iter().filter(is_network));
        next = page.next;
    }
    Ok(found)
}

fn is_network(record: &Record) -> bool {
    matches!(record.event.action, Action::NetworkDecided | Action::NetworkUsed)
}

/// Verb and host of an entry.
fn place(record: &Record) -> (&str, &str) {
    let subject = record.event.subject.as_ref().map_or("", |subject| subject.as_str());
    subject.split_once(' ').unwrap_or(("", subject))
}

fn outcome(record: &Record) -> &'static str {
    match (record.event.action, record.event.result) {
        (Action::NetworkUsed, _) => "used",
        (_, Result3::Success) => "allowed",
        _ => "refused",
    }
}

fn document(record: &Record) -> Value {
    let (verb, host) = place(record);
    json!({
        "index": record.index,
        "time_ms": record.time_ms,
        "verb": verb,
        "host": host,
        "result": outcome(record),
        "reason": record.event.reason,
        "received": record.event.bytes,
        "session": record.event.session.map(|id| id.to_string()),
        "turn": record.event.turn.map(|id| id.to_string()),
        "entry": view::record(record),
    })
}

fn row(record: &Record) -> Vec<String> {
    let (verb, host) = place(record);
    let reason = record.event.reason.as_ref().map_or("", |reason| reason.as_str());
    let came = if record.event.action == Action::NetworkUsed {
        text::bytes(record.event.bytes)
    } else {
        String::new()
    };
    vec![
        text::utc(record.time_ms),
        text::exact(verb),
        text::exact(host),
        outcome(record).to_owned(),
        reason.to_owned(),
        came,
    ]
}
