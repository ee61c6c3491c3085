//! What a scan answers: findings, a score from all of them together, and a verdict by direction.
//! It may touch only findings, never the text. It must never let one weak sign block by itself, nor let a
//! found secret leave with a pass.

use crate::rules::{Class, Family};

/// Which way the text crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Towards the agent, from an untrusted source: channel input, tool output, web, recalled memory.
    Input,
    /// Away from the agent: model replies, outgoing messages, memory writes, log lines.
    Output,
}

/// What the caller should do with the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing that matters was found.
    Pass,
    /// Let it through with a raised label and a note on the record.
    Flag,
    /// Input: do not queue it. Output: do not release it unredacted.
    Block,
}

impl Verdict {
    /// The verdict's name as commands print it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Flag => "FLAG",
            Self::Block => "BLOCK",
        }
    }
}

/// One rule that matched one place. It never carries the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id, unique over all families.
    pub rule: &'static str,
    /// What kind of finding it is.
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
    /// What to do.
    pub verdict: Verdict,
    /// All evidence combined, 0 to 1.
    pub score: f32,
    /// What was found, by start; at most [`crate::engine::MOST_FINDINGS`].
    pub findings: Vec<Finding>,
    /// Whether the turn's canary was found, plain or transformed.
    pub canary_leaked: bool,
}

/// Injection evidence from which untrusted input is refused.
const BLOCK_FROM: f32 = 0.80;
/// Injection evidence from which text is flagged.
const FLAG_FROM: f32 = 0.50;

/// Weighs findings into a report.
pub(crate) fn judge(direction: Direction, findings: Vec<Finding>, canary_leaked: bool) -> Report {
    let injection = combined(&findings, Class::Injection);
    let secret = combined(&findings, Class::Secret);
    let personal = combined(&findings, Class::Personal);
    let by_injection = match direction {
        Direction::Input if injection >= BLOCK_FROM => Verdict::Block,
        _ if injection >= FLAG_FROM => Verdict::Flag,
        _ => Verdict::Pass,
    };
    let by_secret = match direction {
        _ if secret == 0.0 => Verdict::Pass,
        Direction::Input => Verdict::Flag,
        Direction::Output => Verdict::Block,
    };
    let by_personal = if personal >= FLAG_FROM { Verdict::Flag } else { Verdict::Pass };
    let by_canary = if canary_leaked { Verdict::Block } else { Verdict::Pass };
    Report {
        verdict: by_injection.max(by_secret).max(by_personal).max(by_canary),
        score: if canary_leaked { 1.0 } else { injection.max(secret).max(personal) },
        findings,
        canary_leaked,
    }
}

/// Independent signs add up: 1 - the chance that every one of them is wrong. A rule counts once however often it matched.
fn combined(findings: &[Finding], class: Class) -> f32 {
    let mut counted: Vec<&str> = Vec::new();
    let mut wrong = 1.0_f32;
    for finding in findings.iter().filter(|finding| finding.family.class() == class) {
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

    #[test]
    fn two_hints_flag_where_one_passes() {
        let one = vec![found("a", Family::Override, 35)];
        let two = vec![found("a", Family::Override, 35), found("b", Family::Roles, 35)];
        assert_eq!(judge(Direction::Input, one, false).verdict, Verdict::Pass);
        assert_eq!(judge(Direction::Input, two, false).verdict, Verdict::Flag);
    }

    #[test]
    fn the_same_rule_twice_is_one_piece_of_evidence() {
        let twice = vec![found("a", Family::Override, 35), found("a", Family::Override, 35)];
        assert_eq!(judge(Direction::Input, twice, false).verdict, Verdict::Pass);
    }

    #[test]
    fn a_secret_flags_on_the_way_in_and_blocks_on_the_way_out() {
        let secret = vec![found("a", Family::Secret, 60)];
        assert_eq!(judge(Direction::Input, secret.clone(), false).verdict, Verdict::Flag);
        assert_eq!(judge(Direction::Output, secret, false).verdict, Verdict::Block);
    }

    #[test]
    fn a_definite_injection_blocks_input_and_flags_output() {
        let certain = vec![found("a", Family::Override, 90)];
        assert_eq!(judge(Direction::Input, certain.clone(), false).verdict, Verdict::Block);
        assert_eq!(judge(Direction::Output, certain, false).verdict, Verdict::Flag);
    }

    #[test]
    fn a_leaked_canary_blocks_whatever_else_was_found() {
        let report = judge(Direction::Output, Vec::new(), true);
        assert_eq!((report.verdict, report.canary_leaked), (Verdict::Block, true));
    }

    #[test]
    fn an_address_is_noted_and_passes_while_a_card_number_flags() {
        let address = vec![found("email", Family::Personal, 0)];
        assert_eq!(judge(Direction::Input, address, false).verdict, Verdict::Pass);
        let card = vec![found("card", Family::Personal, 70)];
        assert_eq!(judge(Direction::Output, card, false).verdict, Verdict::Flag);
    }
}
