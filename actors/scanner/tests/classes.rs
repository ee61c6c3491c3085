//! Disguised demands by kind of disguise, with benign neighbours: how many are flagged.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use ipc_proto::scanner::{Direction, Judgement, Profile};
use scanner::Engine;
use serde_json::Value;
use std::collections::BTreeMap;

const DISGUISES: &str = include_str!("../../../tests/corpora/disguises.jsonl");

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

/// The attacks of each kind that are flagged, and the benign texts that are.
fn counted(rows: &str) -> (BTreeMap<String, Count>, Count) {
    let engine = Engine::new();
    let (mut attacks, mut benign) = (BTreeMap::<String, Count>::new(), Count::default());
    for row in rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
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
    let (attacks, benign) = counted(DISGUISES);
    assert_eq!((attacks.len(), benign.flagged, benign.all), (14, 0, 30));
    for (kind, count) in attacks {
        assert!(count.percent() >= 75, "{kind}: {} of {}", count.flagged, count.all);
    }
}
