//! `make bench`: every figure of the project beside its floor, measured in the same run, on release builds.
//!
//! It prints and, with `--write`, keeps the table in `docs/reference/benchmarks.md`. Times are shown here and asserted nowhere.
#![expect(clippy::disallowed_methods, reason = "a bench starts the real programs, and its own other half")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

mod browser;
mod call;
mod channels;
mod client;
mod egress;
mod figure;
mod finding;
mod floors;
mod gateway;
mod healing;
mod idle;
mod jailed;
mod jobs;
mod judging;
mod launch;
mod litellm;
mod local;
mod machine;
mod mcp;
mod packages;
mod person;
mod provider;
mod queued;
mod ready;
mod record;
mod remembering;
mod report;
mod rivals;
mod role;
mod spread;
mod turn;

use figure::Figure;
use role::Role;
use std::process::ExitCode;

/// A set of figures by its name on the command line.
type Set = (&'static str, fn() -> std::io::Result<Vec<Figure>>);

const SETS: &[Set] = &[
    // First, while this process has one thread.
    ("launch", launch::measure),
    ("call", call::measure),
    ("ready", ready::measure),
    ("idle", idle::measure),
    ("judging", judging::measure),
    ("record", record::measure),
    ("queued", queued::measure),
    ("turn", turn::measure),
    ("channels", channels::measure),
    ("healing", healing::measure),
    ("jobs", jobs::measure),
    ("finding", finding::measure),
    ("remembering", remembering::measure),
    ("gateway", gateway::measure),
    ("egress", egress::measure),
    ("packages", packages::measure),
    ("mcp", mcp::measure),
    ("browser", browser::measure),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.first().and_then(|word| Role::of(word)) {
        Some(role) => role::play(role).map_err(|error| error.to_string()),
        None => run(&words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("bench: {cause}");
            ExitCode::FAILURE
        }
    }
}

/// Measures the sets that were named, or all.
fn run(words: &[String]) -> Result<(), String> {
    let (options, names): (Vec<&String>, Vec<&String>) =
        words.iter().partition(|word| word.starts_with("--"));
    let write = options.iter().any(|word| *word == "--write");
    let known = |word: &&&String| SETS.iter().any(|(name, _)| *name == word.as_str());
    if let Some(unknown) =
        names.iter().find(|word| !known(word)).or(options.iter().find(|word| **word != "--write"))
    {
        let valid: Vec<&str> = SETS.iter().map(|(name, _)| *name).collect();
        return Err(format!("no such figure: {unknown}; usage: bench [--write] [{}]", valid.join("|")));
    }
    let (mut figures, mut failed) = (Vec::new(), Vec::new());
    for (name, measure) in SETS {
        if names.is_empty() || names.iter().any(|word| word == name) {
            eprintln!("bench: {name}");
            match measure() {
                Ok(measured) => figures.extend(measured),
                Err(error) => failed.push(format!("{name} was not measured: {error}")),
            }
        }
    }
    let report = report::of(&figures);
    println!("{report}");
    if !failed.is_empty() {
        return Err(failed.join("; "));
    }
    if write {
        report::keep(&figures).map_err(|error| format!("docs/reference/benchmarks.md: {error}"))
    } else {
        Ok(())
    }
}
