//! Lines of IMAP, against a server with TLS at once or after a command.

use super::*;
use crate::stream_table::Streams;
use ipc_proto::credproxy::{Incoming, LineProtocol, Mechanism, Opening, Outgoing, Stream};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

/// The lines that the server heard, decrypted.
type Heard = Rc<RefCell<Vec<String>>>;

async fn imap(config: Arc<rustls::ServerConfig>, upgrade: bool) -> (SocketAddr, Heard) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, heard) = (listener.local_addr().unwrap(), Heard::default());
    let lines = Rc::clone(&heard);
    tokio::task::spawn_local(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        if upgrade {
            stream.write_all(b"* OK plain\r\n").await.unwrap();
            let mut command = [0; 13];
            stream.read_exact(&mut command).await.unwrap();
            assert_eq!(&command, b"a1 STARTTLS\r\n");
            stream.write_all(b"a1 OK begin\r\n").await.unwrap();
        }
        let secured = tokio_rustls::TlsAcceptor::from(config).accept(stream).await;
        let Ok(mut stream) = secured.map(BufReader::new) else { return };
        if !upgrade {
            stream.write_all(b"* OK ready\r\n").await.unwrap();
        }
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            lines.borrow_mut().push(line.trim_end().to_owned());
            let answer = match line.trim_end() {
                "a2 CAPABILITY" => "* CAPABILITY IMAP4rev1 AUTH=PLAIN\r\na2 OK done\r\n".to_owned(),
                "a3 AUTHENTICATE PLAIN" => "+ \r\n".to_owned(),
                "a4 NOOP" => format!("* {VALUE} is set\r\na4 OK done\r\n"),
                _ => "a3 OK in\r\n".to_owned(),
            };
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
        }
    });
    (address, heard)
}

async fn lab(upgrade: bool) -> (Lab, Heard) {
    let (roots, config) = authority();
    let lab = Lab::new(&roots).await;
    let binding = Binding { at: List::clip([At::Login]), ..hosts(&["tls.test"]) };
    lab.bind("key", binding, VALUE).await.unwrap();
    let (address, heard) = imap(config, upgrade).await;
    lab.fake.upstream.set(Some(address));
    lab.fake.log.take();
    (lab, heard)
}

async fn open(lab: &Lab, streams: &Streams, server: &str, upgrade: bool) -> Result<Stream, CredError> {
    let opening = Opening::Line {
        protocol: LineProtocol::Imap,
        server: text(server),
        upgrade,
        name: text("host.test"),
        user: text("ann@tls.test"),
        secret: text("key"),
        mechanism: Mechanism::Plain,
    };
    lab.proxy.open_stream((Process::Telegram, Name::clip("main")), streams, opening).await
}

async fn hear(lab: &Lab, streams: &Streams, stream: Stream, until: &str) -> String {
    let mut all = String::new();
    while !all.ends_with(until) {
        let pulled = lab.proxy.pull((streams, &lab.replies), stream).await.unwrap();
        let Incoming::Bytes(bytes) = pulled else { panic!("{pulled:?} after {all}") };
        all.push_str(std::str::from_utf8(&bytes).unwrap());
    }
    all
}

// Holds P4-42.
#[test]
fn a_line_is_logged_in_over_tls_and_a_secret_in_it_is_masked() {
    run(async {
        for upgrade in [false, true] {
            let ((lab, heard), streams) = (lab(upgrade).await, Streams::default());
            let stream = open(&lab, &streams, "tls.test:443", upgrade).await.unwrap();
            assert_eq!(lab.fake.log.take(), ["dial tls.test:443", "SecretUsed Success key"]);
            let first = hear(&lab, &streams, stream, "AUTH=PLAIN\r\n").await;
            assert_eq!(first, "* CAPABILITY IMAP4rev1 AUTH=PLAIN\r\n");
            let noop = Outgoing::Piece(Blob::new(*b"a4 NOOP\r\n").unwrap());
            lab.proxy.push(Process::Telegram, &streams, (stream, noop)).await.unwrap();
            let stars = "*".repeat(VALUE.len());
            let answer = hear(&lab, &streams, stream, "a4 OK done\r\n").await;
            assert_eq!(answer, format!("* {stars} is set\r\na4 OK done\r\n"));
            assert_eq!(lab.log(), ["SecretRedacted Success "]);
            let sent = base64::engine::general_purpose::STANDARD.encode(format!("\0ann@tls.test\0{VALUE}"));
            assert!(heard.borrow().contains(&sent));
        }
    });
}

// Holds P4-42.
#[test]
fn a_line_goes_to_hosts_of_the_account_and_is_never_plain() {
    run(async {
        let ((lab, heard), streams) = (lab(false).await, Streams::default());
        assert_eq!(open(&lab, &streams, "mail.test:993", false).await, Err(CredError::NotBound));
        assert_eq!(lab.fake.log.take(), ["SecretMisdirected Blocked key"]);
        let plain = Server::start(vec![Step::UntilGone], None);
        lab.fake.upstream.set(Some(plain.address));
        // A server that says nothing is given up by whichever of the two comes first.
        let opened = open(&lab, &streams, "tls.test:443", false).await;
        assert!(matches!(opened, Err(CredError::Tls | CredError::Stalled)), "{opened:?}");
        assert_eq!(lab.log(), ["dial tls.test:443"], "the secret is not taken out");
        assert!(heard.borrow().is_empty());
    });
}
