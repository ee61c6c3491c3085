//! The engine: every view of a text (as it is, cleaned, folded, put back in order, decoded) through the matchers, and
//! one report from all that they found.
//! Touches only the text it is given and keeps nothing between scans. Work is bounded: depth of decoding, bytes
//! decoded, findings. Reaching a bound must hide more, never less.

use crate::canary::Patterns;
use crate::held::Held;
use crate::matcher::{Hit, Matcher};
use crate::rules::{CERTAIN, Class, Family, View};
use crate::scrambled::{self, Cues};
use crate::span::Rewritten;
use crate::verdict::{self, Finding, HELD, Report};
use crate::{conversation, decode, model, normalise, span};
use ipc_proto::scanner::{Conversation, Crossing, Direction, Judgement, Profile, Subject};
use std::ops::Range;

/// Most findings in one report. A text with more is reported with a last finding that covers all of its rest.
pub const MOST_FINDINGS: usize = 1024;
/// The id of that last finding.
pub const TOO_MANY: &str = "too-many-findings";
/// How many layers of encoding are read. What is read in one layer is at most twice what carries it (runs, and the text
/// unescaped), so this bounds the work as well.
const DEEPEST: u8 = 3;

/// The compiled rules. Made once; about 2 MiB until rules are first used.
pub struct Engine {
    raw: Option<Matcher>,
    folded: Option<Matcher>,
    cues: Option<Cues>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Engine").finish_non_exhaustive()
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}

/// The findings of one scan so far.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) findings: Vec<Finding>,
    /// The rule and the whole extent of each secret's match in the original, which streaming must not cut.
    pub(crate) extents: Vec<(&'static str, Range<usize>)>,
    pub(crate) canary: bool,
    /// Ends of layers that may be the beginning of a secret that the host holds, in the original.
    pub(crate) begun: Vec<Range<usize>>,
}

/// Texts that a scan looks for besides the rules.
struct Wanted<'a> {
    patterns: Patterns,
    held: &'a Held,
}

/// One view of the original text and the way back to it.
struct Layer<'a> {
    text: &'a str,
    depth: u8,
    back: &'a dyn Fn(Range<usize>) -> Range<usize>,
}

impl Engine {
    /// Builds the keyword automata. Patterns are compiled when first needed.
    #[must_use]
    pub fn new() -> Self {
        Self { raw: Matcher::new(View::Raw), folded: Matcher::new(View::Folded), cues: Cues::new() }
    }

