//! The gateway: one connection of a bot, in a thread of its own.

use super::objects::bot;
use super::{BOT, Session, Shared, TOKEN};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::handshake::server as handshake;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket, accept_hdr};

/// Messages in servers, and direct ones.
pub(super) const IN_SERVERS: u64 = 1 << 9;
pub(super) const DIRECT: u64 = 1 << 12;
/// The text of messages that do not name the bot.
pub(super) const TEXT: u64 = 1 << 15;
/// The bits of every intent there is.
const INTENTS: u64 = (1 << 27) - 1;
/// The time between two heartbeats.
const INTERVAL: Duration = Duration::from_secs(2);
/// Payloads of a minute.
const A_MINUTE: usize = 120;
/// The least time between two beginnings.
const BEGINNINGS: Duration = Duration::from_secs(5);

/// The end of a connection: the code that it is closed with, or none where it just ends.
type End = Option<u16>;

struct Connection<'a> {
    shared: &'a Shared,
    socket: WebSocket<TcpStream>,
    number: u64,
    path: String,
    /// The session, and the number of the last event that was sent.
    session: Option<(String, usize)>,
    came: VecDeque<Instant>,
    beat: Instant,
}

/// Serves a connection to its end.
pub(super) fn serve(shared: &Shared, stream: TcpStream) {
    drop(stream.set_read_timeout(Some(Duration::from_millis(10))));
    let mut path = String::new();
    #[expect(clippy::result_large_err, reason = "the library's own type of a refusal")]
    let keep = |request: &handshake::Request, reply: handshake::Response| {
        path = request.uri().to_string();
        Ok(reply)
    };
    let mut accepted = accept_hdr(stream, keep);
    let socket = loop {
        match accepted {
            Ok(socket) => break socket,
            Err(tokio_tungstenite::tungstenite::HandshakeError::Interrupted(middle)) => {
                accepted = middle.handshake()
            }
            Err(_) => return,
        }
    };
    let number = {
        let mut state = shared.state();
        state.connection += 1;
        state.connection
    };
    let (came, beat) = (VecDeque::new(), Instant::now());
    let mut connection = Connection { shared, socket, number, path, session: None, came, beat };
    if let Some(code) = connection.run() {
        let frame = CloseFrame { code: code.into(), reason: "".into() };
        drop(connection.socket.close(Some(frame)));
        // The other end takes the code before the connection is gone.
        for _ in 0..50 {
            if matches!(connection.socket.read(), Err(Error::ConnectionClosed | Error::AlreadyClosed)) {
                break;
            }
        }
    }
}

impl Connection<'_> {
    fn run(&mut self) -> End {
        if !self.path.contains("v=10") || !self.path.contains("encoding=json") {
            return Some(4012);
        }
        self.tell(
            &json!({ "op": 10, "d": { "heartbeat_interval": INTERVAL.as_millis() }, "s": null, "t": null }),
        );
        loop {
            let (cut, close) = {
                let state = self.shared.state();
                (state.cut >= self.number, state.close)
            };
            if cut {
                return None;
            }
            if close.is_some() && self.session.is_some() {
                return close;
            }
            if self.beat.elapsed() > INTERVAL * 3 {
                return Some(4009);
            }
            self.give_events();
            match self.socket.read() {
                Ok(Message::Text(text)) => {
                    if let Err(end) = self.take(text.as_str()) {
                        return end;
                    }
                }
                Ok(Message::Close(_)) => return None,
                Ok(_) => {}
                Err(Error::Io(error))
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return None,
            }
        }
    }

    fn tell(&mut self, payload: &Value) {
        // A connection that is gone takes none.
        drop(self.socket.send(Message::text(payload.to_string())));
    }

    /// Sends the events of the session that were not sent yet.
    fn give_events(&mut self) {
        let Some((id, given)) = self.session.clone() else { return };
        let events: Vec<(String, Value)> = {
            let state = self.shared.state();
            state.sessions.get(&id).map(|session| session.events[given..].to_vec()).unwrap_or_default()
        };
        for (at, (name, data)) in events.into_iter().enumerate() {
            self.tell(&json!({ "op": 0, "s": given + at + 1, "t": name, "d": data }));
            self.session = Some((id.clone(), given + at + 1));
        }
    }

    fn take(&mut self, text: &str) -> Result<(), End> {
        let now = Instant::now();
        self.came.push_back(now);
        while self.came.front().is_some_and(|at| now.duration_since(*at) > Duration::from_secs(60)) {
            self.came.pop_front();
        }
        if self.came.len() > A_MINUTE {
            return Err(Some(4008));
        }
        let payload: Value = serde_json::from_str(text).map_err(|_| Some(4002))?;
        match payload["op"].as_u64() {
            Some(1) => {
                self.beat = now;
                self.shared.state().beats += 1;
                self.tell(&json!({ "op": 11 }));
                Ok(())
            }
            Some(2) => self.identify(&payload["d"]),
            Some(6) => self.resume(&payload["d"]),
            Some(_) => Err(Some(4001)),
            None => Err(Some(4002)),
        }
    }

    fn may_begin(&self, data: &Value) -> Result<(), End> {
        let state = self.shared.state();
        match state.close {
            Some(code) => Err(Some(code)),
            None if self.session.is_some() => Err(Some(4005)),
            None if data["token"] != TOKEN || state.revoked => Err(Some(4004)),
            None => Ok(()),
        }
    }

    fn identify(&mut self, data: &Value) -> Result<(), End> {
        self.may_begin(data)?;
        let intents = data["intents"].as_u64().ok_or(Some(4013))?;
        let mut state = self.shared.state();
        if intents & !INTENTS != 0 {
            return Err(Some(4013));
        }
        if state.unread && intents & TEXT != 0 {
            return Err(Some(4014));
        }
        let soon = state.identifies.last().is_some_and(|at| at.elapsed() < BEGINNINGS);
        state.identifies.push(Instant::now());
        if soon {
            drop(state);
            self.tell(&json!({ "op": 9, "d": false }));
            return Ok(());
        }
        let id = format!("{:032x}", state.fresh());
        let url = format!("ws://127.0.0.1:{}/resume", self.shared.port);
        let ready = json!({
            "v": 10, "user": bot(), "guilds": [], "session_id": id, "resume_gateway_url": url,
            "session_type": "normal", "private_channels": [], "relationships": [], "user_settings": {},
            "application": { "id": BOT.to_string(), "flags": 0 }, "shard": [0, 1],
        });
        let events = vec![("READY".to_owned(), ready)];
        state.sessions.insert(id.clone(), Session { intents, events, over: false });
        self.session = Some((id, 0));
        Ok(())
    }

    fn resume(&mut self, data: &Value) -> Result<(), End> {
        self.may_begin(data)?;
        let mut state = self.shared.state();
        state.resumes += 1;
        if state.refused_resumes > 0 {
            state.refused_resumes -= 1;
            return Err(None);
        }
        let (id, seq) = (data["session_id"].as_str().unwrap_or_default(), data["seq"].as_u64());
        let at_its_url = self.path.starts_with("/resume");
        let found = state.sessions.get_mut(id).filter(|session| !session.over && at_its_url);
        let Some((session, seq)) = found.zip(seq.and_then(|seq| usize::try_from(seq).ok())) else {
            drop(state);
            self.tell(&json!({ "op": 9, "d": false }));
            return Ok(());
        };
        if seq > session.events.len() {
            return Err(Some(4007));
        }
        session.events.push(("RESUMED".to_owned(), json!({})));
        self.session = Some((id.to_owned(), seq));
        Ok(())
    }
}
