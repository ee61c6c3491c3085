//! The DevTools protocol over the shell's two pipes: calls with their replies, in any order, and the events of the page.

use super::frames::{Frames, Message};
use super::tab::Tab;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Calls that wait to be written.
const QUEUE: usize = 64;
/// How long a page whose script was stopped may take to answer.
const GRACE: Duration = Duration::from_secs(2);

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallFault {
    /// The shell or the page's process ended.
    #[error("it ended")]
    Gone,
    /// There was no answer in time.
    #[error("there was no answer in time")]
    Slow,
    /// The answer is over the bound.
    #[error("the answer is over the bound")]
    TooLarge,
    /// The shell refused: the element, the frame or the page is no longer there.
    #[error("it was refused")]
    Refused,
}

/// A reply that waits for its call, whole or cut.
type Waiting = HashMap<u64, oneshot::Sender<Message>>;

/// The shell's other end.
#[derive(Clone)]
pub(super) struct Client(Rc<Inner>);

struct Inner {
    queue: mpsc::Sender<Vec<u8>>,
    waiting: RefCell<Waiting>,
    last: Cell<u64>,
    /// The session of the tab; empty before there is one.
    session: RefCell<String>,
    tab: Rc<Tab>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: u64,
    method: &'a str,
    params: &'a Value,
    #[serde(rename = "sessionId", skip_serializing_if = "str::is_empty")]
    session: &'a str,
}

#[derive(Deserialize)]
struct Head {
    id: Option<u64>,
    method: Option<String>,
}

#[derive(Deserialize)]
struct Reply<T> {
    result: Option<T>,
}

impl Client {
    /// Begins to speak over the pipes.
    pub(super) fn over(input: Sender, output: Receiver, tab: Rc<Tab>) -> Self {
        let (queue, queued) = mpsc::channel(QUEUE);
        let inner = Inner {
            queue,
            waiting: RefCell::default(),
            last: Cell::new(0),
            session: RefCell::default(),
            tab,
        };
        let client = Self(Rc::new(inner));
        tokio::task::spawn_local(write(input, queued));
        tokio::task::spawn_local(client.clone().read(Frames::new(output)));
        client
    }

    /// From here on calls are of this session.
    pub(super) fn enter(&self, session: String) {
        self.0.session.replace(session);
    }

    /// Calls, and gives the result. After `time` the page's script is stopped, since it may be what keeps the answer back.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        params: Value,
        time: Duration,
    ) -> Result<T, CallFault> {
        let (id, mut reply) = self.begin(method, &params).await?;
        let replied = match timeout(time, &mut reply).await {
            Ok(replied) => Ok(replied),
            Err(_) => {
                self.stop_script();
                timeout(GRACE, &mut reply).await
            }
        };
        self.0.waiting.borrow_mut().remove(&id);
        match replied.map_err(|_| CallFault::Slow)?.map_err(|_| CallFault::Gone)? {
            Message::Whole(bytes) => {
                let reply: Reply<T> = serde_json::from_slice(&bytes).map_err(|_| CallFault::Refused)?;
                reply.result.ok_or(CallFault::Refused)
            }
            Message::Cut(_) => Err(CallFault::TooLarge),
        }
    }

    async fn begin(
        &self,
        method: &str,
        params: &Value,
    ) -> Result<(u64, oneshot::Receiver<Message>), CallFault> {
        if self.0.tab.is_dead() {
            return Err(CallFault::Gone);
        }
        let (reply, replied) = oneshot::channel();
        let id = self.number();
        self.0.waiting.borrow_mut().insert(id, reply);
        let bytes = self.bytes(id, method, params);
        self.0.queue.send(bytes).await.map_err(|_| CallFault::Gone)?;
        Ok((id, replied))
    }

    /// Calls and waits for nothing; what finds no room is not said.
    fn tell(&self, method: &str, params: &Value) {
        let bytes = self.bytes(self.number(), method, params);
        drop(self.0.queue.try_send(bytes));
    }

    /// Stops the script that the page runs at this moment.
    fn stop_script(&self) {
        self.tell("Runtime.terminateExecution", &json!({}));
    }

    fn number(&self) -> u64 {
        let id = self.0.last.get() + 1;
        self.0.last.set(id);
        id
    }

    fn bytes(&self, id: u64, method: &str, params: &Value) -> Vec<u8> {
        let session = self.0.session.borrow();
        let call = Call { id, method, params, session: &session };
        let mut bytes = serde_json::to_vec(&call).unwrap_or_default();
        bytes.push(0);
        bytes
    }

    async fn read(self, mut frames: Frames<Receiver>) {
        while let Some(message) = frames.next().await {
            self.take(message);
        }
        self.0.tab.die();
        self.0.waiting.borrow_mut().clear();
    }

    fn take(&self, message: Message) {
        let head = match &message {
            Message::Whole(bytes) => serde_json::from_slice(bytes).ok(),
            Message::Cut(bytes) => beginning(bytes),
        };
        let Some(head) = head else { return };
        if let Some(id) = head.id {
            if let Some(waiting) = self.0.waiting.borrow_mut().remove(&id) {
                drop(waiting.send(message));
            }
            return;
        }
        let Some(method) = head.method else { return };
        let whole = match &message {
            Message::Whole(bytes) => bytes.as_slice(),
            Message::Cut(_) => b"{}",
        };
        self.event(&method, whole);
    }

    /// Takes note of an event. A dialog is dismissed at once, since the page waits for it.
    fn event(&self, method: &str, message: &[u8]) {
        if method == "Page.javascriptDialogOpening" {
            if self.0.tab.is_dialog_too_many() {
                self.stop_script();
            }
            self.tell("Page.handleJavaScriptDialog", &json!({"accept": false}));
        }
        self.0.tab.event(method, message);
        if self.0.tab.is_dead() {
            // A page whose process died answers nothing any more.
            self.0.waiting.borrow_mut().clear();
        }
    }
}

/// The number or the method of a message of which only the beginning is there.
fn beginning(bytes: &[u8]) -> Option<Head> {
    let text = String::from_utf8_lossy(bytes);
    let (key, rest) = text.strip_prefix("{\"")?.split_once("\":")?;
    match key {
        "id" => Some(Head { id: rest.split(',').next()?.parse().ok(), method: None }),
        "method" => Some(Head { id: None, method: rest.split('"').nth(1).map(str::to_owned) }),
        _ => None,
    }
}

async fn write(mut input: Sender, mut queued: mpsc::Receiver<Vec<u8>>) {
    while let Some(bytes) = queued.recv().await {
        if input.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_long_message_says_what_it_answers() {
        let of = |text: &str| beginning(text.as_bytes()).map(|head| (head.id, head.method));
        assert_eq!(of("{\"id\":12,\"result\":{\"data\":\"aaa"), Some((Some(12), None)));
        let dialog = "{\"method\":\"Page.javascriptDialogOpening\",\"params\":{\"mess";
        assert_eq!(of(dialog), Some((None, Some("Page.javascriptDialogOpening".into()))));
        assert_eq!(of("{\"params\":{\"x\":\"\\\"id\\\":1"), None);
    }
}
