//! The API as a client reaches it: its sockets, and one request written by hand.

use crate::Host;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// A port of this machine that nobody has. Whoever starts a host on it may find that somebody was faster.
#[must_use]
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its number").port()
}

impl Host {
    /// The socket of its API.
    #[must_use]
    pub fn gateway(&self) -> PathBuf {
        self.dir().join("run/gateway.sock")
    }

    /// Asks for a page over that socket, as whoever runs the test; gives status and body.
    #[must_use]
    pub fn get(&self, path: &str) -> (u16, String) {
        get(UnixStream::connect(self.gateway()).expect("the API's socket"), path, "x", None)
    }
}

/// A connection to the API's port.
#[must_use]
pub fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).expect("the API's port")
}

/// Asks for a page over TCP with a key; gives status and body.
#[must_use]
pub fn get_over_tcp(port: u16, path: &str, key: Option<&str>) -> (u16, String) {
    get(connect(port), path, &format!("127.0.0.1:{port}"), key)
}

/// Sends a document over TCP with a key; gives status and body.
#[must_use]
pub fn post_over_tcp(port: u16, path: &str, key: &str, document: &str) -> (u16, String) {
    let length = document.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    exchange(connect(port), &(head + document))
}

/// Asks for a page; gives status and body.
fn get(stream: impl Read + Write, path: &str, host: &str, key: Option<&str>) -> (u16, String) {
    let key = key.map_or_else(String::new, |key| format!("Authorization: Bearer {key}\r\n"));
    let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{key}Connection: close\r\n\r\n");
    exchange(stream, &head)
}

/// Sends a request and takes what comes back until the end: status and body.
fn exchange(mut stream: impl Read + Write, request: &str) -> (u16, String) {
    stream.write_all(request.as_bytes()).expect("the request goes out");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
    (status, body)
}
