//! One request and one reply of HTTP/1.1 on a connection.

use serde_json::{Map, Value};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// The largest body.
const BODY: u64 = 52 * 1024 * 1024;

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
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let target = first.split(' ').nth(1)?.to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let (mut length, mut kind, mut token) = (0, String::new(), String::new());
    for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
        let Some((name, value)) = line.split_once(':') else { continue };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "content-type" => value.trim().clone_into(&mut kind),
            "authorization" => value.trim().trim_start_matches("Bearer ").clone_into(&mut token),
            _ => {}
        }
    }
    let mut body = Vec::new();
    reader.take(length.min(BODY)).read_to_end(&mut body).ok()?;
    let arguments = match kind.split(';').next() {
        Some("application/json") => serde_json::from_slice(&body).unwrap_or(Value::Null),
        Some("application/x-www-form-urlencoded") => form(&String::from_utf8_lossy(&body)),
        _ => form(query),
    };
    Some(Asked { path: path.to_owned(), token, arguments, body })
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
pub(super) fn reply(mut stream: &TcpStream, reply: &Reply) {
    let body = reply.document.to_string();
    let wait = reply.retry_after.map(|seconds| format!("retry-after: {seconds}\r\n")).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {} Status\r\ncontent-type: application/json\r\nconnection: close\r\n{wait}content-length: {}\r\n\r\n",
        reply.status,
        body.len()
    );
    drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())));
}
