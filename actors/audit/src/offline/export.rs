//! `export`: entries for other programs: JSON lines, the same with a priority for the journal, OCSF 1.x, or syslog
//! lines of RFC 5424. It adds the derived category and severity, and nothing else.

use super::OfflineFault;
use super::args::Args;
use super::entries::Entries;
use super::position::Position;
use crate::counts::{DAY, word};
use crate::digest::date;
use crate::hash::hex;
use ipc_proto::audit::{Action, Category, Record, Result3, Severity};
use serde_json::{Value, json};
use std::io::{BufWriter, Write};
use std::process::ExitCode;
use std::time::Duration;

/// How often a log is looked at that is followed.
const LOOK: Duration = Duration::from_millis(500);
/// The version of the schema that events are mapped to.
const OCSF: &str = "1.3.0";
/// "Other": the activity for which the schema has no name.
const OTHER: u64 = 99;

/// Prints entries, and goes on with those that come.
pub(crate) fn export(args: &Args) -> Result<ExitCode, OfflineFault> {
    let line: fn(&[u8], &Record) -> String = match args.get("format").unwrap_or("jsonl") {
        "jsonl" => |entry, record| document(entry, record).to_string(),
        "journal" => |entry, record| format!("<{}>{}", priority(record), document(entry, record)),
        "ocsf" => |_, record| ocsf(record).to_string(),
        "syslog" => |_, record| syslog(record),
        other => {
            return Err(OfflineFault::Usage(format!(
                "--format: no {other}; there are jsonl, journal, ocsf and syslog"
            )));
        }
    };
    // A follower may have started before the log exists.
    let dir = if args.has("follow") { args.dir()? } else { args.log()? };
    let mut position = args.get("position").map(|file| Position::open(file, &dir)).transpose()?;
    let stored = position.as_ref().map_or(0, Position::index);
    let mut from = args.number("from")?.unwrap_or(stored);
    let mut out = BufWriter::new(std::io::stdout().lock());
    loop {
        let mut entries = Entries::from(&dir, from);
        for (entry, record) in entries.by_ref() {
            writeln!(out, "{}", line(&entry, &record))?;
        }
        from = entries.next;
        out.flush()?;
        if let Some(position) = &mut position {
            position.keep(from)?;
        }
        if !args.has("follow") {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(LOOK);
    }
}

/// An entry with its derived fields.
pub(crate) fn document(entry: &[u8], record: &Record) -> Value {
    let mut document: Value = serde_json::from_slice(entry).unwrap_or_default();
    let event = &record.event;
    if let Some(map) = document.as_object_mut() {
        map.insert("category".to_owned(), json!(event.action.category()));
        map.insert("severity".to_owned(), json!(event.action.severity(event.result)));
        map.insert("leaf".to_owned(), json!(hex(&record.hash)));
    }
    document
}

/// The class and its category in the schema.
const fn class(action: Action) -> (u64, u64) {
    match (action, action.category()) {
        (Action::Alert | Action::CanaryLeaked, _) => (2004, 2),
        (_, Category::Auth) => (3002, 3),
        (_, Category::Memory) => (6005, 6),
        _ => (6003, 6),
    }
}

fn ocsf(record: &Record) -> Value {
    let event = &record.event;
    let (class, category) = class(event.action);
    let (severity, severity_name) = match event.action.severity(event.result) {
        Severity::Debug | Severity::Info => (1, "Informational"),
        Severity::Warning => (3, "Medium"),
        Severity::Error => (4, "High"),
        Severity::Critical => (5, "Critical"),
    };
    let (status, status_name) =
        if event.result == Result3::Success { (1, "Success") } else { (2, "Failure") };
    let text = |id: Option<String>| id.map_or(Value::Null, Value::String);
    json!({
        "class_uid": class,
        "category_uid": category,
        "activity_id": OTHER,
        "activity_name": word(event.action),
        "type_uid": class * 100 + OTHER,
        "time": record.time_ms,
        "severity_id": severity,
        "severity": severity_name,
        "status_id": status,
        "status": status_name,
        "status_code": word(event.result),
        "status_detail": event.reason,
        "duration": event.duration_ms,
        "metadata": {
            "version": OCSF,
            "product": { "name": "Cordon", "vendor_name": "Cordon" },
            "uid": hex(&record.hash),
            "sequence": record.index,
            "correlation_uid": text(event.call.map(|id| id.to_string())),
        },
        "actor": { "process": { "name": record.witness }, "session": { "uid": text(event.session.map(|id| id.to_string())) } },
        "resources": event.subject.iter().map(|subject| json!({ "name": subject })).collect::<Vec<_>>(),
        "unmapped": {
            "category": event.action.category(),
            "turn": text(event.turn.map(|id| id.to_string())),
            "content_hash": text(event.hash.map(|hash| hex(&hash))),
            "bytes": event.bytes,
            "tokens": event.tokens,
            "label": event.label,
        },
    })
}

/// The severity as syslog and the journal number it.
const fn priority(record: &Record) -> u8 {
    match record.event.action.severity(record.event.result) {
        Severity::Debug => 7,
        Severity::Info => 6,
        Severity::Warning => 4,
        Severity::Error => 3,
        Severity::Critical => 2,
    }
}

/// A line of RFC 5424, facility 13 (log audit), the entry's fields as structured data under the example number.
fn syslog(record: &Record) -> String {
    let event = &record.event;
    let pairs = [
        ("index", Some(record.index.to_string())),
        ("result", Some(word(event.result))),
        ("category", Some(word(event.action.category()))),
        ("session", event.session.map(|id| id.to_string())),
        ("call", event.call.map(|id| id.to_string())),
        ("subject", event.subject.as_ref().map(ToString::to_string)),
        ("reason", event.reason.as_ref().map(ToString::to_string)),
        ("leaf", Some(hex(&record.hash))),
    ];
    let pairs =
        pairs.into_iter().filter_map(|(name, value)| Some(format!(" {name}=\"{}\"", escaped(&value?))));
    let (pri, action) = (13 * 8 + priority(record), word(event.action));
    let pairs = pairs.collect::<String>();
    format!(
        "<{pri}>1 {} - cordon {} {action} [cordon@32473{pairs}]",
        time(record.time_ms),
        escaped(&record.witness)
    )
}

/// Text in structured data: three characters are escaped, and control characters could end the line.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '"' | '\\' | ']' => escaped.extend(['\\', c]),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

pub(super) fn time(ms: u64) -> String {
    let (day, of_day) = (u32::try_from(ms / DAY).unwrap_or(u32::MAX), ms % DAY);
    let (seconds, ms) = (of_day / 1000, of_day % 1000);
    format!("{}T{:02}:{:02}:{:02}.{ms:03}Z", date(day), seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Name;
    use ipc_proto::audit::{Event, Serial};

    fn record(event: Event) -> Record {
        let serial = Serial { life: 1, number: 1 };
        Record {
            index: 7,
            time_ms: 951_827_696_789,
            witness: Name::clip("gate"),
            serial,
            event,
            hash: [1; 32],
        }
    }

    #[test]
    fn a_syslog_line_is_one_line_whatever_a_name_holds() {
        let line = syslog(&record(Event::new(Action::ToolDecided, Result3::Blocked).about("a\"]\n\\<0>1 x")));
        assert!(line.starts_with(
            "<108>1 2000-02-29T12:34:56.789Z - cordon gate tool_decided [cordon@32473 index=\"7\""
        ));
        assert!(line.contains("subject=\"a\\\"\\] \\\\<0>1 x\"") && !line.contains('\n'));
    }

    #[test]
    fn an_ocsf_event_has_what_the_base_event_requires() {
        for (action, result) in [
            (Action::Alert, Result3::Blocked),
            (Action::OperatorRefused, Result3::Blocked),
            (Action::MemoryWritten, Result3::Success),
            (Action::ToolEnded, Result3::Error),
        ] {
            let event = ocsf(&record(Event::new(action, result)));
            for field in
                ["class_uid", "category_uid", "activity_id", "type_uid", "time", "severity_id", "metadata"]
            {
                assert!(!event[field].is_null(), "{field}");
            }
            assert_eq!(event["type_uid"].as_u64(), Some(event["class_uid"].as_u64().unwrap() * 100 + 99));
            assert_eq!(event["class_uid"].as_u64().unwrap() / 1000, event["category_uid"].as_u64().unwrap());
        }
    }
}
