//! A mailbox: the platform of an account.

use crate::answers::{Answered, Answers};
use crate::compose::{compose, delivery_mark, message_id, thread};
use crate::imap::{Fault, Session};
use crate::inbox::{Inbox, Reading};
use crate::line::{Connection, Server};
use crate::mail::{Origin, Own, Read, address, file};
use crate::sent;
use crate::smtp::{self, Sending};
use channel::{Api, EMAIL, Facts, Found, Lost, NoFile, Platform, PollFault, Polled, Source, refused};
use ipc_proto::channel::{Claim, Link, Missed, Outcome};
use ipc_proto::config::ChannelAccount;
use ipc_proto::credproxy::{CredError, LineProtocol};
use ipc_proto::{Name, Text};
use kit::Host;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{Mutex, Semaphore};

/// Mails that are sent at once.
const AT_ONCE: usize = 2;
/// Mails whose origin is remembered.
const ORIGINS: usize = 256;
/// Failures on one mail after which it is left out.
const PATIENCE: u32 = 3;
/// The other side, in reasons.
const SERVER: &str = "the mail server";
/// The pause while the server refuses the login.
const REFUSED: Duration = Duration::from_secs(60);
/// The pause before a mail is tried again that was not sent, and the longest.
const UNSENT_MS: u32 = 5_000;
const LONGEST_MS: u32 = 3_600_000;
/// The pause after an answer of the server that it may take the mail later.
const LATER_MS: u32 = 60_000;
/// The time for a copy in the mailbox of sent mail.
const COPY: Duration = Duration::from_secs(30);

/// A mailbox.
pub(crate) struct MailAccount {
    api: Rc<Api>,
    imap: Server,
    smtp: Server,
    own: Own,
    inbox: RefCell<Option<Inbox<Connection>>>,
    /// The mail that is fetched, and how often that failed.
    trying: Cell<(u32, u32)>,
    /// The mails with files of the last poll, by UID.
    mails: RefCell<HashMap<u32, Vec<u8>>>,
    origins: RefCell<HashMap<String, Origin>>,
    answers: Mutex<Answers>,
    sending: Semaphore,
}

impl MailAccount {
    pub(crate) fn new(api: Api, account: &ChannelAccount) -> Self {
        let mail = account.mail.as_ref();
        let own = mail.map(|mail| mail.address.to_ascii_lowercase()).unwrap_or_default();
        let server = |protocol, at: Option<(&str, bool)>| Server {
            protocol,
            at: at.map(|(at, _)| at.to_owned()).unwrap_or_default(),
            upgrade: at.is_some_and(|(_, upgrade)| upgrade),
            name: own.split('@').nth(1).unwrap_or("localhost").to_owned(),
            login: mail.map(|mail| mail.login.clone()).unwrap_or_default(),
            secret: Name::clip(&account.secret),
        };
        let authserv = mail.and_then(|mail| mail.authserv.clone());
        if authserv.is_none() {
            tracing::warn!(
                channel = %api.account(),
                "no authserv is set: no sender is proven, and no mail is taken in"
            );
        }
        Self {
            imap: server(LineProtocol::Imap, mail.map(|mail| (mail.imap.at.as_str(), mail.imap.upgrade))),
            smtp: server(LineProtocol::Smtp, mail.map(|mail| (mail.smtp.at.as_str(), mail.smtp.upgrade))),
            own: Own { address: own.clone(), authserv },
            api: Rc::new(api),
            inbox: RefCell::default(),
            trying: Cell::default(),
            mails: RefCell::default(),
            origins: RefCell::default(),
            answers: Mutex::default(),
            sending: Semaphore::new(AT_ONCE),
        }
    }

    async fn session(&self) -> Result<Session<Connection>, Unread> {
        let line = Connection::open(Rc::clone(&self.api), &self.imap).await?;
        Ok(Session::begin(line).await?)
    }

