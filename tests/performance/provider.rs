//! A provider of models on loopback, which always says the same, whoever asks for whatever: it is a page of the web
//! as well. Only a host that dials can reach it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

/// The agent that uses its model.
pub(crate) const AGENT: &str = "dialled";
/// The agent that fetches its page.
pub(crate) const FETCHER: &str = "fetcher";
/// Its answer.
pub(crate) const WORD: &str = "ahoy";

/// A provider; it serves until the program ends.
pub(crate) struct Provider {
    at: SocketAddr,
    config: String,
    fetch: String,
}

impl Provider {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let at = listener.local_addr()?;
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || {
                    drop(stream.set_nodelay(true));
                    let mut reader = BufReader::new(&stream);
                    while let Ok(true) = answer(&mut reader, &stream) {}
                });
            }
        });
        let config = format!(
            "[credproxy]\nplain_http = [\"{at}\"]\n\
             [provider.near]\nbase_url = \"http://{at}/v1\"\n\
             [provider.near.models.one]\ncontext = 32768\noutput = 1024\n\
             [provider.near.models.slow]\ncontext = 32768\noutput = 1024\n\
             [provider.near.models.priced]\ncontext = 32768\noutput = 1024\ninput_usd = 1\noutput_usd = 2\n\
             [agent.{AGENT}]\nmodel = \"near/one\"\n\
             [web]\nmode = \"unrestricted\"\nprivate_hosts = [\"{at}\"]\n\
             [agent.{FETCHER}]\nmodel = \"offline/hijackable\"\nprofile = \"power-user\"\ntools = [\"web_fetch\"]\n"
        );
        Ok(Self { at, config, fetch: format!("echo: !!CALL web_fetch {{\"url\":\"http://{at}/\"}}!!") })
    }

    /// Where it listens.
    pub(crate) const fn at(&self) -> SocketAddr {
        self.at
    }

    /// The configuration of a host that may reach it.
    pub(crate) fn config(&self) -> &str {
        &self.config
    }

    /// The message at which [`FETCHER`] fetches and shows its page.
    pub(crate) fn fetch(&self) -> &str {
        &self.fetch
    }
}

/// Between two words of the slow model.
pub(crate) const PACE: Duration = Duration::from_millis(100);
/// Words of its answer: a minute of them.
pub(crate) const PACES: u32 = 600;

/// When this program began, for the words of the slow model: each says when it was sent, in us.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Microseconds since this program began.
pub(crate) fn now() -> u64 {
    u64::try_from(BEGAN.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// Answers one request; whether another may come.
fn answer(reader: &mut BufReader<&TcpStream>, mut stream: &TcpStream) -> io::Result<bool> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(false);
        }
        match line.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap_or(0);
            }
            None if line.trim().is_empty() => break,
            _ => {}
        }
    }
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    let body = String::from_utf8_lossy(&body).replace(' ', "");
    if body.contains("\"model\":\"slow\"") {
        return slowly(stream).map(|()| true);
    }
    let (kind, said) = if body.is_empty() || body.contains("\"stream\":true") {
        ("text/event-stream", format!("{}data: [DONE]\n\n", event(WORD, "\"stop\"") + USAGE))
    } else {
        let message = format!("{{\"role\":\"assistant\",\"content\":\"{WORD}\"}}");
        let choice = format!("{{\"index\":0,\"message\":{message},\"finish_reason\":\"stop\"}}");
        let usage = "{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2}";
        let head = "\"id\":\"x\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"one\"";
        ("application/json", format!("{{{head},\"choices\":[{choice}],\"usage\":{usage}}}"))
    };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n", said.len());
    stream.write_all(format!("{head}{said}").as_bytes())?;
    Ok(true)
}

const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\n";

fn event(text: &str, finish: &str) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":{finish}}}]}}\n\n")
}

/// A word at each pace, which says when it was sent.
fn slowly(mut stream: &TcpStream) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    )?;
    let mut chunk = |text: &str| stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes());
    for _ in 0..PACES {
        thread::sleep(PACE);
        // The blank lets the scanner let go of it: a run without one is held until it ends, and would be measured as late.
        chunk(&event(&format!("<{}> ", now()), "null"))?;
    }
    chunk(&format!("{}{USAGE}data: [DONE]\n\n", event("", "\"stop\"")))?;
    chunk("")
}
