//! The result of a comparison, property by property, as a list and as JSON. Pure.

use crate::kernel::Reading;
use manifest::Process;
use serde_json::{Value, json};

/// The result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The kernel says what the table says.
    Equal,
    /// It says something else.
    Different,
    /// It does not say.
    Unreadable,
}

/// One property of one process.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// The process.
    pub(crate) process: &'static str,
    /// Its pid, of which runners have one each; none for what holds their limits.
    pub(crate) pid: Option<u32>,
    /// The property, by the kernel's name where it has one.
    pub(crate) property: &'static str,
    /// The value by the table.
    pub(crate) expected: String,
    /// The value by the kernel.
    pub(crate) found: String,
    /// The result.
    pub(crate) verdict: Verdict,
    /// Why it is unreadable or different, or what is special about it.
    pub(crate) reason: String,
}

impl Finding {
    const fn word(&self) -> &'static str {
        match self.verdict {
            Verdict::Equal => "equal",
            Verdict::Different => "different",
            Verdict::Unreadable => "unreadable",
        }
    }

    /// As JSON.
    pub(crate) fn json(&self) -> Value {
        json!({
            "process": self.process,
            "pid": self.pid,
            "property": self.property,
            "expected": self.expected,
            "found": self.found,
            "verdict": self.word(),
            "reason": self.reason,
        })
    }

    /// As cells of a table.
    pub(crate) fn cells(&self) -> Vec<String> {
        let Self { property, expected, found, reason, .. } = self;
        let process = match self.pid.filter(|_| self.is_of_a_runner()) {
            Some(pid) => format!("{} {pid}", self.process),
            None => self.process.to_owned(),
        };
        [process.as_str(), property, expected, found, self.word(), reason].map(str::to_owned).to_vec()
    }

    /// Returns true if it is of one of the processes of which there are several, and other ones each time.
    pub(crate) fn is_of_a_runner(&self) -> bool {
        self.pid.is_some() && manifest::row_named(self.process).is_some_and(|row| row.process.is_runner())
    }
}

/// A finding: `ok` judges a value that was read; any other is unreadable.
pub(super) fn finding(
    process: Process,
    property: &'static str,
    expected: impl Into<String>,
    reading: Reading<String>,
    ok: impl Fn(&str) -> bool,
) -> Finding {
    let expected = expected.into();
    let name = process.name();
    let finding = |found, verdict, reason| Finding {
        process: name,
        pid: None,
        property,
        expected,
        found,
        verdict,
        reason,
    };
    match reading {
        Err(reason) => finding(String::new(), Verdict::Unreadable, reason),
        Ok(found) if ok(&found) => finding(found, Verdict::Equal, String::new()),
        Ok(found) => finding(found, Verdict::Different, String::new()),
    }
}

/// Marks the findings as those of this process.
pub(super) fn of(pid: u32, findings: Vec<Finding>) -> Vec<Finding> {
    findings.into_iter().map(|finding| Finding { pid: Some(pid), ..finding }).collect()
}
