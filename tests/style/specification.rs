//! SPECIFICATION.md and its bounds: every promise and every bound has an id, and a test that says which ids it holds, in a line
//! `// Holds P1-01, B-07.` above its attributes. Promises that no test holds yet stand in a section of their own.

use std::collections::BTreeMap;

use crate::source;

const FILE: &str = "SPECIFICATION.md";
const BOUNDS: &str = "docs/reference/bounds.md";
/// The section of promises that no test holds.
const OPEN: &str = "## Promised, not held by a test yet";
/// The start of a marker on a test.
const MARKER: &str = "// Holds ";

/// Checks a reference `FILE::TEST`: the file is there, has the function, and the function is a test.
pub(crate) fn check(reference: &str) -> Result<(), String> {
    let (path, name) = reference.split_once("::").ok_or_else(|| format!("{reference} names no test"))?;
    if !source::exists(path) {
        return Err(format!("{path} does not exist"));
    }
    let code = source::parts(&source::read(path)).code;
    // A test of each process is named as it is in the list of processes.
    let process = |it: &manifest::Process| format!("{it:?}") == name;
    if code.contains("fn $process()") && manifest::Process::ALL.iter().any(process) {
        return Ok(());
    }
    let at = code.find(&format!("fn {name}(")).ok_or_else(|| format!("{path} has no test {name}"))?;
    // Attributes stand between the end of the item before and the function.
    let before = code.get(..at).unwrap_or_default();
    let attributes = before.rsplit(['}', ';', '{']).next().unwrap_or_default();
    if attributes.contains("#[test]") || attributes.contains("::test") {
        return Ok(());
    }
    Err(format!("{path}: {name} is no test"))
}

/// Returns whether a text is a reference `FILE::TEST`, the file with a folder.
pub(crate) fn is_reference(text: &str) -> bool {
    text.contains(".rs::") && text.contains('/')
}

/// Every reference in backticks in a text.
pub(crate) fn references(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).filter(|it| is_reference(it)).collect()
}

fn halves() -> (String, String) {
    let text = source::read(FILE);
    let (held, open) = text.split_once(OPEN).unwrap_or_else(|| panic!("{FILE} has no section `{OPEN}`"));
    (held.to_owned() + &source::read(BOUNDS), open.to_owned())
}

/// Returns whether a text is an id: `P1-01` or `B-07`.
fn is_id(text: &str) -> bool {
    text.split_once('-').is_some_and(|(head, number)| {
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        digits(number) && (head == "B" || head.strip_prefix('P').is_some_and(digits))
    })
}

/// The ids of the tables of a text, each with its line. A row without an id is a fault.
fn ids(text: &str) -> Vec<(String, String)> {
    let rows = text.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    rows.map(|row| (row.split('|').nth(1).unwrap_or_default().trim().to_owned(), row.to_owned()))
        .filter(|(id, _)| id != "id")
        .collect()
}

/// The ids that a marker names, where a line is one.
fn marked(line: &str) -> Option<Vec<&str>> {
    let rest = line.trim_start().strip_prefix(MARKER)?.strip_suffix('.')?;
    let ids: Vec<&str> = rest.split(", ").collect();
    ids.iter().all(|id| is_id(id)).then_some(ids)
}

/// Returns whether a test follows a marker: the lines after it up to the next function are attributes and comments, with
/// `#[test]` or a test of a macro among them.
fn is_of_a_test(after: &[&str]) -> bool {
    let item = after.iter().position(|line| line.contains("fn ") || line.trim_end().ends_with(';'));
    let lines = after.get(..=item.unwrap_or_default()).unwrap_or_default();
    lines.iter().any(|line| line.contains("#[test]") || line.contains("::test"))
        || lines.last().is_some_and(|line| line.contains(": ") && !line.contains("fn "))
}

#[test]
fn every_promise_and_bound_is_held_by_a_test_that_says_so() {
    let (held, _) = halves();
    let ids = ids(&held);
    let mut tests: BTreeMap<&str, usize> = BTreeMap::new();
    for (id, row) in &ids {
        assert!(is_id(id), "{FILE}: give this row an id: {row}");
        assert_eq!(tests.insert(id, 0), None, "{FILE}: {id} stands twice");
    }
    assert!(tests.len() > 400, "{} rows", tests.len());
    for file in source::files(".rs") {
        let lines: Vec<&str> = file.text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let Some(ids) = marked(line) else { continue };
            let place = format!("{}:{}", file.path, number + 1);
            assert!(
                is_of_a_test(lines.get(number + 1..).unwrap_or_default()),
                "{place}: no test follows the marker"
            );
            for id in ids {
                let count = tests.get_mut(id).unwrap_or_else(|| panic!("{place}: {FILE} has no {id}"));
                *count += 1;
            }
        }
    }
    let missing: Vec<_> = tests.iter().filter(|(_, count)| **count == 0).map(|(id, _)| *id).collect();
    assert!(missing.is_empty(), "no test says `{MARKER}…` of {missing:?}");
}

#[test]
fn each_promise_of_the_design_is_stated() {
    let (held, open) = halves();
    for number in 1..=10 {
        let named = format!("### P{number} ");
        assert!(held.contains(&named), "{FILE} has no section `{named}`");
    }
    assert!(!ids(&open).is_empty(), "{FILE}: take the section of open promises away if it is empty");
}

#[test]
fn an_open_promise_names_its_promise_and_no_test() {
    let (_, open) = halves();
    for (promise, row) in ids(&open).into_iter().filter(|(promise, _)| promise != "promise") {
        assert!(promise.starts_with('P'), "{FILE}: say whose promise it is: {row}");
        assert!(references(&row).is_empty(), "{FILE}: a test holds it, so it does not belong here: {row}");
    }
}

#[test]
fn a_marker_names_ids_and_stands_above_a_test() {
    assert_eq!(marked("    // Holds P1-01, B-107."), Some(vec!["P1-01", "B-107"]));
    for none in
        ["// Holds the lock.", "// Holds P1-01", "// holds P1-01.", "Holds P1-01.", "// Holds P1, B-1."]
    {
        assert_eq!(marked(none), None, "{none}");
    }
    assert!(is_of_a_test(&["#[test]", "fn a() {"]));
    assert!(is_of_a_test(&["    name: \"value\", 3;"]));
    assert!(!is_of_a_test(&["fn a() {", "#[test]", "fn b() {"]));
}

#[test]
fn a_reference_to_no_file_no_function_or_no_test_is_a_fault() {
    assert_eq!(
        check("tests/style/specification.rs::a_reference_to_no_file_no_function_or_no_test_is_a_fault"),
        Ok(())
    );
    for wrong in [
        "tests/style/specification.rs::check",
        "tests/style/specification.rs::nothing",
        "tests/none.rs::x",
        "README.md",
    ] {
        assert!(check(wrong).is_err(), "{wrong}");
    }
    let text = "`a/b.rs::c`, `README.md` and b.rs::d, `e.rs::f`";
    assert_eq!(references(text), ["a/b.rs::c"]);
}
