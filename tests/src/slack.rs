//! A server on loopback that stands for Slack's Web API and Socket Mode: it sends an envelope again that is not acknowledged in time,
//! refuses what is over a limit, and fails on demand before or after the effect.

mod events;
mod files;
mod history;
mod limits;
mod messages;
mod socket;
mod web;

use crate::http;
use crate::{Host, SentFiles, Setup, Way};
use limits::Rates;
use serde_json::{Value, json};
use socket::{Envelope, Live};
use std::collections::VecDeque;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use web::{Asked, Reply};

pub use messages::SentMessage;

/// The bot's token.
pub const TOKEN: &str = concat!("xoxb-", "17-42-Fake3Lq8vTn5RkWc2token");
/// The app's token.
pub const APP_TOKEN: &str = concat!("xapp-", "1-A17-42-Fake9Hs4mPd7YbQx1token");
/// The bot's user.
pub const BOT: &str = "U0BOT";
/// The owner.
pub const ANN: &str = "U5ANN";
/// A channel that the bot is in.
pub const CHANNEL: &str = "C7GENERAL";
const BOT_ID: &str = "B0BOT";
const TEAM: &str = "T1TEAM";

/// A failure of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failing {
    /// 429, with these seconds to wait.
    TooMany(u64),
    /// 500, before the effect.
    ErrorBefore,
    /// 500, after the effect.
    ErrorAfter,
    /// The connection ends without a reply, before the effect.
    DropBefore,
    /// The connection ends without a reply, after the effect.
    DropAfter,
    /// `ok: false` with this word.
    Refusal(&'static str),
    /// No reply for a while, before the effect.
    StallBefore,
    /// No reply for a while, after the effect.
    StallAfter,
}

/// The server's own.
#[derive(Default)]
struct State {
    /// The last time that was given out, in microseconds.
    last: u64,
    /// Numbers of envelopes, sockets, tickets and files.
    number: u64,
    messages: Vec<messages::Stored>,
    files: Vec<files::Stored>,
    calls: Vec<(String, Value)>,
    failing: VecDeque<(String, Failing)>,
    /// Tickets that were not used yet, and every one that was given.
    tickets: (Vec<String>, Vec<String>),
    sockets: Vec<Live>,
    envelopes: Vec<Envelope>,
    sent_again: usize,
    responses: Vec<Value>,
    stalled: usize,
    rates: Rates,
    revoked: bool,
    /// A message that is written while there is no socket is in the history alone.
    deaf: bool,
}

impl State {
    /// A time as an id, later than every one before.
    fn fresh_ts(&mut self) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        self.last = u64::try_from(now).unwrap_or_default().max(self.last + 1);
        format!("{}.{:06}", self.last / 1_000_000, self.last % 1_000_000)
    }

    fn fresh_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    port: u16,
    given: SentFiles,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("the state")
    }
}

/// The direct conversation of a person with the bot.
#[must_use]
pub fn direct(person: &str) -> String {
    format!("D{}", &person[1..])
}

/// The server; it ends with the test.
pub struct Slack {
    /// Its port.
    pub port: u16,
    shared: Arc<Shared>,
}

impl Slack {
    /// Starts it.
    #[must_use]
    pub fn start() -> Self {
        let (listener, port) = http::listener();
        let shared = Arc::new(Shared { port, ..Shared::default() });
        let serving = Arc::clone(&shared);
        http::serve_each(listener, move |stream| serve(&serving, stream));
        Self { port, shared }
    }

    /// A host with the account `main` of this server, whose owner is `ann`, once a socket is ready. `keys` are further lines of
    /// the channel's table.
    #[must_use]
    pub fn host(&self, setup: Setup, keys: &str) -> Host {
        let (port, url) = (self.port, self.url());
        let config = format!(
            "[credproxy]\nplain_http = [\"127.0.0.1:{port}\"]\n[agent.default]\nmodel = \"scripted/answers\"\n\
             [channel.main]\nplatform = \"slack\"\nsecret = \"slack\"\napp_secret = \"slack-app\"\n\
             base_url = \"{url}\"\n{keys}"
        );
        let host = setup.config(&config).start();
        let server = format!("127.0.0.1:{port}");
        host.keep("slack", TOKEN, &["--host", &server]);
        host.keep("slack-app", APP_TOKEN, &["--host", &server]);
        let identity = format!("slack:main:{ANN}");
        let added = host.json(&["user", "add", "ann", "--role", "owner", "--identity", &identity]);
        assert_eq!(added["user"]["name"], "ann");
        host.wait_for("the channel is up", || host.channel("main")["link"] == "up" && self.sockets() > 0);
        host
    }

