//! A server on loopback that stands for Telegram's Bot API: it holds polls, keeps offsets, refuses what is over a limit, and fails
//! on demand before or after the effect.

mod acts;
mod calls;
mod files;
mod limits;
mod objects;

use crate::http::{self, Request};
use crate::{Host, Setup};
pub use calls::Call;
use files::StoredFile;
use limits::Rates;
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The token that the server knows.
pub const TOKEN: &str = "42:fake-Xh3LqZ8vTn5RkWc2-token";
/// The bot's id.
pub const BOT: i64 = 42;
/// The owner's account.
pub const ANN: i64 = 5;
/// The bot's user name.
pub const BOT_NAME: &str = "cordon_bot";
/// The longest hold of a poll.
const HOLD: Duration = Duration::from_secs(50);

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
    /// 400: the group has become this chat.
    Moved(i64),
}

/// A message of the bot.
#[derive(Debug, Clone)]
pub struct SentMessage {
    /// Its id.
    pub id: i64,
    /// Its chat.
    pub chat: i64,
    /// The parameters that it was sent or edited with last.
    pub parameters: Value,
    /// The number of its edits.
    pub edits: u32,
    /// True if it was sent without a sound, as the beginning of an answer is.
    pub silent: bool,
}

impl SentMessage {
    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.parameters["text"].as_str().unwrap_or_default()
    }
}

#[derive(Default)]
struct State {
    updates: VecDeque<Value>,
    next_update: i64,
    next_message: i64,
    messages: Vec<SentMessage>,
    calls: Vec<Call>,
    failing: VecDeque<(String, Failing)>,
    /// The number of the poll that is held: an older one is ended by a newer.
    poll: u64,
    files: Vec<StoredFile>,
    rates: Rates,
    revoked: bool,
    hook: bool,
    /// Groups that became another chat.
    moved: Vec<(i64, i64)>,
    /// Drafts so far: the chat, the number and the text.
    drafts: Vec<(i64, i64, String)>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("the state")
    }
}

/// The server; it ends with the test.
pub struct Telegram {
    /// Its port.
    pub port: u16,
    shared: Arc<Shared>,
}

impl Telegram {
    /// Starts it.
    #[must_use]
    pub fn start() -> Self {
        let (listener, port) = http::listener();
        let shared = Arc::new(Shared::default());
        shared.state().next_update = 1000;
        let serving = Arc::clone(&shared);
        http::serve_each(listener, move |stream| serve(&serving, &stream));
        Self { port, shared }
    }

    /// The host of [`Telegram::host`] with nothing else in its setup.
    #[must_use]
    pub fn started(&self, keys: &str) -> Host {
        self.host(Setup::default(), keys)
    }

    /// A host with the account `main` of this server, whose owner is `ann`, once the channel is up. `keys` are further lines of
    /// the channel's table.
    #[must_use]
    pub fn host(&self, setup: Setup, keys: &str) -> Host {
        self.host_beside(setup, self.port, keys)
    }

