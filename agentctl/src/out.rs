//! Printing: one JSON document, JSON lines, or text and tables. Every text that others wrote is escaped here.
//!
//! Colour only on a terminal (comfy-table looks at standard output) and not where `NO_COLOR` is set.

use crate::failure::Failure;
use crate::text;
use comfy_table::{Attribute, Cell, Color, ColumnConstraint, ContentArrangement, Table, presets};
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

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

/// The least width at which wrapping the last column helps.
const LAST_COLUMN: u16 = 20;

/// The output and its format.
#[derive(Clone, Copy)]
pub(crate) struct Out {
    /// JSON rather than text.
    pub(crate) json: bool,
}

impl Out {
    /// Prints JSON or text to standard output.
    pub(crate) const fn new(json: bool) -> Self {
        Self { json }
    }

    /// One JSON document of success with these fields.
    pub(crate) fn document(self, mut fields: Value) -> io::Result<()> {
        if let Some(map) = fields.as_object_mut() {
            map.entry("ok").or_insert(Value::Bool(true));
        }
        self.json_line(&fields)
    }

    /// One JSON line of a stream.
    pub(crate) fn json_line(self, value: &Value) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{value}")?;
        out.flush()
    }

    /// A line of text, escaped.
    pub(crate) fn line(self, line: &str) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{}", text::shown(line))
    }

    /// Text as it comes, escaped, at once.
    pub(crate) fn piece(self, piece: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        write!(out, "{}", text::shown(piece))?;
        out.flush()
    }

    /// Prints content that an agent may have written: escaped on a terminal unless `raw` is set, elsewhere as it is.
    pub(crate) fn content(self, bytes: &[u8], error: bool, raw: bool) -> io::Result<()> {
        let is_terminal = if error { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
        if raw || !is_terminal {
            return self.raw(bytes, error);
        }
        self.raw(text::shown(&String::from_utf8_lossy(bytes)).as_bytes(), error)
    }

    /// Prints bytes as they are: the output of the person's own program, or of agentctl itself.
    pub(crate) fn raw(self, bytes: &[u8], error: bool) -> io::Result<()> {
        if error {
            return io::stderr().lock().write_all(bytes);
        }
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    /// A remark beside the output, to standard error; not with JSON.
    pub(crate) fn remark(self, remark: &str) {
        if !self.json {
            // A remark that nobody can see is no reason to stop.
            let _ = writeln!(io::stderr().lock(), "{}", text::shown(remark));
        }
    }

    /// Prints to standard error what the person has to do for this to go on, with `--json` as well.
    pub(crate) fn hint(self, hint: &str) {
        // A hint that nobody can see is no reason to stop.
        let _ = writeln!(io::stderr().lock(), "agentctl: {}", text::shown(hint));
    }

    /// A question to the person, on the line where they answer it.
    pub(crate) fn ask(self, question: &str) -> io::Result<()> {
        let mut out = io::stderr().lock();
        write!(out, "{}", text::line(question))?;
        out.flush()
    }

    /// A document, or a sentence that says the same.
    pub(crate) fn done(self, fields: Value, sentence: &str) -> io::Result<ExitCode> {
        if self.json {
            self.document(fields)?
        } else {
            self.line(sentence)?
        }
        Ok(ExitCode::SUCCESS)
    }

    /// A document, or names and values below each other.
    pub(crate) fn facts(self, fields: Value, facts: &[(&str, String)]) -> io::Result<ExitCode> {
        if self.json {
            self.document(fields)?;
        } else {
            self.pairs(facts)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Names and values below each other.
    pub(crate) fn pairs(self, facts: &[(&str, String)]) -> io::Result<()> {
        let rows = facts.iter().map(|(name, value)| vec![(*name).to_owned(), value.clone()]);
        self.table(&[], rows.collect())
    }

    /// A document with a list, or a table of it.
    pub(crate) fn list<T>(
        self,
        key: &str,
        items: &[T],
        document: impl Fn(&T) -> Value,
        head: &[&str],
        row: impl Fn(&T) -> Vec<String>,
    ) -> io::Result<ExitCode> {
        if self.json {
            self.document(json!({ key: items.iter().map(document).collect::<Vec<_>>() }))?;
        } else if items.is_empty() {
            self.remark(&format!("no {key}"));
        } else {
            self.table(head, items.iter().map(row).collect())?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// A table without borders; cells are escaped, and known words coloured on a terminal.
    pub(crate) fn table(self, head: &[&str], rows: Vec<Vec<String>>) -> io::Result<()> {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        if !head.is_empty() {
            table.set_header(head.iter().map(|name| Cell::new(name).add_attribute(Attribute::Bold)));
        }
        for row in rows {
            table.add_row(row.iter().map(|cell| coloured(&text::line(cell))));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        wrap_last_column(&mut table);
        let mut out = io::stdout().lock();
        table.lines().try_for_each(|line| writeln!(out, "{}", line.trim_end()))
    }

    /// Prints why a command failed, and gives its exit status. A reader that went away has seen enough.
    pub(crate) fn failure(self, failure: &Failure) -> ExitCode {
        if let Failure::Output(cause) = failure
            && cause.kind() == io::ErrorKind::BrokenPipe
        {
            return ExitCode::SUCCESS;
        }
        self.complain(failure.kind(), &failure.to_string());
        ExitCode::from(failure.exit())
    }

    /// Prints a failure: a document of its own, or a line on standard error.
    pub(crate) fn complain(self, kind: &str, message: &str) {
        // There is nowhere left to say that a complaint could not be printed.
        if self.json {
            let error = json!({ "ok": false, "error": { "type": kind, "message": text::line(message) } });
            let _ = self.json_line(&error);
        } else {
            let _ = writeln!(io::stderr().lock(), "agentctl: {}", text::shown(message));
        }
    }

    /// Returns true if standard input and standard output are a terminal.
    pub(crate) fn interactive() -> bool {
        io::stdin().is_terminal() && io::stdout().is_terminal()
    }
}

/// On a terminal with room for it the last column is wrapped. The others never are: an id in two pieces cannot be
/// copied. Where there is no room, or no width is known, lines are left to the terminal.
fn wrap_last_column(table: &mut Table) {
    let Some(width) = table.width() else { return };
    let widths = table.column_max_content_widths();
    let others: u16 = widths.split_last().map_or(0, |(_, others)| others.iter().map(|width| width + 2).sum());
    if width < others.saturating_add(LAST_COLUMN) {
        return;
    }
    table.set_content_arrangement(ContentArrangement::Dynamic);
    let most = widths.len().saturating_sub(1);
    for column in table.column_iter_mut().take(most) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
}

fn coloured(cell: &str) -> Cell {
    let colour = [(GOOD, Color::Green), (DOUBTFUL, Color::Yellow), (BAD, Color::Red)]
        .into_iter()
        .find_map(|(words, colour)| words.contains(&cell).then_some(colour));
    match colour {
        Some(colour) => Cell::new(cell).fg(colour),
        None => Cell::new(cell),
    }
}
