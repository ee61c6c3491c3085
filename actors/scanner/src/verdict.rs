//! The verdict of a scan: findings, a score from all of them together, threats by kind, and a judgement by direction
//! and profile. It may touch only findings, never the text. It must never let one weak sign block by itself, nor let
//! a found secret leave with a pass.

use crate::model::RESEMBLES;
use crate::rules::{Class, Family};
use ipc_proto::scanner::{Direction, Judgement, Profile, Severity, Threat, ThreatKind};

/// One rule that matched one place. It never carries the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id, unique over all families.
    pub rule: &'static str,
    /// The finding's kind.
    pub family: Family,
    /// How much this finding alone says, 0 (worth knowing) to 100 (certain).
    pub weight: u8,
    /// First byte in the original text, on a character boundary.
    pub start: usize,
    /// One past the last byte in the original text, on a character boundary.
    pub end: usize,
}

/// The answer to one scan.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The judgement.
    pub judgement: Judgement,
    /// All evidence combined, 0 to 1.
    pub score: f32,
    /// The findings, by start; at most [`crate::engine::MOST_FINDINGS`].
    pub findings: Vec<Finding>,
    /// The threats, the worst first, one of each kind.
    pub threats: Vec<Threat>,
    /// True if the turn's canary was found, plain or transformed.
    pub canary_leaked: bool,
    /// True if a secret that the host holds was found.
    pub held_secret: bool,
}

/// The id under which a secret that the host itself holds is found.
pub const HELD: &str = "held-secret";

/// Injection evidence from which text is flagged, at every profile: what is worth knowing does not depend on how
/// much a user dares, and a flag stops nothing.
pub const FLAG_FROM: f32 = 0.50;

/// Injection evidence from which untrusted input is refused.
#[must_use]
pub const fn block_from(profile: Profile) -> f32 {
    match profile {
        // One likely sign flags; it takes a second one to refuse what may be a person's own message.
        Profile::Paranoid => 0.70,
        Profile::Standard => 0.80,
        Profile::PowerUser => 0.95,
    }
}

/// Weighs findings into a report.
pub(crate) fn judge(
    direction: Direction,
    profile: Profile,
    mut findings: Vec<Finding>,
    canary_leaked: bool,
) -> Report {
    if direction == Direction::Output {
        // It knows what people write to a model. Of code, mails and answers it can say nothing.
        findings.retain(|finding| finding.rule != RESEMBLES);
    }
    let injection = combined(&findings, |family| family.class() == Class::Injection);
    let secret = combined(&findings, |family| family.class() == Class::Secret);
    let personal = combined(&findings, |family| family.class() == Class::Personal);
    let by_injection = match direction {
        // A hundredth of slack: weights are in percent, and what they come to in binary is not exact.
        Direction::Input if injection >= block_from(profile) - 0.001 => Judgement::Block,
        _ if injection >= FLAG_FROM => Judgement::Flag,
        _ => Judgement::Pass,
    };
    let by_secret = match direction {
        _ if secret == 0.0 => Judgement::Pass,
        Direction::Input => Judgement::Flag,
        Direction::Output => Judgement::Block,
    };
    let by_personal = if personal >= FLAG_FROM { Judgement::Flag } else { Judgement::Pass };
    let by_canary = if canary_leaked { Judgement::Block } else { Judgement::Pass };
    Report {
        judgement: by_injection.max(by_secret).max(by_personal).max(by_canary),
        score: if canary_leaked { 1.0 } else { injection.max(secret).max(personal) },
        threats: threats(&findings, canary_leaked),
        held_secret: findings.iter().any(|finding| finding.rule == HELD),
        findings,
        canary_leaked,
    }
}

/// The threats of a family.
#[must_use]
pub const fn kind(family: Family) -> ThreatKind {
    match family {
        Family::Secret => ThreatKind::Secret,
        Family::Personal => ThreatKind::Personal,
        Family::Override | Family::Tools | Family::Indirect | Family::Disguise => ThreatKind::Injection,
        Family::Roles => ThreatKind::RoleManipulation,
        Family::Extraction => ThreatKind::Extraction,
        Family::Exfiltration => ThreatKind::Exfiltration,
        Family::Persona => ThreatKind::Jailbreak,
    }
}

const KINDS: [ThreatKind; 7] = [
    ThreatKind::Secret,
    ThreatKind::Exfiltration,
    ThreatKind::Extraction,
    ThreatKind::Injection,
    ThreatKind::Jailbreak,
    ThreatKind::RoleManipulation,
    ThreatKind::Personal,
];

/// One threat for each kind of which there is evidence, the worst first.
fn threats(findings: &[Finding], canary_leaked: bool) -> Vec<Threat> {
    let severity = |wanted: ThreatKind| {
        if canary_leaked && wanted == ThreatKind::Extraction {
            return Some(Severity::Critical);
        }
        severity(combined(findings, |family| kind(family) == wanted))
    };
    let mut threats: Vec<Threat> =
        KINDS.iter().filter_map(|kind| Some(Threat { kind: *kind, severity: severity(*kind)? })).collect();
    worst_first(&mut threats);
    threats
}

/// Keeps threats as reports have them.
pub(crate) fn worst_first(threats: &mut [Threat]) {
    threats.sort_by_key(|threat| std::cmp::Reverse(threat.severity));
}

