//! Logins: a code becomes tokens, tokens are renewed before they end and once when they are refused, and nobody sees
//! any of it.

use super::*;
use crate::testing::read_request;
use ipc_proto::credproxy::{Grant, LOGIN, Login, LoginInfo};
use std::io::Write;
use std::net::TcpListener;
use std::sync::Mutex as Shared;

/// A server for tokens and for what they are good for; it keeps every request.
struct World {
    address: SocketAddr,
    heard: Arc<Shared<Vec<String>>>,
}

impl World {
    /// Each answer is a status and a body.
    fn start(answer: impl Fn(&str) -> (u16, String) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let world = Self { address: listener.local_addr().unwrap(), heard: Arc::default() };
        let (heard, answer) = (Arc::clone(&world.heard), Arc::new(answer));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (heard, answer) = (Arc::clone(&heard), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let Ok(request) = read_request(&mut stream) else { return };
                    let (status, body) = answer(&request);
                    heard.lock().unwrap().push(request);
                    let length = body.len();
                    let head = format!(
                        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
                    );
                    drop(stream.write_all((head + &body).as_bytes()));
                });
            }
        });
        world
    }

    /// The requests to the token server, and those that carried a token.
    fn heard(&self) -> (Vec<String>, Vec<String>) {
        self.heard.lock().unwrap().iter().cloned().partition(|request| request.starts_with("POST /token"))
    }
}

const FIRST: &str = "first-access-token";
const SECOND: &str = "second-access-token";

