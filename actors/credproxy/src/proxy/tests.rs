//! The proxy from end to end: a real vault, actor and connections; only recording and dialling are the test's own.

mod bound;
mod channels;
mod disguised;
mod lines;
mod logins;
mod pooled;
mod streams;

use super::*;
use crate::store::Store;
use crate::testing::{Seen, Server, Step, hosts, persistent, seal, start, text, whole};
use crate::tls;
use crate::vault_actor::{VaultActor, Views};
use base64::Engine as _;
use ipc_proto::credproxy::{At, Binding, Header, Lease, PLACEHOLDER, Placement, Verb};
use ipc_proto::dialer::DialError;
use ipc_proto::{Blob, List};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

const VALUE: &str = "sk-live/0123456789+abc==";

/// Record and dialler of a test. What it was asked stands in `log`, in order.
#[derive(Default)]
struct Fake {
    log: RefCell<Vec<String>>,
    refuses: Cell<bool>,
    away: Cell<bool>,
    upstream: Cell<Option<SocketAddr>>,
    passes: RefCell<Option<OwnedFd>>,
}

impl Outside for Rc<Fake> {
    async fn record(&self, event: Event) -> Result<(), CredError> {
        let subject = event.subject.map(Name::into_string).unwrap_or_default();
        self.log.borrow_mut().push(format!("{:?} {:?} {subject}", event.action, event.result));
        if self.refuses.get() { Err(CredError::NotRecorded) } else { Ok(()) }
    }

    async fn dial(&self, target: &HostPort) -> Result<OwnedFd, CredError> {
        self.log.borrow_mut().push(format!("dial {target}"));
        if let Some(descriptor) = self.passes.borrow_mut().take() {
            return Ok(descriptor);
        }
        let upstream = self.upstream.get().ok_or(CredError::Dial(DialError::Refused))?;
        #[expect(clippy::disallowed_methods, reason = "the test stands in for dialer")]
        let stream =
            std::net::TcpStream::connect(upstream).map_err(|_| CredError::Dial(DialError::Refused))?;
        Ok(stream.into())
    }

    fn dials(&self) -> bool {
        !self.away.get()
    }
}

struct Lab {
    proxy: Proxy<Rc<Fake>>,
    fake: Rc<Fake>,
    replies: Replies,
    /// Replies whose first piece was read.
    begun: RefCell<HashSet<ipc_proto::credproxy::Reply>>,
    folder: tempfile::TempDir,
    fingerprints: watch::Receiver<Arc<ipc_proto::credproxy::Fingerprints>>,
}

const QUICK: Limits = Limits {
    handshake: Duration::from_secs(5),
    head: Duration::from_secs(5),
    stall: Duration::from_secs(5),
    idle: Duration::from_secs(300),
    body: 64 * 1024 * 1024,
};

