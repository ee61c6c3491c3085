//! Disguises and demands by class, with benign neighbours: how many are flagged.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use ipc_proto::scanner::{Direction, Judgement, Profile};
use scanner::Engine;
use serde_json::Value;
use std::collections::BTreeMap;

const DISGUISES: &str = include_str!("../../../tests/corpora/disguises.jsonl");
const DEMANDS: &str = include_str!("../../../tests/corpora/demands.jsonl");

#[derive(Default)]
struct Count {
    flagged: usize,
    all: usize,
}

impl Count {
    fn percent(&self) -> usize {
        100 * self.flagged / self.all.max(1)
    }
}

/// How many of the attacks of each kind are flagged, and how many of all benign texts, of the rows of one set.
fn counted(rows: &str, set: Option<&str>) -> (BTreeMap<String, Count>, Count) {
    let engine = Engine::new();
    let (mut attacks, mut benign) = (BTreeMap::<String, Count>::new(), Count::default());
    let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for row in rows.filter(|row| row["set"].as_str() == set) {
        let text = row["text"].as_str().unwrap();
        let report = engine.scan(Direction::Input, Profile::Standard, text, None);
        let kind = row["kind"].as_str().unwrap().to_owned();
        let count = if row["label"] == 1 { attacks.entry(kind).or_default() } else { &mut benign };
        count.all += 1;
        count.flagged += usize::from(report.judgement > Judgement::Pass);
    }
    (attacks, benign)
}

#[test]
fn text_put_out_of_order_is_read_and_its_neighbours_pass() {
    let (attacks, benign) = counted(DISGUISES, None);
    assert_eq!((attacks.len(), benign.flagged, benign.all), (14, 0, 30));
    for (kind, count) in attacks {
        assert!(count.percent() >= 75, "{kind}: {} of {}", count.flagged, count.all);
    }
}

#[test]
fn demands_that_rules_were_written_with_are_flagged() {
    let (attacks, benign) = counted(DEMANDS, Some("development"));
    assert_eq!((attacks.len(), benign.all), (7, 92));
    assert!(benign.flagged <= 4, "{} of {} benign texts are flagged", benign.flagged, benign.all);
    for (kind, count) in attacks {
        assert!(count.percent() >= 70, "{kind}: {} of {}", count.flagged, count.all);
    }
}

// The floor is what was measured: rules find few demands in words of their own, and it must not become less.
#[test]
fn held_out_demands_are_flagged_no_less_than_measured() {
    let (attacks, benign) = counted(DEMANDS, Some("held-out"));
    let all = |part: fn(&Count) -> usize| attacks.values().map(part).sum::<usize>();
    assert_eq!((attacks.len(), all(|count| count.all), benign.all), (7, 56, 40));
    let flagged = all(|count| count.flagged);
    assert!(flagged >= 14 && benign.flagged <= 2, "{flagged} of 56, {} of 40 benign", benign.flagged);
}
