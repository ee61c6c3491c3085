//! One connection to the gateway, run by a task of its own, so that heartbeats go out while the host does something else. Events wait in
//! its inbox; while that is full no more are read.

use crate::cursor::Session;
use crate::inbox::{Inbox, Over};
use crate::payload::{Event, Payload, read};
use channel::Api;
use ipc_proto::credproxy::{Incoming, Insertion, Outgoing, PLACEHOLDER, Stream};
use ipc_proto::{Name, Text};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// The longest wait for the first payload.
const GREETING: Duration = Duration::from_secs(20);
/// The least and the longest time between two heartbeats, in ms.
const BEATS_MS: (u64, u64) = (2_000, 600_000);
/// Heartbeats in a minute that are sent because Discord wants one now. With those of the clock they are below 120.
const WANTED: usize = 60;

/// The beginning of a conversation with the gateway.
pub(crate) enum How {
    /// A new session that gets these events.
    Identify {
        /// The bits of the events.
        intents: u64,
    },
    /// A session that goes on.
    Resume(Session),
}

/// The events that are looked at as they come, besides being kept.
pub(crate) type Notice = Rc<dyn Fn(&Event)>;

/// An open connection.
pub(crate) struct Socket {
    pub(crate) api: Rc<Api>,
    pub(crate) secret: Name,
    pub(crate) stream: Stream,
    pub(crate) inbox: Rc<Inbox>,
    pub(crate) notice: Notice,
}

impl Socket {
    /// Runs it to its end.
    pub(crate) async fn run(self, how: How) {
        let talk = Talk { socket: &self, alive: Cell::new(true), wanted: RefCell::default() };
        let over = tokio::select! {
            over = talk.through(how) => over,
            () = self.inbox.until_stopped() => Over::Stopped,
        };
        self.api.close(self.stream).await;
        self.inbox.end(over);
    }

    async fn push(&self, message: &Value, token: bool) -> Result<(), Over> {
        let insertion = || Insertion { secret: self.secret.clone(), pointer: Text::clip("/d/token") };
        let text = Text::new(message.to_string()).map_err(|_| Over::Unsent)?;
        let outgoing = Outgoing::Message { text, secret: token.then(insertion) };
        self.api.push(self.stream, outgoing).await.map_err(|_| Over::Lost)
    }
}

/// The conversation over a connection.
struct Talk<'a> {
    socket: &'a Socket,
    /// True if the last heartbeat was answered.
    alive: Cell<bool>,
    /// The heartbeats that Discord wanted.
    wanted: RefCell<VecDeque<Instant>>,
}

impl Talk<'_> {
    async fn through(&self, how: How) -> Over {
        let interval = match timeout(GREETING, self.hello()).await {
            Ok(Ok(interval)) => interval,
            Ok(Err(over)) => return over,
            Err(_) => return Over::Lost,
        };
        if let Err(over) = self.socket.push(&opening(&how), true).await {
            return over;
        }
        tokio::select! {
            over = self.beat_on(interval) => over,
            over = self.read_on(&how) => over,
        }
    }

    async fn hello(&self) -> Result<Duration, Over> {
        loop {
            match self.next().await? {
                Payload::Hello { interval_ms } => {
                    return Ok(Duration::from_millis(interval_ms.clamp(BEATS_MS.0, BEATS_MS.1)));
                }
                Payload::Reconnect => return Err(Over::Reconnect),
                _ => {}
            }
        }
    }

    /// The next payload that can be read.
    async fn next(&self) -> Result<Payload, Over> {
        loop {
            match self.socket.api.pull(self.socket.stream).await {
                Ok(Incoming::Message(bytes)) => match read(&bytes) {
                    Some(payload) => return Ok(payload),
                    None => self.socket.inbox.count_malformed(),
                },
                Ok(Incoming::Quiet) => {}
                Ok(Incoming::Closed { code }) => return Err(Over::Closed(code)),
                Ok(Incoming::Bytes(_) | Incoming::Head(_)) | Err(_) => return Err(Over::Lost),
            }
        }
    }

    /// Sends heartbeats, for ever; ends where one was not answered.
    async fn beat_on(&self, interval: Duration) -> Over {
        // The first one comes at a time that no two clients share.
        sleep(interval.mul_f64(share())).await;
        loop {
            if !self.alive.replace(false) && !self.socket.inbox.is_full() {
                return Over::Lost;
            }
            if let Err(over) = self.beat().await {
                return over;
            }
            sleep(interval).await;
        }
    }

    async fn beat(&self) -> Result<(), Over> {
        self.socket.push(&json!({ "op": 1, "d": self.socket.inbox.beyond() }), false).await
    }

    /// Sends the heartbeat that Discord wants, but for so many that its own limit would be passed.
    async fn beat_now(&self) -> Result<(), Over> {
        {
            let (now, mut wanted) = (Instant::now(), self.wanted.borrow_mut());
            while wanted.front().is_some_and(|at| now.duration_since(*at) >= Duration::from_secs(60)) {
                wanted.pop_front();
            }
            if wanted.len() >= WANTED {
                return Ok(());
            }
            wanted.push_back(now);
        }
        self.beat().await
    }

    async fn read_on(&self, how: &How) -> Over {
        let inbox = &self.socket.inbox;
        loop {
            inbox.until_room().await;
            let payload = match self.next().await {
                Ok(payload) => payload,
                Err(over) => return over,
            };
            match payload {
                Payload::Dispatch { seq, event } => {
                    (self.socket.notice)(&event);
                    inbox.take(seq, event);
                    if let How::Resume(session) = how {
                        inbox.resumed(session.clone());
                    }
                }
                Payload::Acknowledged => self.alive.set(true),
                Payload::Beat => {
                    if let Err(over) = self.beat_now().await {
                        return over;
                    }
                }
                Payload::Reconnect => return Over::Reconnect,
                Payload::Invalid { resumable } => return Over::Invalid { resumable },
                Payload::Hello { .. } | Payload::Other => {}
            }
        }
    }
}

/// The first payload to Discord. Credproxy puts the token in.
fn opening(how: &How) -> Value {
    match how {
        How::Identify { intents } => json!({ "op": 2, "d": {
            "token": PLACEHOLDER,
            "intents": intents,
            "properties": { "os": "linux", "browser": "cordon", "device": "cordon" },
        } }),
        How::Resume(Session { id, seq, .. }) => {
            json!({ "op": 6, "d": { "token": PLACEHOLDER, "session_id": id, "seq": seq } })
        }
    }
}

/// A share of one, by chance.
fn share() -> f64 {
    f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX)
}