    /// The same with a further server on loopback, such as a provider of models.
    #[must_use]
    pub fn host_beside(&self, setup: Setup, other: u16, keys: &str) -> Host {
        let (port, url) = (self.port, self.url());
        let ports = BTreeSet::from([port, other]);
        let plain: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let config = format!(
            "[credproxy]\nplain_http = {plain:?}\n[agent.default]\nmodel = \"scripted/answers\"\n\
             [channel.main]\nplatform = \"telegram\"\nsecret = \"telegram\"\nbase_url = \"{url}\"\n{keys}"
        );
        let host = setup.config(&config).start();
        host.keep("telegram", TOKEN, &["--host", &format!("127.0.0.1:{port}"), "--segment"]);
        let identity = format!("telegram:main:{ANN}");
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

    /// Gives the bot an update; its id is added.
    pub fn update(&self, mut update: Value) {
        let mut state = self.shared.state();
        update["update_id"] = json!(state.next_update);
        state.next_update += 1;
        state.updates.push_back(update);
        self.shared.changed.notify_all();
    }

    /// A person writes to the bot in a direct conversation. Returns the message's id.
    pub fn direct(&self, person: i64, text: &str) -> i64 {
        self.message(json!({ "id": person, "type": "private" }), person, json!({ "text": text }))
    }

    /// A person sends a message with these fields to a chat. Returns its id.
    pub fn message(&self, chat: Value, person: i64, mut message: Value) -> i64 {
        let id = self.fresh_message();
        message["message_id"] = json!(id);
        message["date"] = json!(now_s());
        message["chat"] = chat;
        message["from"] = objects::person(person);
        self.update(json!({ "message": message }));
        id
    }

    /// Keeps a file that a person sends. Returns its fields: its id and its size.
    #[must_use]
    pub fn file(&self, bytes: &[u8]) -> Value {
        self.keep(bytes, false)
    }

    /// The same of a file that the server gives out although it is over its bound, and of which it does not say the size.
    #[must_use]
    pub fn endless_file(&self, bytes: &[u8]) -> Value {
        let mut file = self.keep(bytes, true);
        file["file_size"] = json!(0);
        file
    }

    fn keep(&self, bytes: &[u8], unbounded: bool) -> Value {
        let mut state = self.shared.state();
        state.files.push(StoredFile { bytes: bytes.to_vec(), unbounded });
        let id = format!("file-{}", state.files.len() - 1);
        json!({ "file_id": id, "file_unique_id": id, "file_size": bytes.len() })
    }

    /// A person sends a message with these fields in a direct conversation. Returns its id.
    pub fn direct_with(&self, person: i64, fields: Value) -> i64 {
        self.message(json!({ "id": person, "type": "private" }), person, fields)
    }

    /// A person presses a button of a message of the bot.
    pub fn press(&self, person: i64, message: &SentMessage, data: &str) {
        self.update(json!({ "callback_query": {
            "id": format!("press-{}", message.id),
            "from": objects::person(person),
            "chat_instance": message.chat.to_string(),
            "data": data,
            "message": objects::message(message),
        } }));
    }

    /// Has the next call of this method fail.
    pub fn fail(&self, method: &str, failing: Failing) {
        self.shared.state().failing.push_back((method.to_owned(), failing));
    }

    /// Refuses the token from now on, or no longer.
    pub fn revoke(&self, revoked: bool) {
        self.shared.state().revoked = revoked;
        self.shared.changed.notify_all();
    }

    /// The messages of the bot in a chat, in the order of their ids.
    #[must_use]
    pub fn sent(&self, chat: i64) -> Vec<SentMessage> {
        self.shared.state().messages.iter().filter(|message| message.chat == chat).cloned().collect()
    }

    /// Every call so far: the method and its parameters.
    #[must_use]
    pub fn calls(&self) -> Vec<(String, Value)> {
        self.calls_from(0).into_iter().map(|call| (call.method, call.parameters)).collect()
    }

    /// The updates that no poll has acknowledged.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.shared.state().updates.len()
    }

