//! The API as a client reaches it.

use crate::Host;
use reqwest::Method;
use reqwest::blocking::{Client, ClientBuilder, RequestBuilder};
use reqwest::header::CONTENT_TYPE;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest wait for a response, and for a part of its body.
const PATIENCE: Duration = Duration::from_secs(60);

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
        exchange(request_over_unix(&self.gateway(), Method::GET, path))
    }
}

/// A client that follows no redirect and asks no proxy.
///
/// # Panics
/// If it cannot be made.
#[must_use]
pub fn client(builder: ClientBuilder) -> Client {
    let plain = builder.no_proxy().redirect(reqwest::redirect::Policy::none()).timeout(PATIENCE);
    plain.build().expect("a client")
}

/// A connection to the API's port.
#[must_use]
pub fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).expect("the API's port")
}

/// A request over the API's socket.
pub fn request_over_unix(socket: &Path, method: Method, path: &str) -> RequestBuilder {
    let client = client(Client::builder().unix_socket(socket.to_owned()));
    client.request(method, format!("http://localhost{path}"))
}

/// A request over TCP, with a key if there is one.
pub fn request_over_tcp(port: u16, key: Option<&str>, method: Method, path: &str) -> RequestBuilder {
    let request = client(Client::builder()).request(method, format!("http://127.0.0.1:{port}{path}"));
    match key {
        Some(key) => request.bearer_auth(key),
        None => request,
    }
}

/// Asks for a page over TCP with a key; gives status and body.
#[must_use]
pub fn get_over_tcp(port: u16, path: &str, key: Option<&str>) -> (u16, String) {
    exchange(request_over_tcp(port, key, Method::GET, path))
}

/// Sends a document over TCP with a key; gives status and body.
#[must_use]
pub fn post_over_tcp(port: u16, path: &str, key: &str, document: &str) -> (u16, String) {
    let request = request_over_tcp(port, Some(key), Method::POST, path);
    exchange(request.header(CONTENT_TYPE, "application/json").body(document.to_owned()))
}

/// Sends a request and takes what comes back until the end: status and body.
fn exchange(request: RequestBuilder) -> (u16, String) {
    let mut response = request.send().expect("a response");
    let status = response.status().as_u16();
    let mut body = String::new();
    response.read_to_string(&mut body).expect("a body");
    (status, body)
}
