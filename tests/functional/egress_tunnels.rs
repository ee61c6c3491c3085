//! Connections of jails whose bytes pass as they are: TLS to places that the owner lists as opaque, and WebSockets.

use crate::egress::{log, question};
use std::thread;
use tests::{Host, Registry};

/// The name under which the registry has a certificate of its own: an address cannot be named in a greeting of TLS.
const NAME: &str = "localhost";

/// Opens tunnels one after the other: under the right name, another, none, and without TLS. The first believes the server's own
/// certificate alone, so that nobody in between can have decrypted it.
const TUNNELS: &str = r#"
import socket, ssl, sys
port, certificate = sys.argv[1:]
def opened():
    link = socket.create_connection(("127.0.0.1", 7081))
    link.sendall(f"CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        head += link.recv(4096)
    return link, head
def tunnel(name, verify):
    link, head = opened()
    if b" 200 " not in head.split(b"\r\n")[0]:
        return head.decode() + link.recv(4096).decode()
    context = ssl.create_default_context(cadata=certificate)
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        sealed = context.wrap_socket(link, server_hostname=name)
        sealed.sendall(b"GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return sealed.recv(4096).split(b"\r\n")[0].decode() or "closed"
    except OSError:
        return "closed"
first = tunnel("localhost", True)
print(first)
if first.startswith("HTTP/1.1 200"):
    print(tunnel("evil.example", False))
    print(tunnel(None, False))
    link, _ = opened()
    link.sendall(b"GET /plain HTTP/1.1\r\nHost: localhost\r\n\r\n")
    print(link.recv(4096) or "closed")
"#;

/// Runs the script in a jail, and answers the question that it leads to; its output.
fn answered(host: &Host, registry: &Registry, script: &str, answer: &[&str]) -> String {
    let port = registry.port.to_string();
    let certificate = registry.certificate();
    let words = ["run", "--", "python3", "-c", script, &port, &certificate];
    thread::scope(|scope| {
        let ran = scope.spawn(|| host.ctl(&words));
        let id = question(host);
        assert!(registry.asked().is_empty(), "nothing leaves before the answer");
        let words: Vec<&str> = ["approvals", answer[0], &id].iter().chain(&answer[1..]).copied().collect();
        assert!(host.ctl(&words).status.success());
        let output = ran.join().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    })
}

// Holds P1-57.
#[test]
fn tls_to_an_opaque_host_passes_undecrypted_once_a_person_agreed() {
    let registry = Registry::at(NAME, "127.0.0.1");
    let place = format!("{NAME}:{}", registry.port);
    let host = registry.host(&format!("allow = [\"{place} send\"]\nopaque = [\"{place}\"]"));
    let denied = answered(&host, &registry, TUNNELS, &["deny"]);
    assert!(denied.contains("403") && denied.contains("a person said no"), "{denied}\n{}", host.log());
    let output = answered(&host, &registry, TUNNELS, &["approve", "--yes"]);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines, ["HTTP/1.1 200 OK", "closed", "closed", "closed"], "{}", host.log());
    assert_eq!(registry.asked(), ["GET /x"]);
    let log = log(&host);
    let count = |result: &str, reason: &str| {
        log.iter().filter(|(is, why, _)| is == result && why.contains(reason)).count()
    };
    assert_eq!(count("allowed", "approved by a person"), 1, "{log:?}");
    assert_eq!(count("refused", "its TLS names another host"), 3, "{log:?}");
    assert!(
        log.iter().any(|(is, why, received)| is == "used" && why.contains("sent") && *received > 0),
        "{log:?}"
    );
    let shown = host.json(&["net", "log"]).to_string();
    assert!(shown.contains("\"verb\":\"tunnel\""), "{shown}");
}

/// Upgrades a connection to a WebSocket and has the server echo a message.
const SOCKET: &str = r#"
import os, socket, ssl, sys
port = sys.argv[1]
link = socket.create_connection(("127.0.0.1", 7081))
link.sendall(f"CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
assert b" 200 " in link.recv(4096)
link = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"]).wrap_socket(link, server_hostname="localhost")
link.sendall(f"GET /ws HTTP/1.1\r\nHost: localhost:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
head = b""
while b"\r\n\r\n" not in head:
    head += link.recv(1)
print(head.split(b"\r\n")[0].decode(), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head)
for text in (b"tide", b"x" * 40000):
    frame = bytes([0x81, 0x80 | len(text)]) if len(text) < 126 else bytes([0x81, 0xFE]) + len(text).to_bytes(2, "big")
    link.sendall(frame + bytes(4) + text)
    length = len(frame) + len(text)
    came = b""
    while len(came) < length:
        part = link.recv(65536)
        if not part:
            break
        came += part
    print(came.endswith(text) and len(came) == length)
"#;

// Holds P1-58.
#[test]
fn a_websocket_is_asked_about_as_sending_and_passes_both_ways() {
    let registry = Registry::at(NAME, "127.0.0.1");
    let host = registry.host(&format!("allow = [\"{NAME}:{}\"]", registry.port));
    let denied = answered(&host, &registry, SOCKET, &["deny"]);
    assert!(denied.starts_with("HTTP/1.1 403"), "{denied}");
    let output = answered(&host, &registry, SOCKET, &["approve", "--yes"]);
    let lines: Vec<&str> = output.lines().collect();
    let upgraded = "HTTP/1.1 101 Switching Protocols True";
    assert_eq!(lines, [upgraded, "True", "True"], "{:?}\n{}", registry.asked(), host.log());
    let log = log(&host);
    let used = log.iter().find(|(is, _, received)| is == "used" && *received > 40_000);
    assert!(used.is_some_and(|(_, why, _)| why.contains("1 requests, 400")), "{log:?}");
}
