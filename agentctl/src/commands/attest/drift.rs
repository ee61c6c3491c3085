//! Reports of differences to the host, one for each process that has any, for the record and its alerts. The host's
//! answer does not change the findings.

use super::findings::{Finding, Verdict};
use crate::app::App;
use ipc_proto::Name;
use ipc_proto::control::method;
use std::collections::BTreeMap;

/// The outcome of the reports.
#[derive(Debug, Default)]
pub(super) struct Drift {
    /// Processes whose differences are on the record.
    pub(super) recorded: Vec<&'static str>,
    /// Why the others' are not, if there are others.
    pub(super) refused: Option<String>,
}

/// The number of different properties, by process.
pub(super) fn differing(findings: &[Finding]) -> BTreeMap<&'static str, u16> {
    let mut found = BTreeMap::<&'static str, u16>::new();
    for finding in findings.iter().filter(|finding| finding.verdict == Verdict::Different) {
        let count = found.entry(finding.process).or_default();
        *count = count.saturating_add(1);
    }
    found
}

/// Reports to the host. A refusal holds for every report, so the first one ends the reporting.
pub(super) async fn report(app: &App, differing: &BTreeMap<&'static str, u16>) -> Drift {
    let mut drift = Drift::default();
    for (process, properties) in differing {
        let (name, properties) = (Name::clip(process), *properties);
        let reported =
            app.link.ask(&method::drift, async |c, cx| c.drift(cx, name.clone(), properties).await);
        if let Err(failure) = reported.await {
            drift.refused = Some(failure.to_string());
            break;
        }
        drift.recorded.push(process);
    }
    drift
}

impl Drift {
    /// Says what is on the record, and what is not.
    pub(super) fn print(&self, app: &App) -> std::io::Result<()> {
        if !self.recorded.is_empty() {
            app.out.line(&format!("on the record: {}", self.recorded.join(", ")))?;
        }
        if let Some(why) = &self.refused {
            app.out.line(&format!("not on the record: the host did not take the report ({why})"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(process: &'static str, verdict: Verdict) -> Finding {
        Finding {
            process,
            pid: None,
            property: "Seccomp",
            expected: "2".to_owned(),
            found: "0".to_owned(),
            verdict,
            reason: String::new(),
        }
    }

    #[test]
    fn a_differing_process_is_reported_once_with_its_count() {
        let findings = [
            finding("memory", Verdict::Different),
            finding("router", Verdict::Equal),
            finding("memory", Verdict::Different),
            finding("gate", Verdict::Unreadable),
        ];
        assert_eq!(differing(&findings), BTreeMap::from([("memory", 2)]));
    }
}
