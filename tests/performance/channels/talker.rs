//! A provider of models on loopback that notes when it was asked about which message, and when the first word of its answer went
//! out. Its answer names the message.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tests::http::{self, Request};

/// The pause behind the first words of a slow answer.
const PAUSE: Duration = Duration::from_millis(900);
/// The agents that use its models.
pub(super) const QUICK: &str = "quick";
pub(super) const SLOW: &str = "slow";

/// When something was first seen, by the token of the message that it is about.
type Times = Arc<Mutex<HashMap<String, Instant>>>;

/// The provider; it serves until the program ends.
pub(super) struct Talker {
    pub(super) port: u16,
    asked: Times,
    begun: Times,
}

impl Talker {
    pub(super) fn start() -> Self {
        let (listener, port) = http::listener();
        let (asked, begun) = <(Times, Times)>::default();
        let (asks, begins) = (Arc::clone(&asked), Arc::clone(&begun));
        http::serve_each(listener, move |stream| drop(answer(&stream, &asks, &begins)));
        Self { port, asked, begun }
    }

    /// The configuration of its models and agents.
    pub(super) fn config(&self) -> String {
        let model = |name: &str| {
            format!(
                "[provider.near.models.{name}]\ncontext = 131072\noutput = 1024\n[agent.{name}]\nmodel = \"near/{name}\"\n\
                 [agent.{name}.limits]\nmodel_calls_per_hour = 100000\n"
            )
        };
        let url = format!("http://127.0.0.1:{}/v1", self.port);
        format!("[provider.near]\nbase_url = \"{url}\"\n{}{}", model(QUICK), model(SLOW))
    }

    /// When it was asked about this message.
    pub(super) fn asked(&self, token: &str) -> io::Result<Instant> {
        at(&self.asked, token)
    }

    /// When the first words of its answer to this message went out.
    pub(super) fn begun(&self, token: &str) -> io::Result<Instant> {
        at(&self.begun, token)
    }
}

/// The token of a message.
pub(super) fn token(number: usize) -> String {
    format!("tide-{number:06}")
}

/// The last token in a text, which is that of the newest message.
fn last_token(text: &str) -> Option<&str> {
    let at = text.rfind("tide-")?;
    text.get(at..at + "tide-000000".len())
}

fn at(times: &Times, token: &str) -> io::Result<Instant> {
    let times = times.lock().unwrap_or_else(PoisonError::into_inner);
    times.get(token).copied().ok_or_else(|| io::Error::other(format!("nothing was seen of {token}")))
}

fn note(times: &Times, token: &str) {
    times.lock().unwrap_or_else(PoisonError::into_inner).entry(token.to_owned()).or_insert_with(Instant::now);
}

fn answer(mut stream: &TcpStream, asked: &Times, begun: &Times) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let Some(request) = Request::read(stream) else { return Ok(()) };
    let body = String::from_utf8_lossy(&request.body);
    let token = last_token(&body).unwrap_or_default();
    note(asked, token);
    let begin = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word of ";
    let begin = format!("{begin}{token} \"}}}}]}}\n\n");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(format!("{head}{begin}").as_bytes())?;
    note(begun, token);
    if body.replace(' ', "").contains("\"model\":\"slow\"") {
        thread::sleep(PAUSE);
    }
    stream.write_all(tests::answer("and no more").as_bytes())
}