    fn fresh_message(&self) -> i64 {
        let mut state = self.shared.state();
        state.next_message += 1;
        state.next_message
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("the time").as_secs()
}

/// A reply: the status and its document.
type Reply = (u16, Value);

fn well(result: Value) -> Reply {
    (200, json!({ "ok": true, "result": result }))
}

fn refusal(code: u16, description: &str) -> Reply {
    (code, json!({ "ok": false, "error_code": code, "description": description }))
}

fn serve(shared: &Shared, stream: &TcpStream) {
    let Some(request) = Request::read(stream) else { return };
    // Some clients escape the token's colon.
    let (path, kind) = (request.path.replace("%3A", ":"), request.header("content-type"));
    if let Some(wanted) = path.strip_prefix(&format!("/file/bot{TOKEN}/")) {
        let state = shared.state();
        let bytes = files::at(&state.files, wanted).map(<[u8]>::to_vec);
        drop(state);
        let (status, bytes) = bytes.map_or((404, Vec::new()), |bytes| (200, bytes));
        return http::reply(stream, status, "application/octet-stream", "", &bytes);
    }
    let Some(method) = path.strip_prefix(&format!("/bot{TOKEN}/")).map(str::to_owned) else {
        let (status, document) = refusal(401, "Unauthorized");
        return http::document(stream, status, "", &document);
    };
    let parameters = parameters(kind, &request.body);
    let failing = {
        let mut state = shared.state();
        state.calls.push(Call { at: Instant::now(), method: method.clone(), parameters: parameters.clone() });
        let at = state.failing.iter().position(|(name, _)| *name == method);
        at.and_then(|at| state.failing.remove(at)).map(|(_, failing)| failing)
    };
    let done = |shared: &Shared| answer(shared, &method, &parameters);
    let (status, document) = match failing {
        None => done(shared),
        Some(Failing::DropBefore) => return,
        Some(Failing::DropAfter) => return drop(done(shared)),
        Some(Failing::ErrorBefore) => refusal(500, "Internal Server Error"),
        Some(Failing::ErrorAfter) => {
            drop(done(shared));
            refusal(500, "Internal Server Error")
        }
        Some(Failing::TooMany(seconds)) => too_many(seconds),
        Some(Failing::Moved(chat)) => moved(chat),
    };
    http::document(stream, status, "", &document);
}

fn moved(to: i64) -> Reply {
    let (code, mut document) = refusal(400, "Bad Request: group chat was upgraded to a supergroup chat");
    document["parameters"] = json!({ "migrate_to_chat_id": to });
    (code, document)
}

fn too_many(seconds: u64) -> Reply {
    let (code, mut document) = refusal(429, &format!("Too Many Requests: retry after {seconds}"));
    document["parameters"] = json!({ "retry_after": seconds });
    (code, document)
}

/// The parameters: JSON, or the fields of a form of either kind.
fn parameters(kind: &str, body: &[u8]) -> Value {
    match kind.split(';').next() {
        Some("multipart/form-data") => files::form(kind, body),
        Some("application/x-www-form-urlencoded") => files::query(body),
        _ => serde_json::from_slice(body).unwrap_or(Value::Null),
    }
}

fn answer(shared: &Shared, method: &str, parameters: &Value) -> Reply {
    if shared.state().revoked {
        return refusal(401, "Unauthorized");
    }
    match method {
        "getMe" => well(objects::bot()),
        "getWebhookInfo" => well(json!({
            "url": if shared.state().hook { "https://hook.example/" } else { "" },
            "has_custom_certificate": false,
            "pending_update_count": shared.state().updates.len(),
        })),
        "getUpdates" => poll(shared, parameters),
        "sendMessageDraft" => acts::draft(shared, parameters),
        "sendMessage" => match limits::text(parameters) {
            Ok(()) => send(shared, parameters),
            Err(description) => refusal(400, description),
        },
        "sendDocument" | "sendPhoto" => match limits::file(parameters) {
            Ok(()) => send(shared, parameters),
            Err((code, description)) => refusal(code, description),
        },
        "getFile" => {
            let got = files::get(&shared.state().files, parameters["file_id"].as_str().unwrap_or_default());
            got.map_or_else(|description| refusal(400, description), well)
        }
        "editMessageText" => edit(shared, parameters),
        "sendChatAction" | "answerCallbackQuery" => well(json!(true)),
        _ => refusal(404, "Not Found"),
    }
}

/// Holds a poll until there are updates, its time is over, or a newer poll ends it.
fn poll(shared: &Shared, parameters: &Value) -> Reply {
    let offset = parameters["offset"].as_i64().unwrap_or(0);
    let limit = parameters["limit"].as_u64().map_or(100, |limit| usize::try_from(limit).unwrap_or(100));
    let hold = Duration::from_secs(parameters["timeout"].as_u64().unwrap_or(0)).min(HOLD);
    let allowed = parameters["allowed_updates"].as_array().cloned().unwrap_or_default();
    let until = Instant::now() + hold;
    let mut state = shared.state();
    if state.hook {
        return refusal(
            409,
            "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
        );
    }
    state.poll += 1;
    let own = state.poll;
    shared.changed.notify_all();
    state.updates.retain(|update| update["update_id"].as_i64() >= Some(offset));
    loop {
        if state.poll != own {
            return refusal(
                409,
                "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
            );
        }
        let is_allowed = |update: &&Value| {
            allowed.is_empty() || allowed.iter().any(|kind| update.get(kind.as_str().unwrap_or("")).is_some())
        };
        let found: Vec<Value> = state.updates.iter().filter(is_allowed).take(limit).cloned().collect();
        let left = until.saturating_duration_since(Instant::now());
        if !found.is_empty() || left.is_zero() || state.revoked || state.hook {
            return well(Value::Array(found));
        }
        state = shared.changed.wait_timeout(state, left).expect("the state").0;
    }
}

fn send(shared: &Shared, parameters: &Value) -> Reply {
    let Some(chat) = parameters["chat_id"].as_i64() else {
        return refusal(400, "Bad Request: chat not found");
    };
    let mut state = shared.state();
    if let Some((_, to)) = state.moved.iter().find(|(from, _)| *from == chat) {
        return moved(*to);
    }
    if let Err(seconds) = state.rates.admit(chat) {
        return too_many(seconds);
    }
    state.next_message += 1;
    let id = state.next_message;
    let silent = parameters["disable_notification"] == true;
    let message = SentMessage { id, chat, parameters: parameters.clone(), edits: 0, silent };
    let shown = objects::message(&message);
    state.messages.push(message);
    well(shown)
}

fn edit(shared: &Shared, parameters: &Value) -> Reply {
    if let Err(description) = limits::text(parameters) {
        return refusal(400, description);
    }
    let (chat, id) = (parameters["chat_id"].as_i64(), parameters["message_id"].as_i64());
    let mut state = shared.state();
    let found = state.messages.iter_mut().find(|one| Some(one.chat) == chat && Some(one.id) == id);
    let Some(message) = found else { return refusal(400, "Bad Request: message to edit not found") };
    let same = |key: &str| message.parameters.get(key) == parameters.get(key);
    if same("text") && same("entities") && same("reply_markup") {
        return refusal(400, "Bad Request: message is not modified");
    }
    message.parameters = parameters.clone();
    message.edits += 1;
    well(objects::message(message))
}
