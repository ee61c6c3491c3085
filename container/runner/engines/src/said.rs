//! What the words of any program come to: events, and what is known of its tools. It gives each tool a number of its own,
//! so that nothing of what a program calls one goes any further.

use super::parser::End;
use ipc_proto::engine::{EngineEvent, Token};
use ipc_proto::{Name, Text};
use serde_json::Value;
use std::collections::HashMap;

/// Tools that are under way at once; the beginning of another is not heard.
const OPEN: usize = 64;
/// Bytes of text in one event.
const PIECE: usize = 16384;
/// Stands for a line that was too long.
pub(super) const LEFT_OUT: &str = "[a line of more than 1 MiB was left out]\n";

/// What was said so far.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) events: Vec<EngineEvent>,
    /// Its own name of the session.
    pub(super) token: Option<Token>,
    /// How it ended, by its own word.
    pub(super) end: Option<End>,
    /// What went wrong last; it may have gone on since.
    pub(super) trouble: Option<String>,
    /// How it ended unless it goes on.
    pub(super) doubt: Option<End>,
    /// Texts that were typed for it and that it has taken in.
    pub(super) taken: u32,
    open: HashMap<String, u32>,
    next: u32,
    /// Text was said, and no tool used since.
    speaking: bool,
}

impl Said {
    /// Its name of the session: words that could be mistaken for anything else on a command line are none.
    pub(super) fn session(&mut self, token: Option<&str>) {
        let fits = |token: &&str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            token.starts_with(|c: char| c.is_ascii_alphanumeric()) && token.chars().all(plain)
        };
        if self.token.is_none() {
            self.token = token.filter(fits).and_then(|token| Token::new(token).ok());
        }
    }

    /// A piece of text that follows the one before.
    pub(super) fn text(&mut self, mut text: &str) {
        self.speaking |= !text.is_empty();
        while !text.is_empty() {
            let piece = Text::<PIECE>::clip(text);
            text = text.get(piece.len()..).unwrap_or_default();
            self.events.push(EngineEvent::Text(piece));
        }
    }

    /// A text of its own.
    pub(super) fn paragraph(&mut self, text: &str) {
        if self.speaking && !text.is_empty() {
            self.text("\n\n");
        }
        self.text(text);
    }

    /// A tool begins.
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

    /// A tool goes on.
    pub(super) fn progress(&mut self, id: &str, line: &str) {
        if let Some(number) = self.open.get(id) {
            self.events.push(EngineEvent::ToolProgress { number: *number, line: Text::clip(line) });
        }
    }

    /// A tool ends; one that never began is not heard of.
    pub(super) fn finish(&mut self, id: &str, failed: bool, output: &str) {
        if let Some(number) = self.open.remove(id) {
            self.events.push(EngineEvent::ToolEnd { number, failed, output: Text::clip(output) });
        }
    }

    /// Whether a tool is under way.
    pub(super) fn is_open(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// It has answered.
    pub(super) fn completed(&mut self, text: &str) {
        self.end = Some(End::Completed(Text::clip(text)));
    }

    /// It gives up.
    pub(super) fn failed(&mut self, why: &str) {
        self.end = Some(failure(why));
    }

    /// It gives up unless something follows.
    pub(super) fn doubted(&mut self, why: &str) {
        self.doubt = Some(failure(why));
    }
}

fn failure(why: &str) -> End {
    End::Failed { why: Text::clip(why), for_good: is_for_good(why) }
}

/// Whether the words of a failure say that another try would be refused like this one. The numbers stand alone: a session's
/// name may hold them as well.
fn is_for_good(why: &str) -> bool {
    let mut words = why.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| matches!(word, "401" | "403"))
        || ["nauthorized", "orbidden", "authentication_error", "permission_error"]
            .iter()
            .any(|mark| why.contains(mark))
}

/// A text in a value, or what the value is written like.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A text under a name.
pub(super) fn text_of<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
