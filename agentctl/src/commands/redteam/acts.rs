//! The catalogue's acts: control tries each for each row, a few at a time, and the result is compared with the row.

use crate::app::App;
use crate::failure::Failure;
use crate::host;
use ipc_proto::Name;
use ipc_proto::control::{HostStatus, method};
use manifest::Row;
use manifest::acts::{ACTS, Act, Expected, Seen};
use manifest::command::Mode;
use nix::errno::Errno;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::process::ExitCode;

/// The result of one act in one jail.
pub(crate) struct Finding {
    pub(crate) act: &'static Act,
    pub(crate) row: &'static Row,
    expected: Expected,
    seen: Seen,
}

/// The results of all acts.
pub(crate) struct Tried {
    pub(crate) findings: Vec<Finding>,
    /// Why the host did not put the run on its record, if it did not.
    not_recorded: Option<String>,
}

/// An act to be tried.
type Asked = (usize, &'static Act, &'static Row, Expected);

/// Tries every act of the catalogue that `wanted` admits, by row and act, in the jails of this host.
///
/// # Errors
/// Control's own, such as that only the owner may; a host that does not answer is a failure too.
pub(crate) async fn every_act(app: &App, wanted: impl Fn(&str, &str) -> bool) -> Result<Tried, Failure> {
    let host = host::status(app).await?;
    let mode = mode(&host)?;
    let rows = manifest::TABLE.iter().filter(|row| is_there(&host, row));
    let all = rows.flat_map(|row| ACTS.iter().map(move |act| (act, row)));
    let asked = all
        .filter(|(act, row)| wanted(row.process.name(), act.id))
        .filter_map(|(act, row)| Some((act, row, act.expected(row, mode)?)))
        .enumerate()
        .map(|(n, (act, row, expected))| (n, act, row, expected));
    let (asked, found) = (RefCell::new(asked.collect::<VecDeque<Asked>>()), RefCell::new(Vec::new()));
    let one = || worker(app, &asked, &found);
    // As many as agentd launches at once.
    tokio::try_join!(one(), one(), one(), one())?;
    let mut found = found.into_inner();
    found.sort_by_key(|(n, _)| *n);
    let findings: Vec<Finding> = found.into_iter().map(|(_, finding)| finding).collect();
    let not_recorded = if findings.is_empty() { None } else { report(app, &findings).await };
    Ok(Tried { findings, not_recorded })
}

async fn worker(
    app: &App,
    asked: &RefCell<VecDeque<Asked>>,
    found: &RefCell<Vec<(usize, Finding)>>,
) -> Result<(), Failure> {
    loop {
        let next = asked.borrow_mut().pop_front();
        let Some((n, act, row, expected)) = next else { return Ok(()) };
        let (name, id) = (Name::clip(row.process.name()), Name::clip(act.id));
        let call = async |c: ipc_proto::control::ControlClient, cx: tarpc::context::Context| {
            c.probe(cx, name.clone(), id.clone()).await
        };
        let probed = app.link.ask(&method::probe, call).await?;
        found.borrow_mut().push((n, Finding { act, row, expected, seen: probed.seen() }));
    }
}

/// Records that there was a run. Control records every surprise itself.
async fn report(app: &App, findings: &[Finding]) -> Option<String> {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let surprises = count(findings.iter().filter(|finding| finding.surprises()).count());
    let (acts, call) = (count(findings.len()), &method::probed);
    let recorded = app.link.ask(call, async |c, cx| c.probed(cx, acts, surprises).await).await;
    recorded.err().map(|failure| failure.to_string())
}

fn mode(host: &HostStatus) -> Result<Mode, Failure> {
    match host.mode.as_str() {
        "system" => Ok(Mode::System),
        "user" => Ok(Mode::User),
        "flat" => Ok(Mode::Flat),
        other => {
            let message =
                format!("the host says that its mode is {other}, which this agentctl does not know");
            Err(Failure::Turn { kind: "mode", message })
        }
    }
}

/// Rows that the configuration removed are not tried: no process has their jail.
fn is_there(host: &HostStatus, row: &Row) -> bool {
    row.process.is_runner() || host.processes.iter().any(|it| it.name.as_str() == row.process.name())
}

