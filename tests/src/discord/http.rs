//! One request and one reply of HTTP/1.1 on a connection.

use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The largest body, as the real server has it.
const BODY: u64 = 25 * 1024 * 1024;

/// A request.
pub(super) struct Request {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers, by their names in lower case.
    pub headers: HashMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

/// Returns whether the request that comes first is for a WebSocket. Nothing of it is taken.
pub(super) fn is_upgrade(stream: &TcpStream) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    let mut bytes = [0; 4096];
    while Instant::now() < until {
        let Ok(count) = stream.peek(&mut bytes) else { return false };
        let head = String::from_utf8_lossy(&bytes[..count]).to_ascii_lowercase();
        if count == 0 || head.contains("\r\n\r\n") || count == bytes.len() {
            return head.contains("upgrade: websocket");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// Reads a request; `None` if the connection ends first.
pub(super) fn request(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let lines = reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let header = |line: String| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    let headers: HashMap<String, String> = lines.filter_map(header).collect();
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = Vec::new();
    reader.take(BODY.min(length)).read_to_end(&mut body).ok()?;
    Some(Request { method, path, headers, body })
}

/// Writes a reply. A connection that is gone takes none.
pub(super) fn reply(mut stream: &TcpStream, status: u16, headers: &str, body: &Value) {
    let body = if status == 204 { String::new() } else { body.to_string() };
    let head = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    drop(stream.write_all((head + &body).as_bytes()));
}

/// Holds a connection until the other end lets it go.
pub(super) fn hold(mut stream: &TcpStream) {
    // Nothing comes any more: the read ends with the connection.
    drop(stream.read(&mut [0]));
}
