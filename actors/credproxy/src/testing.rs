//! Helpers of several tests: sealing as agentctl does it, and an HTTP server of the test's own on loopback.

use crate::master_key::KeyStore;
use crate::sealing_key::PUBLIC_FILE;
use crate::store::Store;
use crate::vault::{self, Sources};
use crate::vault_actor::{Start, Views};
use crypto_box::PublicKey;
use ipc_proto::config::KeySource;
use ipc_proto::credproxy::{Binding, Lease, binding};
use ipc_proto::{List, Text};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// A text that fits.
pub(crate) fn text<const N: usize>(text: &str) -> Text<N> {
    Text::new(text).unwrap()
}

/// Bound to these hosts and to nothing else.
pub(crate) fn hosts(hosts: &[&str]) -> Binding {
    Binding { hosts: List::clip(hosts.iter().map(|host| text(host))), ..Binding::default() }
}

/// A vault actor on this folder, opened by a key file.
pub(crate) fn start(store: Store) -> (Start, Views) {
    let (store, sources) = (Arc::new(store), Sources::new(KeySource::File, None).unwrap());
    let held = vault::open(Arc::clone(&store), sources, KeyStore::default()).unwrap();
    Start::new(store, held).unwrap()
}

/// Seals as agentctl does: reads the public key from its file and seals the binding and the value to it.
pub(crate) fn seal(folder: &Path, name: &str, bound: &Binding, lease: Lease, value: &str) -> Vec<u8> {
    let mut plain = binding(name, bound, lease);
    plain.extend(value.as_bytes());
    sealed(folder, &plain)
}

/// Anything sealed to the public key of this folder.
pub(crate) fn sealed(folder: &Path, plain: &[u8]) -> Vec<u8> {
    let line = std::fs::read_to_string(folder.join(PUBLIC_FILE)).unwrap();
    let digits = line.trim_end().as_bytes();
    let key: Vec<u8> = digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    let key = PublicKey::from_slice(&key).unwrap();
    key.seal(&mut crypto_box::aead::OsRng, plain).unwrap()
}

/// A step of the server once it has read a request.
#[derive(Clone)]
pub(crate) enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes one by one.
    Drip(Vec<u8>),
    /// Sends this many zeros.
    Flood(usize),
    /// Sends back the head of the request as a body.
    Echo,
    /// Waits.
    Wait(Duration),
    /// Waits until the client is gone.
    UntilGone,
    /// Reads another request, and begins again.
    Again,
}

/// An event at the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A request came.
    Request(String),
    /// This many bytes of a flood went out.
    Flooded(usize),
    /// The client is gone.
    Gone,
}

/// A server.
pub(crate) struct Server {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Its events.
    pub(crate) seen: Receiver<Seen>,
}

/// A reply with a length.
pub(crate) fn whole(body: &str) -> Vec<Step> {
    vec![Step::Send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into())]
}

/// The same to every request of a connection, which stays open. One that is closed meanwhile may be found so only by the
/// request that was written to it.
pub(crate) fn persistent(body: &str) -> Vec<Step> {
    let mut steps = whole(body);
    steps.push(Step::Again);
    steps
}

impl Server {
    /// A server that answers every connection by these steps, over TLS if it has a configuration for it.
    pub(crate) fn start(steps: Vec<Step>, tls: Option<std::sync::Arc<rustls::ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, seen) = channel();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (steps, tell, tls) = (steps.clone(), tell.clone(), tls.clone());
                thread::spawn(move || match tls {
                    None => drop(play(&mut stream, &steps, &tell)),
                    Some(config) => {
                        let mut session = rustls::ServerConnection::new(config).unwrap();
                        drop(play(&mut rustls::Stream::new(&mut session, &mut stream), &steps, &tell));
                    }
                });
            }
        });
        Self { address, seen }
    }
}

fn play(
    stream: &mut (impl Read + Write),
    steps: &[Step],
    tell: &std::sync::mpsc::Sender<Seen>,
) -> std::io::Result<()> {
    let request = read_request(stream)?;
    drop(tell.send(Seen::Request(request.clone())));
    for step in steps {
        match step {
            Step::Send(bytes) => stream.write_all(bytes)?,
            Step::Drip(bytes) => {
                for byte in bytes {
                    stream.write_all(&[*byte])?;
                    stream.flush()?;
                    thread::sleep(Duration::from_micros(200));
                }
            }
            Step::Flood(length) => flood(stream, *length, tell)?,
            Step::Echo => stream.write_all(request.as_bytes())?,
            Step::Wait(time) => thread::sleep(*time),
            Step::UntilGone => {
                while stream.read(&mut [0; 64]).is_ok_and(|length| length > 0) {}
                drop(tell.send(Seen::Gone));
            }
            Step::Again => return play(stream, steps, tell),
        }
        stream.flush()?;
    }
    Ok(())
}

fn flood(
    stream: &mut impl Write,
    length: usize,
    tell: &std::sync::mpsc::Sender<Seen>,
) -> std::io::Result<()> {
    let mut sent = 0;
    while sent < length {
        stream.write_all(&[b'0'; 1 << 16])?;
        sent += 1 << 16;
        drop(tell.send(Seen::Flooded(sent)));
    }
    Ok(())
}

/// The head, and as much of a body as it announces.
pub(crate) fn read_request(stream: &mut impl Read) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let length = stream.read(&mut buffer)?;
        bytes.extend(&buffer[..length]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if length == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            continue;
        };
        let announced = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if length == 0 || body.len() >= announced.map_or(0, |length| length.parse().unwrap()) {
            return Ok(text);
        }
    }
}
