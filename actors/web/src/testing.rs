//! Helpers of several tests: a web server of the test's own on loopback, and peers that stand in for dialer and
//! credproxy.

use crate::fetch::{Outside, Web};
use crate::search::Search;
use ipc_proto::config::WebSearch;
use ipc_proto::credproxy::{CredError, Request};
use ipc_proto::dialer::{DialError, HostPort};
use ipc_proto::{List, Text};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tokio::sync::Semaphore;

/// The server's answer once it has read the head of a request.
pub(crate) enum Answer {
    /// Sends these bytes.
    Bytes(Vec<u8>),
    /// Sends these bytes, and then others again and again until nobody reads them.
    Endless(&'static str, Vec<u8>),
    /// Sends these bytes one by one, with a pause after each.
    Drip(&'static str),
    /// Sends nothing, and keeps the connection.
    Nothing,
}

/// A reply with a length and these header lines.
pub(crate) fn reply(status: &str, headers: &str, body: &str) -> Answer {
    Answer::Bytes(
        format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len()).into(),
    )
}

/// A page of HTML.
pub(crate) fn html(body: &str) -> Answer {
    reply("200 OK", "Content-Type: text/html; charset=utf-8\r\n", body)
}

/// A redirect.
pub(crate) fn redirect(status: u16, location: &str) -> Answer {
    reply(&format!("{status} Moved"), &format!("Location: {location}\r\n"), "")
}

type Handler = Arc<dyn Fn(&str) -> Answer + Send + Sync>;

/// A server; it answers by the path that is asked for.
pub(crate) struct Server {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Every head that was sent to it, with what came of a body at once.
    pub(crate) seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts one, over TLS if there is a configuration for it.
    pub(crate) fn start(
        tls: Option<Arc<rustls::ServerConfig>>,
        handler: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, handler): (_, Handler) = (Arc::clone(&seen), Arc::new(handler));
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (log, handler, tls) = (Arc::clone(&log), Arc::clone(&handler), tls.clone());
                thread::spawn(move || match tls {
                    None => drop(play(&mut stream, &handler, &log)),
                    Some(config) => {
                        let mut session = rustls::ServerConnection::new(config).unwrap();
                        drop(play(&mut rustls::Stream::new(&mut session, &mut stream), &handler, &log));
                    }
                });
            }
        });
        Self { address, seen }
    }

    /// The first lines of what it was asked.
    pub(crate) fn asked(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        seen.iter().map(|head| head.lines().next().unwrap().to_owned()).collect()
    }
}

fn play(
    stream: &mut (impl Read + Write),
    handler: &Handler,
    log: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut buffer = [0; 4096];
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        bytes.extend(&buffer[..length]);
    }
    let head = String::from_utf8(bytes).unwrap();
    log.lock().unwrap().push(head.clone());
    match handler(head.split(' ').nth(1).unwrap()) {
        Answer::Bytes(bytes) => stream.write_all(&bytes)?,
        Answer::Endless(first, again) => {
            stream.write_all(first.as_bytes())?;
            while stream.write_all(&again).is_ok() {}
        }
        Answer::Drip(text) => {
            for byte in text.bytes() {
                stream.write_all(&[byte])?;
                thread::sleep(Duration::from_millis(20));
            }
        }
        Answer::Nothing => while stream.read(&mut [0; 64]).is_ok_and(|length| length > 0) {},
    }
    stream.flush()
}

/// Dialer and credproxy of a test. Names lead to servers of the test's own; any other request is noted and refused.
#[derive(Default)]
pub(crate) struct Fake {
    /// Where hosts lead.
    pub(crate) hosts: RefCell<BTreeMap<HostPort, SocketAddr>>,
    /// The targets that were dialled, in order.
    pub(crate) dialled: RefCell<Vec<String>>,
    /// The requests to credproxy.
    pub(crate) requests: RefCell<Vec<Request>>,
    /// The answer of credproxy.
    pub(crate) answer: RefCell<Option<(u16, String)>>,
}

impl Outside for Rc<Fake> {
    async fn dial(&self, target: &HostPort) -> Result<OwnedFd, DialError> {
        self.dialled.borrow_mut().push(target.to_string());
        let address = *self.hosts.borrow().get(target).ok_or(DialError::NotPublic)?;
        #[expect(clippy::disallowed_methods, reason = "the test stands in for dialer")]
        let stream = std::net::TcpStream::connect(address).map_err(|_| DialError::Refused)?;
        Ok(stream.into())
    }

    async fn request(&self, request: Request, _: usize) -> Result<(u16, Vec<u8>), CredError> {
        self.requests.borrow_mut().push(request);
        let (status, body) = self.answer.borrow().clone().ok_or(CredError::NoSecret)?;
        Ok((status, body.into_bytes()))
    }
}

/// A web whose hosts are of the test's own.
pub(crate) struct Lab {
    /// The fetcher under test.
    pub(crate) web: Web<Rc<Fake>>,
    /// Its peers.
    pub(crate) fake: Rc<Fake>,
}

impl Lab {
    /// These hosts lead to this server; searches are as the section says, certificates of `roots` are believed.
    pub(crate) fn new(server: &Server, hosts: &[&str], search: &WebSearch, roots: &str) -> Self {
        let fake = Rc::new(Fake::default());
        for host in hosts {
            fake.hosts.borrow_mut().insert(host.parse().unwrap(), server.address);
        }
        let web = Web {
            outside: Rc::clone(&fake),
            tls: upstream::client(roots.as_bytes()).unwrap(),
            private: List::new(vec![Text::new("localhost:8888").unwrap()]).unwrap(),
            search: Search::new(search).unwrap(),
            slots: Semaphore::new(2),
        };
        Self { web, fake }
    }

    /// The targets that were dialled.
    pub(crate) fn dialled(&self) -> Vec<String> {
        self.fake.dialled.borrow().clone()
    }
}

/// Runs a test as an actor runs.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test)
}
