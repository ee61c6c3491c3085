//! The connection to the gateway over its lives: it is opened, resumed where it was, and begun anew where that failed three times.

use crate::cursor::{Cursor, Session};
use crate::inbox::{Inbox, Over};
use crate::payload::Me;
use crate::reply::{final_close, poll_fault};
use crate::rest::{Ask, Rest};
use crate::socket::{How, Notice, Socket};
use channel::{Api, Lost, PollFault};
use ipc_proto::channel::Link;
use ipc_proto::credproxy::{Opening, SocketAddress};
use ipc_proto::{List, Name, Text};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// Tries to resume a session.
const RESUMES: u32 = 3;
/// The pause between two of them.
const BETWEEN: Duration = Duration::from_secs(1);
/// The time after which a session that cannot be reached is given up.
const UNREACHED: Duration = Duration::from_secs(300);
/// The longest wait for a session to begin.
const SETTLED: Duration = Duration::from_secs(30);
/// The least time between two beginnings.
const BEGINNINGS: Duration = Duration::from_secs(6);
/// The longest wait for a request's limit.
const PATIENCE: Duration = Duration::from_secs(10);
/// Messages in servers and direct ones.
const MESSAGES: u64 = 1 << 9 | 1 << 12;
/// The text of messages that do not name the bot.
const TEXT: u64 = 1 << 15;
/// Codes by which a session is over, while another can begin.
const SESSION_OVER: [u16; 3] = [4003, 4007, 4009];
/// The form of the payloads, as the address names it.
const QUERY: &str = "/?v=10&encoding=json";

/// The gateway of one account.
pub(crate) struct Gateway {
    api: Rc<Api>,
    rest: Rc<Rest>,
    account: Name,
    secret: Name,
    notice: Notice,
    live: RefCell<Option<Connection>>,
    /// Tries to resume since a session last began or went on.
    failed: Cell<u32>,
    /// The session that is over.
    lost: RefCell<String>,
    /// The time since which the session cannot be reached.
    unreached: Cell<Option<Instant>>,
    begun: Cell<Option<Instant>>,
}