    /// The address of its API.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/api", self.port)
    }

    /// A person writes to the bot in a direct conversation. Returns the message's time.
    pub fn direct(&self, person: &str, text: &str) -> String {
        self.message(&direct(person), person, &json!({ "text": text }))
    }

    /// A person sends a message with these fields to a channel. Returns its time.
    pub fn message(&self, channel: &str, person: &str, fields: &Value) -> String {
        events::write(&mut self.shared.state(), channel, person, fields)
    }

    /// The files that persons send.
    #[must_use]
    pub fn given(&self) -> &SentFiles {
        &self.shared.given
    }

    /// A file for the list `files` of a message, with the size that it says it has.
    #[must_use]
    pub fn file(&self, name: &str, bytes: &[u8], way: Way, size: usize) -> Value {
        let url = self.given().add(self.port, bytes, way);
        json!({ "id": "F1", "name": name, "mimetype": "text/plain", "size": size, "url_private_download": url })
    }

    /// A person changes the text of a message.
    pub fn edit(&self, channel: &str, ts: &str, text: &str) {
        events::change(&mut self.shared.state(), channel, ts, text);
    }

    /// A person types the app's own command in a channel.
    pub fn command(&self, channel: &str, person: &str, text: &str) {
        events::command(&mut self.shared.state(), channel, person, text);
    }

    /// A person presses the button with this value below a message of the bot.
    pub fn press(&self, person: &str, message: &SentMessage, value: &str) {
        let port = self.port;
        events::press(&mut self.shared.state(), port, person, message, value);
    }

    /// Sends an envelope of this kind with this payload.
    pub fn envelope(&self, kind: &str, payload: &Value) {
        socket::enqueue(&mut self.shared.state(), kind, payload);
    }

    /// Has the next call of this method fail.
    pub fn fail(&self, method: &str, failing: Failing) {
        self.shared.state().failing.push_back((method.to_owned(), failing));
    }

    /// Refuses both tokens from now on and ends the sockets, or accepts them again.
    pub fn revoke(&self, revoked: bool) {
        self.shared.state().revoked = revoked;
        if revoked {
            self.drop_sockets();
        }
    }

    /// Keeps what is written while there is no socket in the history alone, or no longer.
    pub fn deafen(&self, deaf: bool) {
        self.shared.state().deaf = deaf;
    }

    /// Ends every socket without a word.
    pub fn drop_sockets(&self) {
        self.shared.state().sockets.clear();
    }

    /// Warns every socket that it is about to end.
    pub fn warn_sockets(&self) {
        socket::warn(&mut self.shared.state());
    }

    /// The number of sockets that have said hello.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.shared.state().sockets.len()
    }

    /// The messages of the bot in a channel, oldest first.
    #[must_use]
    pub fn sent(&self, channel: &str) -> Vec<SentMessage> {
        messages::sent(&self.shared.state(), channel)
    }

    /// The files that were shared in a channel: name and bytes.
    #[must_use]
    pub fn files(&self, channel: &str) -> Vec<(String, Vec<u8>)> {
        files::shared(&self.shared.state(), channel)
    }

    /// Every call so far: the method and its arguments.
    #[must_use]
    pub fn calls(&self) -> Vec<(String, Value)> {
        self.shared.state().calls.clone()
    }

    /// The answers to presses.
    #[must_use]
    pub fn responses(&self) -> Vec<Value> {
        self.shared.state().responses.clone()
    }

    /// The envelopes that are not acknowledged.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.shared.state().envelopes.len()
    }

    /// The number of envelopes that were sent more than once.
    #[must_use]
    pub fn sent_again(&self) -> usize {
        self.shared.state().sent_again
    }

    /// The number of calls that got no reply for a while.
    #[must_use]
    pub fn stalled(&self) -> usize {
        self.shared.state().stalled
    }

    /// Every ticket that was given out.
    #[must_use]
    pub fn tickets(&self) -> Vec<String> {
        self.shared.state().tickets.1.clone()
    }
}

