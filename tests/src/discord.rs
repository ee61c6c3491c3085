//! A server on loopback that stands for Discord: its gateway keeps sessions, replays what a resumed one missed and closes for what it
//! does not allow; its REST API counts buckets, knows marks for a minute, refuses what is over a limit, and fails on demand before
//! or after the effect.

mod gateway;
mod limits;
mod objects;
mod rest;
mod upgrade;

use crate::http;
use crate::{Host, SentFiles, Setup, Way};
use limits::Rates;
use objects::{blank, bot, interaction, readable};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The token that the server knows.
pub const TOKEN: &str = "MTk4NjIyNDgzNDcx.Cl2FMQ.fake-Xh3LqZ8vTn5RkWc2-token";
/// The bot's id, which is its application's as well.
pub const BOT: u64 = 42;
/// The owner's account.
pub const ANN: u64 = 5;
/// A text channel of a server.
pub const CHANNEL: u64 = 700;
/// A thread of that channel.
pub const THREAD: u64 = 701;
/// The first millisecond of Discord's clock.
const EPOCH_MS: u64 = 1_420_070_400_000;

/// A failure of one request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Failing {
    /// 429, with these seconds to wait.
    TooMany(f64),
    /// 500, before the effect.
    ErrorBefore,
    /// 500, after the effect.
    ErrorAfter,
    /// The connection ends without a reply, before the effect.
    DropBefore,
    /// The connection ends without a reply, after the effect.
    DropAfter,
    /// The request is held without an effect, until its connection ends.
    HoldBefore,
    /// The request is held after its effect, until its connection ends.
    HoldAfter,
}

/// A message of the bot.
#[derive(Debug, Clone)]
pub struct SentMessage {
    /// Its id.
    pub id: u64,
    /// Its channel.
    pub channel: u64,
    /// The body that it was sent or changed with last.
    pub body: Value,
    /// The number of its changes.
    pub edits: u32,
}

impl SentMessage {
    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.body["content"].as_str().unwrap_or_default()
    }

    /// The data of the button with this caption.
    #[must_use]
    pub fn button(&self, caption: &str) -> String {
        let rows = self.body["components"].as_array().cloned().unwrap_or_default();
        let all: Vec<Value> =
            rows.iter().flat_map(|row| row["components"].as_array().cloned().unwrap_or_default()).collect();
        let found = all.iter().find(|button| button["label"] == caption);
        found.expect("the button")["custom_id"].as_str().expect("its data").to_owned()
    }
}

/// A session of the gateway.
struct Session {
    intents: u64,
    /// The events, numbered from 1.
    events: Vec<(String, Value)>,
    over: bool,
}

/// A press that waits to be noticed.
struct Press {
    at: Instant,
    noticed: bool,
    asides: Vec<String>,
}

#[derive(Default)]
struct State {
    next: u64,
    /// Every message of every channel, oldest first.
    messages: Vec<Value>,
    sent: Vec<SentMessage>,
    marks: HashMap<String, (u64, Instant)>,
    calls: Vec<(String, Value)>,
    failing: VecDeque<(String, Failing)>,
    sessions: HashMap<String, Session>,
    presses: HashMap<String, Press>,
    rates: Rates,
    /// Connections before this number are cut.
    cut: u64,
    connection: u64,
    /// The code with which every connection is closed from now on.
    close: Option<u16>,
    refused_resumes: u32,
    identifies: Vec<Instant>,
    resumes: u32,
    beats: u32,
    revoked: bool,
    unread: bool,
}

#[derive(Default)]
struct Shared {
    port: u16,
    state: Mutex<State>,
    changed: Condvar,
    given: SentFiles,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("the state")
    }
}

impl State {
    /// A new id, which holds the time as Discord's do.
    fn fresh(&mut self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_millis();
        let now = u64::try_from(now).expect("a time") - EPOCH_MS;
        self.next = (now << 22).max(self.next + 1);
        self.next
    }