/// A connection; it is let go with this.
struct Connection(Rc<Inbox>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Gateway {
    pub(crate) fn new(api: Rc<Api>, rest: Rc<Rest>, account: Name, secret: Name, notice: Notice) -> Self {
        Self {
            api,
            rest,
            account,
            secret,
            notice,
            live: RefCell::default(),
            failed: Cell::default(),
            lost: RefCell::default(),
            unreached: Cell::default(),
            begun: Cell::default(),
        }
    }

    /// The events of the connection, which is opened if there is none. The position goes over to its session.
    ///
    /// # Errors
    /// [`PollFault`], where it cannot be opened.
    pub(crate) async fn connected(&self, cursor: &mut Cursor, me: &Me) -> Result<Rc<Inbox>, PollFault> {
        loop {
            let inbox = self.live.borrow().as_ref().map(|live| Rc::clone(&live.0));
            let Some(inbox) = inbox else {
                self.open(cursor, me).await?;
                continue;
            };
            if let Some(over) = inbox.over() {
                *self.live.borrow_mut() = None;
                self.judge(over, inbox.session().as_ref())?;
                continue;
            }
            if let Some(session) = inbox.session()
                && cursor.session().is_none_or(|known| known.id != session.id)
            {
                cursor.begin(session);
            }
            inbox.accepted(cursor.seq());
            return Ok(inbox);
        }
    }

    /// Opens a connection: resumes the session of the position, or begins another.
    async fn open(&self, cursor: &Cursor, me: &Me) -> Result<(), PollFault> {
        let resumed = cursor.session().filter(|session| self.may_resume(session)).cloned();
        let (url, how) = match &resumed {
            Some(session) => (session.url.clone(), How::Resume(session.clone())),
            None => {
                let intents = MESSAGES | if me.reads { TEXT } else { 0 };
                (self.address().await?, How::Identify { intents })
            }
        };
        if resumed.is_none() {
            self.wait_to_begin().await;
        }
        let url = Text::clip(&format!("{}{QUERY}", url.trim_end_matches('/')));
        let opening =
            Opening::Socket { address: SocketAddress::Url(url), headers: List::default(), secret: None };
        let stream = self.api.open(opening).await.map_err(|lost| self.unreached(resumed.as_ref(), lost))?;
        let seq = resumed.as_ref().map_or(0, |session| session.seq);
        let inbox = Rc::new(Inbox::new(seq));
        let socket = Socket {
            api: Rc::clone(&self.api),
            secret: self.secret.clone(),
            stream,
            inbox: Rc::clone(&inbox),
            notice: Rc::clone(&self.notice),
        };
        let live = Connection(Rc::clone(&inbox));
        drop(tokio::task::spawn_local(socket.run(how)));
        let settled = timeout(SETTLED, inbox.until_settled()).await.is_ok();
        if settled && inbox.session().is_some() {
            self.failed.set(0);
            self.unreached.set(None);
            *self.live.borrow_mut() = Some(live);
            return Ok(());
        }
        self.not_settled(inbox.over().unwrap_or(Over::Lost), resumed.as_ref()).await
    }

    /// Decides on a connection that ended before its session began or went on: another try, or a fault.
    async fn not_settled(&self, over: Over, resumed: Option<&Session>) -> Result<(), PollFault> {
        self.judge(over, resumed)?;
        if resumed.is_none() {
            let reason = match over {
                Over::Closed(Some(code)) => format!("Discord ended the connection ({code})"),
                Over::Invalid { .. } => "Discord begins no session now".to_owned(),
                _ => "the connection to Discord broke".to_owned(),
            };
            return Err(PollFault { link: Link::Down, reason, after: Some(BEGINNINGS) });
        }
        self.failed.set(self.failed.get().saturating_add(1));
        if self.failed.get() < RESUMES {
            sleep(BETWEEN).await;
        }
        Ok(())
    }

    fn may_resume(&self, session: &Session) -> bool {
        let given_up = self.unreached.get().is_some_and(|since| since.elapsed() > UNREACHED);
        self.failed.get() < RESUMES && *self.lost.borrow() != session.id && !given_up
    }

    /// Notes the end of a connection.
    fn judge(&self, over: Over, session: Option<&Session>) -> Result<(), PollFault> {
        let is_over = match over {
            Over::Closed(Some(code)) => {
                if let Some(fault) = final_close(code, &self.account) {
                    return Err(fault);
                }
                SESSION_OVER.contains(&code)
            }
            Over::Invalid { resumable } => !resumable,
            _ => false,
        };
        if let Some(session) = session.filter(|_| is_over) {
            self.lost.borrow_mut().clone_from(&session.id);
        }
        Ok(())
    }

    /// The fault of a connection that could not be opened.
    fn unreached(&self, resumed: Option<&Session>, lost: Lost) -> PollFault {
        if resumed.is_some() && self.unreached.get().is_none() {
            self.unreached.set(Some(Instant::now()));
        }
        poll_fault(&lost.into(), &self.account)
    }

    /// The address at which a session begins.
    async fn address(&self) -> Result<String, PollFault> {
        let asked = self.rest.ask(Ask::get(("gateway", ""), "/gateway/bot".to_owned()), PATIENCE).await;
        let told = asked.map_err(|failure| poll_fault(&failure, &self.account))?;
        let limit = told.get("session_start_limit");
        let number = |name: &str| limit.and_then(|limit| limit.get(name)).and_then(Value::as_u64);
        if number("remaining") == Some(0) {
            let after = Duration::from_millis(number("reset_after").unwrap_or(60_000));
            let reason = "the bot was started too often in one day".to_owned();
            return Err(PollFault {
                link: Link::Down,
                reason,
                after: Some(after.min(Duration::from_secs(3600))),
            });
        }
        let url = told.get("url").and_then(Value::as_str).map(str::to_owned);
        url.ok_or_else(|| PollFault {
            link: Link::Down,
            reason: "Discord names no gateway; check the account's base_url".to_owned(),
            after: None,
        })
    }

    async fn wait_to_begin(&self) {
        if let Some(begun) = self.begun.get() {
            sleep(BEGINNINGS.saturating_sub(begun.elapsed())).await;
        }
        self.begun.set(Some(Instant::now()));
    }
}
