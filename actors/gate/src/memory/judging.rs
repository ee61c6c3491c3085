//! The judgement on a block of memories, for turns and previews alike: the scanner's, over the whole text. A row for which the
//! scanner would keep back all of it is left out alone, and named. This asks memory and the scanner only, and never passes a text
//! that was not judged as it is.

use crate::inspection::scan;
use crate::memory::ask;
use crate::state::context::GateContext;
use crate::state::errors::to_relay_error;
use ipc_proto::gate::RelayError;
use ipc_proto::ids::MemoryId;
use ipc_proto::label::{Class, Label};
use ipc_proto::memory::{Area, BLOCK_TOKENS, Block, BlockAsk, LEFT_OUT, LeftOut, Part, Scope, Without};
use ipc_proto::scanner::{Judgement, Severity, Span, Subject, ThreatKind, Verdict};
use ipc_proto::{List, Text};
use std::collections::BTreeMap;

/// Times that a block is built again without the rows that the scanner blocked.
const ROUNDS: usize = 16;

/// Spans in a verdict. With this many, further ones may be missing.
const SPANS: usize = 64;

/// Rules that a reason names at most.
const RULES: usize = 3;

/// The reason for which a row is left out, or the whole block where no row is to blame.
const INSTRUCTS: &str = "the scanner takes it for an attempt to give instructions";

/// A judged block.
pub(crate) struct Judged {
    /// The block as the scanner permits it; `kept_back` says why there is none.
    pub(super) block: Block,
    /// The class that its content shows.
    pub(super) class: Class,
    /// A secret of the host was in it, and was cut out or left out.
    pub(super) held_secret: bool,
}

impl Judged {
    /// Returns true if the scanner found instructions in it.
    pub(super) fn found_instructions(&self) -> bool {
        !self.block.left_out.is_empty() || self.block.kept_back.is_some()
    }
}

/// The block of memory as the scanner permits it.
pub(crate) async fn judge_block(
    gate: &GateContext,
    subject: &Subject,
    scope: &Scope,
    mut ask: BlockAsk,
) -> Result<Judged, RelayError> {
    let (mut left_out, mut held) = (Vec::new(), false);
    for _ in 0..ROUNDS {
        let block = build_block(gate, scope, &ask).await?;
        if block.text.is_empty() {
            return Ok(finished(block, None, (left_out, held)));
        }
        let verdict = scan::judge(gate, subject, &block.text).await.map_err(to_relay_error)?;
        held |= verdict.held_secret;
        if verdict.judgement != Judgement::Block {
            return Ok(finished(block, Some(verdict), (left_out, held)));
        }
        let blamed = rows_to_blame(gate, subject, &block, &verdict.spans).await?;
        if blamed.is_empty() || left_out.len() + blamed.len() > LEFT_OUT {
            break;
        }
        left_out.extend(blamed);
        ask.without = Without {
            rows: List::clip(left_out.iter().filter_map(|one| one.row)),
            sessions: left_out.iter().any(|one| one.row.is_none()),
        };
    }
    let block = Block { kept_back: Some(Text::clip(INSTRUCTS)), ..Block::default() };
    Ok(finished(block, None, (left_out, held)))
}

fn finished(
    mut block: Block,
    verdict: Option<Verdict>,
    (left_out, held_secret): (Vec<LeftOut>, bool),
) -> Judged {
    block.parts = List::default();
    block.left_out = List::clip(left_out);
    let Some(verdict) = verdict else { return Judged { block, class: Class::Public, held_secret } };
    let class = match verdict.redacted {
        Some(clean) => {
            block.text = Text::clip(&clean);
            Class::Sensitive
        }
        None => verdict.class,
    };
    Judged { block, class, held_secret }
}

/// The block that memory builds. For an agent it is the agent's own memories of its user, with at most half of the tokens, and
/// then the user's own.
async fn build_block(gate: &GateContext, scope: &Scope, ask: &BlockAsk) -> Result<Block, RelayError> {
    let whole = ask.tokens.unwrap_or(BLOCK_TOKENS);
    let Area::Agent(_) = scope.area else { return block(gate, scope.clone(), ask, whole).await };
    let own_memories = block(gate, scope.clone(), ask, whole / 2).await?;
    let own = Scope { owner: scope.owner, area: Area::User };
    let own = block(gate, own, ask, whole.saturating_sub(own_memories.tokens)).await?;
    Ok(joined(own_memories, own))
}

async fn block(gate: &GateContext, scope: Scope, ask: &BlockAsk, tokens: u32) -> Result<Block, RelayError> {
    let ask = BlockAsk { tokens: Some(tokens), ..ask.clone() };
    ask::block(gate, &scope, ask).await.map(|block| *block)
}

fn joined(first: Block, second: Block) -> Block {
    let text = Text::clip(&[first.text.as_str(), second.text.as_str()].concat());
    let behind = u32::try_from(first.text.len()).unwrap_or(u32::MAX);
    let moved = second.parts.into_iter().map(|part| {
        let at = part.at.start.saturating_add(behind)..part.at.end.saturating_add(behind);
        Part { at, ..part }
    });
    let labels = first.label.into_iter().chain(second.label);
    Block {
        label: labels.reduce(|label: Label, one| label.join(&one)),
        tokens: first.tokens.saturating_add(second.tokens),
        discovery_tokens: first.discovery_tokens.saturating_add(second.discovery_tokens),
        rows: List::clip(first.rows.into_iter().chain(second.rows)),
        parts: List::clip(first.parts.into_iter().chain(moved)),
        muted: text.is_empty() && (first.muted || second.muted),
        text,
        ..Block::default()
    }
}