    /// Returns whether all automata were built; a scanner that is not ready must not serve.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.raw.is_some() && self.folded.is_some() && self.cues.is_some()
    }

    /// Scans a text whole, by the subject's crossing and profile and in the light of its conversation, which comes
    /// back as it is after this text.
    #[must_use]
    pub fn judge(&self, subject: &Subject, held: &Held, text: &str) -> (Report, Conversation) {
        let gathered = self.gather(text, subject.canary.as_deref(), held);
        let direction = subject.crossing.direction();
        let mut report = verdict::judge(direction, subject.profile, gathered.findings, gathered.canary);
        let after = conversation::counted(subject, &mut report);
        if subject.crossing == Crossing::OwnWords {
            report.judgement = report.judgement.min(Judgement::Flag);
        }
        (report, after)
    }

    /// Scans a text whole by its direction alone. `canary` is the turn's canary, if the text could leak one.
    #[must_use]
    pub fn scan(&self, direction: Direction, profile: Profile, text: &str, canary: Option<&str>) -> Report {
        let gathered = self.gather(text, canary, &Held::nothing());
        verdict::judge(direction, profile, gathered.findings, gathered.canary)
    }

    /// The text with every secret that the report found replaced by `[REDACTED:rule]`.
    #[must_use]
    pub fn redact(&self, text: &str, report: &Report) -> String {
        redacted(text, &report.findings)
    }

    /// Only the secrets and personal data in the text as it stands: the fast path that logs take.
    #[must_use]
    pub fn secrets(&self, text: &str) -> Vec<Finding> {
        let mut gathered = Gathered::default();
        if let Some(raw) = &self.raw {
            raw.find(text, |hit| gathered.add(&hit, |range| range));
        }
        settle(&mut gathered.findings, text);
        gathered.findings
    }

    /// Where a keyword of several words may have begun at the end of the text, for streaming.
    pub(crate) fn half_keyword(&self, text: &str) -> usize {
        self.raw.as_ref().map_or(text.len(), |raw| raw.half_keyword(text))
    }

    /// Places of keywords after which a secret may still follow, for streaming.
    pub(crate) fn openings(&self, text: &str, found: impl FnMut(&'static crate::rules::Rule, usize)) {
        if let Some(raw) = &self.raw {
            raw.openings(text, found);
        }
    }

    pub(crate) fn gather(&self, text: &str, canary: Option<&str>, held: &Held) -> Gathered {
        let mut gathered = Gathered::default();
        let wanted = Wanted { patterns: Patterns::new(canary), held };
        self.layer(&Layer { text, depth: 0, back: &|range| range }, &wanted, &mut gathered);
        settle(&mut gathered.findings, text);
        gathered
    }

    /// Scans one layer in all its views, then the layers it carries.
    fn layer(&self, layer: &Layer<'_>, wanted: &Wanted<'_>, gathered: &mut Gathered) {
        self.literally(layer, wanted, gathered);
        let clean = normalise::clean(layer.text);
        let through = |range: Range<usize>| match &clean {
            Some(clean) => (layer.back)(clean.back(&range)),
            None => (layer.back)(range),
        };
        let cleaned =
            Layer { text: clean.as_ref().map_or(layer.text, |clean| &clean.text), back: &through, ..*layer };
        if clean.is_some() {
            self.literally(&cleaned, wanted, gathered);
        }
        self.folded_rules(&cleaned, gathered);
        if layer.depth < DEEPEST {
            self.carried(layer, normalise::hidden(layer.text), wanted, gathered);
            self.carried(layer, scrambled::turned(layer.text), wanted, gathered);
            self.carried(&cleaned, decode::layers(cleaned.text), wanted, gathered);
        }
    }

    fn carried(
        &self,
        layer: &Layer<'_>,
        inner: Vec<Rewritten>,
        wanted: &Wanted<'_>,
        gathered: &mut Gathered,
    ) {
        for inner in inner {
            let back = |range: Range<usize>| (layer.back)(inner.back(&range));
            self.layer(&Layer { text: &inner.text, depth: layer.depth + 1, back: &back }, wanted, gathered);
        }
    }

    /// All that is looked for byte for byte: the raw rules, the canary, the host's own secrets.
    fn literally(&self, layer: &Layer<'_>, wanted: &Wanted<'_>, gathered: &mut Gathered) {
        self.raw_rules(layer, gathered);
        gathered.canary |= wanted.patterns.found(layer.text);
        let found = wanted.held.find(layer.text);
        for range in found.whole {
            gathered.held((layer.back)(range));
        }
        if let Some(at) = found.open {
            gathered.begun.push((layer.back)(at..layer.text.len()));
        }
    }

    fn raw_rules(&self, layer: &Layer<'_>, gathered: &mut Gathered) {
        if let Some(raw) = &self.raw {
            let carried = layer.depth > 0;
            raw.find(layer.text, |hit| {
                // Personal data inside an encoding is noise: tokens and identifiers hold addresses by design.
                if !(carried && hit.rule.family.class() == Class::Personal) {
                    gathered.add(&hit, layer.back);
                }
            });
        }
    }

    /// The injection rules over the folded text and over the readings of it that undo a disguise.
    fn folded_rules(&self, layer: &Layer<'_>, gathered: &mut Gathered) {
        let Some(matcher) = &self.folded else { return };
        let folded = normalise::fold(layer.text);
        matcher.find(&folded, |hit| gathered.add(&hit, layer.back));
        if layer.depth == 0
            && let Some(found) = model::judged(&folded)
        {
            let span = (layer.back)(found.start..found.end);
            gathered.findings.push(Finding { start: span.start, end: span.end, ..found });
        }
        let mut views = normalise::leet(&folded);
        views.extend(normalise::drawn_together(&folded));
        views.extend(scrambled::unstacked(&folded));
        views.extend(self.cues.iter().flat_map(|cues| cues.readings(&folded)));
        for view in views {
            matcher.find(&view.text, |hit| gathered.add(&hit, |range| (layer.back)(view.back(&range))));
        }
    }
}

