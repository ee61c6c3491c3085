//! Printing: one JSON document, JSON lines, or text and tables. Every text that others wrote is escaped here.
//!
//! Colour only on a terminal and not where `NO_COLOR` is set. Lines are broken between words where a width is known.

use crate::failure::Failure;
use crate::{table, text, wrap};
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

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
        let line = wrap::text(&text::shown(line), wrap::columns(io::stdout()));
        writeln!(io::stdout().lock(), "{line}")
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
            let remark = wrap::text(&text::shown(remark), wrap::columns(io::stderr()));
            let _ = writeln!(io::stderr().lock(), "{remark}");
        }
    }

    /// Prints to standard error what the person has to do for this to go on, with `--json` as well.
    pub(crate) fn hint(self, hint: &str) {
        // A hint that nobody can see is no reason to stop.
        let hint = wrap::text(&format!("agentctl: {}", text::shown(hint)), wrap::columns(io::stderr()));
        let _ = writeln!(io::stderr().lock(), "{hint}");
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
        let escaped = rows.iter().map(|row| row.iter().map(|cell| text::line(cell)).collect());
        let colour =
            io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let lines = table::lines(head, &escaped.collect::<Vec<_>>(), wrap::columns(io::stdout()), colour);
        let mut out = io::stdout().lock();
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))
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
            let line = format!("agentctl: {}", text::shown(message));
            let _ = writeln!(io::stderr().lock(), "{}", wrap::text(&line, wrap::columns(io::stderr())));
        }
    }

    /// Returns true if a person can be asked: standard input and standard error are terminals, and the output is not JSON.
    pub(crate) fn can_ask(self) -> bool {
        !self.json && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Returns true if standard input and standard output are a terminal.
    pub(crate) fn interactive() -> bool {
        io::stdin().is_terminal() && io::stdout().is_terminal()
    }
}
