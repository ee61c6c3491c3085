//! A client of the API: requests by a library, and bytes by hand where no library sends them.

use reqwest::Method;
use reqwest::blocking::{RequestBuilder, Response};
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;
use tests::{Host, request_over_tcp, request_over_unix};

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

impl Way {
    /// The Unix socket of a host.
    pub(super) fn unix(host: &Host) -> Self {
        Self::Unix(host.gateway())
    }

    /// A request.
    pub(super) fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        match self {
            Self::Unix(socket) => request_over_unix(socket, method, path),
            Self::Tcp(port, key) => request_over_tcp(*port, Some(key), method, path),
        }
    }

    /// Asks with a document.
    pub(super) fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_with(path, "", body)
    }

    /// The same with further headers, each with its line break.
    pub(super) fn post_with(&self, path: &str, headers: &str, body: &Value) -> Answer {
        self.post_text(path, headers, "application/json", body.to_string())
    }

    /// Asks with a body of this type, whatever it says.
    pub(super) fn post_text(&self, path: &str, headers: &str, of_type: &str, body: String) -> Answer {
        let request = self.ask(Method::POST, path).header(CONTENT_TYPE, of_type);
        Answer::came(with(request, headers).body(body))
    }

    /// Asks with a document, and leaves the answer to be read. It is there once its head has come.
    pub(super) fn begin(&self, path: &str, body: &Value) -> Response {
        let request = self.ask(Method::POST, path).header(CONTENT_TYPE, "application/json");
        request.body(body.to_string()).send().unwrap()
    }

    /// Asks for something.
    pub(super) fn get(&self, path: &str) -> Answer {
        self.get_with(path, "")
    }

    /// The same with further headers, each with its line break.
    pub(super) fn get_with(&self, path: &str, headers: &str) -> Answer {
        Answer::came(with(self.ask(Method::GET, path), headers))
    }
}

/// The request with these headers.
fn with(mut request: RequestBuilder, headers: &str) -> RequestBuilder {
    for (name, value) in headers.lines().filter_map(|line| line.split_once(": ")) {
        request = request.header(name, value);
    }
    request
}

/// Sends these bytes to a host's socket, and gives the status and the whole text of what comes back.
pub(super) fn send(host: &Host, bytes: &[u8]) -> (u16, String) {
    let mut stream = connect(host);
    // A server that has refused already may have closed.
    drop(stream.write_all(bytes));
    let mut all = Vec::new();
    drop(stream.read_to_end(&mut all));
    let text = String::from_utf8_lossy(&all).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, text)
}

/// A connection to a host's socket.
pub(super) fn connect(host: &Host) -> UnixStream {
    let stream = UnixStream::connect(host.gateway()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Reads on until these words have come.
pub(super) fn until(stream: &mut impl Read, words: &str, all: &mut Vec<u8>) {
    while !String::from_utf8_lossy(all).contains(words) {
        let mut part = [0; 4096];
        let length = stream.read(&mut part).unwrap();
        assert!(length > 0, "no `{words}` in {}", String::from_utf8_lossy(all));
        all.extend_from_slice(&part[..length]);
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
