//! Makes the weights of the linear model from the development corpora, and says by cross-validation what they are
//! worth on texts they were not made from. `fit FOLDER [--write]`: without `--write` it only tells.
//! Deterministic: the same corpora give the same bytes. A tool for people, no part of the process.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a tool for people: a bad corpus may end it"
)]
#![expect(clippy::disallowed_methods, reason = "gzip is the only program it starts, outside every actor")]

use ipc_proto::scanner::{Direction, Judgement, Profile};
use scanner::Engine;
use scanner::model::{self, BUCKETS};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::process::Command;

/// Passes over the texts.
const EPOCHS: usize = 30;
/// First step of the descent; later ones shrink with what a weight has seen (AdaGrad).
const RATE: f32 = 0.5;
/// How strongly weights are drawn to zero.
const DECAY: f32 = 3e-4;
const FOLDS: usize = 5;

struct Row {
    text: String,
    source: String,
    attack: bool,
    features: Vec<usize>,
    /// Rows that share much of their wording; a fold has all of them or none.
    group: usize,
    /// True if the model learns from it. Bare instructions, and documents with some in them, are attacks by where they
    /// stand, not by their words: a model that learnt them would flag ordinary requests and ordinary documents.
    taught: bool,
}

struct Weights {
    bias: f32,
    of: Vec<f32>,
}

fn rows(folder: &str) -> Vec<Row> {
    let out = Command::new("gzip").args(["-dc", &format!("{folder}/injection.jsonl.gz")]).output().unwrap();
    assert!(out.status.success(), "{folder}: {}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    let values = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut rows: Vec<Row> = values
        .map(|value| {
            let text = value["text"].as_str().unwrap().to_owned();
            let source = value["source"].as_str().unwrap().to_owned();
            let attack = value["label"] == 1;
            let in_context = ["BIPIA", "agentdojo"].iter().any(|name| source.starts_with(name));
            let taught = !(attack && in_context);
            Row { features: model::features(&text), text, source, attack, group: 0, taught }
        })
        .collect();
    group(&mut rows);
    rows
}

/// Puts rows into one group that share three tenths of their runs of four words.
fn group(rows: &mut [Row]) {
    let runs: Vec<Vec<String>> = rows.iter().map(|row| runs(&row.text)).collect();
    let mut holders: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, runs) in runs.iter().enumerate() {
        runs.iter().for_each(|run| holders.entry(run).or_default().push(at));
    }
    let mut shared: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for holders in holders.values().filter(|holders| holders.len() <= 60) {
        for (place, one) in holders.iter().enumerate() {
            holders[..place].iter().for_each(|other| *shared.entry((*other, *one)).or_default() += 1);
        }
    }
    let mut parent: Vec<usize> = (0..rows.len()).collect();
    for ((one, other), number) in shared {
        if number * 10 >= 3 * runs[one].len().min(runs[other].len()) {
            let (one, other) = (root(&parent, one), root(&parent, other));
            parent[one.max(other)] = one.min(other);
        }
    }
    rows.iter_mut().enumerate().for_each(|(at, row)| row.group = root(&parent, at));
}

fn root(parent: &[usize], mut at: usize) -> usize {
    while parent[at] != at {
        at = parent[at];
    }
    at
}

fn runs(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut runs: Vec<String> = match words.len() {
        0..4 => vec![words.join(" ")],
        _ => words.windows(4).map(|run| run.join(" ")).collect(),
    };
    runs.sort();
    runs.dedup();
    runs
}

/// Logistic regression by stochastic descent, in an order that a fixed generator makes.
fn fit<'a>(rows: impl Iterator<Item = &'a Row>) -> Weights {
    let mut rows: Vec<&Row> = rows.filter(|row| row.taught).collect();
    let mut weights = Weights { bias: 0.0, of: vec![0.0; BUCKETS] };
    let mut seen = vec![1e-8_f32; BUCKETS];
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..EPOCHS {
        for place in (1..rows.len()).rev() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            rows.swap(place, (random >> 33) as usize % (place + 1));
        }
        for row in &rows {
            let evidence = model::weigh(&row.features, weights.bias, |bucket| weights.of[bucket]);
            let wrong = 1.0 / (1.0 + (-evidence).exp()) - f32::from(u8::from(row.attack));
            let each = wrong / (row.features.len().max(1) as f32).sqrt();
            weights.bias -= 0.1 * RATE * wrong;
            for bucket in &row.features {
                let slope = each + DECAY * weights.of[*bucket];
                seen[*bucket] += slope * slope;
                weights.of[*bucket] -= RATE * slope / seen[*bucket].sqrt();
            }
        }
    }
    weights
}