fn token_reply() -> (u16, String) {
    let body = format!(r#"{{"access_token":"{SECOND}","refresh_token":"second-refresh","expires_in":3600}}"#);
    (200, body)
}

fn value(grant: Grant) -> String {
    let login = Login {
        token_url: "http://127.0.0.1/token".to_owned(),
        client_id: "cordon client".to_owned(),
        client_secret: None,
        resource: Some("https://plain.test/mcp".to_owned()),
        grant,
    };
    format!("{LOGIN}{}", serde_json::to_string(&login).unwrap())
}

fn tokens(seconds: u64) -> String {
    value(Grant::Tokens {
        access: FIRST.to_owned(),
        refresh: Some("first-refresh".to_owned()),
        until_ms: Some(kit::now_ms() + seconds * 1000),
    })
}

async fn lab(world: &World, value: &str) -> Lab {
    let lab = Lab::new("").await;
    lab.fake.upstream.set(Some(world.address));
    lab.set("key", &["plain.test"], value).await.unwrap();
    lab
}

// Holds P4-16.
#[test]
fn a_code_becomes_tokens_before_it_is_stored_and_requests_carry_the_token() {
    run(async {
        let world = World::start(|request| {
            if request.starts_with("POST /token") {
                token_reply()
            } else {
                (200, format!("you are {SECOND}"))
            }
        });
        let code = Grant::Code {
            code: "the code&more".to_owned(),
            verifier: "the-verifier".to_owned(),
            redirect_uri: "http://127.0.0.1:9/callback".to_owned(),
        };
        let lab = lab(&world, &value(code)).await;
        let head = lab.request(with_key("http://plain.test/mail")).await.unwrap();
        assert_eq!(lab.body(&head).await.unwrap(), b"you are [REDACTED]");
        let (asked, used) = world.heard();
        let form = "client_id=cordon%20client&resource=https%3A%2F%2Fplain.test%2Fmcp\
                    &grant_type=authorization_code&code=the%20code%26more\
                    &code_verifier=the-verifier&redirect_uri=http%3A%2F%2F127.0.0.1%3A9%2Fcallback";
        assert!(asked.len() == 1 && asked[0].ends_with(form), "{asked:?}");
        assert!(
            used.len() == 1 && used[0].contains(&format!("authorization: Bearer {SECOND}\r\n")),
            "{used:?}"
        );
    });
}

// Holds P4-16, P4-18.
#[test]
fn tokens_are_renewed_before_they_end_and_kept_renewed() {
    run(async {
        let world = World::start(|request| {
            if request.starts_with("POST /token") { token_reply() } else { (200, "ok".to_owned()) }
        });
        let lab = lab(&world, &tokens(299)).await;
        for _ in 0..3 {
            lab.request(with_key("http://plain.test/mail")).await.unwrap();
        }
        let (asked, used) = world.heard();
        assert!(asked.len() == 1 && asked[0].contains("refresh_token=first-refresh"), "{asked:?}");
        assert!(used.len() == 3 && used.iter().all(|request| request.contains(SECOND)), "{used:?}");
        // The list says when the new token expires, and nothing that is in it.
        let listed = lab.proxy.list().await.unwrap();
        let LoginInfo { until_ms, renews } = listed[0].login.unwrap();
        assert!(renews && until_ms > Some(kit::now_ms() + 3_000_000), "{until_ms:?}");
        // Replies are searched for the new tokens, and so are the scanner's texts.
        assert_eq!(lab.fingerprints.borrow().prints.len(), 4);
        let log = lab.log();
        assert_eq!(log.iter().filter(|line| *line == "SecretUsed Success key").count(), 4, "{log:?}");
    });
}

// Holds P4-16.
#[test]
fn a_token_that_is_refused_is_renewed_once_and_no_more() {
    run(async {
        let world = World::start(|request| match request.starts_with("POST /token") {
            true => token_reply(),
            false if request.contains("/never") || request.contains(FIRST) => (401, "no".to_owned()),
            false => (200, "ok".to_owned()),
        });
        let lab = lab(&world, &tokens(3600)).await;
        let head = lab.request(with_key("http://plain.test/mail")).await.unwrap();
        assert_eq!((head.status, world.heard().0.len(), world.heard().1.len()), (200, 1, 2));
        let head = lab.request(with_key("http://plain.test/never")).await.unwrap();
        assert_eq!((head.status, world.heard().0.len(), world.heard().1.len()), (401, 2, 4));
    });
}

// Holds P4-23.
#[test]
fn a_use_whose_token_is_renewed_counts_once() {
    run(async {
        let world = World::start(|request| match request.starts_with("POST /token") {
            true => token_reply(),
            false if request.contains(FIRST) => (401, "no".to_owned()),
            false => (200, "ok".to_owned()),
        });
        // One is about to end, the other is refused.
        for seconds in [1, 3600] {
            let lab = Lab::new("").await;
            lab.fake.upstream.set(Some(world.address));
            let (binding, lease) = (hosts(&["plain.test"]), Lease { until_ms: None, uses: Some(1) });
            let sealed = seal(lab.folder.path(), "key", &binding, lease, &tokens(seconds));
            lab.proxy.set(text("key"), binding, lease, Blob::new(sealed).unwrap()).await.unwrap();
            let head = lab.request(with_key("http://plain.test/mail")).await.unwrap();
            assert_eq!(head.status, 200, "{seconds}");
            assert_eq!(lab.request(with_key("http://plain.test/mail")).await, Err(CredError::Spent));
        }
    });
}

// Holds P4-17.
#[test]
fn a_token_serves_until_it_expires_while_its_server_is_away() {
    run(async {
        for status in [429, 500, 503] {
            let world = World::start(move |request| match request.starts_with("POST /token") {
                true => (status, "later".to_owned()),
                false => (200, "ok".to_owned()),
            });
            let early = lab(&world, &tokens(200)).await;
            assert_eq!(early.request(with_key("http://plain.test/mail")).await.unwrap().status, 200);
            assert!(world.heard().1[0].contains(FIRST));
            let ended = lab(&world, &tokens(0)).await;
            let refused = ended.request(with_key("http://plain.test/mail")).await;
            assert_eq!(refused, Err(CredError::Unsent), "{status}");
            assert_eq!((world.heard().0.len(), world.heard().1.len()), (2, 1));
        }
    });
}

#[test]
fn no_request_waits_for_a_renewal_while_the_present_token_serves() {
    run(async {
        let (used, is_used) = std::sync::mpsc::channel();
        let is_used = Shared::new(is_used);
        let world = World::start(move |request| match request.starts_with("POST /token") {
            // Silent until somebody was served without it.
            true => {
                is_used.lock().unwrap().recv_timeout(Duration::from_secs(60)).unwrap();
                token_reply()
            }
            false => {
                let _ = used.send(());
                (200, "ok".to_owned())
            }
        });
        let lab = lab(&world, &tokens(200)).await;
        let one = || lab.request(with_key("http://plain.test/mail"));
        let (first, second) = tokio::join!(one(), one());
        assert_eq!((first.unwrap().status, second.unwrap().status), (200, 200));
        let (asked, used) = world.heard();
        assert!(asked.len() == 1 && used[0].contains(FIRST) && used[1].contains(SECOND), "{used:?}");
    });
}

#[test]
fn a_token_server_that_refuses_or_floods_ends_the_use_without_a_change() {
    run(async {
        let replies = [
            (400, r#"{"error":"invalid_grant"}"#.to_owned()),
            (200, "not json".to_owned()),
            (200, r#"{"access_token":"line\nend-of-it"}"#.to_owned()),
            (200, format!(r#"{{"access_token":"{SECOND}","x":"{}"}}"#, "y".repeat(16 * 1024))),
        ];
        for reply in replies {
            let world = World::start(move |_| reply.clone());
            let lab = lab(&world, &tokens(1)).await;
            let refused = lab.request(with_key("http://plain.test/mail")).await;
            assert_eq!(refused, Err(CredError::Login));
            assert!(world.heard().1.is_empty());
            assert_eq!(lab.proxy.slots.available_permits(), AT_ONCE);
        }
    });
}

#[test]
fn a_code_that_is_refused_stores_nothing() {
    run(async {
        let world = World::start(|_| (400, "no".to_owned()));
        let lab = Lab::new("").await;
        lab.fake.upstream.set(Some(world.address));
        let code = Grant::Code {
            code: "c".to_owned(),
            verifier: "the-verifier".to_owned(),
            redirect_uri: "http://127.0.0.1:9/callback".to_owned(),
        };
        assert_eq!(lab.set("key", &["plain.test"], &value(code)).await, Err(CredError::Login));
        assert!(lab.proxy.list().await.unwrap().is_empty());
        assert_eq!(lab.log().last().unwrap(), "SecretSet Error key");
    });
}
