//! Tables without borders that fit the terminal. Columns wrap between words; where even that does not fit, every row becomes a
//! block of names and values. No id, path or other word is ever broken.

use crate::wrap;

/// Blanks between columns.
const GAP: usize = 2;
/// Words for a good, a doubtful and a bad state, coloured where they are a whole cell.
const GOOD: &[&str] =
    &["ready", "equal", "success", "active", "answered", "delivered", "run", "approved", "claimed"];
const DOUBTFUL: &[&str] = &[
    "starting", "waiting", "degraded", "unreadable", "queued", "stopping", "unknown", "pending",
    "waiting_approval", "recalled", "requeued",
];
const BAD: &[&str] = &[
    "held", "stopped", "different", "failed", "error", "blocked", "refused", "denied", "expired", "void",
    "quarantined",
];

/// The lines of a table. The cells are one line each. `most` is the terminal's width; without it nothing wraps.
pub(crate) fn lines(head: &[&str], rows: &[Vec<String>], most: Option<usize>, colour: bool) -> Vec<String> {
    let heads: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    let all = || (!heads.is_empty()).then_some(&heads).into_iter().chain(rows);
    let Some(widths) = widths(&all().collect::<Vec<_>>(), most) else {
        return blocks(&heads, rows, most, colour);
    };
    let mut lines = Vec::new();
    for (number, row) in all().enumerate() {
        let is_head = number == 0 && !heads.is_empty();
        let cells: Vec<Vec<String>> =
            row.iter().zip(&widths).map(|(cell, width)| wrap::lines(cell, *width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        for line in 0..height {
            let mut out = String::new();
            for ((part, whole), width) in cells.iter().map(|cell| cell.get(line)).zip(row).zip(&widths) {
                let part = part.map_or("", String::as_str);
                let style = if is_head { "1" } else { code(whole) };
                out.push_str(&styled(part, style, colour));
                let blanks = width.saturating_sub(wrap::width(part)).saturating_add(GAP);
                out.extend(std::iter::repeat_n(' ', blanks));
            }
            lines.push(out.trim_end().to_owned());
        }
    }
    lines
}

/// The width of each column, or `None` if the table cannot fit.
fn widths(rows: &[&Vec<String>], most: Option<usize>) -> Option<Vec<usize>> {
    let count = rows.iter().map(|row| row.len()).max().unwrap_or_default();
    let of = |measure: fn(&str) -> usize| -> Vec<usize> {
        let column = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| measure(cell)).max();
        (0..count).map(|at| column(at).unwrap_or_default()).collect()
    };
    let full = of(wrap::width);
    let Some(most) = most else { return Some(full) };
    let room = most.saturating_sub(count.saturating_sub(1).saturating_mul(GAP));
    if full.iter().sum::<usize>() <= room {
        return Some(full);
    }
    let mut widths = of(wrap::widest_word);
    let mut spare = room.checked_sub(widths.iter().sum())?;
    // Columns that are still too narrow get the spare columns one by one, in turn.
    while spare > 0 {
        let mut grown = false;
        for (width, full) in widths.iter_mut().zip(&full) {
            if spare > 0 && *width < *full {
                *width = width.saturating_add(1);
                spare = spare.saturating_sub(1);
                grown = true;
            }
        }
        if !grown {
            break;
        }
    }
    Some(widths)
}

/// Each row as a block of names and values, with an empty line between blocks. A table without a head is one block.
fn blocks(heads: &[String], rows: &[Vec<String>], most: Option<usize>, colour: bool) -> Vec<String> {
    let pairs_of = |row: &Vec<String>| -> Vec<(String, String)> {
        if heads.is_empty() {
            let name = row.first().cloned().unwrap_or_default();
            return vec![(name, row.get(1..).unwrap_or_default().join("  "))];
        }
        heads.iter().cloned().zip(row.iter().cloned()).collect()
    };
    let names = if heads.is_empty() {
        rows.iter().filter_map(|row| row.first()).map(|name| wrap::width(name)).max()
    } else {
        heads.iter().map(|name| wrap::width(name)).max()
    };
    let names = names.unwrap_or_default();
    let mut lines = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        if number > 0 && !heads.is_empty() {
            lines.push(String::new());
        }
        for (name, value) in pairs_of(row) {
            let blanks = names.saturating_sub(wrap::width(&name)).saturating_add(GAP);
            let room = most.map_or(usize::MAX, |most| most.saturating_sub(names.saturating_add(GAP)).max(1));
            let mut head = format!(
                "{}{}",
                styled(&name, if heads.is_empty() { "" } else { "1" }, colour),
                " ".repeat(blanks)
            );
            for part in wrap::lines(&value, room) {
                let line = format!("{head}{}", styled(&part, code(&value), colour));
                lines.push(line.trim_end().to_owned());
                head = " ".repeat(names.saturating_add(GAP));
            }
        }
    }
    lines
}

/// The terminal's code for the colour of a cell; empty for none.
fn code(cell: &str) -> &'static str {
    let codes = [(GOOD, "32"), (DOUBTFUL, "33"), (BAD, "31")];
    codes.into_iter().find_map(|(words, code)| words.contains(&cell).then_some(code)).unwrap_or_default()
}

fn styled(text: &str, code: &str, colour: bool) -> String {
    if colour && !code.is_empty() && !text.is_empty() {
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "07070707-0707-0707-0707-070707070707";

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[test]
    fn a_table_that_fits_has_a_line_for_each_row() {
        let rows = rows(&[&["ann", "owner"], &["bob", "guest"]]);
        let shown = lines(&["USER", "ROLE"], &rows, Some(80), false);
        assert_eq!(shown, ["USER  ROLE", "ann   owner", "bob   guest"]);
        assert_eq!(lines(&["USER", "ROLE"], &rows, None, false), shown);
    }

    #[test]
    fn a_table_that_does_not_fit_wraps_by_column() {
        let rows =
            rows(&[&[ID, "the harbour office opens at nine", "and closes at five on every day but Sunday"]]);
        let shown = lines(&["ID", "CONTENT", "MORE"], &rows, Some(80), false);
        assert!(shown.len() > 2 && shown.iter().all(|line| wrap::width(line) <= 80), "{shown:#?}");
        assert!(shown[1].starts_with(ID) && shown[2].starts_with(&" ".repeat(38)), "{shown:#?}");
    }

    #[test]
    fn a_table_that_cannot_fit_becomes_blocks_with_no_word_broken() {
        let row: &[&str] = &[ID, ID, "a reason of several words that is longer than the rest of a line is"];
        let rows = rows(&[row, row]);
        let shown = lines(&["ID", "CALL", "REASON"], &rows, Some(60), false);
        assert!(shown.iter().all(|line| wrap::width(line) <= 60), "{shown:#?}");
        assert_eq!(shown[0], format!("ID      {ID}"));
        assert_eq!(shown.iter().filter(|line| line.is_empty()).count(), 1);
        assert_eq!(shown.iter().filter(|line| line.contains(ID)).count(), 4);
    }

    #[test]
    fn names_and_values_keep_their_columns_when_a_path_is_too_long() {
        let path = format!("/{}", "x".repeat(90));
        let shown = lines(&[], &rows(&[&["config", &path], &["state", "ready"]]), Some(80), true);
        assert_eq!(shown, [format!("config  {path}"), "state   \u{1b}[32mready\u{1b}[0m".to_owned()]);
    }
}