/// The weights as the process has them: a signed byte each.
fn bytes(weights: &Weights) -> Vec<u8> {
    let step = weights.of.iter().fold(0.0_f32, |most, weight| most.max(weight.abs())) / 127.0;
    let mut bytes = [step.to_le_bytes(), weights.bias.to_le_bytes()].concat();
    bytes.extend(weights.of.iter().flat_map(|weight| ((weight / step).round() as i8).to_le_bytes()));
    bytes
}

/// The evidence for each row, from weights that were made without its fold.
fn validated(rows: &[Row]) -> Vec<f32> {
    let mut evidence = vec![0.0; rows.len()];
    let mut groups: Vec<usize> = rows.iter().map(|row| row.group).collect();
    groups.sort_unstable();
    groups.dedup();
    // Neighbours in the corpus are alike, so folds take turns.
    let fold_of = |row: &Row| groups.binary_search(&row.group).unwrap() % FOLDS;
    for fold in 0..FOLDS {
        let weights = fit(rows.iter().filter(|row| fold_of(row) != fold));
        for (row, evidence) in rows.iter().zip(&mut evidence).filter(|(row, _)| fold_of(row) == fold) {
            *evidence = model::weigh(&row.features, weights.bias, |bucket| weights.of[bucket]);
        }
    }
    evidence
}

fn tell(title: &str, rows: &[Row], found: impl Fn(usize) -> bool) {
    println!("\n== {title}");
    let mut counts: BTreeMap<&str, [u32; 4]> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        let outcome = usize::from(row.attack) * 2 + usize::from(found(at));
        let name = if row.source.starts_with("BIPIA") { "BIPIA" } else { &row.source };
        let all = if name == "BIPIA" { "~ BIPIA, again" } else { "~ all but BIPIA" };
        for name in [name, all] {
            counts.entry(name).or_default()[outcome] += 1;
        }
    }
    for (name, [quiet, alarm, missed, hit]) in counts {
        let share = |part: u32, rest: u32| 100.0 * f64::from(part) / f64::from((part + rest).max(1));
        let f1 = 200.0 * f64::from(hit) / f64::from((2 * hit + alarm + missed).max(1));
        println!(
            "{name:<36} recall {:>5.1}  alarms {:>5.1}  F1 {f1:>5.1}",
            share(hit, missed),
            share(alarm, quiet)
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(folder) = arguments.iter().find(|word| !word.starts_with("--")) else {
        println!("usage: fit FOLDER [--write], a folder with injection.jsonl.gz");
        std::process::exit(2);
    };
    let rows = rows(folder);
    let engine = Engine::new();
    let by_rule: Vec<bool> = rows
        .iter()
        .map(|row| {
            let report = engine.scan(Direction::Input, Profile::Standard, &row.text, None);
            let others =
                report.findings.iter().any(|finding| finding.rule != model::RESEMBLES && finding.weight > 0);
            report.judgement > Judgement::Pass && others
        })
        .collect();
    let evidence = validated(&rows);
    let resembles = |at: usize| rows[at].text.len() <= model::LONGEST && evidence[at] >= model::FROM;
    tell("the rules alone", &rows, |at| by_rule[at]);
    tell("the model alone, each row unseen", &rows, resembles);
    tell("both", &rows, |at| by_rule[at] || resembles(at));
    if arguments.iter().any(|word| word == "--write") {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/model/weights.bin");
        std::fs::write(path, bytes(&fit(rows.iter()))).unwrap();
        println!("\nwritten: {path}");
    }
}
