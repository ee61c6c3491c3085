//! The keys that can be pressed, as the protocol names them.

use ipc_proto::browser::Key;
use serde_json::{Value, json};

/// The two events of a key: down and up.
pub(super) fn events(key: Key) -> [Value; 2] {
    let (name, code, number, text) = match key {
        Key::Enter => ("Enter", "Enter", 13, "\r"),
        Key::Tab => ("Tab", "Tab", 9, ""),
        Key::Escape => ("Escape", "Escape", 27, ""),
        Key::Space => (" ", "Space", 32, " "),
        Key::Backspace => ("Backspace", "Backspace", 8, ""),
        Key::Delete => ("Delete", "Delete", 46, ""),
        Key::Up => ("ArrowUp", "ArrowUp", 38, ""),
        Key::Down => ("ArrowDown", "ArrowDown", 40, ""),
        Key::Left => ("ArrowLeft", "ArrowLeft", 37, ""),
        Key::Right => ("ArrowRight", "ArrowRight", 39, ""),
        Key::Home => ("Home", "Home", 36, ""),
        Key::End => ("End", "End", 35, ""),
        Key::PageUp => ("PageUp", "PageUp", 33, ""),
        Key::PageDown => ("PageDown", "PageDown", 34, ""),
    };
    let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
    [(down, text), ("keyUp", "")].map(|(kind, text)| {
        let mut event = json!({"type": kind, "key": name, "code": code, "windowsVirtualKeyCode": number});
        if let (false, Some(fields)) = (text.is_empty(), event.as_object_mut()) {
            fields.insert("text".to_owned(), json!(text));
        }
        event
    })
}