/// The rows to blame: those that the scanner blocks by themselves, else the one with the most evidence.
async fn rows_to_blame(
    gate: &GateContext,
    subject: &Subject,
    block: &Block,
    spans: &[Span],
) -> Result<Vec<LeftOut>, RelayError> {
    let (mut blamed, mut most) = (Vec::new(), None);
    for (row, text) in suspects(block, spans) {
        let verdict = scan::judge(gate, subject, &text).await.map_err(to_relay_error)?;
        let one = LeftOut { row, why: why(&verdict) };
        if verdict.judgement == Judgement::Block {
            blamed.push(one);
        } else if let Some(evidence) = evidence(&verdict)
            && most.as_ref().is_none_or(|(before, _)| *before < evidence)
        {
            most = Some((evidence, one));
        }
    }
    if blamed.is_empty() {
        blamed.extend(most.map(|(_, one)| one));
    }
    Ok(blamed)
}

/// The rows in which something was found, each with all of its text in the block; every row where the spans do not say.
fn suspects(block: &Block, spans: &[Span]) -> BTreeMap<Option<MemoryId>, String> {
    let meets = |part: &Part| spans.iter().any(|span| span.start < part.at.end && part.at.start < span.end);
    let known = spans.len() < SPANS && block.parts.iter().any(meets);
    let rows: Vec<Option<MemoryId>> =
        block.parts.iter().filter(|part| !known || meets(part)).map(|part| part.row).collect();
    let mut suspects: BTreeMap<Option<MemoryId>, String> = BTreeMap::new();
    for part in block.parts.iter().filter(|part| rows.contains(&part.row)) {
        let at = |end: u32| usize::try_from(end).unwrap_or(usize::MAX);
        let text = block.text.get(at(part.at.start)..at(part.at.end)).unwrap_or_default();
        suspects.entry(part.row).or_default().push_str(text);
    }
    suspects
}

/// The evidence of instructions in a verdict that does not block; `None` if there is none.
fn evidence(verdict: &Verdict) -> Option<(Severity, u16)> {
    let instructs = |kind| !matches!(kind, ThreatKind::Secret | ThreatKind::Personal);
    let worst = verdict.threats.iter().filter(|threat| instructs(threat.kind)).map(|threat| threat.severity);
    worst.max().map(|severity| (severity, verdict.score))
}

fn why(verdict: &Verdict) -> Text<200> {
    let rules: Vec<&str> = verdict.rules.iter().take(RULES).map(|rule| rule.as_str()).collect();
    let rules = if rules.is_empty() { "the canary".to_owned() } else { rules.join(", ") };
    Text::clip(&format!("{INSTRUCTS} ({rules})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> Option<MemoryId> {
        Some(MemoryId::from_bytes([n; 16]))
    }

    fn told(parts: &[(Option<MemoryId>, &str)]) -> Block {
        let (mut text, mut at) = (String::new(), Vec::new());
        for (row, part) in parts {
            let from = u32::try_from(text.len()).unwrap();
            text.push_str(part);
            at.push(Part { row: *row, at: from..u32::try_from(text.len()).unwrap() });
        }
        Block { text: Text::clip(&text), parts: List::clip(at), tokens: 1, ..Block::default() }
    }

    fn named(suspects: &BTreeMap<Option<MemoryId>, String>) -> Vec<(Option<MemoryId>, &str)> {
        suspects.iter().map(|(row, text)| (*row, text.as_str())).collect()
    }

    // Holds P5-31.
    #[test]
    fn the_rows_under_a_finding_are_judged_whole_or_else_all_rows() {
        let block = told(&[(None, "a session "), (id(1), "one "), (id(2), "two "), (id(1), "whole one")]);
        let within = |start, end| suspects(&block, &[Span { start, end }]);
        assert_eq!(named(&within(11, 12)), [(id(1), "one whole one")]);
        assert_eq!(named(&within(2, 3)), [(None, "a session ")]);
        assert_eq!(named(&within(13, 15)), [(id(1), "one whole one"), (id(2), "two ")]);
        let all = [(None, "a session "), (id(1), "one whole one"), (id(2), "two ")];
        assert_eq!(named(&suspects(&block, &[])), all);
        assert_eq!(named(&suspects(&block, &[Span { start: 11, end: 12 }; SPANS])), all);
    }

    #[test]
    fn two_areas_are_one_text_in_which_every_row_is_where_it_stands() {
        let both = joined(told(&[(id(1), "ä one ")]), told(&[(None, "s "), (id(2), "two")]));
        assert_eq!((both.text.as_str(), both.tokens), ("ä one s two", 2));
        let stand: Vec<&str> = both
            .parts
            .iter()
            .map(|part| &both.text.as_str()[part.at.start as usize..part.at.end as usize])
            .collect();
        assert_eq!(stand, ["ä one ", "s ", "two"]);
    }
}
