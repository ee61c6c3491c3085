//! Probes of a person's own: each a command in a runner's jail, in a session that is thrown away, on the same path as
//! `sandbox run`. After each the host is checked: a contained probe has changed nothing there.

use super::file::{self, Ending, Expectation, Probe};
use crate::app::{App, Outcome};
use crate::commands::{sandbox, statistics};
use crate::failure::Failure;
use crate::{host, turn, turn_end};
use ipc_proto::control::HostStatus;
use ipc_proto::router::{End, SessionName, Task};
use ipc_proto::{List, Text};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// Statuses of a shell for a missing program, or one that cannot be run.
const NO_PROGRAM: [u8; 2] = [126, 127];

/// The observed ending of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Observed {
    /// It ended with this status.
    Ended(u8),
    /// A limit of its jail ended it; the name of the limit.
    Limited(&'static str),
    /// It did not run, or was not let end, and why.
    Not(String),
}

/// The result of one probe.
pub(super) struct Ran {
    id: String,
    attempt: Option<String>,
    expectation: Expectation,
    observed: Observed,
    /// The change to the host, if there is one.
    harm: Option<String>,
    /// True if the record has its run; `None` if that was not checked.
    audited: Option<bool>,
}

/// Runs every probe of a file.
pub(super) async fn run(app: &App, path: &Path) -> Outcome {
    let bytes = fs::read(path).map_err(|cause| Failure::File { path: path.to_owned(), cause })?;
    let probes = file::read(&bytes).map_err(|wrong| Failure::Malformed {
        path: path.to_owned(),
        line: wrong.line,
        why: wrong.why,
    })?;
    let mut results = Vec::new();
    for probe in probes {
        results.push(attempt(app, probe).await?);
    }
    let surprises = results.iter().filter(|result| result.surprises()).count();
    let sentence = match surprises {
        0 => format!("{} probes in the runner's jail, no surprise", results.len()),
        _ => format!(
            "{} probes in the runner's jail, {surprises} of them came out as they must not",
            results.len()
        ),
    };
    if app.out.json {
        app.out.json_line(&document(&results, surprises))?;
    } else {
        let rows = results.iter().map(Ran::cells);
        app.out.table(&["PROBE", "PROFILE", "EXPECTED", "SEEN", "RESULT"], rows.collect())?;
        app.out.line(&format!("\n{sentence}"))?;
    }
    Ok(if surprises == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn attempt(app: &App, probe: Probe) -> Result<Ran, Failure> {
    let before = host::status(app).await?;
    let session: SessionName = Text::clip(&format!("redteam-{}", uuid::Uuid::new_v4()));
    let words = ["sh", "-c", probe.command.as_str()].map(Text::clip);
    let task = Task::Command { argv: List::clip(words) };
    let ask = turn::ask(session.clone(), None, Text::clip(&probe.command), task);
    let played = turn::play(app, &ask, |_| Ok(())).await;
    // Read before the session is removed, since its id on the record goes with it.
    let audited = match (&played, probe.expectation.audited) {
        (_, false) => None,
        (Ok(ended), true) => {
            Some(statistics::has_just_recorded(app, ended.accepted.session).await.unwrap_or(false))
        }
        (Err(_), true) => Some(false),
    };
    sandbox::forget(app, &session, true).await;
    let observed = match played {
        Ok(ended) => observed(&ended.finished.end),
        Err(failure @ (Failure::Interrupted | Failure::Output(_))) => return Err(failure),
        Err(failure) => Observed::Not(failure.to_string()),
    };
    let harm = harm(&before, &host::status(app).await?);
    Ok(Ran { id: probe.id, attempt: probe.attempt, expectation: probe.expectation, observed, harm, audited })
}

fn observed(end: &End) -> Observed {
    match end {
        End::Exited { status } => Observed::Ended(*status),
        End::TimedOut => Observed::Limited("time"),
        End::OverLimit(_) => Observed::Limited("limit"),
        other => Observed::Not(turn_end::sentence(other)),
    }
}

/// A process that ended or started meanwhile. The person must see to it that nobody else restarts one at the same time.
pub(super) fn harm(before: &HostStatus, after: &HostStatus) -> Option<String> {
    let of = |host: &HostStatus, name: &str| {
        host.processes.iter().find(|it| it.name.as_str() == name).map(|it| (it.pid, it.generation))
    };
    let changed = before.processes.iter().find(|it| of(before, &it.name) != of(after, &it.name));
    changed.map(|it| format!("{} is another process than before", it.name))
}

impl Ran {
    #[cfg(test)]
    pub(super) const fn new(
        expectation: Expectation,
        observed: Observed,
        harm: Option<String>,
        audited: Option<bool>,
    ) -> Self {
        Self { id: String::new(), attempt: None, expectation, observed, harm, audited }
    }

    /// Returns true if the result is not the expected one.
    pub(super) fn surprises(&self) -> bool {
        let as_expected = match (self.expectation.ending, &self.observed) {
            (_, Observed::Not(_)) => false,
            (Ending::Ok, observed) => *observed == Observed::Ended(0),
            // A missing program is not a refusal.
            (Ending::Refused, Observed::Ended(status)) => *status != 0 && !NO_PROGRAM.contains(status),
            (Ending::Refused, Observed::Limited(_)) | (Ending::Contained, _) => true,
        };
        !as_expected || self.harm.is_some() || self.audited == Some(false)
    }

    fn description(&self) -> String {
        let mut description = match &self.observed {
            Observed::Ended(status) => format!("status {status}"),
            Observed::Limited(which) => format!("ended by its {which}"),
            Observed::Not(why) => why.clone(),
        };
        if let Some(harm) = &self.harm {
            description.push_str(&format!("; {harm}"));
        }
        if self.audited == Some(false) {
            description.push_str("; not on the record");
        }
        description
    }

    fn cells(&self) -> Vec<String> {
        let result = if self.surprises() { "surprise" } else { "expected" };
        let cells = [self.id.as_str(), "runner", self.expectation.word(), &self.description(), result];
        cells.map(str::to_owned).to_vec()
    }

    fn json(&self) -> Value {
        json!({
            "probe": self.id,
            "profile": "runner",
            "tries": self.attempt,
            "expected": self.expectation.word(),
            "seen": self.description(),
            "audited": self.audited,
            "surprise": self.surprises(),
        })
    }
}

fn document(results: &[Ran], surprises: usize) -> Value {
    let mut document = json!({
        "ok": surprises == 0,
        "summary": { "tried": results.len(), "surprises": surprises },
        "rows": results.iter().map(Ran::json).collect::<Vec<_>>(),
    });
    if let (true, Some(map)) = (surprises > 0, document.as_object_mut()) {
        let message = format!("{surprises} probes came out as they must not");
        map.insert("error".to_owned(), json!({ "type": "surprise", "message": message }));
    }
    document
}