    /// Sends an event to every session that wants it.
    fn dispatch(&mut self, name: &str, intent: u64, event: &Value) {
        for session in self.sessions.values_mut().filter(|session| !session.over) {
            if intent == 0 || session.intents & intent != 0 {
                session.events.push((name.to_owned(), readable(event, session.intents)));
            }
        }
    }

    /// Keeps a message and tells the sessions of it.
    fn post(&mut self, message: Value) -> u64 {
        let id = message["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
        let intent = if message.get("guild_id").is_some() { gateway::IN_SERVERS } else { gateway::DIRECT };
        self.dispatch("MESSAGE_CREATE", intent, &message);
        self.messages.push(message);
        id
    }
}

/// The channel of a person's direct messages.
#[must_use]
pub const fn direct(person: u64) -> u64 {
    9000 + person
}

/// The server; it ends with the test.
pub struct Discord {
    /// Its port.
    pub port: u16,
    shared: Arc<Shared>,
}

impl Discord {
    /// Starts it.
    #[must_use]
    pub fn start() -> Self {
        let (listener, port) = http::listener();
        let shared = Arc::new(Shared { port, ..Shared::default() });
        let serving = Arc::clone(&shared);
        http::serve_each(listener, move |stream| {
            if upgrade::comes_first(&stream) {
                gateway::serve(&serving, stream)
            } else {
                rest::serve(&serving, &stream)
            }
        });
        Self { port, shared }
    }