impl Lab {
    /// A proxy with an empty vault, and these authorities besides the public ones.
    async fn new(roots: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(tls::EXTRA_FILE), roots).unwrap();
        let store = Store::open(folder.path()).unwrap();
        let tls = tls::client(&store).unwrap();
        let (start, views) = start(store);
        let Views { patterns, fingerprints, .. } = views;
        let (vault_actor, _) = ractor::Actor::spawn(None, VaultActor, start).await.unwrap();
        let fake = Rc::new(Fake::default());
        let proxy = Proxy {
            outside: Rc::clone(&fake),
            vault_actor,
            patterns,
            tls,
            plain_http: ["plain.test:80", "127.0.0.1:80"].iter().map(|text| text.parse().unwrap()).collect(),
            shares: Shares::from([
                (Process::Web, BTreeSet::from(["search".to_owned()])),
                (Process::Model, BTreeSet::from(["key".to_owned()])),
                (Process::Gate, BTreeSet::from(["mail".to_owned()])),
            ]),
            accounts: channels::accounts(),
            poll_leases: PollLeases::default(),
            proofs: Proofs::default(),
            pool: Pool::default(),
            logins: Turns::default(),
            slots: Arc::new(Semaphore::new(AT_ONCE)),
            limits: QUICK,
        };
        Self { proxy, fake, replies: Replies::default(), begun: RefCell::default(), folder, fingerprints }
    }

    /// The same with one secret, `key`, bound to `plain.test` and `tls.test`, and an upstream.
    async fn with(steps: Vec<Step>) -> (Self, Server) {
        let lab = Self::new("").await;
        lab.set("key", &["plain.test", "tls.test"], VALUE).await.unwrap();
        let server = Server::start(steps, None);
        lab.fake.upstream.set(Some(server.address));
        lab.fake.log.take();
        (lab, server)
    }

    async fn set(&self, name: &str, to: &[&str], value: &str) -> Result<(), CredError> {
        self.bind(name, hosts(to), value).await
    }

    async fn bind(&self, name: &str, binding: Binding, value: &str) -> Result<(), CredError> {
        let lease = Lease::default();
        let sealed = Blob::new(seal(self.folder.path(), name, &binding, lease, value)).unwrap();
        self.proxy.set(text(name), binding, lease, sealed).await
    }

    async fn request(&self, request: Request) -> Result<Head, CredError> {
        self.proxy.request(&self.replies, request).await
    }

    /// The piece that came with the head, and then the next ones.
    async fn next(&self, head: &Head, credit: u32) -> Result<Chunk, CredError> {
        if self.begun.borrow_mut().insert(head.reply) && head.first != Chunk::default() {
            return Ok(head.first.clone());
        }
        self.proxy.next(&self.replies, head.reply, credit).await
    }

    /// The whole body.
    async fn body(&self, head: &Head) -> Result<Vec<u8>, CredError> {
        let mut body = Vec::new();
        loop {
            let chunk = self.next(head, 65536).await?;
            body.extend(&*chunk.bytes);
            if chunk.last {
                return Ok(body);
            }
        }
    }

    fn log(&self) -> Vec<String> {
        self.fake.log.borrow().clone()
    }
}

fn get(url: &str) -> Request {
    let (headers, body) = (List::default(), Blob::default());
    Request { verb: Verb::Get, url: text(url), headers, body, secret: None, cookies: false }
}

fn with_key(url: &str) -> Request {
    Request { secret: Some(Placement::header("key", "Authorization", "Bearer ")), ..get(url) }
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test)
}

