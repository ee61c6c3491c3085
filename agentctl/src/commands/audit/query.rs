//! `audit query`, `stats` and `export`: entries that match, counts of entries, and entries for other programs.

use super::PROGRAM;
use super::verify::{folder, offline_arguments};
use crate::app::{App, Outcome};
use crate::arguments::named;
use crate::failure::Failure;
use crate::{sibling, text, view};
use ipc_proto::Name;
use ipc_proto::audit::{Action, Category, Filter, Record, Result3, Severity, Stats};
use ipc_proto::control::method;
use ipc_proto::ids::SessionId;
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

/// `audit query`.
#[derive(clap::Args)]
pub(crate) struct Query {
    /// Start at this entry
    #[arg(long, value_name = "INDEX", default_value_t = 0)]
    from: u64,
    /// Only entries of this action
    #[arg(long, value_parser = named::<Action>)]
    action: Option<Action>,
    /// Only entries of this category: auth, tool, memory, label, channel, config or sandbox
    #[arg(long, value_parser = named::<Category>)]
    category: Option<Category>,
    /// Only entries with this result: success, blocked or error
    #[arg(long, value_parser = named::<Result3>)]
    result: Option<Result3>,
    /// Only entries of at least this severity: debug, info, warning, error or critical
    #[arg(long, value_parser = named::<Severity>)]
    severity: Option<Severity>,
    /// Only entries that this process reported
    #[arg(long, value_parser = crate::arguments::text::<64>)]
    witness: Option<Name>,
    /// Only entries about this tool, model, secret, user or process
    #[arg(long, value_parser = crate::arguments::text::<64>)]
    subject: Option<Name>,
    /// Only entries of the session with this id
    #[arg(long, value_name = "ID")]
    session: Option<SessionId>,
    /// Only entries written at this time or later: a day such as 2026-11-22, an age such as 7d, or unix ms
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<u64>,
    /// Only entries written before this time
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<u64>,
    /// Read the record in this folder, without a host: always one JSON object a line, as the record has them
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// `audit export`.
#[derive(clap::Args)]
pub(crate) struct Export {
    /// The format of entries
    #[arg(long, value_parser = ["jsonl", "journal", "ocsf", "syslog"], default_value = "jsonl")]
    format: String,
    /// Start at this entry
    #[arg(long, value_name = "INDEX")]
    from: Option<u64>,
    /// Continue from the position in this file, and update it
    #[arg(long, value_name = "FILE")]
    position: Option<PathBuf>,
    /// Follow entries as they are written
    #[arg(long, short)]
    follow: bool,
    /// Read the record in this folder, without a host
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Parses a time as every command takes it, or in unix ms as the record has it.
fn moment(given: &str) -> Result<u64, String> {
    given.parse().or_else(|_| text::moment(given))
}

/// Shows the entries that match.
pub(crate) async fn query(app: &App, query: Query) -> Outcome {
    if let Some(dir) = &query.dir {
        return offline(app, &query, dir.clone());
    }
    let filter = Filter {
        action: query.action,
        category: query.category,
        result: query.result,
        severity: query.severity,
        witness: query.witness,
        subject: query.subject,
        session: query.session,
        since_ms: query.since,
        until_ms: query.until,
    };
    let (mut records, mut next): (Vec<Record>, _) = (Vec::new(), Some(query.from));
    while let Some(from) = next {
        let ask =
            async |c: ipc_proto::control::ControlClient, cx| c.audit_query(cx, from, filter.clone()).await;
        let page = app.link.ask(&method::audit_query, ask).await?;
        next = page.next;
        if app.out.json {
            records.extend(page.records);
        } else {
            super::print(app, &page.records, from == query.from)?;
        }
    }
    if app.out.json {
        app.out.document(json!({ "records": records.iter().map(view::record).collect::<Vec<_>>() }))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn offline(app: &App, query: &Query, dir: PathBuf) -> Outcome {
    let name = |name: &Option<Name>| name.as_ref().map(ToString::to_string);
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    let options = [
        ("--from", Some(query.from.to_string())),
        ("--action", query.action.map(view::word)),
        ("--category", query.category.map(view::word)),
        ("--result", query.result.map(view::word)),
        ("--severity", query.severity.map(view::word)),
        ("--witness", name(&query.witness)),
        ("--subject", name(&query.subject)),
        ("--session", query.session.map(|id| id.to_string())),
        ("--since", number(query.since)),
        ("--until", number(query.until)),
    ];
    let options = options.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?]));
    let more: Vec<OsString> = options.flatten().map(OsString::from).collect();
    let arguments = offline_arguments("query", &[("--dir", Some(&dir))]);
    stream(app, arguments.iter().chain(&more))
}

/// Runs the audit program. With `--json` its error is a document as well.
pub(super) fn stream<'a>(app: &App, arguments: impl Iterator<Item = &'a OsString>) -> Outcome {
    let json = app.out.json.then(|| OsStr::new("--json"));
    sibling::stream(PROGRAM, &arguments.map(OsString::as_os_str).chain(json).collect::<Vec<&OsStr>>())
}

/// Shows the counts of entries.
pub(crate) async fn stats(app: &App, dir: Option<PathBuf>) -> Outcome {
    if let Some(dir) = dir {
        return stream(app, offline_arguments("stats", &[("--dir", Some(&dir))]).iter());
    }
    let stats: Stats = app.link.ask(&method::audit_stats, async |c, cx| c.audit_stats(cx).await).await?;
    if app.out.json {
        let counts = stats.counts.iter().map(|count| json!(count)).collect::<Vec<_>>();
        app.out.document(json!({
            "entries": stats.entries, "signed": stats.signed, "origin": stats.origin, "counts": counts,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    app.out.line(&format!(
        "{} in {}, {} of them signed",
        text::count(stats.entries, "entry", "entries"),
        stats.origin,
        stats.signed
    ))?;
    let rows = stats.counts.iter().map(|count| {
        let (category, severity) = (count.action.category(), count.action.severity(count.result));
        let arguments =
            [view::word(category), view::word(severity), view::word(count.action), view::word(count.result)];
        arguments.into_iter().chain([count.total, count.today].map(|number| number.to_string())).collect()
    });
    app.out.table(&["CATEGORY", "SEVERITY", "ACTION", "RESULT", "TOTAL", "TODAY"], rows.collect())?;
    Ok(ExitCode::SUCCESS)
}

/// Prints entries for other programs.
pub(crate) async fn export(app: &App, export: Export) -> Outcome {
    let none =
        || Failure::Usage("the record's folder cannot be read from here; name it with --dir".to_owned());
    let dir = folder(app, export.dir).await?.ok_or_else(none)?;
    let mut more = vec![OsString::from("--format"), OsString::from(export.format)];
    more.extend(export.from.into_iter().flat_map(|from| ["--from".into(), from.to_string().into()]));
    more.extend(export.follow.then(|| OsString::from("--follow")));
    let files = [("--dir", Some(dir.as_path())), ("--position", export.position.as_deref())];
    stream(app, offline_arguments("export", &files).iter().chain(&more))
}
