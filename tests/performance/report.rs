//! The table, and the document that keeps it.

use crate::figure::{Figure, HEADS};
use crate::machine;
use std::fs;
use std::io;

/// Where the table begins in the document; what stands above is kept.
const MARK: &str = "<!-- written by `bench --write`: do not edit below -->\n";

/// The table of these figures, with where they came from.
pub(crate) fn of(figures: &[Figure]) -> String {
    let rows: Vec<[String; 9]> = figures.iter().flat_map(Figure::rows).collect();
    let heads = HEADS.map(str::to_owned);
    let widths: Vec<usize> = (0..HEADS.len())
        .map(|at| {
            rows.iter()
                .chain([&heads])
                .filter_map(|row| row.get(at))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for (name, value) in machine::lines() {
        text += &format!("- {name}: {value}\n");
    }
    text += "\n";
    text += &line(&heads, &widths);
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    text += &format!("|-{}-|\n", rule.join("-|-"));
    for row in &rows {
        text += &line(row, &widths);
    }
    text
}

/// The first two columns and the last stand left, the numbers right.
fn line(cells: &[String], widths: &[usize]) -> String {
    let last = cells.len() - 1;
    let cells = cells.iter().zip(widths).enumerate().map(|(at, (cell, width))| match at {
        2.. if at < last => format!("{cell:>width$}"),
        _ => format!("{cell:<width$}"),
    });
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// Columns of a figure's row that the document keeps: figure, unit, median, 99th percentile, ratio, bound.
const KEPT: [usize; 6] = [0, 1, 3, 5, 7, 8];

/// Puts the figures into `docs/reference/benchmarks.md`, below what is said there about them, without the rows of their floors.
pub(crate) fn keep(figures: &[Figure]) -> io::Result<()> {
    let path = tests::repository().join("docs/reference/benchmarks.md");
    let before = fs::read_to_string(&path).unwrap_or_default();
    let head = before.split_once(MARK).map_or(before.as_str(), |(head, _)| head);
    let mut table = String::new();
    for (name, value) in machine::lines() {
        table += &format!("- {name}: {value}\n");
    }
    table += &format!("\n{}|{}\n", short(&HEADS.map(str::to_owned)), "---|".repeat(KEPT.len()));
    let rows = figures.iter().flat_map(Figure::rows).filter(|[name, ..]| !name.starts_with("– floor"));
    table.extend(rows.map(|row| short(&row)));
    fs::write(path, format!("{head}{MARK}\n{table}"))
}

/// A row of the document.
fn short(cells: &[String; 9]) -> String {
    format!("| {} |\n", KEPT.map(|at| cells.get(at).map_or("", String::as_str)).join(" | "))
}