/// How bad evidence is. The steps are those of the judgements: medium flags, high is refused at profile standard,
/// critical at every profile.
fn severity(evidence: f32) -> Option<Severity> {
    match evidence {
        e if e <= 0.0 => None,
        // A resemblance that names nothing is exactly enough to flag, and no threat worth counting.
        e if e <= FLAG_FROM => Some(Severity::Low),
        e if e < block_from(Profile::Standard) - 0.001 => Some(Severity::Medium),
        e if e < block_from(Profile::PowerUser) - 0.001 => Some(Severity::High),
        _ => Some(Severity::Critical),
    }
}

/// Independent signs add up: 1 - the chance that every one of them is wrong. A rule counts once however often it matched.
fn combined(findings: &[Finding], of: impl Fn(Family) -> bool) -> f32 {
    let mut counted: Vec<&str> = Vec::new();
    let mut wrong = 1.0_f32;
    for finding in findings.iter().filter(|finding| of(finding.family)) {
        if !counted.contains(&finding.rule) {
            counted.push(finding.rule);
            wrong *= 1.0 - f32::from(finding.weight) / 100.0;
        }
    }
    1.0 - wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: &'static str, family: Family, weight: u8) -> Finding {
        Finding { rule, family, weight, start: 0, end: 1 }
    }

    fn judged(direction: Direction, findings: Vec<Finding>) -> Judgement {
        judge(direction, Profile::Standard, findings, false).judgement
    }

    #[test]
    fn two_hints_flag_where_one_passes() {
        let one = vec![found("a", Family::Override, 35)];
        let two = vec![found("a", Family::Override, 35), found("b", Family::Roles, 35)];
        assert_eq!(judged(Direction::Input, one), Judgement::Pass);
        assert_eq!(judged(Direction::Input, two), Judgement::Flag);
    }

    #[test]
    fn the_same_rule_twice_is_one_piece_of_evidence() {
        let twice = vec![found("a", Family::Override, 35), found("a", Family::Override, 35)];
        assert_eq!(judged(Direction::Input, twice), Judgement::Pass);
    }

    #[test]
    fn a_secret_flags_on_the_way_in_and_blocks_on_the_way_out() {
        for profile in [Profile::Paranoid, Profile::Standard, Profile::PowerUser] {
            let secret = vec![found("a", Family::Secret, 60)];
            let way = |direction| judge(direction, profile, secret.clone(), false).judgement;
            assert_eq!((way(Direction::Input), way(Direction::Output)), (Judgement::Flag, Judgement::Block));
        }
    }

    #[test]
    fn a_strict_profile_refuses_evidence_that_a_lenient_one_flags() {
        for (weight, refused) in [(50, 0), (60, 0), (75, 1), (85, 2), (95, 3)] {
            let profiles = [Profile::Paranoid, Profile::Standard, Profile::PowerUser];
            let by = |profile| {
                judge(Direction::Input, profile, vec![found("a", Family::Override, weight)], false).judgement
            };
            let blocked = profiles.iter().filter(|profile| by(**profile) == Judgement::Block).count();
            assert_eq!(blocked, refused, "{weight}");
            assert!(profiles.iter().all(|profile| by(*profile) >= Judgement::Flag), "{weight}");
        }
    }

    #[test]
    fn a_definite_injection_blocks_input_and_flags_output() {
        let certain = vec![found("a", Family::Override, 90)];
        assert_eq!(judged(Direction::Input, certain.clone()), Judgement::Block);
        assert_eq!(judged(Direction::Output, certain), Judgement::Flag);
    }

    // Holds P8-15.
    #[test]
    fn a_leaked_canary_blocks_whatever_else_was_found() {
        let report = judge(Direction::Output, Profile::PowerUser, Vec::new(), true);
        assert_eq!((report.judgement, report.canary_leaked), (Judgement::Block, true));
        assert_eq!(report.threats, [Threat { kind: ThreatKind::Extraction, severity: Severity::Critical }]);
    }

    #[test]
    fn a_resemblance_flags_input_alone_and_blocks_nothing_by_itself() {
        for profile in [Profile::Paranoid, Profile::Standard, Profile::PowerUser] {
            let by =
                |direction| judge(direction, profile, vec![found(RESEMBLES, Family::Override, 50)], false);
            let into = by(Direction::Input);
            assert_eq!((into.judgement, into.threats[0].severity), (Judgement::Flag, Severity::Low));
            let out = by(Direction::Output);
            assert_eq!((out.judgement, out.findings.len()), (Judgement::Pass, 0));
        }
    }

    #[test]
    fn threats_are_named_by_kind_and_the_worst_comes_first() {
        let findings = vec![
            found("a", Family::Persona, 60),
            found("b", Family::Override, 85),
            found("c", Family::Disguise, 35),
            found("d", Family::Personal, 0),
        ];
        let report = judge(Direction::Input, Profile::Standard, findings, false);
        let threat = |kind, severity| Threat { kind, severity };
        let want =
            [threat(ThreatKind::Injection, Severity::High), threat(ThreatKind::Jailbreak, Severity::Medium)];
        assert_eq!(report.threats, want);
    }

    #[test]
    fn an_address_is_noted_and_passes_while_a_card_number_flags() {
        assert_eq!(judged(Direction::Input, vec![found("email", Family::Personal, 0)]), Judgement::Pass);
        assert_eq!(judged(Direction::Output, vec![found("card", Family::Personal, 70)]), Judgement::Flag);
    }
}