    async fn polled(&self, cursor: Option<&str>, held: bool) -> Result<Polled, Unread> {
        let taken = self.inbox.borrow_mut().take().filter(|_| held);
        let mut inbox = match taken {
            Some(inbox) => inbox,
            None => Inbox::open(Connection::open(Rc::clone(&self.api), &self.imap).await?).await?,
        };
        self.mails.borrow_mut().clear();
        let (uid, failures) = self.trying.get();
        let reading = Reading {
            own: &self.own,
            now: now(),
            skip: (failures >= PATIENCE).then_some(uid),
            keep: &|read, uid| self.remember(read, uid),
            trying: &|uid| {
                if self.trying.get().0 != uid {
                    self.trying.set((uid, 0));
                }
            },
        };
        let polled = inbox.poll(cursor, held, &reading).await;
        match &polled {
            Ok(_) => *self.inbox.borrow_mut() = Some(inbox),
            // A line that is lost says nothing about the mail.
            Err(Fault::Line(_) | Fault::Silent | Fault::Refused(_)) => {}
            Err(Fault::Malformed) => {
                let (uid, failures) = self.trying.get();
                self.trying.set((uid, failures + 1));
            }
        }
        Ok(polled?)
    }

    fn remember(&self, read: &mut Read, uid: u32) {
        if !read.known {
            return;
        }
        let mail = std::mem::take(&mut read.mail);
        if !mail.is_empty() {
            self.mails.borrow_mut().insert(uid, mail);
        }
        let mut origins = self.origins.borrow_mut();
        if origins.len() >= ORIGINS {
            origins.clear();
        }
        let thread = read.inbound.conversation.thread.as_ref().map_or("", |thread| thread.as_str());
        for key in [read.inbound.message.as_str(), thread] {
            origins.insert(key.to_owned(), read.origin.clone());
        }
    }

    /// The origin of an answer: remembered, or read back from the server. An answer without one goes as a mail of its own.
    async fn origin(&self, claim: &Claim) -> Origin {
        let message = claim.reply_to.as_ref().map(Text::as_str);
        let thread = claim.conversation.thread.as_ref().map_or("", |thread| thread.as_str());
        if let Some(origin) = self.origins.borrow().get(message.unwrap_or(thread)) {
            return origin.clone();
        }
        let read = async {
            let mut session = self.session().await?;
            Ok::<_, Unread>(match message {
                Some(message) => session.origin(message).await?,
                None => sent::origin(&mut session, &format!("{}0.", delivery_mark(claim))).await?,
            })
        };
        let found = read.await.ok().flatten().unwrap_or_default();
        let named = message.filter(|message| message.starts_with('<')).map(str::to_owned);
        Origin { message_id: found.message_id.clone().or(named), ..found }
    }

    /// Takes a place for an answer among those of the last hour.
    async fn place(&self, answer: Answered) -> Result<bool, Outcome> {
        let mut answers = self.answers.lock().await;
        if !answers.complete {
            let read = async {
                let mut session = self.session().await?;
                Ok::<_, Unread>(sent::lately(&mut session, answer.at).await?)
            };
            // Without what was answered before, two programs could answer each other for ever.
            let Ok(before) = read.await else { return Err(Outcome::Unsent { after_ms: UNSENT_MS }) };
            answers.add(before);
            answers.complete = true;
        }
        answers.take(answer).map_err(|wait| Outcome::Unsent {
            after_ms: u32::try_from(wait.as_millis()).unwrap_or(LONGEST_MS),
        })
    }

    async fn send(&self, claim: &Claim, to: &str) -> Sending {
        let Ok(_permit) = self.sending.acquire().await else { return Sending::Unsent };
        let id = message_id(claim, &self.own.address);
        let origin = self.origin(claim).await;
        let Some(mail) = compose(claim, &origin, &self.own.address, &id, now()) else {
            return Sending::Refused(0);
        };
        // A login that fails has sent no mail.
        let Ok(line) = Connection::open(Rc::clone(&self.api), &self.smtp).await else {
            return Sending::Unsent;
        };
        let sending = smtp::send(line, (&self.own.address, to), &mail).await;
        if sending == Sending::Accepted {
            let copy = async {
                let mut session = self.session().await?;
                Ok::<_, Unread>(sent::keep(&mut session, &id, &mail).await?)
            };
            if !matches!(tokio::time::timeout(COPY, copy).await, Ok(Ok(()))) {
                tracing::warn!(channel = %self.api.account(), "a mail was sent, and no copy of it was kept");
            }
        }
        sending
    }
}

