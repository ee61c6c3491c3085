//! The system calls of each row, written down once more in `profiles.txt` beside this file. A change that widens,
//! narrows or removes a rule changes that file too, and so is visible in review.

use manifest::TABLE;
use manifest::syscalls::{Call, Group, Is, Quiet, RUNNER_KILLS, RUNNER_REFUSES, When, Width, quiets};
use std::collections::BTreeMap;
use std::fmt::Write;

fn condition(when: &When) -> String {
    let width = if when.width == Width::Whole { ":64" } else { "" };
    let is = match when.is {
        Is::Equal(value) => format!("={value:#x}"),
        Is::Without(bits) => format!("&{bits:#x}=0"),
        Is::Bits(of, set) => format!("&{of:#x}={set:#x}"),
        Is::OwnPid => "=own pid".to_owned(),
    };
    format!("{}{width}{is}", when.argument)
}

fn rule(call: &Call) -> String {
    let all = |all: &&[When]| all.iter().map(condition).collect::<Vec<_>>().join(" and ");
    let alternatives: Vec<String> = call.when.iter().map(all).collect();
    let when = if alternatives.is_empty() { "any".to_owned() } else { alternatives.join(" or ") };
    format!("{}: {when}", call.name)
}

fn silent(quiet: &Quiet) -> String {
    let when: Vec<String> = quiet.when.iter().map(condition).collect();
    let when = if when.is_empty() { "any".to_owned() } else { when.join(" or ") };
    format!("{}: {} if {when}", quiet.name, quiet.errno)
}

/// The groups that every process has. A row with no other has no line.
const LEAST: [&str; 2] = ["base", "links"];

/// Every row with more than the least groups, and every group with its rules, in order of name.
fn profiles() -> String {
    let (mut text, mut groups): (String, BTreeMap<&str, &Group>) = Default::default();
    for row in TABLE {
        let names: Vec<&str> = row.syscalls.iter().map(|group| group.name).collect();
        if names != LEAST {
            let _ = writeln!(text, "{}: {}", row.process.name(), names.join(" "));
        }
        groups.extend(row.syscalls.iter().map(|group| (group.name, *group)));
    }
    for (name, group) in groups {
        let mut rules: Vec<String> = group.calls.iter().map(rule).collect();
        rules.sort();
        let _ = writeln!(text, "\n[{name}]\n{}", rules.join("\n"));
    }
    let refused: Vec<String> =
        RUNNER_REFUSES.iter().map(|(name, errno)| format!("{name}: {errno}")).collect();
    let _ = writeln!(text, "\n[a runner hears]\n{}", refused.join("\n"));
    for row in TABLE.iter().filter(|row| row.process.is_runner()) {
        let quiet: Vec<String> = quiets(row).map(silent).collect();
        let _ = writeln!(text, "\n[and nobody else, of {}]\n{}", row.process.name(), quiet.join("\n"));
    }
    let _ = writeln!(text, "\n[a runner is killed by]\n{}", RUNNER_KILLS.join("\n"));
    text
}

// Holds P2-12.
#[test]
fn no_rule_is_widened_narrowed_or_taken_away_unseen() {
    let (is, stands) = (profiles(), include_str!("profiles.txt"));
    for (number, (is, stands)) in (1..).zip(is.lines().zip(stands.lines())) {
        assert_eq!(is, stands, "profiles.txt, line {number}");
    }
    assert_eq!(is.lines().count(), stands.lines().count(), "profiles.txt ends early or goes on");
}