/// Lets the connections go on until the server sees its client gone.
async fn gone(server: &Server) {
    let started = Instant::now();
    while server.seen.try_recv() != Ok(Seen::Gone) {
        assert!(started.elapsed() < Duration::from_secs(5), "the connection is still there");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn request_of(server: &Server) -> String {
    match server.seen.recv_timeout(Duration::from_secs(5)).unwrap() {
        Seen::Request(request) => request,
        other => panic!("{other:?}"),
    }
}

// Holds P6-28.
#[test]
fn a_secret_goes_out_in_its_header_after_its_use_is_on_the_record() {
    run(async {
        let (lab, server) = Lab::with(whole("hello")).await;
        let body = Blob::new(*b"{\"a\":1}").unwrap();
        let headers =
            List::new([Header { name: text("Content-Type"), value: text("application/json") }]).unwrap();
        let request =
            Request { verb: Verb::Post, headers, body, ..with_key("http://plain.test/v1/chat?x=1") };
        let head = lab.request(request).await.unwrap();
        assert_eq!((head.status, head.retry_after), (200, None));
        assert_eq!(lab.body(&head).await.unwrap(), b"hello");
        assert_eq!(lab.log(), ["SecretUsed Success key", "dial plain.test:80"]);
        let sent = request_of(&server);
        let (head, body) = sent.split_once("\r\n\r\n").unwrap();
        let mut lines: Vec<_> = head.lines().collect();
        assert_eq!(lines.remove(0), "POST /v1/chat?x=1 HTTP/1.1");
        lines.sort_unstable();
        let authorization = format!("authorization: Bearer {VALUE}");
        let want = [
            "accept-encoding: identity",
            authorization.as_str(),
            "content-length: 7",
            "content-type: application/json",
            "host: plain.test",
        ];
        assert_eq!(lines, want);
        assert_eq!(body, "{\"a\":1}");
        let listed = lab.proxy.list().await.unwrap();
        assert_eq!((listed.len(), listed[0].uses), (1, 1));
        assert!(listed[0].used_ms > 0);
    });
}

// Holds P4-11.
#[test]
fn a_secret_for_a_host_it_is_not_bound_to_is_refused_before_dialling() {
    run(async {
        let (lab, _server) = Lab::with(whole("")).await;
        for url in ["https://evil.test/", "https://plain.test.evil.test/", "http://127.0.0.1/"] {
            assert_eq!(lab.request(with_key(url)).await, Err(CredError::NotBound), "{url}");
        }
        assert_eq!(lab.log(), ["SecretMisdirected Blocked key"; 3]);
        let mut unknown = with_key("http://plain.test/");
        unknown.secret.as_mut().unwrap().secret = text("other");
        assert_eq!(lab.request(unknown).await, Err(CredError::NoSecret));
        assert_eq!(lab.log().len(), 3);
    });
}

// Holds P6-28.
#[test]
fn what_cannot_be_recorded_does_not_happen() {
    run(async {
        let (lab, _server) = Lab::with(whole("")).await;
        lab.fake.refuses.set(true);
        assert_eq!(lab.request(with_key("http://plain.test/")).await, Err(CredError::NotRecorded));
        assert_eq!(lab.set("second", &["a.test"], VALUE).await, Err(CredError::NotRecorded));
        assert_eq!(lab.proxy.remove(text("key")).await, Err(CredError::NotRecorded));
        assert_eq!(
            lab.log(),
            ["SecretUsed Success key", "SecretSet Success second", "SecretRemoved Success key"]
        );
        let names: Vec<_> =
            lab.proxy.list().await.unwrap().iter().map(|info| info.name.to_string()).collect();
        assert_eq!(names, ["key"]);
        assert_eq!(lab.proxy.list().await.unwrap()[0].uses, 0);
    });
}

#[test]
fn a_change_that_fails_after_its_record_is_recorded_as_failed() {
    run(async {
        let (lab, _server) = Lab::with(whole("")).await;
        std::fs::create_dir(lab.folder.path().join("vault.new")).unwrap();
        assert_eq!(lab.set("second", &["a.test"], VALUE).await, Err(CredError::Vault));
        assert_eq!(lab.log(), ["SecretSet Success second", "SecretSet Error second"]);
    });
}

// Holds P4-06.
#[test]
fn plain_http_goes_to_configured_hosts_over_loopback_only() {
    run(async {
        let (lab, _server) = Lab::with(whole("x")).await;
        for url in ["http://other.test/", "http://plain.test:81/", "http://tls.test/", "ftp://plain.test/"] {
            assert_eq!(lab.request(get(url)).await, Err(CredError::BadUrl), "{url}");
        }
        assert!(lab.log().is_empty());
        // Whatever a dialer passes that is no connection to this machine gets no request.
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        lab.fake.passes.replace(Some(ours.into()));
        let refused = CredError::Dial(DialError::NotAllowed);
        assert_eq!(lab.request(with_key("http://plain.test/")).await, Err(refused));
        assert!(lab.request(with_key("http://plain.test/")).await.is_ok());
    });
}

#[test]
fn a_forbidden_header_stops_the_request_before_anything_is_recorded() {
    run(async {
        let (lab, _server) = Lab::with(whole("")).await;
        let headers = List::new([Header { name: text("Host"), value: text("evil.test") }]).unwrap();
        let request = Request { headers, ..with_key("http://plain.test/") };
        assert_eq!(lab.request(request).await, Err(CredError::BadHeader));
        assert!(lab.log().is_empty());
    });
}

fn authority() -> (String, Arc<rustls::ServerConfig>) {
    let made = rcgen::generate_simple_self_signed(["tls.test".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    // It would rather speak HTTP/2, which is not spoken to it.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let body = base64::engine::general_purpose::STANDARD.encode(made.cert.der());
    (format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"), Arc::new(config))
}

#[test]
fn over_tls_the_request_goes_only_to_a_server_that_proves_the_name() {
    run(async {
        let (roots, config) = authority();
        let lab = Lab::new(&roots).await;
        lab.set("key", &["tls.test", "other.test"], VALUE).await.unwrap();
        let server = Server::start(whole("over tls"), Some(Arc::clone(&config)));
        lab.fake.upstream.set(Some(server.address));
        let head = lab.request(with_key("https://tls.test/")).await.unwrap();
        assert_eq!(lab.body(&head).await.unwrap(), b"over tls");
        assert!(request_of(&server).contains(VALUE));
        assert_eq!(lab.request(with_key("https://other.test/")).await, Err(CredError::Tls));
        let stranger = Lab::new("").await;
        stranger.set("key", &["tls.test"], VALUE).await.unwrap();
        stranger.fake.upstream.set(Some(server.address));
        assert_eq!(stranger.request(with_key("https://tls.test/")).await, Err(CredError::Tls));
        let plain = Server::start(whole("no tls"), None);
        lab.fake.upstream.set(Some(plain.address));
        assert_eq!(lab.request(with_key("https://tls.test/")).await, Err(CredError::Tls));
        assert!(server.seen.try_recv().is_err());
    });
}

// Holds P4-29.
#[test]
fn a_secret_sent_back_byte_by_byte_is_replaced_by_a_mark() {
    run(async {
        let chunks: String = VALUE.chars().map(|letter| format!("1\r\n{letter}\r\n")).collect();
        let reply = format!(
            "HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nkey \r\n{chunks}1\r\n!\r\n0\r\n\r\n"
        );
        let (lab, _server) = Lab::with(vec![Step::Drip(reply.into())]).await;
        let head = lab.request(with_key("http://plain.test/")).await.unwrap();
        assert_eq!(head.status, 401);
        assert_eq!(lab.body(&head).await.unwrap(), b"key [REDACTED]!");
        assert_eq!(lab.log().last().unwrap(), "SecretRedacted Success ");
        let (lab, _server) =
            Lab::with(vec![Step::Send(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()), Step::Echo]).await;
        let head = lab.request(with_key("http://plain.test/echo")).await.unwrap();
        let body = String::from_utf8(lab.body(&head).await.unwrap()).unwrap();
        assert!(
            body.contains("Bearer [REDACTED]") && body.contains("/echo") && !body.contains(VALUE),
            "{body}"
        );
    });
}

#[test]
fn secrets_set_or_removed_while_a_reply_comes_in_are_cut_out_of_it() {
    run(async {
        let late = "a-later-secret-1";
        let tail = format!("{VALUE} {late}");
        let steps = vec![
            Step::Send(b"HTTP/1.1 200 OK\r\n\r\nbegin: ".to_vec()),
            Step::Wait(Duration::from_millis(300)),
            Step::Send(tail.into()),
        ];
        let (lab, _server) = Lab::with(steps).await;
        let head = lab.request(get("http://plain.test/")).await.unwrap();
        assert_eq!(&*lab.next(&head, 100).await.unwrap().bytes, b"begin: ");
        lab.proxy.remove(text("key")).await.unwrap();
        lab.set("late", &["a.test"], late).await.unwrap();
        assert_eq!(lab.body(&head).await.unwrap(), b"[REDACTED] [REDACTED]");
    });
}

#[test]
fn compressed_upgraded_garbled_and_cut_replies_are_the_upstreams_fault() {
    run(async {
        let compressed: [&[u8]; 2] = [
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
            b"HTTP/1.1 200 OK\r\nContent-Encoding: identity, br\r\nContent-Length: 1\r\n\r\nx",
        ];
        let heads: [&[u8]; 4] = [
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            b"SSH-2.0-OpenSSH_9.2\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
            b"",
        ];
        let called =
            |heads: &[&'static [u8]], fault| heads.iter().map(|head| (*head, fault)).collect::<Vec<_>>();
        let heads = [called(&compressed, CredError::Compressed), called(&heads, CredError::Upstream)];
        for (head, fault) in heads.concat() {
            let (lab, _server) = Lab::with(vec![Step::Send(head.to_vec())]).await;
            let told = lab.request(get("http://plain.test/")).await;
            assert_eq!(told, Err(fault), "{}", String::from_utf8_lossy(head));
            assert_eq!(lab.proxy.slots.available_permits(), AT_ONCE);
        }
        let cut: [&[u8]; 3] = [
            b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
        ];
        for reply in cut {
            let (lab, _server) = Lab::with(vec![Step::Send(reply.to_vec())]).await;
            let head = lab.request(get("http://plain.test/")).await.unwrap();
            assert_eq!(lab.body(&head).await, Err(CredError::Upstream), "{}", String::from_utf8_lossy(reply));
            assert_eq!(lab.next(&head, 1).await, Err(CredError::NoReply));
        }
    });
}

#[test]
fn a_redirect_is_given_back_and_not_followed_and_retry_after_is_read() {
    run(async {
        let reply =
            "HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1/\r\nRetry-After: 17\r\nContent-Length: 0\r\n\r\n";
        let (lab, _server) = Lab::with(vec![Step::Send(reply.into())]).await;
        let head = lab.request(with_key("http://plain.test/")).await.unwrap();
        assert_eq!((head.status, head.retry_after), (307, Some(17)));
        assert_eq!(lab.body(&head).await.unwrap(), b"");
        assert_eq!(lab.log(), ["SecretUsed Success key", "dial plain.test:80"]);
    });
}

// Holds B-94.
#[test]
fn an_upstream_that_stalls_before_the_head_or_within_the_body_is_given_up() {
    run(async {
        let brief = Limits { head: Duration::from_millis(150), stall: Duration::from_millis(150), ..QUICK };
        let (mut lab, _server) = Lab::with(vec![Step::UntilGone]).await;
        lab.proxy.limits = brief;
        assert_eq!(lab.request(get("http://plain.test/")).await, Err(CredError::Stalled));
        let steps = vec![Step::Send(b"HTTP/1.1 200 OK\r\n\r\nsome".to_vec()), Step::UntilGone];
        let (mut lab, server) = Lab::with(steps).await;
        lab.proxy.limits = brief;
        let head = lab.request(get("http://plain.test/")).await.unwrap();
        assert_eq!(lab.body(&head).await, Err(CredError::Stalled));
        gone(&server).await;
    });
}

// Holds B-94.
#[test]
fn a_reply_that_does_not_end_is_cut_at_the_bound() {
    run(async {
        let steps = vec![Step::Send(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()), Step::Flood(1 << 30)];
        let (mut lab, _server) = Lab::with(steps).await;
        lab.proxy.limits.body = 1 << 20;
        let head = lab.request(get("http://plain.test/")).await.unwrap();
        assert_eq!(lab.body(&head).await, Err(CredError::Upstream));
    });
}

#[test]
fn no_piece_exceeds_the_credit_and_an_upstream_waits_for_its_reader() {
    run(async {
        let length = 32 << 20;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        let (lab, server) = Lab::with(vec![Step::Send(head.into()), Step::Flood(length)]).await;
        let head = lab.request(get("http://plain.test/")).await.unwrap();
        let mut total = lab.next(&head, 1).await.unwrap().bytes.len();
        for credit in [1, 7, 1000, 0, u32::MAX] {
            let chunk = lab.next(&head, credit).await.unwrap();
            assert!((1..=65536).contains(&chunk.bytes.len()) && !chunk.last);
            assert!(chunk.bytes.len() <= usize::try_from(credit.max(1)).unwrap());
            total += chunk.bytes.len();
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        let flooded = server
            .seen
            .try_iter()
            .filter_map(|seen| if let Seen::Flooded(sent) = seen { Some(sent) } else { None });
        assert!(flooded.max().unwrap() < length / 2);
        assert_eq!(lab.body(&head).await.unwrap().len() + total, length);
    });
}

// Holds B-93.
#[test]
fn a_reply_beyond_the_bound_is_refused_and_a_closed_one_makes_room() {
    run(async {
        let (lab, _server) =
            Lab::with(vec![Step::Send(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()), Step::UntilGone]).await;
        let mut heads = Vec::new();
        for _ in 0..AT_ONCE {
            heads.push(lab.request(get("http://plain.test/")).await.unwrap());
        }
        assert_eq!(lab.request(get("http://plain.test/")).await, Err(CredError::Full));
        lab.replies.close(heads[5].reply);
        lab.replies.close(heads[5].reply);
        assert!(lab.request(get("http://plain.test/")).await.is_ok());
        assert_eq!(lab.next(&heads[5], 1).await, Err(CredError::NoReply));
    });
}

#[test]
fn a_reply_closed_during_a_wait_ends_at_once_with_its_connection() {
    run(async {
        let steps = vec![Step::Send(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()), Step::UntilGone];
        let (lab, server) = Lab::with(steps).await;
        let head = lab.request(get("http://plain.test/")).await.unwrap();
        let started = Instant::now();
        let closing = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            lab.replies.close(head.reply);
        };
        let (pulled, ()) = tokio::join!(lab.next(&head, 1), closing);
        assert_eq!(pulled, Err(CredError::NoReply));
        assert!(started.elapsed() < Duration::from_secs(2));
        gone(&server).await;
    });
}

#[test]
fn replies_end_with_their_callers_edge_and_forgotten_ones_are_swept() {
    run(async {
        let steps = vec![Step::Send(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()), Step::UntilGone];
        let (mut lab, _server) = Lab::with(steps).await;
        lab.request(get("http://plain.test/")).await.unwrap();
        lab.replies = Replies::default();
        assert_eq!(lab.proxy.slots.available_permits(), AT_ONCE);
        let head = lab.request(get("http://plain.test/")).await.unwrap();
        lab.proxy.limits.idle = Duration::ZERO;
        tokio::time::sleep(Duration::from_millis(5)).await;
        lab.request(get("http://plain.test/")).await.unwrap();
        assert_eq!(lab.next(&head, 1).await, Err(CredError::NoReply));
        assert_eq!(lab.proxy.slots.available_permits(), AT_ONCE - 1);
    });
}

#[test]
fn a_dialers_refusal_is_given_back_as_it_is() {
    run(async {
        let (lab, _server) = Lab::with(whole("")).await;
        lab.fake.upstream.set(None);
        assert_eq!(lab.request(get("https://tls.test/")).await, Err(CredError::Dial(DialError::Refused)));
        assert_eq!(lab.proxy.slots.available_permits(), AT_ONCE);
    });
}

#[test]
fn a_secret_that_is_removed_is_gone_and_its_use_refused() {
    run(async {
        let (lab, _server) = Lab::with(whole("")).await;
        lab.proxy.remove(text("key")).await.unwrap();
        assert_eq!(lab.proxy.remove(text("key")).await, Err(CredError::NoSecret));
        assert_eq!(lab.request(with_key("http://plain.test/")).await, Err(CredError::NoSecret));
        assert_eq!(lab.log(), ["SecretRemoved Success key"]);
        assert!(lab.proxy.list().await.unwrap().is_empty());
    });
}

// Holds P8-10.
#[tokio::test]
async fn fingerprints_follow_every_change_of_the_vault_and_give_no_value_away() {
    let mut lab = Lab::new("").await;
    let empty = lab.fingerprints.borrow_and_update().clone();
    assert!(empty.prints.is_empty());
    lab.set("key", &["plain.test"], VALUE).await.unwrap();
    let one = lab.fingerprints.borrow_and_update().clone();
    assert_eq!(one.prints.len(), 2);
    assert_eq!(usize::try_from(one.prints[0].length).unwrap(), VALUE.len());
    assert!(one.version > empty.version && one.key == empty.key);
    let bytes = serde_json::to_string(&*one).unwrap();
    assert!(!bytes.contains(&VALUE[..8]));
    lab.proxy.remove(text("key")).await.unwrap();
    assert!(lab.fingerprints.borrow_and_update().prints.is_empty());
}

// Holds P4-29.
#[test]
fn a_secret_comes_back_in_no_header_that_is_given_out() {
    run(async {
        let reply = format!(
            "HTTP/1.1 302 Found\r\nLocation: http://plain.test/?key={VALUE}\r\nX-Request-Id: {}\r\n\
             X-Other: {VALUE}\r\nContent-Length: 0\r\n\r\n",
            base64::engine::general_purpose::STANDARD.encode(VALUE)
        );
        let (lab, _server) = Lab::with(vec![Step::Send(reply.into())]).await;
        let head = lab.request(with_key("http://plain.test/")).await.unwrap();
        let given: Vec<String> =
            head.headers.iter().map(|header| format!("{}: {}", header.name, header.value)).collect();
        assert_eq!(given.first().unwrap(), "location: http://plain.test/?key=[REDACTED]");
        assert!(given.get(1).unwrap().starts_with("x-request-id: [REDACTED]"), "{given:?}");
        assert_eq!(given.len(), 2);
        assert_eq!(lab.log().last().unwrap(), "SecretRedacted Success ");
    });
}