impl Gathered {
    fn add(&mut self, hit: &Hit, back: impl Fn(Range<usize>) -> Range<usize>) {
        let span = back(hit.span.clone());
        if hit.rule.family == Family::Secret {
            self.extents.push((hit.rule.id, back(hit.whole.clone())));
        }
        let rule = hit.rule;
        let finding = Finding {
            rule: rule.id,
            family: rule.family,
            weight: rule.weight,
            start: span.start,
            end: span.end,
        };
        self.findings.push(finding);
    }

    fn held(&mut self, span: Range<usize>) {
        self.extents.push((HELD, span.clone()));
        let (start, end) = (span.start, span.end);
        self.findings.push(Finding { rule: HELD, family: Family::Secret, weight: 100, start, end });
    }
}

/// Sorts findings, drops doubles and lesser secrets inside greater ones, and keeps their number in bounds.
fn settle(findings: &mut Vec<Finding>, text: &str) {
    for finding in findings.iter_mut() {
        finding.start = span::floor(text, finding.start);
        finding.end = span::ceil(text, finding.end);
    }
    findings.sort_by(|a, b| (a.start, b.end, b.weight, a.rule).cmp(&(b.start, a.end, a.weight, b.rule)));
    findings.dedup_by(|a, b| (a.rule, a.start, a.end) == (b.rule, b.start, b.end));
    drop_covered(findings);
    if findings.len() > MOST_FINDINGS {
        let start = findings.get(MOST_FINDINGS - 1).map_or(0, |finding| finding.start);
        findings.truncate(MOST_FINDINGS - 1);
        findings.push(Finding {
            rule: TOO_MANY,
            family: Family::Secret,
            weight: CERTAIN,
            start,
            end: text.len(),
        });
    }
}

/// Drops a lesser secret that lies inside a certain one: the name of the format says more than that of the variable.
fn drop_covered(findings: &mut Vec<Finding>) {
    let mut cover: Option<Finding> = None;
    findings.retain(|finding| {
        if finding.family != Family::Secret {
            return true;
        }
        let covered = cover.is_some_and(|cover| {
            finding.end <= cover.end && finding.weight < cover.weight && cover.weight >= CERTAIN
        });
        if cover.is_none_or(|cover| finding.end > cover.end) {
            cover = Some(*finding);
        }
        !covered
    });
}

/// Replaces the secrets among `findings` in `text`.
pub(crate) fn redacted(text: &str, findings: &[Finding]) -> String {
    let mut merged: Vec<(Range<usize>, &'static str, u8)> = Vec::new();
    let mut secrets: Vec<&Finding> =
        findings.iter().filter(|finding| finding.family == Family::Secret).collect();
    secrets.sort_by_key(|finding| finding.start);
    for finding in secrets {
        match merged.last_mut() {
            Some((range, rule, weight)) if finding.start < range.end => {
                range.end = range.end.max(finding.end);
                if finding.weight > *weight {
                    (*rule, *weight) = (finding.rule, finding.weight);
                }
            }
            _ => merged.push((finding.start..finding.end, finding.rule, finding.weight)),
        }
    }
    let mut out = text.to_owned();
    for (range, rule, _) in merged.into_iter().rev() {
        let range = span::floor(&out, range.start)..span::ceil(&out, range.end);
        out.replace_range(range, &format!("[REDACTED:{rule}]"));
    }
    out
}
