//! Files that persons send by a platform, as its server gives them out, and another server that nothing is to be fetched from.

use crate::http;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard};

/// The way in which a file is given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// At an address of the platform's own server.
    Here,
    /// At an address of another server.
    Elsewhere,
    /// At an address of the platform's own server, which leads to another one.
    Moved,
}

#[derive(Default)]
struct State {
    files: Vec<(Vec<u8>, Way)>,
    asked: Vec<usize>,
    elsewhere: usize,
}

/// The files of one server.
#[derive(Clone)]
pub struct SentFiles {
    state: Arc<Mutex<State>>,
    /// The port of the other server.
    other: u16,
}

impl Default for SentFiles {
    fn default() -> Self {
        let (listener, other) = http::listener();
        let given = Self { state: Arc::default(), other };
        let serving = given.clone();
        http::serve_each(listener, move |stream| {
            let Some(request) = http::Request::read(&stream) else { return };
            let bytes = {
                let mut state = serving.state();
                state.elsewhere += 1;
                number(&request.path).and_then(|number| state.files.get(number).map(|file| file.0.clone()))
            };
            http::reply(&stream, 200, "application/octet-stream", "", &bytes.unwrap_or_default());
        });
        given
    }
}

fn number(path: &str) -> Option<usize> {
    path.strip_prefix("/given/")?.split('?').next()?.parse().ok()
}

impl SentFiles {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("the files")
    }

    /// Keeps a file. Returns its address, on the server with this port or another.
    pub fn add(&self, port: u16, bytes: &[u8], way: Way) -> String {
        let mut state = self.state();
        state.files.push((bytes.to_vec(), way));
        let port = if way == Way::Elsewhere { self.other } else { port };
        format!("http://127.0.0.1:{port}/given/{}", state.files.len() - 1)
    }

    /// Answers a request for a file. Returns false for a request for something else.
    pub fn answers(&self, stream: &TcpStream, path: &str) -> bool {
        let Some(number) = number(path) else { return false };
        let found = {
            let mut state = self.state();
            state.asked.push(number);
            state.files.get(number).cloned()
        };
        match found {
            Some((bytes, Way::Here)) => http::reply(stream, 200, "application/octet-stream", "", &bytes),
            Some(_) => {
                let to = format!("location: http://127.0.0.1:{}/given/{number}\r\n", self.other);
                http::reply(stream, 302, "text/html", &to, b"");
            }
            None => http::reply(stream, 404, "text/plain", "", b""),
        }
        true
    }

    /// The files that were asked for, each as often as it was.
    #[must_use]
    pub fn asked(&self) -> Vec<usize> {
        self.state().asked.clone()
    }

    /// The requests to the other server.
    #[must_use]
    pub fn elsewhere(&self) -> usize {
        self.state().elsewhere
    }
}
