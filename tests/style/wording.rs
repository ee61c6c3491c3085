//! Laws of English: sentences of comments have a subject with a name, and modules and types are called by the field's terms.

use crate::source;

/// Words that a comment does not begin with: they put a clause where a named subject belongs.
const BEGINNINGS: &[&str] =
    &["What ", "Who ", "Whoever ", "Whether ", "Whose ", "Whom ", "Which ", "As which ", "Of ", "So many"];

/// Words that no module and no type is called: each has a term that people know.
const WORDS: &[&str] = &[
    "desk", "told", "taken", "taking", "kept", "keeper", "wish", "words", "around", "given", "said", "heart",
    "tell", "teller", "errand", "errands", "letters", "seat", "seats", "sight", "needles", "prints",
    "locker", "falling", "deed", "twin", "twins", "notes", "waits", "wall",
];

/// Characters of a test's name.
const LONGEST_NAME: usize = 70;

/// The text of a line that is a comment and nothing else.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    let text = text.strip_prefix(['/', '!']).unwrap_or(text).trim();
    (!text.is_empty()).then_some(text)
}

fn begins_badly(comment: &str) -> bool {
    BEGINNINGS.iter().any(|word| comment.starts_with(word))
}

#[test]
fn comments_begin_with_a_named_subject() {
    let (mut all, mut bad) = (0, Vec::new());
    for file in source::files(".rs") {
        for (number, text) in
            file.text.lines().enumerate().filter_map(|(at, line)| Some((at, comment(line)?)))
        {
            all += 1;
            if begins_badly(text) {
                bad.push(format!("{}:{}: {text}", file.path, number + 1));
            }
        }
    }
    assert!(all > 10_000, "{all} lines of comments");
    assert!(bad.is_empty(), "{} of {all} lines of comments:\n{}", bad.len(), bad.join("\n"));
}

/// The names of the types that code declares, each with its line.
fn types(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            if ["struct", "enum", "trait", "type"].contains(&word) {
                let name = words.next().unwrap_or_default();
                let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
                found.extend(name.get(..end).map(|name| (number + 1, name)));
            }
        }
    }
    found
}

#[test]
fn modules_and_types_are_called_by_the_field_s_terms() {
    let mut bad = Vec::new();
    for file in source::files(".rs").iter().filter(|file| !source::is_test(&file.path)) {
        let module = file.path.trim_end_matches(".rs").rsplit('/').next().unwrap_or_default();
        if WORDS.contains(&module) {
            bad.push(format!("{}:1: a module", file.path));
        }
        for (line, name) in types(&source::parts(&file.text).code) {
            if WORDS.contains(&name.to_lowercase().as_str()) {
                bad.push(format!("{}:{line}: {name}", file.path));
            }
        }
    }
    assert!(bad.is_empty(), "{} names:\n{}", bad.len(), bad.join("\n"));
}

/// The names of the tests of a text, each with its line.
fn tests_of(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut is_test) = (Vec::new(), false);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if line == "#[test]" || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if let Some((_, rest)) = line.split_once("fn ").filter(|_| is_test && !line.starts_with("//"))
        {
            found.extend(rest.split('(').next().map(|name| (number + 1, name)));
            is_test = false;
        }
    }
    found
}

#[test]
fn names_of_tests_are_short() {
    let mut bad = Vec::new();
    for file in source::files(".rs") {
        for (line, name) in tests_of(&file.text).into_iter().filter(|(_, name)| name.len() > LONGEST_NAME) {
            bad.push(format!("{}:{line}: {} characters: {name}", file.path, name.len()));
        }
    }
    assert!(bad.is_empty(), "{} names of tests:\n{}", bad.len(), bad.join("\n"));
}

#[test]
fn comments_and_declared_types_are_told_apart_from_the_rest() {
    let lines =
        ["    /// What it is.", "//! Of a crate", "// So many", "let a = 1; // What", "//", "/// The what."];
    let found: Vec<Option<bool>> = lines.iter().map(|line| comment(line).map(begins_badly)).collect();
    assert_eq!(found, [Some(true), Some(true), Some(true), None, None, Some(false)]);
    assert_eq!(
        types("pub(crate) struct Seat<T>;\nfn f() { a.r#type = given }\nenum Kept {}"),
        [(1, "Seat"), (3, "Kept")]
    );
    let text =
        "#[test]\n// fn c()\n#[ignore = \"x\"]\nfn a() {\n}\nfn b() {}\n#[tokio::test]\nasync fn d() {}";
    assert_eq!(tests_of(text), [(4, "a"), (8, "d")]);
}
