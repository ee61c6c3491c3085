//! One request and one reply of HTTP/1.1 on a connection.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// The largest body, as the real server has it.
const BODY: u64 = 52 * 1024 * 1024;

/// A request.
pub(super) struct Request {
    /// The path.
    pub path: String,
    /// The content type.
    pub kind: String,
    /// The body.
    pub body: Vec<u8>,
}

/// Reads a request; `None` if the connection ends first.
pub(super) fn request(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    let (mut length, mut kind) = (0, String::new());
    for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
        let Some((name, value)) = line.split_once(':') else { continue };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "content-type" => value.trim().clone_into(&mut kind),
            _ => {}
        }
    }
    let mut body = Vec::new();
    reader.take(length.min(BODY)).read_to_end(&mut body).ok()?;
    Some(Request { path, kind, body })
}

/// Writes a reply. A connection that is gone takes none.
pub(super) fn reply(mut stream: &TcpStream, status: u16, body: &Value) {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    drop(stream.write_all((head + &body).as_bytes()));
}

/// Gives out a file, or 404.
pub(super) fn give(mut stream: &TcpStream, bytes: Option<&[u8]>) {
    let status = if bytes.is_some() { "200 OK" } else { "404 Not Found" };
    let bytes = bytes.unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/octet-stream\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        bytes.len()
    );
    drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(bytes)));
}
