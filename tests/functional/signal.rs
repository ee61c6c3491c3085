//! An account of Signal, against a server that stands for the HTTP daemon of signal-cli: its stream of events and its JSON-RPC.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use tests::{Host, Setup, http};

/// The service ids of the owner, of somebody whom nobody knows, and of the account.
pub(crate) const ANN: &str = "7ccae375-cd51-4c82-8b1e-7be3280aa485";
pub(crate) const EVE: &str = "99999999-cd51-4c82-8b1e-7be3280aa485";
const OWN: &str = "11111111-cd51-4c82-8b1e-7be3280aa485";

#[derive(Default)]
struct State {
    streams: Vec<TcpStream>,
    sent: Vec<Value>,
    /// Files, by their ids.
    files: Vec<Vec<u8>>,
    /// Requests for them.
    asked: usize,
}

/// The daemon; it ends with the test.
pub(crate) struct Daemon {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Daemon {
    pub(crate) fn start() -> Self {
        let (listener, port) = http::listener();
        let state = Arc::<Mutex<State>>::default();
        let serving = Arc::clone(&state);
        http::serve_each(listener, move |stream| serve(&serving, stream));
        Self { port, state }
    }

    /// A host with the account `main`, whose owner is `ann`.
    pub(crate) fn host(&self, keys: &str) -> Host {
        let port = self.port;
        let config = format!(
            "[credproxy]\nplain_http = [\"127.0.0.1:{port}\"]\n[agent.default]\nmodel = \"scripted/answers\"\n\
             [channel.main]\nplatform = \"signal\"\nbase_url = \"http://127.0.0.1:{port}\"\n{keys}"
        );
        let host = Setup::default().config(&config).start();
        let identity = format!("signal:main:{ANN}");
        drop(host.json(&["user", "add", "ann", "--role", "owner", "--identity", &identity]));
        host.wait_for("the stream is read", || !self.state.lock().unwrap().streams.is_empty());
        host
    }

    /// Sends an event to whoever reads the stream.
    pub(crate) fn event(&self, envelope: &Value) {
        let event = format!("event:receive\ndata:{}\n\n", json!({ "envelope": envelope, "account": "+46" }));
        let mut state = self.state.lock().unwrap();
        state.streams.retain_mut(|stream| stream.write_all(event.as_bytes()).is_ok());
    }

    fn said(&self, sender: &str, at: u64, text: &str) {
        self.event(&json!({ "sourceUuid": sender, "timestamp": at, "dataMessage": { "message": text } }));
    }

    /// Ends every stream.
    fn drop_streams(&self) {
        for stream in self.state.lock().unwrap().streams.drain(..) {
            drop(stream.shutdown(std::net::Shutdown::Both));
        }
    }

    pub(crate) fn sent(&self) -> Vec<Value> {
        self.state.lock().unwrap().sent.clone()
    }

    /// Keeps a file that a person sends. Returns its id.
    pub(crate) fn keep(&self, bytes: &[u8]) -> String {
        let mut state = self.state.lock().unwrap();
        state.files.push(bytes.to_vec());
        format!("{}.bin", state.files.len() - 1)
    }

    /// The number of requests for files.
    pub(crate) fn asked(&self) -> usize {
        self.state.lock().unwrap().asked
    }
}

fn serve(state: &Mutex<State>, mut stream: TcpStream) {
    let Some(request) = http::Request::read(&stream) else { return };
    if request.path.contains("/api/v1/events") {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n:\n\n";
        drop(stream.write_all(head.as_bytes()));
        state.lock().unwrap().streams.push(stream);
        return;
    }
    let call: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let result = match call["method"].as_str() {
        Some("listAccounts") => json!([{ "number": "+46" }]),
        Some("getUserStatus") => json!([{ "recipient": "+46", "uuid": OWN }]),
        Some("send") => {
            let mut state = state.lock().unwrap();
            state.sent.push(call["params"].clone());
            json!({ "timestamp": 1000 + state.sent.len(), "results": [{ "type": "SUCCESS" }] })
        }
        Some("getAttachment") => {
            let mut state = state.lock().unwrap();
            state.asked += 1;
            let number = call["params"]["id"].as_str().and_then(|id| id.strip_suffix(".bin")?.parse().ok());
            let file = number.and_then(|number: usize| state.files.get(number));
            json!({ "data": STANDARD.encode(file.map_or(&[][..], Vec::as_slice)) })
        }
        _ => json!({}),
    };
    http::document(&stream, 200, "", &json!({ "jsonrpc": "2.0", "id": 1, "result": result }));
}

#[test]
fn an_owner_is_answered_on_signal_and_a_stranger_is_not() {
    let daemon = Daemon::start();
    let host = daemon.host("");
    host.answers(&["**hello** ann", "again"]);
    daemon.said(EVE, 1, "let me in");
    daemon.said(ANN, 2, "hello");
    host.wait_for("the answer is sent", || !daemon.sent().is_empty());
    assert_eq!(
        (&daemon.sent()[0]["recipient"], &daemon.sent()[0]["message"]),
        (&json!([ANN]), &json!("hello ann"))
    );
    daemon.said(ANN, 2, "hello");
    daemon.said(ANN, 3, "and now?");
    host.wait_for("the second answer is sent", || daemon.sent().len() == 2);
    assert_eq!(
        host.messages_by("signal:main").len(),
        2,
        "a repeated message is taken in once, and nothing of a stranger"
    );
}

#[test]
fn a_group_of_signal_is_answered_where_it_mentions_the_account() {
    let daemon = Daemon::start();
    let host = daemon.host("groups = [\"g=\"]\nmembers = true\n");
    host.answers(&["here"]);
    let say = |at: u64, more: Value| {
        let mut message = json!({ "message": "hello", "groupInfo": { "groupId": "g=" } });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        daemon.event(&json!({ "sourceUuid": EVE, "timestamp": at, "dataMessage": message }));
    };
    say(1, json!({}));
    say(2, json!({ "mentions": [{ "uuid": OWN, "start": 0, "length": 1 }] }));
    host.wait_for("the answer is sent", || !daemon.sent().is_empty());
    let sent = daemon.sent();
    assert_eq!((sent.len(), &sent[0]["groupId"], &sent[0]["quoteTimestamp"]), (1, &json!("g="), &json!(2)));
}

// Holds P11-62.
#[test]
fn a_stream_of_signal_that_ends_is_opened_again() {
    let daemon = Daemon::start();
    let host = daemon.host("");
    host.answers(&["hello"]);
    daemon.drop_streams();
    host.wait_for("the stream is read again", || !daemon.state.lock().unwrap().streams.is_empty());
    daemon.said(ANN, 5, "still there?");
    host.wait_for("the answer is sent", || !daemon.sent().is_empty());
}
