//! For tests: requests made of words, providers made of a kind, and answers put together.

use crate::{Ask, Reader, ask};
use ipc_proto::config::{Provider, ProviderKind, ProviderModel};
use ipc_proto::ids::{CallId, UserId};
use ipc_proto::model::{Asked, Choice, Image, Message, ModelError, Payer, Piece, Request, Role};
use ipc_proto::tool::ToolSpec;
use ipc_proto::{Blob, List, Name, Text};
use serde_json::Value;

/// The id of the first call of [`talk`].
pub(crate) const FIRST: &str = "01010101-0101-0101-0101-010101010101";
/// The id of the second.
pub(crate) const SECOND: &str = "02020202-0202-0202-0202-020202020202";

pub(crate) const fn known() -> ProviderModel {
    ProviderModel {
        context: 8000,
        output: 500,
        tools: true,
        vision: true,
        embeds: false,
        sampling: true,
        forced: true,
        prices: None,
        long: None,
    }
}

pub(crate) fn payer() -> Payer {
    Payer::of(UserId::random())
}

pub(crate) fn provider(kind: ProviderKind, base_url: &str) -> Provider {
    let secret = Some("key".to_owned());
    Provider { kind, base_url: base_url.to_owned(), secret, models: [].into() }
}

/// A request of these messages.
pub(crate) fn request(messages: Vec<Message>) -> Request {
    Request::new(Text::clip("p/m"), List::clip(messages), payer())
}

/// A tool of this name.
pub(crate) fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: Name::clip(name),
        description: Text::clip("A tool."),
        schema: Text::clip(r#"{"type":"object"}"#),
        in_jail: true,
    }
}

/// An image of the message with this number.
pub(crate) fn image(message: u16) -> Image {
    Image { message, media: Text::clip("image/png"), bytes: Blob::new(*b"\x89PNG").unwrap() }
}

/// A conversation with everything in it: the host's words, an image of the person's, two calls, their results of which
/// one shows an image, and another question; with a tool, every option and the choice of a tool.
pub(crate) fn talk() -> Request {
    let call = |byte: u8, args: &str| Asked {
        id: CallId::from_bytes([byte; 16]),
        tool: Name::clip("bash"),
        args: Text::clip(args),
    };
    let calls = List::clip([call(1, r#"{"command":"ls"}"#), call(2, "{}")]);
    let result = |byte: u8, text: &str| Message {
        answers: Some(CallId::from_bytes([byte; 16])),
        ..Message::text(Role::Tool, text)
    };
    let mut request = request(vec![
        Message::text(Role::System, "Be brief."),
        Message::text(Role::User, "What is it?"),
        Message { calls, ..Message::text(Role::Assistant, "") },
        result(1, "a.txt"),
        result(2, "b.png"),
        Message::text(Role::Assistant, "An image."),
        Message::text(Role::User, "And this?"),
    ]);
    request.tools = List::clip([tool("bash")]);
    request.images = List::clip([image(1), image(3)]);
    request.max_output = 400;
    request.temperature = Some(700);
    request.top_p = Some(900);
    request.stop = List::clip([Text::clip("END")]);
    request.choice = Choice::This(Name::clip("bash"));
    request
}

/// The request to a provider of this kind, and the body of it.
pub(crate) fn asked(kind: ProviderKind, known: ProviderModel, request: &Request) -> (Ask, Value) {
    let ask = ask(&provider(kind, "https://host/v1/"), "m/1", known, request).unwrap();
    let body = serde_json::from_slice(&ask.http.body).unwrap();
    (ask, body)
}

/// The pieces of a reply of these bytes.
pub(crate) fn read(kind: ProviderKind, parts: &[&[u8]]) -> Result<Vec<Piece>, ModelError> {
    read_by(Reader::new(kind, 9, 8000), parts)
}

/// The same, by this reader.
pub(crate) fn read_by(mut reader: Reader, parts: &[&[u8]]) -> Result<Vec<Piece>, ModelError> {
    let mut pieces = Vec::new();
    for part in parts {
        reader.feed(part)?;
        pieces.extend(reader.ready());
        if reader.is_last() {
            break;
        }
    }
    pieces.extend(reader.end()?);
    Ok(pieces)
}

/// The same of a stream of events with this data.
pub(crate) fn events(kind: ProviderKind, data: &[&str]) -> Result<Vec<Piece>, ModelError> {
    let stream: String = data.iter().map(|data| format!("data: {data}\n\n")).collect();
    read(kind, &[stream.as_bytes()])
}

/// The pieces without the tokens.
pub(crate) fn without_usage(pieces: Result<Vec<Piece>, ModelError>) -> Vec<Piece> {
    pieces.unwrap().into_iter().filter(|piece| !matches!(piece, Piece::Usage(_))).collect()
}

pub(crate) fn text(text: &str) -> Piece {
    Piece::Text(Text::clip(text))
}

pub(crate) fn thought(text: &str) -> Piece {
    Piece::Reasoning(Text::clip(text))
}

/// A block of reasoning as pieces: its text, and its seal.
pub(crate) fn block(said: &str, seal: &str, end: Piece) -> Vec<Piece> {
    let part = |seal, part: &str| (!part.is_empty()).then(|| Piece::Thought { seal, part: Text::clip(part) });
    part(false, said).into_iter().chain(part(true, seal)).chain([end]).collect()
}

/// The end of one.
pub(crate) fn block_end(by: &str, hidden: bool, spoken: bool, calls: u16) -> Piece {
    Piece::ThoughtEnd { by: Text::clip(by), hidden, spoken, calls }
}

pub(crate) fn start(index: u16, tool: &str) -> Piece {
    Piece::CallStart { index, tool: Name::clip(tool) }
}

pub(crate) fn delta(index: u16, args: &str) -> Piece {
    Piece::CallDelta { index, args: Text::clip(args) }
}
