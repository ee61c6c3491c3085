//! The attempts of a conversation so far, counted: each step of an attack in small steps is flagged, and the
//! attack is refused when the steps add up. Pure: the counters come with the call and go back with the verdict;
//! nothing is stored here.

use crate::verdict::{self, Report};
use ipc_proto::scanner::{Conversation, Crossing, Judgement, Severity, Subject, Threat, ThreatKind};

/// Attempts to get at the prompt or at secrets from which one more is a high threat; ch4p's number.
pub(crate) const EXTRACTIONS: u16 = 3;
/// Attempts to override from which one more is a critical threat; ch4p's number.
pub(crate) const OVERRIDES: u16 = 2;

/// Counts what this message tried, and escalates the report where it has been tried too often. Only a message of a
/// person counts: what a tool or a page says is not the person's doing.
///
/// A message that tries nothing itself is judged by itself, however many came before: otherwise two clumsy sentences
/// would close a conversation for good.
pub(crate) fn counted(subject: &Subject, report: &mut Report) -> Conversation {
    let mut after = subject.conversation;
    if !matches!(subject.crossing, Crossing::ChannelInput | Crossing::OwnWords) {
        return after;
    }
    after.turns = after.turns.saturating_add(1);
    let tried = |report: &Report, kinds: &[ThreatKind]| {
        report.threats.iter().any(|found| kinds.contains(&found.kind) && found.severity >= Severity::Medium)
    };
    if tried(report, &[ThreatKind::Extraction, ThreatKind::Exfiltration]) {
        after.extraction = after.extraction.saturating_add(1);
        if after.extraction >= EXTRACTIONS {
            escalate(report, ThreatKind::Extraction, Severity::High);
        }
    }
    if tried(report, &[ThreatKind::Injection, ThreatKind::RoleManipulation, ThreatKind::Jailbreak]) {
        after.overriding = after.overriding.saturating_add(1);
        if after.overriding >= OVERRIDES {
            escalate(report, ThreatKind::Injection, Severity::Critical);
        }
    }
    after
}

/// Raises a threat to at least this severity, which refuses the message.
fn escalate(report: &mut Report, kind: ThreatKind, severity: Severity) {
    match report.threats.iter_mut().find(|threat| threat.kind == kind) {
        Some(threat) => threat.severity = threat.severity.max(severity),
        None => report.threats.push(Threat { kind, severity }),
    }
    verdict::worst_first(&mut report.threats);
    report.judgement = Judgement::Block;
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::scanner::Profile;

    fn report(kind: ThreatKind, severity: Severity) -> Report {
        Report {
            judgement: Judgement::Flag,
            score: 0.5,
            findings: Vec::new(),
            threats: vec![Threat { kind, severity }],
            canary_leaked: false,
            held_secret: false,
        }
    }

    /// Sends messages one after the other and gives the judgement of each.
    fn sent(crossing: Crossing, messages: &[(ThreatKind, Severity)]) -> (Vec<Judgement>, Conversation) {
        let mut subject = Subject::at(crossing).by(Profile::PowerUser);
        let mut judged = Vec::new();
        for (kind, severity) in messages {
            let mut report = report(*kind, *severity);
            subject.conversation = counted(&subject, &mut report);
            judged.push(report.judgement);
        }
        (judged, subject.conversation)
    }

    // Holds P8-08.
    #[test]
    fn the_third_extraction_and_the_second_override_are_refused() {
        use Judgement::{Block, Flag};
        let (judged, after) = sent(Crossing::ChannelInput, &[(ThreatKind::Extraction, Severity::Medium); 3]);
        assert_eq!((judged, after.extraction), (vec![Flag, Flag, Block], 3));
        let (judged, after) = sent(Crossing::ChannelInput, &[(ThreatKind::Injection, Severity::Medium); 2]);
        assert_eq!((judged, after.overriding, after.turns), (vec![Flag, Block], 2, 2));
    }

    #[test]
    fn a_message_that_tries_nothing_is_judged_by_itself_whatever_came_before() {
        let mut messages = vec![(ThreatKind::Injection, Severity::Medium); 3];
        messages.push((ThreatKind::Injection, Severity::Low));
        let (judged, _) = sent(Crossing::ChannelInput, &messages);
        assert_eq!(judged.last(), Some(&Judgement::Flag));
    }

    #[test]
    fn what_a_tool_or_a_page_says_is_not_counted_as_the_persons_doing() {
        for crossing in [Crossing::ToolOutput, Crossing::Web, Crossing::MemoryRecall, Crossing::Answer] {
            let (judged, after) = sent(crossing, &[(ThreatKind::Injection, Severity::High); 4]);
            assert_eq!(after, Conversation::default());
            assert!(judged.iter().all(|judgement| *judgement == Judgement::Flag));
        }
    }

    // Holds B-55.
    #[test]
    fn counters_stop_at_their_bound() {
        let mut subject = Subject::at(Crossing::ChannelInput);
        subject.conversation = Conversation { turns: u32::MAX, extraction: u16::MAX, overriding: u16::MAX };
        let mut report = report(ThreatKind::Extraction, Severity::Medium);
        assert_eq!(counted(&subject, &mut report), subject.conversation);
    }
}
