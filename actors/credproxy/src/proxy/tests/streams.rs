//! Streams of a channel's account, against servers of sockets over TLS and of uploads.

use super::*;
use crate::stream_table::Streams;
use futures::{SinkExt, StreamExt};
use ipc_proto::credproxy::{
    Incoming, Insertion, Opening, Outgoing, STREAMS, SocketAddress, Stream, UPLOAD_BOUND,
};
use tokio_tungstenite::tungstenite::handshake::server as handshake;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Bytes, Message};

type Secured = tokio_rustls::server::TlsStream<tokio::net::TcpStream>;

const MAIN: &str = "main";

/// A server of sockets: it sends back what comes, a ping before `ping`, a close for `close`, and refuses the path `/refused`.
async fn sockets(config: Arc<rustls::ServerConfig>) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(config);
    tokio::task::spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                tokio::task::spawn_local(converse(stream));
            }
        }
    });
    address
}

#[expect(clippy::result_large_err, reason = "the library's own type of a refusal")]
fn judge(
    request: &handshake::Request,
    mut reply: handshake::Response,
) -> Result<handshake::Response, handshake::ErrorResponse> {
    if request.uri().path() == "/refused" {
        *reply.status_mut() = http::StatusCode::UNAUTHORIZED;
        return Err(reply.map(|()| None));
    }
    assert_eq!(request.headers()["authorization"], format!("Bearer {VALUE}"));
    Ok(reply)
}

async fn converse(stream: Secured) {
    let Ok(mut socket) = tokio_tungstenite::accept_hdr_async(stream, judge).await else { return };
    let mut ponged = false;
    while let Some(Ok(message)) = socket.next().await {
        let answer = match message {
            Message::Text(text) if text.as_str() == "ping" => Message::Ping(Bytes::from_static(b"x")),
            Message::Text(text) if text.as_str() == "close" => {
                Message::Close(Some(CloseFrame { code: 4004_u16.into(), reason: "".into() }))
            }
            Message::Text(text) if text.as_str() == "long" => Message::text("x".repeat(1024 * 1024 + 1)),
            Message::Pong(_) if !ponged => {
                ponged = true;
                Message::text("ponged")
            }
            Message::Text(text) => Message::Text(text),
            _ => continue,
        };
        if socket.send(answer).await.is_err() {
            return;
        }
    }
}

/// A lab whose account may open sockets at `tls.test` with `key` in a header, and in a field `token` of a message.
async fn lab() -> Lab {
    let (roots, config) = authority();
    let lab = Lab::new(&roots).await;
    let bearer = Placement::header("key", "Authorization", "Bearer ").at;
    let at = List::clip([bearer, At::Field { name: text("token") }]);
    lab.bind("key", Binding { at, ..hosts(&["tls.test", "plain.test"]) }, VALUE).await.unwrap();
    lab.fake.upstream.set(Some(sockets(config).await));
    lab.fake.log.take();
    lab
}

fn socket(address: SocketAddress) -> Opening {
    let secret = Some(Placement::header("key", "Authorization", "Bearer "));
    Opening::Socket { address, headers: List::default(), secret }
}

fn at(url: &str) -> SocketAddress {
    SocketAddress::Url(text(url))
}

async fn open(lab: &Lab, streams: &Streams, opening: Opening) -> Result<Stream, CredError> {
    lab.proxy.open_stream((Process::Telegram, Name::clip(MAIN)), streams, opening).await
}

async fn say(lab: &Lab, streams: &Streams, stream: Stream, said: &str) -> Result<(), CredError> {
    let message = Outgoing::Message { text: text(said), secret: None };
    lab.proxy.push(Process::Telegram, streams, (stream, message)).await
}

