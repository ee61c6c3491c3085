//! The last lines of every process, each judged by the scanner's own program first: a line in which it finds anything is
//! left out, and without the scanner there are no lines.

use super::Member;
use crate::app::App;
use crate::commands::{doctor, logs};
use crate::{sibling, text};
use ipc_proto::control::HostStatus;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Lines of one process that are shown.
const LINES: usize = 200;
/// Bytes of a log file that are read, from its end.
const TAIL: u64 = 256 << 10;

/// A process and its last lines.
type Log = (String, Vec<String>);

/// The processes' logs, from a running host or from the files of a stopped one.
pub(super) async fn members(app: &App, host: Option<&HostStatus>) -> Vec<Member> {
    let logs = match logs::last(app).await {
        Ok(logs) => logs,
        Err(_) => left(&host.map_or_else(doctor::state, |host| PathBuf::from(host.state_dir.as_str()))),
    };
    logs.into_iter().map(|(name, lines)| member(&name, &lines)).collect()
}

/// The log files of a stopped host, as far as the caller may read them.
fn left(state: &Path) -> Vec<Log> {
    let files =
        std::fs::read_dir(state.join("logs")).into_iter().flatten().flatten().map(|entry| entry.path());
    let of = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".log")?.to_owned();
        let lines = String::from_utf8_lossy(&end(&path).ok()?).lines().map(str::to_owned).collect();
        Some((name, lines))
    };
    let mut logs: Vec<Log> = files.filter_map(of).collect();
    logs.sort();
    logs
}

fn end(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn member(name: &str, lines: &[String]) -> Member {
    let lines: Vec<&str> = lines.iter().skip(lines.len().saturating_sub(LINES)).map(String::as_str).collect();
    let shown = match judged(&lines) {
        Some(verdicts) => lines.iter().zip(verdicts).map(|(line, verdict)| shown(line, &verdict)).collect(),
        None => "left out: the scanner could not judge them\n".to_owned(),
    };
    Member::new(format!("logs/{name}.log"), "its last lines", shown)
}

/// The scanner's findings for each line; `None` unless it judged every line.
fn judged(lines: &[&str]) -> Option<Vec<Value>> {
    let input: String = lines.iter().map(|line| format!("{}\n", json!({ "text": line }))).collect();
    let words = ["--offline", "scan", "--direction", "output", "--profile", "paranoid"].map(OsStr::new);
    let output = sibling::fed("scanner", &words, input.into_bytes()).ok()?;
    let verdicts: Vec<Value> = output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    (output.status.success() && verdicts.len() == lines.len()).then_some(verdicts)
}

/// The escaped line, or the scanner's findings in it.
fn shown(line: &str, verdict: &Value) -> String {
    let none = |part: &str| verdict.get(part).and_then(Value::as_array).is_some_and(Vec::is_empty);
    let well = verdict.get("verdict").and_then(Value::as_str) == Some("PASS");
    if well && none("rules") && none("spans") {
        return format!("{}\n", text::line(line));
    }
    "(left out: the scanner found something in it)\n".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P2-28.
    #[test]
    fn a_line_is_shown_only_where_nothing_at_all_was_found_in_it() {
        let clean = json!({ "verdict": "PASS", "rules": [], "spans": [], "threats": [] });
        assert_eq!(shown("ready\u{1b}", &clean), format!("{}\n", text::line("ready\u{1b}")));
        for found in [
            json!({ "verdict": "BLOCK", "rules": [], "spans": [] }),
            json!({ "verdict": "PASS", "rules": ["r"], "spans": [] }),
            json!({ "verdict": "PASS", "rules": [], "spans": [[0, 5]] }),
            json!({}),
        ] {
            assert!(!shown("hunter2", &found).contains("hunter2"), "{found}");
        }
    }

    #[test]
    fn a_log_is_read_from_its_end() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("logs")).unwrap();
        let many = "x".repeat(usize::try_from(TAIL).unwrap());
        std::fs::write(folder.path().join("logs/router.log"), format!("first\n{many}\nlast\n")).unwrap();
        let logs = left(folder.path());
        let (name, lines) = logs.first().unwrap();
        assert_eq!((name.as_str(), lines.last().map(String::as_str)), ("router", Some("last")));
        assert!(!lines.iter().any(|line| line == "first"));
    }
}
