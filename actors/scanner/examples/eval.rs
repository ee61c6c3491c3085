//! Prints what the engine finds and misses on the development corpora, and how fast it is.
//! `eval FOLDER` reads them through `gzip`; a tool for people, no part of the process.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a tool for people: a bad corpus may end it"
)]
#![expect(clippy::disallowed_methods, reason = "gzip is the only program it starts, outside every actor")]

use ipc_proto::scanner::{Direction, Judgement, Profile};
use scanner::Engine;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

#[derive(Default)]
struct Count {
    hit: usize,
    missed: usize,
    alarm: usize,
    quiet: usize,
}

impl Count {
    fn add(&mut self, attack: bool, found: bool) {
        match (attack, found) {
            (true, true) => self.hit += 1,
            (true, false) => self.missed += 1,
            (false, true) => self.alarm += 1,
            (false, false) => self.quiet += 1,
        }
    }

    fn line(&self, name: &str) {
        let of = |part: usize, rest: usize| percent(part, part + rest);
        let (precision, recall) = (of(self.hit, self.alarm), of(self.hit, self.missed));
        let f1 = 2.0 * precision * recall / (precision + recall).max(0.001);
        println!(
            "{name:<44} attacks {:>4} recall {recall:>5.1}  benign {:>4} alarms {:>5.1}  precision {precision:>5.1} F1 {f1:>5.1}",
            self.hit + self.missed,
            self.alarm + self.quiet,
            of(self.alarm, self.quiet)
        );
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        100.0 * f64::from(u32::try_from(part).unwrap()) / f64::from(u32::try_from(whole).unwrap())
    }
}

fn rows(folder: &str, file: &str) -> Vec<Value> {
    let out = Command::new("gzip").args(["-dc", &format!("{folder}/{file}.jsonl.gz")]).output().unwrap();
    assert!(out.status.success(), "{folder}/{file}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs one corpus. `found` says whether a text was found out; rows are grouped by the fields named.
fn corpus(title: &str, rows: &[Value], fields: &[&str], show: bool, found: impl Fn(&str) -> (bool, String)) {
    println!("\n== {title}");
    let mut groups: BTreeMap<String, Count> = BTreeMap::new();
    for row in rows {
        let text = row["text"].as_str().unwrap();
        let attack = row["label"].as_i64() == Some(1);
        let (caught, rules) = found(text);
        let name = |field: &&str| row[*field].as_str().unwrap_or("-").split(':').next().unwrap().to_owned();
        let key: Vec<String> = fields.iter().map(name).collect();
        groups.entry(key.join(" / ")).or_default().add(attack, caught);
        groups.entry("~ all".to_owned()).or_default().add(attack, caught);
        if row["source"].as_str().is_some_and(|source| !source.starts_with("BIPIA")) {
            groups.entry("~ all but BIPIA".to_owned()).or_default().add(attack, caught);
        }
        if show && attack != caught {
            let kind = if attack { "MISSED" } else { "ALARM " };
            println!(
                "{kind} {} {rules} {:?}",
                row["kind"].as_str().unwrap_or("-"),
                text.chars().take(200).collect::<String>()
            );
        }
    }
    for (name, count) in groups {
        count.line(&name);
    }
}

/// The process's proportional set size in KiB.
fn pss() -> i64 {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

/// Seconds this process was on a processor, so that a busy machine does not spoil the figures.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds: f64 = stat.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
    nanoseconds / 1e9
}

fn speed(name: &str, bytes: usize, run: impl Fn()) {
    run();
    // The best of several: a neighbour on the same core takes its caches as well as its time.
    let once = || {
        let start = cpu();
        run();
        cpu() - start
    };
    let seconds = (0..7).map(|_| once()).fold(f64::INFINITY, f64::min);
    println!("{name:<44} {:>7.1} MB/s", f64::from(u32::try_from(bytes).unwrap()) / seconds / 1e6);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let show = arguments.iter().any(|word| word == "--show");
    let Some(folder) = arguments.iter().find(|word| !word.starts_with("--")) else {
        println!("usage: eval FOLDER [--show], a folder with injection, secrets and unicode .jsonl.gz");
        std::process::exit(2);
    };
    let [injection, secrets, unicode] = ["injection", "secrets", "unicode"].map(|file| rows(folder, file));
    let before = pss();
    let engine = Engine::new();
    let idle = pss() - before;
    let stopped = |text: &str| {
        let report = engine.scan(Direction::Output, Profile::Standard, text, None);
        let rules: Vec<&str> = report.findings.iter().map(|finding| finding.rule).collect();
        (report.judgement > Judgement::Pass, rules.join(","))
    };
    let flagged = |text: &str| {
        let report = engine.scan(Direction::Input, Profile::Standard, text, None);
        let rules: Vec<&str> = report.findings.iter().map(|finding| finding.rule).collect();
        (report.judgement > Judgement::Pass, rules.join(","))
    };
    corpus("injection: verdict above PASS", &injection, &["source"], show, flagged);
    let blocked = |text: &str| {
        (
            engine.scan(Direction::Input, Profile::Standard, text, None).judgement == Judgement::Block,
            String::new(),
        )
    };
    corpus("injection: verdict BLOCK", &injection, &["source"], false, blocked);
    corpus("secrets, on the way out: verdict above PASS", &secrets, &["kind"], show, stopped);
    corpus("unicode: verdict above PASS", &unicode, &["kind"], show, flagged);

    let warm = pss() - before;
    speeds(&engine, &injection);
    println!(
        "engine: {idle} KiB when made, {warm} KiB after the corpora; the process was {before} KiB before it"
    );
}

/// Ordinary text: the benign rows of the injection corpus, again and again.
fn speeds(engine: &Engine, rows: &[Value]) {
    println!("\n== speed, this build profile, one core");
    let mut prose = String::new();
    while prose.len() < 8 << 20 {
        for row in rows.iter().filter(|row| row["label"].as_i64() == Some(0)) {
            prose.push_str(row["text"].as_str().unwrap());
            prose.push('\n');
        }
    }
    speed("secrets path, 8 MiB of benign text", prose.len(), || {
        assert!(engine.secrets(&prose).len() < prose.len())
    });
    speed("whole pipeline, 8 MiB of benign text", prose.len(), || {
        assert!(engine.scan(Direction::Input, Profile::Standard, &prose, None).findings.len() < prose.len());
    });
    let end = prose.char_indices().map(|(at, _)| at).take_while(|at| *at <= 16 << 10).last().unwrap();
    let message = &prose[..end];
    let mut times: Vec<u128> = (0..1000)
        .map(|_| {
            let start = Instant::now();
            assert!(engine.scan(Direction::Input, Profile::Standard, message, None).score <= 1.0);
            start.elapsed().as_micros()
        })
        .collect();
    times.sort_unstable();
    println!("16 KiB message: p50 {} us, p99 {} us", times[500], times[990]);
}
