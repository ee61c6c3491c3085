//! `audit verify`: checks the record in its folder if the caller can read that, else asks audit for its own check.

use super::PROGRAM;
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{host, places, sibling, text, view};
use ipc_proto::audit::{Late, Report, UNSIGNED_MS};
use ipc_proto::control::method;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The file by which a record's folder is known.
const PUBLIC: &str = "key.pub";

/// `audit verify`.
#[derive(clap::Args)]
pub(crate) struct Verify {
    /// Check the record in this folder, without a host; the host's own by default
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The record's public key from a safe place; the folder's own by default
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// A checkpoint from a safe place: the record must extend it
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// A copy of the record: the entries that both have must be the same
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
}

/// The record's folder: the named one, else that of the host that answers, else a usual one. `None` if it cannot be read
/// from here.
pub(super) async fn folder(app: &App, named: Option<PathBuf>) -> Result<Option<PathBuf>, Failure> {
    if named.is_some() {
        return Ok(named);
    }
    let readable = |folder: &PathBuf| std::fs::File::open(folder.join(PUBLIC)).is_ok();
    match host::status(app).await {
        Ok(host) => Ok(Some(Path::new(&*host.state_dir).join("audit")).filter(readable)),
        Err(Failure::Unreachable { path, others, cause }) => {
            let states = std::iter::once(PathBuf::from(places::SYSTEM_STATE)).chain(places::user_state());
            let found = states.map(|state| state.join("audit")).find(readable);
            found.map(Some).ok_or(Failure::Unreachable { path, others, cause })
        }
        Err(failure) => Err(failure),
    }
}

/// The arguments of an offline command: its name and its options that have a value.
pub(super) fn offline_arguments(name: &str, options: &[(&str, Option<&Path>)]) -> Vec<OsString> {
    let options = options.iter().filter_map(|(name, value)| Some([OsString::from(name), (*value)?.into()]));
    ["--offline", name].map(OsString::from).into_iter().chain(options.flatten()).collect()
}

/// Checks the record.
pub(crate) async fn verify(app: &App, verify: Verify) -> Outcome {
    let alone = verify.key.is_none() && verify.checkpoint.is_none() && verify.against.is_none();
    let Some(folder) = folder(app, verify.dir).await? else {
        if alone {
            return by_audit(app).await;
        }
        return Err(Failure::Usage(
            "the record's folder cannot be read from here; name a copy with --dir".to_owned(),
        ));
    };
    let options = [
        ("--dir", Some(folder.as_path())),
        ("--key", verify.key.as_deref()),
        ("--checkpoint", verify.checkpoint.as_deref()),
        ("--against", verify.against.as_deref()),
    ];
    offline(app, &offline_arguments("verify", &options))
}

/// Runs the audit program on a folder, and shows its findings.
pub(super) fn offline(app: &App, offline_arguments: &[OsString]) -> Outcome {
    let json = OsString::from("--json");
    let arguments: Vec<&std::ffi::OsStr> =
        offline_arguments.iter().chain([&json]).map(OsString::as_os_str).collect();
    let output = sibling::run(PROGRAM, &arguments)?;
    let document: Value = serde_json::from_slice(&output.stdout).map_err(|_| {
        let complaint = String::from_utf8_lossy(&output.stderr);
        Failure::Program { name: PROGRAM, why: text::begin(&complaint, 300) }
    })?;
    let holds = output.status.success();
    if app.out.json {
        app.out.json_line(&document)?;
    } else if holds {
        app.out.pairs(&lines(&document))?;
    } else {
        complain(app, &document);
    }
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn complain(app: &App, document: &Value) {
    let word = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if document.get("trustworthy").is_none() {
        // The program did not reach the record.
        return app.out.complain(word("/error/type"), word("/error/message"));
    }
    let faults = document.get("faults").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let others = faults.iter().filter_map(|fault| fault.get("message")?.as_str());
    for message in others.filter(|message| *message != word("/error/message")) {
        app.out.complain("broken", message);
    }
    app.out.complain(word("/error/type"), &format!("the record does not hold: {}", word("/error/message")));
    app.out.remark(&format!("trustworthy: {}", word("/trustworthy")));
    if let Some(late) = late(document) {
        app.out.remark(&warning(&late));
    }
}

/// The program's findings, as names and values.
fn lines(document: &Value) -> Vec<(&'static str, String)> {
    let text =
        |key: &str| document.get(key).map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
    let known = ["origin", "entries", "signed", "sealed", "head"]
        .into_iter()
        .filter_map(|key| Some((key, text(key)?)));
    let key = text("key_from").map(|from| ("key from", from));
    let gaps = document.get("gaps").and_then(Value::as_array).map_or(0, Vec::len);
    let gaps =
        (gaps > 0).then(|| ("gaps", format!("{gaps} (holes in witnesses' own counts; --json lists them)")));
    let late = late(document).map(|late| ("warning", warning(&late)));
    std::iter::once(("record", "holds".to_owned())).chain(known).chain(key).chain(gaps).chain(late).collect()
}

/// The entries that wait too long for a signature, as the program reports them.
fn late(document: &Value) -> Option<Late> {
    serde_json::from_value(document.get("late")?.clone()).ok()
}

/// The warning about entries that wait too long for a signature.
fn warning(late: &Late) -> String {
    let (since, seconds) = (text::utc(late.since_ms), UNSIGNED_MS / 1000);
    format!(
        "{} entries since {since} wait for a signature, longer than the {seconds} s they may",
        late.entries
    )
}

/// Asks audit to verify the record.
async fn by_audit(app: &App) -> Outcome {
    let report = app.link.ask(&method::audit_verify, async |c, cx| c.audit_verify(cx).await).await?;
    let mut document = view::report(&report);
    if report.broken_at.is_none() && report.fault.is_none() {
        return Ok(app.out.facts(document, &facts(&report))?);
    }
    let message = format!(
        "the record does not hold{}: {}",
        report.broken_at.map(|index| format!(" at entry {index}")).unwrap_or_default(),
        report.fault.as_ref().map_or("no reason given", |fault| fault.as_str()),
    );
    if app.out.json {
        if let Some(map) = document.as_object_mut() {
            map.insert("ok".to_owned(), Value::Bool(false));
            map.insert("error".to_owned(), json!({ "type": "broken", "message": message }));
        }
        app.out.json_line(&document)?;
    } else {
        app.out.complain("broken", &message);
    }
    Ok(ExitCode::FAILURE)
}

fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let known = [
        ("record", "holds".to_owned()),
        ("entries", report.entries.to_string()),
        ("head", text::hex(&report.head)),
    ];
    let late = report.late.as_ref().map(|late| ("warning", warning(late)));
    known.into_iter().chain(late).collect()
}
