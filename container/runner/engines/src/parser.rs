//! Reads the output of an engine's program as events, line by line, in the program's format. A line in another format is
//! text for a person; a line of an unknown kind is skipped.

use super::event_log::{End, EventLog, LEFT_OUT};
use super::lines::{Line, Lines};
use super::{claude_code, codex, opencode};
use ipc_proto::engine::{EngineEvent, Format, Token};
use serde_json::Value;

/// Reads the output of one program, from its start to its end.
#[derive(Debug)]
pub struct Parser {
    format: Format,
    lines: Lines,
    log: EventLog,
    streamed: bool,
}

impl Parser {
    /// A parser of this format.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self { format, lines: Lines::default(), log: EventLog::default(), streamed: false }
    }

    /// Takes a piece of the output and returns the events that it completes.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<EngineEvent> {
        for line in self.lines.push(bytes) {
            self.line(&line);
        }
        std::mem::take(&mut self.log.events)
    }

    /// Ends the output: returns the events of an unfinished last line, and takes the last failure as the end.
    pub fn finish(&mut self) -> Vec<EngineEvent> {
        if let Some(line) = self.lines.end() {
            self.line(&line);
        }
        self.log.end = self.log.end.take().or(self.log.doubt.take());
        std::mem::take(&mut self.log.events)
    }

    /// How the program ended, once it has said so.
    #[must_use]
    pub const fn end(&self) -> Option<&End> {
        self.log.end.as_ref()
    }

    /// The program's last report of a failure.
    #[must_use]
    pub fn trouble(&self) -> Option<&str> {
        self.log.trouble.as_deref()
    }

    /// How many texts the program says it has read, its question among them.
    #[must_use]
    pub const fn inputs_taken(&self) -> u32 {
        self.log.taken
    }

    /// The program's own name for the session.
    #[must_use]
    pub const fn token(&self) -> Option<&Token> {
        self.log.token.as_ref()
    }

    fn line(&mut self, line: &Line) {
        let Line::Whole(bytes) = line else { return self.log.text(LEFT_OUT) };
        if self.format != Format::Text
            && let Ok(value) = serde_json::from_slice::<Value>(bytes)
            && value.get("type").is_some_and(Value::is_string)
        {
            return self.event(&value);
        }
        let text = String::from_utf8_lossy(bytes);
        self.log.text(text.trim_end_matches('\r'));
        self.log.text("\n");
    }

    fn event(&mut self, value: &Value) {
        match self.format {
            Format::Codex => codex::event(value, &mut self.log),
            Format::ClaudeCode => claude_code::event(value, &mut self.log, &mut self.streamed),
            Format::Opencode => opencode::event(value, &mut self.log),
            Format::Text => {}
        }
    }
}
