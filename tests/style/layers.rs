//! Layers: the modules of a crate depend one way. The files of a crate are its modules; those of one folder form a graph, whose edges
//! are paths of the program's code that begin with `crate`, `super` or `self`. A cycle is a set of modules that all reach each other.

use crate::source::{self, File};
use std::collections::{BTreeMap, BTreeSet};

/// Modules that a cycle may have.
const BOUND: usize = 3;

/// The path of a module from its crate's root.
type Module = Vec<String>;

/// The modules of one folder: for each, those that it names, each with a place.
type Edges = BTreeMap<String, BTreeMap<String, String>>;

/// Folders with a manifest and sources, each with the files of its program.
fn crates() -> BTreeMap<String, Vec<File>> {
    let manifests = source::files("Cargo.toml");
    let folders: BTreeSet<&str> =
        manifests.iter().filter_map(|it| it.path.strip_suffix("/Cargo.toml")).collect();
    let mut crates: BTreeMap<String, Vec<File>> = BTreeMap::new();
    for file in source::files(".rs") {
        let Some((folder, within)) = file.path.split_once("/src/") else { continue };
        let left_out = ["tests", "fuzz"].contains(&folder) || within.starts_with("bin/");
        if !left_out && folders.contains(folder) && !is_of_tests(within) {
            crates.entry(folder.to_owned()).or_default().push(file);
        }
    }
    crates
}

fn is_of_tests(within: &str) -> bool {
    let name = within.rsplit('/').next().unwrap_or_default();
    source::is_test(within) || ["bench.rs", "build.rs"].contains(&name)
}

/// The module that a file below `src` is.
fn module(within: &str) -> Module {
    let mut parts: Module = within.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// A word or a mark of code, with its line.
type Token = (usize, String);

/// Words, and marks of one character; `::` is one mark.
fn tokens(code: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let length = match word {
                0 if rest.starts_with("::") => 2,
                0 => first.len_utf8(),
                _ => word,
            };
            let (token, after) = rest.split_at(length);
            tokens.push((number + 1, token.to_owned()));
            rest = after.trim_start();
        }
    }
    tokens
}

/// The program of a file: without its tests, comments and literals.
fn program(text: &str) -> String {
    let code = source::parts(text).code;
    code.lines().take(source::program_lines(&code)).collect::<Vec<_>>().join("\n")
}

/// Every path of the crate that this code of the module `here` names, with its line.
fn paths(code: &str, here: &[String]) -> Vec<(usize, Module)> {
    let tokens = tokens(code);
    let word = |at: usize| tokens.get(at).map_or("", |(_, token)| token.as_str());
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_root = ["crate", "super", "self"].contains(&word(at)) && word(at + 1) == "::";
        if !is_root || (at > 0 && word(at - 1) == "::") {
            at += 1;
            continue;
        }
        let mut prefix = if word(at) == "crate" { Module::new() } else { here.to_vec() };
        while ["crate", "super", "self"].contains(&word(at)) && word(at + 1) == "::" {
            if word(at) == "super" {
                prefix.pop();
            }
            at += 2;
        }
        at = spread(&tokens, at, &prefix, &mut found);
    }
    found
}

/// Adds what the rest of a path names, which may be a list in braces; returns where it ends.
fn spread(tokens: &[Token], mut at: usize, prefix: &[String], found: &mut Vec<(usize, Module)>) -> usize {
    let mut path = prefix.to_vec();
    while let Some((line, token)) = tokens.get(at) {
        if token == "{" {
            at += 1;
            while let Some((_, token)) = tokens.get(at).filter(|(_, token)| token != "}") {
                at = if token == "," { at + 1 } else { spread(tokens, at, &path, found).max(at + 1) };
            }
            return at + 1;
        }
        let is_name = token.chars().all(|c| c.is_alphanumeric() || c == '_');
        if is_name && token != "self" {
            path.push(token.clone());
        }
        if tokens.get(at + 1).is_some_and(|(_, token)| token == "::") && (is_name || token == "self") {
            at += 2;
            continue;
        }
        found.push((*line, path));
        return at + usize::from(is_name || token == "*");
    }
    at
}

