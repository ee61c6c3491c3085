//! docs/project/seeds.md: every line of the five seed documents has a place, a promise or a reason, and what is named exists.

use crate::source;

const FILE: &str = "docs/project/seeds.md";
const KINDS: [&str; 6] = ["type", "method", "event", "config", "error", "rule"];

/// A row of the table: line, item, kind, where.
type Row = (usize, String, String, String);

fn rows() -> Vec<Row> {
    let text = source::read(FILE);
    let mut rows = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| line.starts_with('|')) {
        let number = number + 1;
        let cells: Vec<String> =
            line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        let [item, kind, place] = cells.as_slice() else {
            panic!("{FILE}:{number}: {} cells instead of 3", cells.len())
        };
        if item != "item" && !item.starts_with("---") {
            rows.push((number, item.clone(), kind.clone(), place.clone()));
        }
    }
    rows
}

#[test]
fn every_row_has_an_item_a_kind_and_a_place() {
    let rows = rows();
    assert!(rows.len() > 1000, "{} rows", rows.len());
    for (line, item, kind, place) in rows {
        assert!(!item.is_empty() && !place.is_empty(), "{FILE}:{line}: an empty cell");
        assert!(KINDS.contains(&kind.as_str()), "{FILE}:{line}: `{kind}` is no kind");
    }
}

#[test]
fn every_place_is_a_file_with_its_test_a_promise_or_a_reason() {
    let mut faults = Vec::new();
    for (line, _, _, place) in rows() {
        let fault = if let Some(reason) = place.strip_prefix("not, because ") {
            (reason.len() < 20).then(|| "gives no reason".to_owned())
        } else if let Some(later) = place.strip_prefix("later (") {
            later_fault(later)
        } else {
            there_fault(&place)
        };
        faults.extend(fault.map(|fault| format!("{FILE}:{line}: {fault}: {place}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn nothing_is_left_as_being_built() {
    assert!(!source::read(FILE).contains(&format!("{}:", "SPINE")));
}

/// `issue N): PROCESS` or `TOPIC): PROCESS`.
fn later_fault(rest: &str) -> Option<String> {
    let Some((topic, owner)) = rest.split_once("): ") else {
        return Some("does not say which process".into());
    };
    let issue = topic.strip_prefix("issue ");
    let known = issue.map_or(!topic.is_empty(), |number| number.parse::<u32>().is_ok());
    (!known || owner.is_empty()).then(|| "is no issue or topic with a process".to_owned())
}

/// Said of what is there and would not be missed by any test.
const UNTESTED: &str = "no test of its own yet";

/// `` `FILE`, `FILE::TEST` `` and, if need be, more of either and a remark in brackets.
fn there_fault(place: &str) -> Option<String> {
    let list = place.split(" (").next().unwrap_or_default();
    let (mut files, mut tests) = (0, 0);
    for part in list.split(", ") {
        if part == UNTESTED {
            tests += 1;
            continue;
        }
        let Some(name) = part.strip_prefix('`').and_then(|part| part.strip_suffix('`')) else {
            return Some(format!("{part} is not in backticks"));
        };
        if name.contains("::") {
            tests += 1;
            if let Err(fault) = crate::specification::check(name) {
                return Some(fault);
            }
        } else {
            files += 1;
            if !source::exists(name) {
                return Some(format!("{name} does not exist"));
            }
        }
    }
    (files == 0 || tests == 0).then(|| "names no file, or no test of it".to_owned())
}

#[test]
fn what_is_there_without_a_test_is_the_exception() {
    let rows = rows();
    let untested = rows.iter().filter(|(.., place)| place.contains(UNTESTED)).count();
    let there = rows.iter().filter(|(.., place)| place.starts_with('`')).count();
    assert!(there > 200 && untested * 10 < there, "{untested} of {there} rows have no test");
}
