//! Hold-back for text that streams out: says which beginning of the pending text can be released, redacted, so that
//! no secret and no canary passes in two halves.
//! Touches only the pending text and keeps nothing: the caller gives all that is not yet released, each time. It must
//! never cut inside a match, inside an open run that may grow into one, or after a word that announces one.

use crate::canary::Patterns;
use crate::engine::{Engine, Gathered, redacted};
use crate::held::Held;
use crate::verdict::{self, Finding, Report};
use crate::{normalise, span};
use ipc_proto::credproxy::WINDOW;
use ipc_proto::scanner::{Direction, Profile};
use std::ops::Range;

/// A run without white space longer than this is released from its front. No token is longer, but for key blocks.
pub const LONGEST_RUN: usize = 4 << 10;
/// A match that is still open is held up to this length: a private key block of any usual size fits.
pub const LONGEST_OPEN: usize = 16 << 10;
/// A rule's reach is counted from the end of its keyword.
const LONGEST_KEYWORD: usize = 32;
/// Lines of base64 at least this wide may belong together.
const WRAPPED: usize = 60;

/// The part that may leave now.
#[derive(Debug, Clone, PartialEq)]
pub struct Ready {
    /// Text to release, secrets already redacted. Empty when a canary leaked: the caller replaces the whole reply.
    pub release: String,
    /// How many bytes of the pending text are done with; on a character boundary.
    pub consumed: usize,
    /// Findings in the consumed part, offsets into the pending text. `canary_leaked` speaks of all pending text.
    pub report: Report,
}

/// Decides how much of `pending`, all the text not yet released, can be released. With `last` all of it is.
/// The caller drops `consumed` bytes from the front and calls again when more has come. What stays is at most
/// [`LONGEST_OPEN`] bytes, plus the chunk that came last.
#[must_use]
pub fn ready(engine: &Engine, held: &Held, pending: &str, last: bool, canary: Option<&str>) -> Ready {
    let gathered = engine.gather(pending, canary, held);
    // The cuts in a stream do not depend on the profile, so any will do.
    let judge = |findings, leaked| verdict::judge(Direction::Output, Profile::Paranoid, findings, leaked);
    if gathered.canary {
        let report = judge(gathered.findings, true);
        return Ready { release: String::new(), consumed: pending.len(), report };
    }
    let consumed = if last {
        pending.len()
    } else {
        cut(engine, pending, &gathered, &Patterns::new(canary), begun(held, pending, &gathered))
    };
    let inside = |finding: &Finding| finding.start < consumed && finding.end <= consumed;
    let findings: Vec<Finding> = gathered.findings.into_iter().filter(inside).collect();
    let release = redacted(pending.get(..consumed).unwrap_or_default(), &findings);
    Ready { release, consumed, report: judge(findings, false) }
}

/// The place from which on the end of the text may be the beginning of a secret that the host holds. Fewer characters
/// than a window has, white space aside, say nothing about that: so many are always held while there are such secrets.
fn begun(held: &Held, text: &str, gathered: &Gathered) -> usize {
    if held.is_empty() {
        return text.len();
    }
    let unseen = |end: usize| text.get(end..).unwrap_or_default().chars().all(normalise::invisible);
    let open = |range: &&Range<usize>| unseen(range.end) && text.len() - range.start < LONGEST_OPEN;
    let begun = gathered.begun.iter().filter(open).map(|range| range.start).min();
    let mut seen = text.char_indices().rev().filter(|(_, c)| !normalise::invisible(*c) && !c.is_whitespace());
    let short = seen.nth(WINDOW - 2).map_or(0, |(at, _)| run_start(text, at));
    let short = if text.len() - short < LONGEST_OPEN { short } else { text.len() };
    begun.unwrap_or(text.len()).min(short)
}

/// The furthest place at which the pending text can be cut.
fn cut(engine: &Engine, text: &str, gathered: &Gathered, patterns: &Patterns, begun: usize) -> usize {
    let extents = &gathered.extents;
    let mut cut = settled_end(text).min(floor_of_tail(text, patterns.tail(text))).min(begun);
    let half = engine.half_keyword(text);
    if half < text.len() {
        cut = cut.min(run_start(text, half));
    }
    engine.openings(text, |rule, at| {
        let open = text.len() - at < rule.furthest().min(LONGEST_OPEN) + LONGEST_KEYWORD;
        // Only a match of the same rule answers for its keyword: another one may have swallowed the word by the way.
        let over = |(id, extent): &(&str, Range<usize>)| {
            *id == rule.id && extent.contains(&at) && extent.end < text.len()
        };
        if open && at < cut && !extents.iter().any(over) {
            cut = run_start(text, at);
        }
    });
    let mut sorted: Vec<&Range<usize>> = extents.iter().map(|(_, extent)| extent).collect();
    sorted.sort_by_key(|extent| std::cmp::Reverse(extent.start));
    // From the back, since moving the cut before one match may put it inside an earlier one.
    loop {
        let inside = |extent: &&&Range<usize>| {
            let open = extent.end == text.len() && text.len() - extent.start < LONGEST_OPEN;
            extent.start < cut && (cut < extent.end || open)
        };
        match sorted.iter().find(inside) {
            Some(extent) => cut = extent.start,
            None => return span::floor(text, cut),
        }
    }
}

/// A canary's beginning is waited on as long as one set apart widely would be, no longer.
fn floor_of_tail(text: &str, tail: usize) -> usize {
    if text.len() - tail > LONGEST_RUN { text.len() } else { tail }
}

/// Where the run at the end begins that may still grow: the last run without a break, and before it single
/// characters set apart and lines of base64, which may belong to it.
fn settled_end(text: &str) -> usize {
    let furthest = span::ceil(text, text.len().saturating_sub(LONGEST_RUN));
    let mut start = run_start(text, text.len());
    loop {
        let before = text.get(..start).unwrap_or_default();
        let trimmed = before.trim_end_matches(breaks);
        let run = trimmed.len() - run_start(trimmed, trimmed.len());
        let joins = trimmed.len() < before.len() || start == text.len();
        let grows = run <= 2 || run >= WRAPPED;
        if start <= furthest || trimmed.is_empty() || !joins || !grows || run == 0 {
            return start.max(furthest);
        }
        start = trimmed.len() - run;
    }
}

/// The start of the run without white space that ends at or covers `at`.
fn run_start(text: &str, at: usize) -> usize {
    let head = text.get(..span::floor(text, at)).unwrap_or_default();
    head.char_indices().rev().find(|(_, c)| breaks(*c)).map_or(0, |(place, c)| place + c.len_utf8())
}

/// Returns whether a token cannot run over this character: white space, and the scripts that are written without any.
fn breaks(c: char) -> bool {
    let unspaced = matches!(c, '\u{3001}'..='\u{3002}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}');
    (c.is_whitespace() || unspaced) && !normalise::invisible(c)
}
