//! The requests of the Web API, with their arguments, and its replies.

use crate::http::{self, Request};
use serde_json::{Map, Value};
use std::net::TcpStream;

/// A request.
pub(super) struct Asked {
    /// The path, without its query.
    pub path: String,
    /// The bearer's token.
    pub token: String,
    /// The arguments, of JSON or of a form.
    pub arguments: Value,
    /// The body.
    pub body: Vec<u8>,
}

/// A reply.
pub(super) struct Reply {
    /// Its status.
    pub status: u16,
    /// `Retry-After`, seconds.
    pub retry_after: Option<u64>,
    /// Its document.
    pub document: Value,
}

impl Reply {
    /// A document that was well asked for.
    pub(super) const fn of(document: Value) -> Self {
        Self { status: 200, retry_after: None, document }
    }
}

/// Returns true if the connection begins with a request for a socket; nothing of it is read.
pub(super) fn is_upgrade(stream: &TcpStream) -> bool {
    let mut first = [0; 10];
    stream.peek(&mut first).is_ok_and(|read| first[..read].starts_with(b"GET /link/"))
}

/// Reads a request; `None` if the connection ends first.
pub(super) fn request(stream: &TcpStream) -> Option<Asked> {
    let request = Request::read(stream)?;
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let token = request.header("authorization").trim_start_matches("Bearer ").to_owned();
    let body = &request.body;
    let arguments = match request.header("content-type").split(';').next() {
        Some("application/json") => serde_json::from_slice(body).unwrap_or(Value::Null),
        Some("application/x-www-form-urlencoded") => form(&String::from_utf8_lossy(body)),
        _ => form(query),
    };
    Some(Asked { path: path.to_owned(), token, arguments, body: request.body })
}

/// The fields of a form; each value is a text, or the JSON that it holds.
fn form(text: &str) -> Value {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    let read = |text: &str| {
        let text = decoded(text);
        let is_json = text.starts_with(['[', '{']) || ["true", "false"].contains(&text.as_str());
        serde_json::from_str(&text).ok().filter(|_| is_json).unwrap_or(Value::from(text))
    };
    Value::Object(pairs.map(|(key, value)| (decoded(key), read(value))).collect::<Map<_, _>>())
}

fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                let digits = String::from_utf8_lossy(&digits).into_owned();
                u8::from_str_radix(&digits, 16).unwrap_or(b'?')
            }
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Writes a reply. A connection that is gone takes none.
pub(super) fn reply(stream: &TcpStream, reply: &Reply) {
    let wait = reply.retry_after.map(|seconds| format!("retry-after: {seconds}\r\n")).unwrap_or_default();
    http::document(stream, reply.status, &wait, &reply.document);
}
