//! The record in a backup, held by the same program and the same check as `agentctl audit verify --dir`.

use crate::failure::Failure;
use crate::{sibling, text};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;

/// The program that checks.
const PROGRAM: &str = "audit";

/// The result of the check of a record.
pub(super) struct Record {
    /// Its entries.
    pub(super) entries: u64,
    /// Its origin: the name of the log.
    pub(super) origin: String,
    /// Why it does not hold.
    pub(super) fault: Option<String>,
}

/// Checks the record in `folder`. An unfinished last write is not a fault in a copy of one instant: the next start cuts it
/// off, and nothing depended on it.
///
/// # Errors
/// The program is not there or gives no answer.
pub(super) fn check(folder: &Path) -> Result<Record, Failure> {
    let words = [
        OsStr::new("--offline"),
        OsStr::new("verify"),
        OsStr::new("--dir"),
        folder.as_os_str(),
        OsStr::new("--json"),
    ];
    let output = sibling::run(PROGRAM, &words)?;
    let document: Value = serde_json::from_slice(&output.stdout).map_err(|_| {
        let complaint = String::from_utf8_lossy(&output.stderr);
        Failure::Program { name: PROGRAM, why: text::begin(&complaint, 300) }
    })?;
    let word =
        |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let holds = output.status.success() || is_torn_alone(&document);
    Ok(Record {
        entries: document.get("entries").and_then(Value::as_u64).unwrap_or_default(),
        origin: word("/origin"),
        fault: (!holds)
            .then(|| format!("{} (trustworthy: {})", word("/error/message"), word("/trustworthy"))),
    })
}

fn is_torn_alone(document: &Value) -> bool {
    let faults = document.get("faults").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let count = document.get("fault_count").and_then(Value::as_u64);
    let torn = |fault: &Value| fault.get("type").and_then(Value::as_str) == Some("torn");
    !faults.is_empty() && count == u64::try_from(faults.len()).ok() && faults.iter().all(torn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_write_that_was_not_finished_is_no_fault_and_anything_beside_it_is() {
        let torn = json!({ "type": "torn" });
        let cases = [
            (json!({ "fault_count": 1, "faults": [torn] }), true),
            (json!({ "fault_count": 2, "faults": [torn] }), false),
            (json!({ "fault_count": 2, "faults": [torn, { "type": "edited" }] }), false),
            (json!({ "fault_count": 0, "faults": [] }), false),
            (json!({}), false),
        ];
        for (document, alone) in cases {
            assert_eq!(is_torn_alone(&document), alone, "{document}");
        }
    }
}
