//! Whatever an engine's program says is heard within bounds, and its session's name is never an option.
#![no_main]

use engines::Parser;
use ipc_proto::engine::{EngineEvent, Format};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for format in [Format::Codex, Format::ClaudeCode, Format::Opencode, Format::Text] {
        let mut parser = Parser::new(format);
        let mut events = Vec::new();
        for piece in bytes.chunks(97) {
            events.extend(parser.push(piece));
        }
        events.extend(parser.finish());
        let text: usize =
            events.iter().map(|event| if let EngineEvent::Text(text) = event { text.len() } else { 0 }).sum();
        // Bytes that are no text are told as three, and a text of its own stands apart from the one before.
        assert!(text <= 6 * bytes.len() + 64);
        assert!(parser.token().is_none_or(|token| token.starts_with(|c: char| c.is_ascii_alphanumeric())));
    }
});
