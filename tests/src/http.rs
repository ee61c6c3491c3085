//! One request and one reply of HTTP/1.1 on a connection, for the servers that stand for a platform.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

/// The largest body that is read.
const BODY: u64 = 52 * 1024 * 1024;

/// A request.
pub struct Request {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers, by their names in lower case.
    pub headers: HashMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// Reads a request; `None` if the connection ends first.
    #[must_use]
    pub fn read(stream: &TcpStream) -> Option<Self> {
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
        let length = headers.get("content-length").map_or(Some(0), |length| length.parse().ok())?;
        let mut body = Vec::new();
        reader.take(BODY.min(length)).read_to_end(&mut body).ok()?;
        Some(Self { method, path, headers, body })
    }

    /// The value of a header; empty if it has none.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// Writes a reply with these further lines of its head. A connection that is gone takes none.
pub fn reply(mut stream: &TcpStream, status: u16, kind: &str, lines: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: {kind}\r\nconnection: close\r\n{lines}content-length: {}\r\n\r\n",
        body.len()
    );
    drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)));
}

/// Writes a document as a reply.
pub fn document(stream: &TcpStream, status: u16, lines: &str, document: &serde_json::Value) {
    reply(stream, status, "application/json", lines, document.to_string().as_bytes());
}

/// A listener on a port of this machine, and the port.
///
/// # Panics
/// If there is no port.
#[must_use]
pub fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("its address").port();
    (listener, port)
}

/// Serves each connection on a thread of its own, until the test ends.
pub fn serve_each(listener: TcpListener, serve: impl Fn(TcpStream) + Clone + Send + 'static) {
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
}
