//! Probes of a person's own: each a command in a runner's jail, in a session that is thrown away, by the very path that
//! `sandbox run` takes. After each the host is looked at: what was contained has changed nothing there.

use super::file::{self, Come, Probe, Wish};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{sandbox, statistics, status, turn};
use ipc_proto::control::HostStatus;
use ipc_proto::router::{End, SessionName, Task};
use ipc_proto::{List, Text};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// Statuses by which a shell says that there is no such program, or that it is none.
const NO_PROGRAM: [u8; 2] = [126, 127];

/// How a command came out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// It ended with this status.
    Ended(u8),
    /// A limit of its jail ended it; the word for which.
    Limited(&'static str),
    /// It did not run, or was not let end, and why.
    Not(String),
}

/// What came of one probe.
pub(super) struct Ran {
    id: String,
    attempt: Option<String>,
    wish: Wish,
    came: Came,
    /// What is not as it was on the host.
    harm: Option<String>,
    /// Whether the record says that it ran; `None` if that was not asked for.
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
    let before = status::read(app).await?;
    let session: SessionName = Text::clip(&format!("redteam-{}", uuid::Uuid::new_v4()));
    let words = ["sh", "-c", probe.command.as_str()].map(Text::clip);
    let task = Task::Command { argv: List::clip(words) };
    let ask = turn::ask(session.clone(), None, Text::clip(&probe.command), task);
    let played = turn::play(app, &ask, |_| Ok(())).await;
    // Looked at before the session goes: what it is called by on the record goes with it.
    let audited = match (&played, probe.wish.audited) {
        (_, false) => None,
        (Ok(ended), true) => {
            Some(statistics::has_just_recorded(app, ended.accepted.session).await.unwrap_or(false))
        }
        (Err(_), true) => Some(false),
    };
    sandbox::forget(app, &session, true).await;
    let came = match played {
        Ok(ended) => came(&ended.finished.end),
        Err(failure @ (Failure::Interrupted | Failure::Output(_))) => return Err(failure),
        Err(failure) => Came::Not(failure.to_string()),
    };
    let harm = harm(&before, &status::read(app).await?);
    Ok(Ran { id: probe.id, attempt: probe.attempt, wish: probe.wish, came, harm, audited })
}

fn came(end: &End) -> Came {
    match end {
        End::Exited { status } => Came::Ended(*status),
        End::TimedOut => Came::Limited("time"),
        End::OverLimit(_) => Came::Limited("limit"),
        other => Came::Not(turn::sentence(other)),
    }
}

/// A process that ended or began meanwhile. That nobody else restarts one at the same time is the person's to see to.
pub(super) fn harm(before: &HostStatus, after: &HostStatus) -> Option<String> {
    let of = |host: &HostStatus, name: &str| {
        host.processes.iter().find(|it| it.name.as_str() == name).map(|it| (it.pid, it.generation))
    };
    let changed = before.processes.iter().find(|it| of(before, &it.name) != of(after, &it.name));
    changed.map(|it| format!("{} is another process than before", it.name))
}

impl Ran {
    #[cfg(test)]
    pub(super) const fn new(wish: Wish, came: Came, harm: Option<String>, audited: Option<bool>) -> Self {
        Self { id: String::new(), attempt: None, wish, came, harm, audited }
    }

    /// Returns whether it came out as it must not.
    pub(super) fn surprises(&self) -> bool {
        let as_wished = match (self.wish.come, &self.came) {
            (_, Came::Not(_)) => false,
            (Come::Ok, came) => *came == Came::Ended(0),
            // That there was no such program refuses nothing.
            (Come::Refused, Came::Ended(status)) => *status != 0 && !NO_PROGRAM.contains(status),
            (Come::Refused, Came::Limited(_)) | (Come::Contained, _) => true,
        };
        !as_wished || self.harm.is_some() || self.audited == Some(false)
    }

    fn sight(&self) -> String {
        let mut sight = match &self.came {
            Came::Ended(status) => format!("status {status}"),
            Came::Limited(which) => format!("ended by its {which}"),
            Came::Not(why) => why.clone(),
        };
        if let Some(harm) = &self.harm {
            sight.push_str(&format!("; {harm}"));
        }
        if self.audited == Some(false) {
            sight.push_str("; not on the record");
        }
        sight
    }

    fn cells(&self) -> Vec<String> {
        let result = if self.surprises() { "surprise" } else { "expected" };
        let cells = [self.id.as_str(), "runner", self.wish.word(), &self.sight(), result];
        cells.map(str::to_owned).to_vec()
    }

    fn json(&self) -> Value {
        json!({
            "probe": self.id,
            "profile": "runner",
            "tries": self.attempt,
            "expected": self.wish.word(),
            "seen": self.sight(),
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
