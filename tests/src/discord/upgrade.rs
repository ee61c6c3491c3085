//! The beginning of a connection, which is for the gateway or for the REST API, and its end where a reply is held back.

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Returns whether the request that comes first is for a WebSocket. Nothing of it is taken.
pub(super) fn comes_first(stream: &TcpStream) -> bool {
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

/// Holds a connection until the other end lets it go.
pub(super) fn hold(mut stream: &TcpStream) {
    // Nothing comes any more: the read ends with the connection.
    drop(stream.read(&mut [0]));
}