async fn hear(lab: &Lab, streams: &Streams, stream: Stream) -> Result<String, CredError> {
    match lab.proxy.pull((streams, &lab.replies), stream).await? {
        Incoming::Message(bytes) => Ok(String::from_utf8(bytes.into_vec()).unwrap()),
        Incoming::Closed { code } => Ok(format!("closed {code:?}")),
        other => panic!("{other:?}"),
    }
}

// Holds P4-40.
#[test]
fn a_secret_is_put_into_a_message_and_cut_out_of_one() {
    run(async {
        let (lab, streams) = (lab().await, Streams::default());
        let stream = open(&lab, &streams, socket(at("wss://tls.test/gateway?v=10"))).await.unwrap();
        assert_eq!(lab.fake.log.take(), ["SecretUsed Success key", "dial tls.test:443"]);
        let message = |pointer: &str| Outgoing::Message {
            text: text(&format!(r#"{{"op":2,"d":{{"token":"{PLACEHOLDER}"}}}}"#)),
            secret: Some(Insertion { secret: text("key"), pointer: text(pointer) }),
        };
        lab.proxy.push(Process::Telegram, &streams, (stream, message("/d/token"))).await.unwrap();
        assert_eq!(hear(&lab, &streams, stream).await.unwrap(), r#"{"op":2,"d":{"token":"[REDACTED]"}}"#);
        assert_eq!(lab.fake.log.take(), ["SecretUsed Success key", "SecretRedacted Success "]);
        let elsewhere = lab.proxy.push(Process::Telegram, &streams, (stream, message("/op"))).await;
        assert_eq!(elsewhere, Err(CredError::Misplaced));
        assert!(lab.log().is_empty());
    });
}

// Holds P4-40.
#[test]
fn messages_cross_whole_and_pings_are_answered_meanwhile() {
    run(async {
        let (lab, streams) = (lab().await, Streams::default());
        let stream = open(&lab, &streams, socket(at("wss://tls.test/"))).await.unwrap();
        let long = "y".repeat(300_000);
        say(&lab, &streams, stream, &long).await.unwrap();
        assert_eq!(hear(&lab, &streams, stream).await.unwrap(), long);
        say(&lab, &streams, stream, "ping").await.unwrap();
        assert_eq!(hear(&lab, &streams, stream).await.unwrap(), "ponged");
        say(&lab, &streams, stream, "close").await.unwrap();
        assert_eq!(hear(&lab, &streams, stream).await.unwrap(), "closed Some(4004)");
        assert_eq!(hear(&lab, &streams, stream).await, Err(CredError::NoReply), "it is over");
    });
}

#[test]
fn a_message_over_its_bound_ends_the_socket() {
    run(async {
        let (lab, streams) = (lab().await, Streams::default());
        let stream = open(&lab, &streams, socket(at("wss://tls.test/"))).await.unwrap();
        say(&lab, &streams, stream, "long").await.unwrap();
        assert_eq!(hear(&lab, &streams, stream).await, Err(CredError::Upstream));
        assert_eq!(say(&lab, &streams, stream, "x").await, Err(CredError::NoReply));
    });
}

// Holds P4-41.
#[test]
fn a_caller_has_sixteen_streams_to_hosts_of_its_account() {
    run(async {
        let (lab, streams) = (lab().await, Streams::default());
        let mut last = None;
        for _ in 0..STREAMS {
            last = Some(open(&lab, &streams, socket(at("wss://tls.test/"))).await.unwrap());
        }
        let uses = lab.log().iter().filter(|line| line.starts_with("SecretUsed")).count();
        assert_eq!(uses, 1, "upgrades are recorded once a minute");
        assert_eq!(open(&lab, &streams, socket(at("wss://tls.test/"))).await, Err(CredError::Full));
        streams.close(last.unwrap());
        let refused = open(&lab, &streams, socket(at("wss://tls.test/refused"))).await;
        assert_eq!(refused, Err(CredError::NoUpgrade { status: 401 }));
        for (url, fault) in [
            ("wss://other.test/", CredError::NotBound),
            ("ws://tls.test/", CredError::BadUrl),
            ("https://tls.test/", CredError::BadUrl),
        ] {
            assert_eq!(open(&lab, &streams, socket(at(url))).await, Err(fault), "{url}");
        }
        assert!(open(&lab, &streams, socket(at("wss://tls.test/"))).await.is_ok());
    });
}

// Holds P4-40.
#[test]
fn the_address_of_a_socket_is_read_from_a_reply_that_nobody_sees() {
    run(async {
        let ask = async |body: &str| {
            let (lab, streams) = (lab().await, Streams::default());
            let server = Server::start(whole(body), None);
            #[expect(clippy::disallowed_methods, reason = "the test stands in for dialer")]
            let dialled = std::net::TcpStream::connect(server.address).unwrap();
            lab.fake.passes.replace(Some(dialled.into()));
            let request = Request { verb: Verb::Post, ..with_key("http://plain.test/open") };
            let address = SocketAddress::Reply(Box::new(request), text("/url"));
            let stream = open(&lab, &streams, socket(address)).await?;
            say(&lab, &streams, stream, "hello").await?;
            hear(&lab, &streams, stream).await
        };
        let said = ask(r#"{"ok":true,"url":"wss://tls.test/link?ticket=1"}"#).await;
        assert_eq!(said.as_deref(), Ok("hello"));
        assert_eq!(ask(r#"{"ok":false}"#).await, Err(CredError::NoUpgrade { status: 200 }));
        assert_eq!(ask(r#"{"url":"wss://evil.test/"}"#).await, Err(CredError::NotBound));
    });
}

fn upload(length: u64) -> Opening {
    let secret = Some(Placement::header("key", "Authorization", "Bearer "));
    let url = text("http://plain.test/upload");
    Opening::Upload { verb: Verb::Post, url, headers: List::default(), secret, length }
}

async fn piece(lab: &Lab, streams: &Streams, stream: Stream, bytes: &[u8]) -> Result<(), CredError> {
    let piece = Outgoing::Piece(Blob::new(bytes).unwrap());
    lab.proxy.push(Process::Telegram, streams, (stream, piece)).await
}

// Holds P4-41.
#[test]
fn a_body_goes_up_in_pieces_of_the_length_that_was_announced() {
    run(async {
        let (lab, server) = Lab::with(whole("stored")).await;
        let streams = Streams::default();
        assert_eq!(open(&lab, &streams, upload(UPLOAD_BOUND + 1)).await, Err(CredError::Full));
        let stream = open(&lab, &streams, upload(5 * 60_000)).await.unwrap();
        for _ in 0..5 {
            piece(&lab, &streams, stream, &[b'z'; 60_000]).await.unwrap();
        }
        let pulled = lab.proxy.pull((&streams, &lab.replies), stream).await.unwrap();
        let Incoming::Head(head) = pulled else { panic!("{pulled:?}") };
        assert_eq!((head.status, lab.body(&head).await.unwrap()), (200, b"stored".to_vec()));
        let sent = request_of(&server);
        assert!(sent.contains("content-length: 300000\r\n") && sent.contains(VALUE));
        assert!(sent.ends_with(&"z".repeat(300_000)));
        assert_eq!(piece(&lab, &streams, stream, b"more").await, Err(CredError::NoReply));
        assert_eq!(lab.log(), ["SecretUsed Success key", "dial plain.test:80"]);
    });
}

// Holds P4-33.
#[test]
fn an_upload_that_ends_early_has_an_unknown_outcome() {
    run(async {
        let (lab, _server) = Lab::with(whole("stored")).await;
        let streams = Streams::default();
        let stream = open(&lab, &streams, upload(100)).await.unwrap();
        piece(&lab, &streams, stream, b"too short").await.unwrap();
        let fault = lab.proxy.pull((&streams, &lab.replies), stream).await.unwrap_err();
        assert!(!fault.never_left(), "{fault}");
    });
}