    /// A host with the account `main` of this server, whose owner is `ann`, once the channel is up. `keys` are further lines of
    /// the channel's table.
    #[must_use]
    pub fn host(&self, setup: Setup, keys: &str) -> Host {
        let (port, url) = (self.port, self.url());
        let config = format!(
            "[credproxy]\nplain_http = [\"127.0.0.1:{port}\"]\n[agent.default]\nmodel = \"scripted/answers\"\n\
             [channel.main]\nplatform = \"discord\"\nsecret = \"discord\"\nbase_url = \"{url}\"\n{keys}"
        );
        let host = setup.config(&config).start();
        let at = format!("127.0.0.1:{port}");
        host.keep("discord", TOKEN, &["--host", &at, "--header", "authorization=Bot ", "--field", "token"]);
        let identity = format!("discord:main:{ANN}");
        let added = host.json(&["user", "add", "ann", "--role", "owner", "--identity", &identity]);
        assert_eq!(added["user"]["name"], "ann");
        host.wait_for("the channel is up", || host.channel("main")["link"] == "up");
        host
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A person writes to the bot in direct messages. Returns the message's id.
    pub fn direct(&self, person: u64, text: &str) -> u64 {
        self.message(direct(person), person, &json!({ "content": text, "channel_type": 1 }))
    }

    /// A person writes into the channel of a server. Returns the message's id.
    pub fn say(&self, person: u64, text: &str) -> u64 {
        self.message(CHANNEL, person, &json!({ "content": text, "channel_type": 0, "guild_id": "77" }))
    }

    /// The files that persons send.
    #[must_use]
    pub fn given(&self) -> &SentFiles {
        &self.shared.given
    }

    /// A file for the list `attachments` of a message, with the size that it says it has.
    #[must_use]
    pub fn file(&self, name: &str, bytes: &[u8], way: Way, size: usize) -> Value {
        let url = format!("{}?ex=1", self.given().add(self.port, bytes, way));
        json!({ "id": "1", "filename": name, "size": size, "url": url, "proxy_url": "https://media.invalid/x" })
    }

    /// A person writes a message with these fields. Returns its id.
    pub fn message(&self, channel: u64, person: u64, more: &Value) -> u64 {
        let mut state = self.shared.state();
        let mut message = blank(state.fresh(), channel, person);
        for (key, value) in more.as_object().into_iter().flatten() {
            message[key] = value.clone();
        }
        let mention = format!("<@{BOT}>");
        if message["content"].as_str().is_some_and(|text| text.contains(&mention)) {
            message["mentions"] = json!([bot()]);
        }
        let id = state.post(message);
        self.shared.changed.notify_all();
        id
    }

    /// A person changes a message of theirs.
    pub fn change(&self, channel: u64, message: u64, person: u64, text: &str) {
        let mut changed = blank(message, channel, person);
        changed["content"] = json!(text);
        changed["edited_timestamp"] = json!("2026-11-01T00:00:00.000000+00:00");
        self.shared.state().dispatch("MESSAGE_UPDATE", gateway::DIRECT, &changed);
        self.shared.changed.notify_all();
    }

    /// A person presses a button of a message of the bot. Returns the press's token.
    pub fn press(&self, person: u64, message: &SentMessage, data: &str) -> String {
        let mut state = self.shared.state();
        let id = state.fresh();
        let token = format!("aW50ZXJhY3Rpb24-{id}");
        state.presses.insert(token.clone(), Press { at: Instant::now(), noticed: false, asides: Vec::new() });
        let found =
            state.messages.iter().find(|one| one["id"].as_str() == Some(&*message.id.to_string())).cloned();
        let event = interaction(id, (person, &token), found.unwrap_or_default(), data);
        state.dispatch("INTERACTION_CREATE", 0, &event);
        self.shared.changed.notify_all();
        token
    }

    /// The lines that the person of a press was shown; none before it was noticed.
    #[must_use]
    pub fn asides(&self, token: &str) -> Option<Vec<String>> {
        self.shared.state().presses.get(token).filter(|press| press.noticed).map(|press| press.asides.clone())
    }

    /// Has the next request of this kind fail: its method and the last word of its path.
    pub fn fail(&self, request: &str, failing: Failing) {
        self.shared.state().failing.push_back((request.to_owned(), failing));
    }

    /// Cuts every connection to the gateway.
    pub fn cut(&self) {
        let mut state = self.shared.state();
        state.cut = state.connection;
        self.shared.changed.notify_all();
    }

    /// Closes every connection to the gateway with this code from now on, or no longer.
    pub fn close_with(&self, code: Option<u16>) {
        self.shared.state().close = code;
        self.shared.changed.notify_all();
    }

    /// Cuts the connection of so many next tries to resume.
    pub fn refuse_resumes(&self, count: u32) {
        self.shared.state().refused_resumes = count;
    }

    /// Ends every session: none can be resumed.
    pub fn end_sessions(&self) {
        self.shared.state().sessions.values_mut().for_each(|session| session.over = true);
    }

    /// Refuses the token from now on, or no longer.
    pub fn revoke(&self, revoked: bool) {
        self.shared.state().revoked = revoked;
    }

    /// Takes the intent for the texts of messages away.
    pub fn take_text_away(&self) {
        self.shared.state().unread = true;
    }

    /// The messages of the bot in a channel, in the order of their ids.
    #[must_use]
    pub fn sent(&self, channel: u64) -> Vec<SentMessage> {
        self.shared.state().sent.iter().filter(|message| message.channel == channel).cloned().collect()
    }

    /// Every request so far: its method and path, and its body.
    #[must_use]
    pub fn calls(&self) -> Vec<(String, Value)> {
        self.shared.state().calls.clone()
    }

    /// How often a session was begun, and how often one was asked to go on.
    #[must_use]
    pub fn beginnings(&self) -> (usize, u32) {
        let state = self.shared.state();
        (state.identifies.len(), state.resumes)
    }

    /// The heartbeats so far.
    #[must_use]
    pub fn beats(&self) -> u32 {
        self.shared.state().beats
    }

    /// Requests so far that were over a limit which the server had told.
    #[must_use]
    pub fn exceeded(&self) -> u32 {
        self.shared.state().rates.exceeded
    }

    /// Waits for a condition of the server, at most for so long.
    #[must_use]
    pub fn comes(&self, within: Duration, so: impl Fn(&Self) -> bool) -> bool {
        let until = Instant::now() + within;
        while Instant::now() < until {
            if so(self) {
                return true;
            }
            thread::sleep(Duration::from_millis(20));
        }
        so(self)
    }
}
