//! A client of HTTP on loopback, as plain as one can be, for the times and rates that would hold a library's own cost as well. All
//! other requests go by the library.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A connection that is kept.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    key: String,
}

/// The document that asks a model.
pub(crate) fn question(model: &str, stream: bool) -> String {
    format!(
        "{{\"model\":\"{model}\",\"stream\":{stream},\"messages\":[{{\"role\":\"user\",\"content\":\"hello there\"}}]}}"
    )
}

/// An answer.
pub(crate) struct Answered {
    /// To the first byte of its body.
    pub(crate) first: Duration,
    /// To its end.
    pub(crate) whole: Duration,
    /// Its body.
    pub(crate) body: String,
}

impl Client {
    pub(crate) fn connect(at: SocketAddr, key: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(at)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self { stream: BufReader::new(stream), key: key.to_owned() })
    }

    /// Has a model answer; an answer that is none, or is not well, is an error.
    pub(crate) fn complete(&mut self, model: &str, stream: bool) -> io::Result<Answered> {
        let began = self.ask(model, stream)?;
        let mut length = self.head()?;
        let (mut body, mut first) = (Vec::new(), None);
        loop {
            let part = match length {
                Some(length) => length,
                None => self.chunk_length()?,
            };
            let so_far = body.len();
            Read::by_ref(&mut self.stream).take(part).read_to_end(&mut body)?;
            first.get_or_insert(began.elapsed());
            if length.take().is_some() {
                break;
            }
            self.line()?;
            if body.len() == so_far {
                break;
            }
        }
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(Answered { first: first.unwrap_or_default(), whole: began.elapsed(), body })
    }

    fn ask(&mut self, model: &str, stream: bool) -> io::Result<Instant> {
        let body = question(model, stream);
        let began = Instant::now();
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.stream.get_ref().peer_addr()?,
            self.key,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        Ok(began)
    }

    /// Reads the head of an answer: the length of its body, or none if it comes in chunks.
    fn head(&mut self) -> io::Result<Option<u64>> {
        let status = self.line()?;
        let mut length = None;
        loop {
            let line = self.line()?;
            match line.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().ok();
                }
                None if line.is_empty() => break,
                _ => {}
            }
        }
        if status.split(' ').nth(1) == Some("200") {
            return Ok(length);
        }
        let mut said = vec![0; usize::try_from(length.unwrap_or(0)).unwrap_or(0)];
        self.stream.read_exact(&mut said)?;
        Err(io::Error::other(format!("{status}: {}", String::from_utf8_lossy(&said))))
    }

    fn chunk_length(&mut self) -> io::Result<u64> {
        let line = self.line()?;
        u64::from_str_radix(&line, 16)
            .map_err(|_| io::Error::other(format!("{line:?} is no length of a chunk")))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}
