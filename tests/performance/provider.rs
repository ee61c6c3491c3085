//! A provider of one model on loopback, which always says the same. Only a host that dials can reach it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// The agent that uses its model.
pub(crate) const AGENT: &str = "dialled";
/// What it says.
pub(crate) const WORD: &str = "ahoy";

/// A provider; it serves until the program ends.
pub(crate) struct Provider(String);

impl Provider {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let at = listener.local_addr()?;
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                drop(answer(&stream));
            }
        });
        Ok(Self(format!(
            "[credproxy]\nplain_http = [\"{at}\"]\n\
             [provider.near]\nbase_url = \"http://{at}/v1\"\n\
             [provider.near.models.one]\ncontext = 32768\noutput = 1024\n\
             [agent.{AGENT}]\nmodel = \"near/one\"\n"
        )))
    }

    /// The configuration of a host that may reach it.
    pub(crate) fn config(&self) -> &str {
        &self.0
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