/// The edges between the modules of each folder of a crate.
fn graphs(folder: &str, files: &[File]) -> BTreeMap<Module, Edges> {
    let within = |file: &File| file.path.get(folder.len() + "/src/".len()..).unwrap_or_default().to_owned();
    let known: BTreeSet<Module> = files.iter().map(|file| module(&within(file))).collect();
    let mut graphs: BTreeMap<Module, Edges> = BTreeMap::new();
    for file in files {
        let here = module(&within(file));
        for (line, mut to) in paths(&program(&file.text), &here) {
            while !to.is_empty() && !known.contains(&to) {
                to.pop();
            }
            let common = to.iter().zip(&here).take_while(|(a, b)| a == b).count();
            let (Some(target), Some(source)) = (to.get(common), here.get(common)) else { continue };
            let above = here.get(..common).unwrap_or_default().to_vec();
            let edges = graphs.entry(above).or_default().entry(source.clone()).or_default();
            edges.entry(target.clone()).or_insert_with(|| format!("{}:{line} names {target}", file.path));
        }
    }
    graphs
}

/// All modules that one of these reaches.
fn reached<'a>(edges: &'a Edges, from: &'a str) -> BTreeSet<&'a str> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(at) = open.pop() {
        let next = edges.get(at).into_iter().flat_map(BTreeMap::keys);
        open.extend(next.map(String::as_str).filter(|module| seen.insert(*module)));
    }
    seen
}

/// The cycles of a folder that are larger than may be.
fn cycles(edges: &Edges) -> Vec<BTreeSet<&str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        edges.keys().map(|from| (from.as_str(), reached(edges, from))).collect();
    let mut found: BTreeSet<BTreeSet<&str>> = BTreeSet::new();
    for (from, to) in &reach {
        let back = |module: &&&str| reach.get(**module).is_some_and(|reach| reach.contains(from));
        found.insert(to.iter().filter(back).copied().collect());
    }
    found.into_iter().filter(|cycle| cycle.len() > BOUND).collect()
}

/// The places that close a cycle, a line each.
fn places(edges: &Edges, cycle: &BTreeSet<&str>) -> String {
    let inside = |edges: &BTreeMap<String, String>| -> Vec<String> {
        let inside = edges.iter().filter(|(to, _)| cycle.contains(to.as_str()));
        inside.map(|(_, place)| place.clone()).collect()
    };
    let from = edges.iter().filter(|(from, _)| cycle.contains(from.as_str()));
    from.flat_map(|(_, edges)| inside(edges)).collect::<Vec<_>>().join("\n")
}

#[test]
fn no_modules_of_a_crate_import_each_other_in_a_large_cycle() {
    let mut faults = String::new();
    for (name, files) in crates() {
        for (above, edges) in graphs(&name, &files) {
            let folder = [vec!["src".to_owned()], above].concat().join("/");
            for cycle in cycles(&edges) {
                faults += &format!(
                    "a cycle of {} modules in {name}/{folder}: {cycle:?}\n{}\n",
                    cycle.len(),
                    places(&edges, &cycle)
                );
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn paths_of_code_are_read_with_their_lists_and_roots() {
    let here: Module = ["a", "b"].map(str::to_owned).to_vec();
    let code = "use crate::c::{self, d::E, f};\nuse super::g::H as I;\nfn x() { self::j::k(); $crate::l!(); }\n\
                use std::self_::m;\nuse other::{self};\npub(in crate::n) fn y() { super::super::o::p() }";
    let found: Vec<(usize, String)> =
        paths(code, &here).into_iter().map(|(line, path)| (line, path.join("::"))).collect();
    let expected = [
        (1, "c"),
        (1, "c::d::E"),
        (1, "c::f"),
        (2, "a::g::H"),
        (3, "a::b::j::k"),
        (3, "l"),
        (6, "n"),
        (6, "o::p"),
    ];
    assert_eq!(found, expected.map(|(line, path)| (line, path.to_owned())));
}

#[test]
fn a_cycle_is_found_with_the_places_that_close_it_and_tests_do_not_count() {
    let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
    let ring = [
        file("k/src/lib.rs", "mod a; use crate::a::A;"),
        file("k/src/a.rs", "use crate::b::B;"),
        file("k/src/b/mod.rs", "use super::c;"),
        file("k/src/c.rs", "fn f() { crate::d::g() }"),
        file("k/src/d.rs", "use crate::a;\n#[cfg(test)]\nmod tests {\nuse crate::e;\n}"),
        file("k/src/e.rs", "use crate::a;"),
    ];
    let graphs = graphs("k", &ring);
    let edges = graphs.get(&Module::new()).cloned().unwrap_or_default();
    let found = cycles(&edges);
    assert_eq!(found, [BTreeSet::from(["a", "b", "c", "d"])]);
    let places: String = found.iter().map(|cycle| places(&edges, cycle)).collect();
    assert_eq!(places.lines().next(), Some("k/src/a.rs:1 names b"));
    assert_eq!(places.lines().count(), 4);
    assert!(is_of_tests("x/tests/y.rs") && is_of_tests("x/testing.rs") && !is_of_tests("x/contests.rs"));
}