fn serve(shared: &Shared, stream: TcpStream) {
    if web::is_upgrade(&stream) {
        return socket::converse(shared, stream);
    }
    let Some(asked) = web::request(&stream) else { return };
    // A request without the token is sent to a page for signing in.
    if asked.path.starts_with("/given/") && asked.token != TOKEN {
        return http::reply(&stream, 302, "text/html", "location: https://team.slack.com/\r\n", b"");
    }
    if shared.given.answers(&stream, &asked.path) {
        return;
    }
    if let Some(reply) = answer(shared, &asked) {
        web::reply(&stream, &reply);
    }
}

fn refusal(word: &str) -> Reply {
    Reply::of(json!({ "ok": false, "error": word }))
}

/// The reply to a request; none where the connection ends without one.
fn answer(shared: &Shared, asked: &Asked) -> Option<Reply> {
    if let Some(path) = asked.path.strip_prefix("/upload/") {
        return Some(files::take_bytes(&mut shared.state(), path, &asked.body));
    }
    if asked.path.starts_with("/actions/") {
        shared.state().responses.push(asked.arguments.clone());
        return Some(Reply::of(json!({ "ok": true })));
    }
    let Some(method) = asked.path.strip_prefix("/api/") else {
        return Some(Reply { status: 404, ..refusal("not_found") });
    };
    let failing = {
        let mut state = shared.state();
        state.calls.push((method.to_owned(), asked.arguments.clone()));
        let at = state.failing.iter().position(|(name, _)| *name == method);
        at.and_then(|at| state.failing.remove(at)).map(|(_, failing)| failing)
    };
    let error = Reply { status: 500, ..refusal("internal_error") };
    match failing {
        None => Some(done(shared, method, asked)),
        Some(Failing::DropBefore) => None,
        Some(Failing::DropAfter) => {
            done(shared, method, asked);
            None
        }
        Some(Failing::ErrorBefore) => Some(error),
        Some(Failing::ErrorAfter) => {
            done(shared, method, asked);
            Some(error)
        }
        Some(Failing::TooMany(seconds)) => Some(limits::too_many(seconds)),
        Some(Failing::Refusal(word)) => Some(refusal(word)),
        Some(Failing::StallBefore) => stall(shared),
        Some(Failing::StallAfter) => {
            done(shared, method, asked);
            stall(shared)
        }
    }
}

/// Gives no reply, after a while.
fn stall(shared: &Shared) -> Option<Reply> {
    shared.state().stalled += 1;
    thread::sleep(STALL);
    None
}

/// The reply to a method, after its effect.
fn done(shared: &Shared, method: &str, asked: &Asked) -> Reply {
    let (port, mut state) = (shared.port, shared.state());
    if state.revoked {
        return refusal(if asked.token.is_empty() { "not_authed" } else { "token_revoked" });
    }
    let is_app = method.starts_with("apps.");
    match (asked.token.as_str(), is_app) {
        (TOKEN, false) | (APP_TOKEN, true) => {}
        ("", _) => return refusal("not_authed"),
        (TOKEN | APP_TOKEN, _) => return refusal("not_allowed_token_type"),
        _ => return refusal("invalid_auth"),
    }
    let arguments = &asked.arguments;
    match method {
        "auth.test" => Reply::of(json!({
            "ok": true, "url": "https://team.slack.com/", "team": "Team", "user": "cordon", "team_id": TEAM,
            "user_id": BOT, "bot_id": BOT_ID, "is_enterprise_install": false,
        })),
        "apps.connections.open" => socket::ticket(&mut state, port),
        "chat.postMessage" => messages::post(&mut state, arguments),
        "chat.update" => messages::update(&mut state, arguments),
        "conversations.history" => history::history(&state, arguments),
        "conversations.replies" => history::replies(&state, arguments),
        "users.conversations" => history::conversations(&state),
        "files.getUploadURLExternal" => files::address(&mut state, port, arguments),
        "files.completeUploadExternal" => files::share(&mut state, arguments),
        _ => refusal("unknown_method"),
    }
}

/// The time for which a call stalls.
const STALL: Duration = Duration::from_secs(30);
/// The longest time without an acknowledgement before an envelope is sent again.
const ACKNOWLEDGE: Duration = Duration::from_secs(3);
