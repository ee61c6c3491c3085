//! A report as the interface carries it: bounded, and with the text redacted where secrets were found. Pure.

use crate::rules::Class;
use crate::{Engine, Report};
use ipc_proto::scanner::{Conversation, SCAN_BOUND, Span, Verdict};
use ipc_proto::{List, Name, Text, label};

/// The verdict of a report on `text`.
#[must_use]
pub fn verdict(engine: &Engine, text: &str, report: &Report, conversation: Conversation) -> Verdict {
    let secrets = of_class(report, Class::Secret);
    let redacted: Option<Text<SCAN_BOUND>> = (secrets > 0).then(|| Text::clip(&engine.redact(text, report)));
    Verdict {
        judgement: report.judgement,
        score: thousandths(report.score),
        rules: rules(report),
        canary_leaked: report.canary_leaked,
        class: class(report),
        redacted,
        threats: List::clip(report.threats.iter().copied()),
        spans: spans(report),
        held_secret: report.held_secret,
        conversation,
    }
}

/// How many findings are of this class.
#[must_use]
pub fn of_class(report: &Report, class: Class) -> usize {
    report.findings.iter().filter(|finding| finding.family.class() == class).count()
}

/// The class that the content itself shows: keys are secret, personal data is sensitive.
fn class(report: &Report) -> label::Class {
    if of_class(report, Class::Secret) > 0 {
        label::Class::Secret
    } else if of_class(report, Class::Personal) > 0 {
        label::Class::Sensitive
    } else {
        label::Class::Public
    }
}

fn rules(report: &Report) -> List<Name, 32> {
    let mut names: Vec<Name> = report.findings.iter().map(|finding| Name::clip(finding.rule)).collect();
    names.sort();
    names.dedup();
    List::clip(names)
}

/// Places in the text as it was given, by start; what several rules found is named once.
fn spans(report: &Report) -> List<Span, 64> {
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let mut spans: Vec<Span> = Vec::new();
    for finding in &report.findings {
        let span = Span { start: offset(finding.start), end: offset(finding.end) };
        if spans.last() != Some(&span) {
            spans.push(span);
        }
    }
    List::clip(spans)
}

/// A score between 0 and 1 in thousandths.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a score is between 0 and 1")]
pub fn thousandths(score: f32) -> u16 {
    (score.clamp(0.0, 1.0) * 1000.0).round() as u16
}
