//! A provider of one model on loopback, which always says the same, whoever asks for whatever: it is a page of the web
//! as well. Only a host that dials can reach it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// The agent that uses its model.
pub(crate) const AGENT: &str = "dialled";
/// The agent that fetches its page.
pub(crate) const FETCHER: &str = "fetcher";
/// What it says.
pub(crate) const WORD: &str = "ahoy";

/// A provider; it serves until the program ends.
pub(crate) struct Provider {
    config: String,
    fetch: String,
}

impl Provider {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let at = listener.local_addr()?;
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                drop(answer(&stream));
            }
        });
        let config = format!(
            "[credproxy]\nplain_http = [\"{at}\"]\n\
             [provider.near]\nbase_url = \"http://{at}/v1\"\n\
             [provider.near.models.one]\ncontext = 32768\noutput = 1024\n\
             [agent.{AGENT}]\nmodel = \"near/one\"\n\
             [web]\nmode = \"unrestricted\"\nprivate_hosts = [\"{at}\"]\n\
             [agent.{FETCHER}]\nmodel = \"offline/hijackable\"\nprofile = \"power-user\"\ntools = [\"web_fetch\"]\n"
        );
        Ok(Self { config, fetch: format!("echo: !!CALL web_fetch {{\"url\":\"http://{at}/\"}}!!") })
    }

    /// The configuration of a host that may reach it.
    pub(crate) fn config(&self) -> &str {
        &self.config
    }

    /// What is said to [`FETCHER`] to have its page fetched and shown.
    pub(crate) fn fetch(&self) -> &str {
        &self.fetch
    }
}

fn answer(mut stream: &TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut body = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                body = value.trim().parse().unwrap_or(0);
            }
            None if line.trim().is_empty() => break,
            _ => {}
        }
    }
    io::copy(&mut reader.take(body), &mut io::sink())?;
    let said = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{WORD}\"}},\"finish_reason\":\"stop\"}}]}}\n\n\
         data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":1,\"completion_tokens\":1}}}}\n\ndata: [DONE]\n\n"
    );
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\nContent-Length: ";
    write!(stream, "{head}{}\r\n\r\n{said}", said.len())
}
