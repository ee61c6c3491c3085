//! A server on loopback that stands for the web: it gives pages, and keeps every request.

use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// The server; it ends with the test.
pub struct Upstream {
    /// Its port.
    pub port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Upstream {
    /// A server that answers every request with this text.
    #[must_use]
    pub fn start(page: &str) -> Self {
        let page = page.to_owned();
        Self::answering("text/plain", move |_| page.clone())
    }

    /// A server that answers a request, head and body, with a text of this type, or with a whole reply where the text is
    /// one. A request is kept before it is answered.
    #[must_use]
    pub fn answering(mime: &'static str, answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let (keeps, answer) = (Arc::clone(&heard), Arc::new(answer));
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (keeps, answer) = (Arc::clone(&keeps), Arc::clone(&answer));
                thread::spawn(move || {
                    let request = request(&stream);
                    keeps.lock().expect("the requests").push(request.clone());
                    drop(stream.write_all(reply(mime, &answer(&request)).as_bytes()));
                });
            }
        });
        Self { port, heard }
    }

    /// A provider that streams this answer to each request, but to the first only once nobody holds what comes with it.
    #[must_use]
    pub fn holding_its_first(answer: String) -> (Self, Arc<Mutex<()>>) {
        let (asked, open) = (AtomicUsize::new(0), Arc::new(Mutex::new(())));
        let door = Arc::clone(&open);
        let upstream = Self::answering("text/event-stream", move |_| {
            if asked.fetch_add(1, Ordering::Relaxed) == 0 {
                drop(door.lock().expect("the door"));
            }
            answer.clone()
        });
        (upstream, open)
    }

    /// Its address with this path.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Every request so far, head and body.
    #[must_use]
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().expect("the requests").clone()
    }
}

/// An answer as OpenAI-compatible servers stream it: one token, and seven that were read.
#[must_use]
pub fn answer(text: &str) -> String {
    let said = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage});
    format!("data: {said}\n\ndata: {end}\n\ndata: [DONE]\n\n")
}

fn request(stream: &TcpStream) -> String {
    let (mut head, mut length) = (String::new(), 0);
    let mut reader = BufReader::new(stream);
    for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.parse().unwrap_or(0);
        }
        head.push_str(&line);
        head.push('\n');
    }
    let mut body = Vec::new();
    drop(reader.take(length).read_to_end(&mut body));
    head + &String::from_utf8_lossy(&body)
}

fn reply(mime: &str, body: &str) -> String {
    if body.starts_with("HTTP/1.1 ") {
        return body.to_owned();
    }
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {mime}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}
