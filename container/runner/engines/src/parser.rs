//! What an engine's program says, as events: a line each in the format of the program. A line that is not of its format is
//! text, since it was said to be read by a person; a line of a kind that is not known is passed over.

use super::lines::{Line, Lines};
use super::said::{LEFT_OUT, Said};
use super::{claude_code, codex, opencode};
use ipc_proto::Text;
use ipc_proto::engine::{EngineEvent, Format, Token};
use serde_json::Value;

/// How a program ended, by its own word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It has answered; the whole answer, where it says it once more.
    Completed(Text<65536>),
    /// It gave up.
    Failed {
        /// Its words.
        why: Text<2048>,
        /// Another try would come to the same.
        for_good: bool,
    },
}

/// The words of one program, from its start to its end.
#[derive(Debug)]
pub struct Parser {
    format: Format,
    lines: Lines,
    said: Said,
    streamed: bool,
}

impl Parser {
    /// Of a program that speaks like this.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self { format, lines: Lines::default(), said: Said::default(), streamed: false }
    }

    /// Takes a piece of its output; gives the events that are whole by it.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<EngineEvent> {
        for line in self.lines.push(bytes) {
            self.line(&line);
        }
        std::mem::take(&mut self.said.events)
    }

    /// The output has ended: the events of its last line, if that had no end. What went wrong last is the end now.
    pub fn finish(&mut self) -> Vec<EngineEvent> {
        if let Some(line) = self.lines.end() {
            self.line(&line);
        }
        self.said.end = self.said.end.take().or(self.said.doubt.take());
        std::mem::take(&mut self.said.events)
    }

    /// How it ended, once it has said so.
    #[must_use]
    pub const fn end(&self) -> Option<&End> {
        self.said.end.as_ref()
    }

    /// What it said last of something that went wrong.
    #[must_use]
    pub fn trouble(&self) -> Option<&str> {
        self.said.trouble.as_deref()
    }

    /// How many texts it says to have taken in, its question among them.
    #[must_use]
    pub const fn taken(&self) -> u32 {
        self.said.taken
    }

    /// Its own name of the session.
    #[must_use]
    pub const fn token(&self) -> Option<&Token> {
        self.said.token.as_ref()
    }

    fn line(&mut self, line: &Line) {
        let Line::Whole(bytes) = line else { return self.said.text(LEFT_OUT) };
        if self.format != Format::Text
            && let Ok(value) = serde_json::from_slice::<Value>(bytes)
            && value.get("type").is_some_and(Value::is_string)
        {
            return self.event(&value);
        }
        let text = String::from_utf8_lossy(bytes);
        self.said.text(text.trim_end_matches('\r'));
        self.said.text("\n");
    }

    fn event(&mut self, value: &Value) {
        match self.format {
            Format::Codex => codex::event(value, &mut self.said),
            Format::ClaudeCode => claude_code::event(value, &mut self.said, &mut self.streamed),
            Format::Opencode => opencode::event(value, &mut self.said),
            Format::Text => {}
        }
    }
}
