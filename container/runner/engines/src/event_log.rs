//! The events that an engine's program has reported, and its open tool calls. Each call gets a number of the host's, so that
//! the program's own ids go no further.

use ipc_proto::engine::{EngineEvent, Token};
use ipc_proto::{Name, Text};
use serde_json::Value;
use std::collections::HashMap;

/// Tool calls that are open at once; further ones are left out.
const OPEN: usize = 64;
/// Bytes of text in one event.
const PIECE: usize = 16384;
/// Stands for a line that was too long.
pub(super) const LEFT_OUT: &str = "[a line of more than 1 MiB was left out]\n";

/// How a program ended, as it reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It has answered: the whole answer, where it repeats it.
    Completed(Text<65536>),
    /// It gave up.
    Failed {
        /// The reason, in its words.
        why: Text<2048>,
        /// Another try would fail in the same way.
        for_good: bool,
    },
}

/// The events of a program so far.
#[derive(Debug, Default)]
pub(super) struct EventLog {
    pub(super) events: Vec<EngineEvent>,
    /// The program's own name for the session.
    pub(super) token: Option<Token>,
    /// How the program ended, as it reports it.
    pub(super) end: Option<End>,
    /// The last failure; the program may have gone on since.
    pub(super) trouble: Option<String>,
    /// How the program ended unless more follows.
    pub(super) doubt: Option<End>,
    /// Texts typed for the program that it has read.
    pub(super) taken: u32,
    open: HashMap<String, u32>,
    next: u32,
    /// Text came, and no tool call since.
    speaking: bool,
}

impl EventLog {
    /// Keeps the program's name for the session, unless it could be mistaken for something else on a command line.
    pub(super) fn session(&mut self, token: Option<&str>) {
        let fits = |token: &&str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            token.starts_with(|c: char| c.is_ascii_alphanumeric()) && token.chars().all(plain)
        };
        if self.token.is_none() {
            self.token = token.filter(fits).and_then(|token| Token::new(token).ok());
        }
    }

    /// Adds text that continues the text before.
    pub(super) fn text(&mut self, mut text: &str) {
        self.speaking |= !text.is_empty();
        while !text.is_empty() {
            let piece = Text::<PIECE>::clip(text);
            text = text.get(piece.len()..).unwrap_or_default();
            self.events.push(EngineEvent::Text(piece));
        }
    }

    /// Adds text as a paragraph of its own.
    pub(super) fn paragraph(&mut self, text: &str) {
        if self.speaking && !text.is_empty() {
            self.text("\n\n");
        }
        self.text(text);
    }

    /// Opens a tool call.
    pub(super) fn begin(&mut self, id: &str, tool: &str, args: &Value) {
        if self.open.contains_key(id) || self.open.len() >= OPEN || id.len() > 256 {
            return;
        }
        let number = self.next;
        self.next = self.next.saturating_add(1);
        self.open.insert(id.to_owned(), number);
        self.speaking = false;
        let args = Text::clip(&args.to_string());
        self.events.push(EngineEvent::ToolStart { number, tool: Name::clip(tool), args });
    }

    /// Reports progress of an open tool call.
    pub(super) fn progress(&mut self, id: &str, line: &str) {
        if let Some(number) = self.open.get(id) {
            self.events.push(EngineEvent::ToolProgress { number: *number, line: Text::clip(line) });
        }
    }

    /// Closes a tool call; one that was never opened is ignored.
    pub(super) fn finish(&mut self, id: &str, failed: bool, output: &str) {
        if let Some(number) = self.open.remove(id) {
            self.events.push(EngineEvent::ToolEnd { number, failed, output: Text::clip(output) });
        }
    }

    /// Returns whether a tool call is open.
    pub(super) fn is_open(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// The program has answered.
    pub(super) fn completed(&mut self, text: &str) {
        self.end = Some(End::Completed(Text::clip(text)));
    }

    /// The program gives up.
    pub(super) fn failed(&mut self, why: &str) {
        self.end = Some(failure(why));
    }

    /// The program gives up unless more follows.
    pub(super) fn doubted(&mut self, why: &str) {
        self.doubt = Some(failure(why));
    }
}

fn failure(why: &str) -> End {
    End::Failed { why: Text::clip(why), for_good: is_for_good(why) }
}

/// Returns whether a failure's text says that another try would be refused as well. The numbers count as whole words only: a session's
/// name may contain them.
fn is_for_good(why: &str) -> bool {
    let mut words = why.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| matches!(word, "401" | "403"))
        || ["nauthorized", "orbidden", "authentication_error", "permission_error"]
            .iter()
            .any(|mark| why.contains(mark))
}

/// The text of a value, or else its JSON.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The text of a field; empty where there is none.
pub(super) fn text_of<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