impl Finding {
    /// For tests.
    #[cfg(test)]
    pub(super) const fn new(act: &'static Act, row: &'static Row, expected: Expected, seen: Seen) -> Self {
        Self { act, row, expected, seen }
    }

    /// Returns true if the result is not the expected one.
    pub(crate) fn surprises(&self) -> bool {
        !self.seen.fits(self.expected)
    }

    pub(super) fn cells(&self) -> Vec<String> {
        let result = if self.surprises() { "surprise" } else { "expected" };
        let cells = [self.act.id, self.row.process.name(), self.expectation(), &self.description(), result];
        cells.map(str::to_owned).to_vec()
    }

    fn json(&self) -> Value {
        let why = if let Expected::Contained(why) = self.expected { Some(why) } else { None };
        json!({
            "probe": self.act.id,
            "profile": self.row.process.name(),
            "tries": self.act.tries,
            "expected": self.expectation(),
            "because": why,
            "seen": self.description(),
            "surprise": self.surprises(),
        })
    }

    const fn expectation(&self) -> &'static str {
        match self.expected {
            Expected::Refused => "refused",
            Expected::Contained(_) => "contained",
        }
    }

    fn description(&self) -> String {
        match self.seen {
            Seen::Refused(errno) => format!("refused {}", errno_name(errno)),
            Seen::Killed(signal) => format!("killed {}", signal_name(signal)),
            Seen::Succeeded => "succeeded".to_owned(),
            Seen::NotHere => "nothing to try it on".to_owned(),
            Seen::Unprepared => "could not be made ready".to_owned(),
            Seen::TimedOut => "did not end in time".to_owned(),
            Seen::NotLaunched(errno) => format!("not launched {}", errno_name(errno)),
        }
    }
}

fn errno_name(errno: u8) -> String {
    match Errno::from_raw(errno.into()) {
        Errno::UnknownErrno => errno.to_string(),
        known => format!("{known:?}"),
    }
}

fn signal_name(signal: u8) -> String {
    Signal::try_from(i32::from(signal)).map_or_else(|_| signal.to_string(), |known| known.as_str().to_owned())
}

impl Tried {
    #[cfg(test)]
    pub(super) const fn new(findings: Vec<Finding>) -> Self {
        Self { findings, not_recorded: None }
    }

    /// The surprises.
    pub(crate) fn surprises(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.surprises())
    }

    /// One surprise is a failure.
    pub(crate) fn exit(&self) -> ExitCode {
        if self.surprises().next().is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn untried(&self) -> usize {
        self.findings.iter().filter(|finding| finding.seen == Seen::NotHere).count()
    }

    /// The line that sums it up.
    pub(crate) fn sentence(&self) -> String {
        let (tried, surprises, untried) = (self.findings.len(), self.surprises().count(), self.untried());
        let mut profiles: Vec<&str> =
            self.findings.iter().map(|finding| finding.row.process.name()).collect();
        profiles.dedup();
        let mut sentence = match surprises {
            0 => format!("{tried} probes in {} profiles, no surprise", profiles.len()),
            _ => format!("{tried} probes in {} profiles, {surprises} surprises", profiles.len()),
        };
        if untried > 0 {
            sentence.push_str(&format!("; {untried} of them have nothing to try it on here"));
        }
        if let Some(why) = &self.not_recorded {
            sentence.push_str(&format!("; not on the record: {why}"));
        }
        sentence
    }

    /// The same as JSON.
    pub(crate) fn document(&self) -> Value {
        let surprises = self.surprises().count();
        let mut document = json!({
            "ok": surprises == 0,
            "summary": {
                "tried": self.findings.len(),
                "surprises": surprises,
                "nothing_to_try": self.untried(),
            },
            "rows": self.findings.iter().map(Finding::json).collect::<Vec<_>>(),
            "not_recorded": self.not_recorded,
        });
        if let (true, Some(map)) = (surprises > 0, document.as_object_mut()) {
            let message = format!("{surprises} probes came out as they must not");
            map.insert("error".to_owned(), json!({ "type": "surprise", "message": message }));
        }
        document
    }
}
