//! Helpers for the tests of every API: an answer for a writer, and a stream taken apart again.

use super::{Call, Origin, Whole, Writer};
use ipc_proto::Name;
use ipc_proto::ids::CallId;
use ipc_proto::model::{Finish, Usage};
use serde_json::Value;

/// A call of the tool `read`.
pub(crate) fn call() -> Call {
    Call { id: CallId::from_bytes([7; 16]), tool: Name::clip("read"), args: r#"{"path":"a"}"#.into() }
}

/// Tokens that can be told apart.
pub(crate) const USAGE: Usage = Usage {
    input: 11,
    output: 5,
    cache_read: 3,
    cache_write: 2,
    estimated: false,
    claimed: None,
    cost_micros: 0,
};

/// The events of a stream of text and calls.
pub(crate) fn stream(writer: &mut impl Writer, texts: &[&str], calls: &[Call], finish: Finish) -> Vec<Event> {
    let mut out = Vec::new();
    writer.begin(Origin { turn: None });
    writer.open(&mut out);
    texts.iter().for_each(|text| writer.text(text, &mut out));
    calls.iter().for_each(|call| writer.call(call, &mut out));
    writer.end(finish, USAGE, &mut out);
    events(&out)
}

/// The same as one document.
pub(crate) fn whole(writer: &mut impl Writer, text: &str, calls: &[Call], finish: Finish) -> Value {
    writer.begin(Origin { turn: None });
    let (text, calls) = (text.into(), calls.to_vec());
    let whole = Whole { text, calls, thoughts: Vec::new(), usage: USAGE, finish, by: None, over: None };
    writer.whole(&whole)
}

/// One event: its name, if it has one, and its data; text that is no JSON is a string.
pub(crate) type Event = (Option<String>, Value);

/// The events of a stream; remarks are passed over.
pub(crate) fn events(bytes: &[u8]) -> Vec<Event> {
    let text = std::str::from_utf8(bytes).unwrap();
    assert!(text.is_empty() || text.ends_with("\n\n"), "an event is cut: {text:?}");
    let blocks = text.split("\n\n").filter(|block| !block.is_empty() && !block.starts_with(':'));
    let one = |block: &str| {
        let line = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let data = line("data: ").unwrap();
        (line("event: "), serde_json::from_str(&data).unwrap_or(Value::String(data)))
    };
    blocks.map(one).collect()
}
