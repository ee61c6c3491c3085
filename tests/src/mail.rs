//! Servers on loopback that stand for a provider of mail: IMAP and SMTP over TLS, for one mailbox. They hold `IDLE`, number messages,
//! and lose a mail's answer on demand. `tests/conformance/run mail` runs the same channel against Dovecot and Postfix.

mod imap;
mod smtp;
mod tls;

use crate::{Host, Setup};
use serde_json::Value;
use std::collections::VecDeque;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use tempfile::TempDir;

/// The mailbox of the agent.
pub const AGENT: &str = "agent@own.test";
/// The owner's address.
pub const ANN: &str = "ann@people.test";
/// The password of the mailbox.
pub const PASSWORD: &str = "harbour-light-7Qm2";

/// A failure of one mail that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Losing {
    /// The connection ends before the mail was sent.
    Before,
    /// The connection ends without an answer to the whole mail, which the server has.
    After,
    /// It is refused for good.
    Refused,
}

#[derive(Default)]
struct State {
    /// The UIDs and texts of the inbox.
    inbox: Vec<(u32, String)>,
    validity: u32,
    next: u32,
    /// True once a session has idled.
    watched: bool,
    /// Copies of mail that was sent.
    copies: Vec<String>,
    /// True if the server makes these copies by itself.
    copies_itself: bool,
    /// Mail that was sent.
    sent: Vec<String>,
    losing: VecDeque<Losing>,
}

impl State {
    fn deliver(&mut self, mail: String) {
        self.next += 1;
        self.inbox.push((self.next, mail));
    }
}

type Shared = Arc<Mutex<State>>;

fn locked(shared: &Shared) -> MutexGuard<'_, State> {
    shared.lock().expect("the state")
}

/// The servers; they end with the test.
pub struct Post {
    imap: u16,
    smtp: u16,
    authority: String,
    shared: Shared,
    /// The state of its host, which trusts its authority.
    state: TempDir,
}

impl Post {
    /// Starts them.
    #[must_use]
    pub fn start() -> Self {
        let shared = Shared::default();
        locked(&shared).validity = 7;
        let (authority, config) = tls::authority();
        let serve = |server: fn(&Shared, tls::Stream)| {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
            let port = listener.local_addr().expect("its address").port();
            let (shared, config) = (Arc::clone(&shared), Arc::clone(&config));
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let (shared, config) = (Arc::clone(&shared), Arc::clone(&config));
                    thread::spawn(move || server(&shared, tls::Stream::new(stream, config)));
                }
            });
            port
        };
        let (imap, smtp) = (serve(imap::serve), serve(smtp::serve));
        let state = tempfile::tempdir().expect("a folder");
        fs::set_permissions(state.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
        Self { imap, smtp, authority, shared, state }
    }

    /// A host with the account `post` of these servers, whose owner is `ann`, once the account is up.
    #[must_use]
    pub fn host(&self) -> Host {
        self.host_with("")
    }

    /// The same with these further lines of the account's table.
    #[must_use]
    pub fn host_with(&self, keys: &str) -> Host {
        let (imap, smtp) = (self.imap, self.smtp);
        let config = format!(
            "[credproxy]\nprivate_hosts = [\"127.0.0.1:{imap}\", \"127.0.0.1:{smtp}\"]\n\
             [agent.default]\nmodel = \"scripted/answers\"\n[channel.post]\nplatform = \"email\"\nsecret = \"mail\"\n\
             address = \"{AGENT}\"\nimap = \"imaps://127.0.0.1:{imap}\"\nsmtp = \"smtps://127.0.0.1:{smtp}\"\n\
             authserv = \"mx.own.test\"\n{keys}"
        );
        let state = self.state.path().join("state");
        let setup = || Setup::default().config(&config).state(&state);
        let mut host = setup().start();
        // Credproxy reads it when it starts, and its folder is there then.
        let roots = state.join("credproxy/extra-roots.pem");
        fs::write(&roots, &self.authority).expect("the authority");
        fs::set_permissions(&roots, fs::Permissions::from_mode(0o644)).expect("its mode");
        let hosts = [format!("127.0.0.1:{imap}"), format!("127.0.0.1:{smtp}")];
        host.keep("mail", PASSWORD, &["--host", &hosts[0], "--host", &hosts[1], "--login"]);
        let added =
            host.json(&["user", "add", "ann", "--role", "owner", "--identity", &format!("email:post:{ANN}")]);
        assert_eq!(added["user"]["name"], "ann");
        host.stop();
        let host = setup().start();
        host.wait_for("the account is up", || self.account(&host)["link"] == "up");
        // The position before the first mail is durable by then.
        host.wait_for("the inbox is watched", || locked(&self.shared).watched);
        host
    }

    /// The account as the host shows it.
    #[must_use]
    pub fn account(&self, host: &Host) -> Value {
        host.ask(&["channel", "show", "post"])["channel"].clone()
    }

    /// A mail comes from the owner, proven, with these fields besides. Its message id is `<NAME@people.test>`.
    pub fn proven(&self, name: &str, fields: &str, text: &str) {
        let proof = "Authentication-Results: mx.own.test; dmarc=pass header.from=people.test\r\n";
        self.mail(&format!("{proof}{fields}"), name, text);
    }

    /// A mail comes that claims to be from the owner.
    pub fn mail(&self, fields: &str, name: &str, text: &str) {
        let head =
            format!("{fields}From: Ann <{ANN}>\r\nSubject: Hi\r\nMessage-ID: <{name}@people.test>\r\n");
        locked(&self.shared).deliver(format!("{head}\r\n{text}\r\n"));
    }

    /// Has the next mail be lost.
    pub fn lose(&self, losing: Losing) {
        locked(&self.shared).losing.push_back(losing);
    }

    /// Puts a copy of each mail that is sent from now on into the mailbox of sent mail.
    pub fn copy_itself(&self) {
        locked(&self.shared).copies_itself = true;
    }

    /// Numbers the inbox anew, under another UIDVALIDITY, and ends every session.
    pub fn renumber(&self) {
        let mut state = locked(&self.shared);
        state.validity += 1;
        for mail in &mut state.inbox {
            mail.0 += 100;
        }
        state.next = state.inbox.iter().map(|(uid, _)| *uid).max().unwrap_or_default();
    }

    /// Every mail that was sent.
    #[must_use]
    pub fn sent(&self) -> Vec<String> {
        locked(&self.shared).sent.clone()
    }

    /// The copies in the mailbox of sent mail.
    #[must_use]
    pub fn copies(&self) -> usize {
        locked(&self.shared).copies.len()
    }
}
