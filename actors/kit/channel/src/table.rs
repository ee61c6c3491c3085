//! A table as lines of text, for platforms that have none.

/// The widest column, in characters, that is filled up with spaces.
const WIDEST: usize = 40;

/// The rows of a table while it is read.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Begins a row.
    pub(crate) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Begins a cell.
    pub(crate) fn cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    /// Adds text to the current cell; a line break becomes a space.
    pub(crate) fn push(&mut self, text: &str) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.extend(text.chars().map(|c| if c == '\n' { ' ' } else { c }));
        }
    }

    /// The table as text: cells side by side, a rule below the first row.
    pub(crate) fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default().min(WIDEST)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut lines: Vec<String> = self.rows.iter().map(|row| line(row, &widths)).collect();
        if lines.len() > 1 {
            let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            lines.insert(1, rules.join("-+-"));
        }
        lines.join("\n")
    }
}

fn line(row: &[String], widths: &[usize]) -> String {
    let filled = |(cell, width): (&String, usize)| format!("{cell:<width$}");
    let cells: Vec<String> = row.iter().zip(widths.iter().copied()).map(filled).collect();
    cells.join(" | ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_below_each_other() {
        let mut table = Table::default();
        for row in [["name", "n"], ["a", "12"]] {
            table.row();
            for cell in row {
                table.cell();
                table.push(cell);
            }
        }
        assert_eq!(table.text(), "name | n\n-----+---\na    | 12");
    }
}
