//! Recipes of CONTRIBUTING.md: an actor is a line, a row, an interface and a folder, so no other file lists the processes.

use crate::source;
use std::collections::BTreeSet;

/// A file that names this many processes holds a list of them.
const LIST: usize = 12;

/// Files with a list, and why. A new actor needs no edit of any of them.
const LISTS: &[(&str, &str)] = &[
    ("ipc-proto/manifest/src/process.rs", "the list"),
    ("ipc-proto/manifest/src/table.rs", "the rows"),
    ("ipc-proto/manifest/src/settings.rs", "tests name processes that need each other"),
    ("ipc-proto/manifest/tests/laws.rs", "numbers that were given out, and laws of single rows"),
    ("supervisor/config/src/plan.rs", "the section of each process that has one"),
    ("supervisor/config/tests/config/plans.rs", "the same"),
    ("tests/performance/healing.rs", "the request that needs each process"),
    ("tests/style/imports.rs", "imports of processes beyond those of every actor"),
];

/// The processes that a text of code names, by their variants or by their names in literals.
fn named(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = lines.join("\n");
    let words: BTreeSet<&str> = code.split(|c: char| !c.is_alphanumeric() && !"_@:\"".contains(c)).collect();
    let process = |process: &manifest::Process| {
        let (variant, name) = (format!("Process::{process:?}"), format!("\"{}\"", process.name()));
        words.iter().any(|word| *word == name || word.ends_with(&variant))
    };
    manifest::Process::ALL.iter().filter(|it| process(it)).count()
}

#[test]
fn no_file_but_the_table_is_a_list_of_all_processes() {
    let is_listed = |path: &str| LISTS.iter().any(|(listed, _)| *listed == path);
    let lists = |file: &source::File| named(&file.text) >= LIST;
    let faults: Vec<String> = source::files(".rs")
        .into_iter()
        .filter(|file| lists(file) && !is_listed(&file.path))
        .map(|file| file.path)
        .collect();
    assert!(faults.is_empty(), "make these from manifest::Process::ALL or processes!: {faults:?}");
}

#[test]
fn the_list_of_processes_is_found_by_its_names() {
    let quoted = manifest::Process::ALL.map(|process| format!("\"{}\"", process.name())).join(", ");
    assert_eq!(named(&quoted), manifest::Process::ALL.len());
    assert_eq!(named("use manifest::Process::Gate; // Process::Router \"web\""), 1);
}

/// The paths of the steps of a recipe, with the sample's name in place of `NAME` and `<name>`.
fn steps(recipe: &str) -> BTreeSet<String> {
    let text = source::read("CONTRIBUTING.md");
    let section = text.split(&format!("## Recipe: {recipe}\n")).nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let steps = section.lines().skip_while(|line| !line.starts_with("1. "));
    let steps: Vec<&str> = steps.take_while(|line| !line.is_empty()).collect();
    let steps = steps.join("\n");
    let quoted = steps.split('`').skip(1).step_by(2);
    let paths = quoted.filter(|it| it.contains('/') && !it.contains(' '));
    paths.map(|path| path.trim_end_matches('/').replace("NAME", "echo").replace("<name>", "echo")).collect()
}

#[test]
fn the_sample_actor_touches_what_its_recipe_names_and_nothing_else() {
    let sample = source::read("tests/recipes/actor.py");
    let touched = |line: &str| {
        let path = line.trim_start().strip_prefix('"')?.split_once("\": ")?.0;
        path.contains('/').then(|| match path.strip_prefix("actors/echo/") {
            Some("Cargo.toml") => "actors/echo".to_owned(),
            Some(within) => within.to_owned(),
            None => path.to_owned(),
        })
    };
    let maps = sample.split("\nEDITS = ").nth(1).and_then(|rest| rest.split("\ndef ").next());
    let mut touched: BTreeSet<String> = maps.unwrap_or_default().lines().filter_map(touched).collect();
    // The recipe names files of the folder by their path within it.
    touched.remove("README.md");
    assert_eq!(touched, steps("an actor"));
}
