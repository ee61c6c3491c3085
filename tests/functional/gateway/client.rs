//! A client of the API: requests by a library, and bytes by hand where the bytes are what is tested.
#![expect(clippy::disallowed_methods, reason = "a client connects")]

use reqwest::Method;
use reqwest::blocking::{Client, RequestBuilder};
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;
use tests::Host;

/// How long a test waits for bytes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the API is asked.
#[derive(Clone)]
pub(super) enum Way {
    /// By the Unix socket.
    Unix(PathBuf),
    /// By TCP, with this key.
    Tcp(u16, String),
}

/// A response.
pub(super) struct Answer {
    pub(super) status: u16,
    /// Lines of the head, in lower case.
    pub(super) head: String,
    pub(super) body: String,
}

/// Either connection.
pub(super) trait Wire: Read + Write {}
impl<T: Read + Write> Wire for T {}

impl Way {
    /// The Unix socket of a host.
    pub(super) fn unix(host: &Host) -> Self {
        Self::Unix(host.gateway())
    }

    /// A connection.
    pub(super) fn connect(&self) -> Box<dyn Wire> {
        match self {
            Self::Unix(path) => {
                let stream = UnixStream::connect(path).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                Box::new(stream)
            }
            Self::Tcp(port, _) => {
                let stream = TcpStream::connect(("127.0.0.1", *port)).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                Box::new(stream)
            }
        }
    }

    /// The bytes of a request.
    pub(super) fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
        let (host, key) = match self {
            Self::Unix(_) => ("localhost".to_owned(), String::new()),
            Self::Tcp(port, key) => (format!("127.0.0.1:{port}"), format!("Authorization: Bearer {key}\r\n")),
        };
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{key}{headers}Content-Length: {length}\r\n\r\n"
        );
        format!("{head}{body}").into_bytes()
    }

    /// Sends bytes and takes everything that comes back until the end.
    pub(super) fn send(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that has refused already may have closed.
        drop(stream.write_all(bytes));
        let mut all = Vec::new();
        drop(stream.read_to_end(&mut all));
        Answer::of(&all)
    }

    /// Asks with a document.
    pub(super) fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_with(path, "", body)
    }

    /// The same with further headers, each with its line break.
    pub(super) fn post_with(&self, path: &str, headers: &str, body: &Value) -> Answer {
        let mut request = self.ask(Method::POST, path).header(CONTENT_TYPE, "application/json");
        for (name, value) in headers.lines().filter_map(|line| line.split_once(": ")) {
            request = request.header(name, value);
        }
        Answer::came(request.body(body.to_string()))
    }

    /// Asks for something.
    pub(super) fn get(&self, path: &str) -> Answer {
        Answer::came(self.ask(Method::GET, path))
    }

    /// A request of the library's own.
    fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        match self {
            Self::Unix(socket) => {
                let client = tests::client(Client::builder().unix_socket(socket.clone()));
                client.request(method, format!("http://localhost{path}"))
            }
            Self::Tcp(port, key) => {
                let client = tests::client(Client::builder());
                client.request(method, format!("http://127.0.0.1:{port}{path}")).bearer_auth(key)
            }
        }
    }
}

impl Answer {
    /// Sends a request and takes what comes back; a body that breaks off is given as far as it came.
    fn came(request: RequestBuilder) -> Self {
        let mut response = request.send().unwrap();
        let line = |(name, value): (&HeaderName, &HeaderValue)| {
            format!("{name}: {}\r\n", String::from_utf8_lossy(value.as_bytes()))
        };
        let head = response.headers().iter().map(line).collect::<String>().to_lowercase();
        let status = response.status().as_u16();
        let mut body = Vec::new();
        drop(response.read_to_end(&mut body));
        Self { status, head, body: String::from_utf8_lossy(&body).into_owned() }
    }

    pub(super) fn of(all: &[u8]) -> Self {
        let text = String::from_utf8_lossy(all).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let head = head.to_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = if head.contains("transfer-encoding: chunked") { joined(body) } else { body.to_owned() };
        Self { status, head, body }
    }

    /// The document, of an answer that is well.
    pub(super) fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        self.document()
    }

    /// The document, whatever it says.
    pub(super) fn document(&self) -> Value {
        let said = |error: serde_json::Error| format!("{error}: {} {}", self.status, self.body);
        serde_json::from_str(&self.body).map_err(said).unwrap()
    }

    /// The data of each event of a stream; what is no JSON is a string.
    pub(super) fn events(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{}", self.body);
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap_or(Value::from(data))).collect()
    }
}

/// A body that came in chunks, put together.
fn joined(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).unwrap_or(0);
        if length == 0 {
            break;
        }
        whole.push_str(rest.get(..length).unwrap_or(rest));
        body = rest.get(length + 2..).unwrap_or_default();
    }
    whole
}
