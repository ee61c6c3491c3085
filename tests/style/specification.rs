//! SPECIFICATION.md: every promise and every bound names a test that holds it, and the test exists. What no test holds
//! yet stands in a section of its own, and nowhere else.

use crate::source;

const FILE: &str = "SPECIFICATION.md";
/// The section of what is promised and not held by a test.
const OPEN: &str = "## Promised, not held by a test yet";

/// Checks a reference `FILE::TEST`: the file is there, has the function, and the function is a test.
pub(crate) fn check(reference: &str) -> Result<(), String> {
    let (path, name) = reference.split_once("::").ok_or_else(|| format!("{reference} names no test"))?;
    if !source::exists(path) {
        return Err(format!("{path} does not exist"));
    }
    let code = source::parts(&source::read(path)).code;
    // Tests of one form may be made by a macro, a line each: `NAME: …;`.
    if code.contains("fn $name()")
        && code.lines().any(|line| line.trim_start().starts_with(&format!("{name}: ")))
    {
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

/// Every reference `FILE::TEST` in a text: in backticks, the file with a folder.
pub(crate) fn references(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|it| it.contains(".rs::") && it.contains('/')).collect()
}

fn halves() -> (String, String) {
    let text = source::read(FILE);
    let (held, open) = text.split_once(OPEN).unwrap_or_else(|| panic!("{FILE} has no section `{OPEN}`"));
    (held.to_owned(), open.to_owned())
}

/// The rows of every table: the line, with the cells of its heading told apart by the dashes after it.
fn rows(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    let heads = lines.windows(2).filter(|pair| pair.last().is_some_and(|line| line.starts_with("|---")));
    let heads: Vec<&str> = heads.filter_map(|pair| pair.first().copied()).collect();
    lines.into_iter().filter(|line| !line.starts_with("|---") && !heads.contains(line)).collect()
}

#[test]
fn every_promise_and_bound_names_a_test_that_exists() {
    let (held, _) = halves();
    let rows = rows(&held);
    assert!(rows.len() > 20, "{} rows", rows.len());
    for row in rows {
        let references = references(row);
        assert!(!references.is_empty(), "{FILE}: names no test: {row}");
        for reference in references {
            assert_eq!(check(reference), Ok(()), "{FILE}: {row}");
        }
    }
}

#[test]
fn each_promise_of_the_design_is_stated() {
    let (held, open) = halves();
    for number in 1..=10 {
        let named = format!("### P{number} ");
        assert!(held.contains(&named), "{FILE} has no section `{named}`");
    }
    assert!(!rows(&open).is_empty(), "{FILE}: take the section of open promises away if it is empty");
}

#[test]
fn what_no_test_holds_names_no_test_but_its_promise() {
    let (_, open) = halves();
    for row in rows(&open) {
        assert!(row.starts_with("| P"), "{FILE}: say whose promise it is: {row}");
        assert!(references(row).is_empty(), "{FILE}: a test holds it, so it does not belong here: {row}");
    }
}

#[test]
fn a_reference_to_what_is_not_there_or_no_test_is_a_fault() {
    assert_eq!(
        check("tests/style/specification.rs::a_reference_to_what_is_not_there_or_no_test_is_a_fault"),
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