impl Platform for MailAccount {
    const PROCESS: manifest::Process = manifest::Process::Email;
    const FACTS: Facts = EMAIL;

    fn make(api: Api, account: &ChannelAccount, _: &Host) -> Self {
        Self::new(api, account)
    }

    fn own_id(&self) -> Option<Text<128>> {
        Some(Text::clip(&self.own.address))
    }

    async fn poll(&self, cursor: Option<&str>, held: bool) -> Result<Polled, PollFault> {
        self.polled(cursor, held).await.map_err(|unread| unread.fault(self.api.account()))
    }

    /// A file is in its mail, which was fetched whole; it is decoded once router wants it.
    async fn open_file(&self, source: &str) -> Result<Source, NoFile> {
        let mails = self.mails.borrow();
        let place = source.split_once('/').and_then(|(uid, number)| Some((uid.parse().ok()?, number)));
        let found = place.and_then(|(uid, number)| Some((mails.get::<u32>(&uid)?, number.parse().ok()?)));
        let bytes = found.and_then(|(mail, number)| file(mail, number));
        bytes.map(Source::Bytes).ok_or(NoFile::Missed(Missed::Gone))
    }

    async fn put(&self, claim: &Claim) -> Outcome {
        let Some(to) = address(&claim.conversation.id) else {
            return refused("the sender has no address that can be answered");
        };
        let delivery = claim.piece.delivery.0;
        let fresh = match self.place(Answered { thread: thread(claim), delivery, at: now() }).await {
            Ok(fresh) => fresh,
            Err(outcome) => return outcome,
        };
        let sending = self.send(claim, &to).await;
        if fresh && !matches!(sending, Sending::Accepted | Sending::Unknown) {
            self.answers.lock().await.give_back(delivery);
        }
        let after = |first: u32| first.saturating_mul(1 << claim.attempt.min(10)).min(LONGEST_MS);
        match sending {
            Sending::Accepted => Outcome::Sent { id: Text::clip(&message_id(claim, &self.own.address)) },
            Sending::Later(_) => Outcome::Unsent { after_ms: after(LATER_MS) },
            Sending::Refused(code) => refused(&format!("the mail server refused the message ({code})")),
            Sending::Unsent => Outcome::Unsent { after_ms: after(UNSENT_MS) },
            Sending::Unknown => Outcome::Unknown,
        }
    }

    /// Looks in the mailbox of sent mail, where many servers put a copy by themselves. A copy proves that the server has the mail;
    /// nothing proves that it has not.
    async fn find(&self, claim: &Claim) -> Found {
        let id = message_id(claim, &self.own.address);
        let read = async {
            let mut session = self.session().await?;
            Ok::<_, Unread>(sent::holds(&mut session, &id).await?)
        };
        match tokio::time::timeout(COPY, read).await {
            Ok(Ok(true)) => Found::Sent(Text::clip(&id)),
            Ok(_) | Err(_) => Found::Cannot,
        }
    }
}

/// The time, unix seconds.
fn now() -> i64 {
    i64::try_from(kit::now_ms() / 1000).unwrap_or(i64::MAX)
}

/// The reason for which the server was not read.
#[derive(Debug, thiserror::Error)]
enum Unread {
    /// There was no line to it.
    #[error("{0}")]
    Lost(#[from] Lost),
    /// The session is over.
    #[error("{0}")]
    Fault(#[from] Fault),
}

impl Unread {
    fn fault(&self, account: &str) -> PollFault {
        match self {
            Self::Lost(Lost::Unsent(CredError::Login)) => PollFault {
                link: Link::Refused,
                reason: format!(
                    "the mail server refuses the login; give the password again: agentctl channel add email {account}"
                ),
                after: Some(REFUSED),
            },
            // A password that no line can hold.
            Self::Lost(lost @ Lost::Unsent(CredError::BadHeader)) => {
                PollFault { link: Link::Refused, reason: lost.to_string(), after: None }
            }
            Self::Lost(lost) => lost.fault(SERVER),
            Self::Fault(fault) => PollFault {
                link: Link::Down,
                reason: format!("{SERVER} cannot be reached: {fault}"),
                after: None,
            },
        }
    }
}
