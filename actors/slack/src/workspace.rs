//! A workspace: the platform of an account.

use crate::cursor::{Me, Ts, is_id};
use crate::failure::{Failure, Kind, Refusal, outcome, poll_fault};
use crate::find::look;
use crate::receiver::Receiver;
use crate::request;
use crate::upload;
use crate::web::Web;
use channel::{Api, Facts, Found, Lost, NoFile, Platform, PollFault, Polled, SLACK, Source};
use ipc_proto::Text;
use ipc_proto::channel::{Body, Claim, Conversation, Outcome, Piece, PressAnswer};
use ipc_proto::config::ChannelAccount;
use kit::Host;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Mutex;

/// The pause before an edit is tried again: an edit that may have had its effect has no other when it is repeated.
const EDIT_AGAIN_MS: u32 = 1_000;
/// The pauses before each look for a piece of unknown outcome: what was under way may arrive between them.
const LOOKS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];
/// Tries of each look.
const TRIES: u32 = 5;
/// The time before now in which a piece may have been sent: after a day it expires, and clocks differ.
const PAST: Duration = Duration::from_secs(25 * 3600);

/// A workspace.
pub(crate) struct Workspace {
    web: Rc<Web>,
    me: RefCell<Option<Me>>,
    /// Set once the token was refused.
    doubted: Cell<bool>,
    receiver: Mutex<Receiver>,
}

impl Workspace {
    pub(crate) fn new(web: Web) -> Self {
        let web = Rc::new(web);
        let receiver = Mutex::new(Receiver::new(Rc::clone(&web)));
        Self { web, me: RefCell::default(), doubted: Cell::default(), receiver }
    }

    /// The account itself; Slack is asked once.
    async fn me(&self) -> Result<Me, Failure> {
        if let Some(me) = self.me.borrow().clone() {
            return Ok(me);
        }
        let own = self.web.form("auth.test", &[]).await?;
        let id = |key: &str| own.get(key).and_then(Value::as_str).filter(|id| is_id(id)).map(str::to_owned);
        let (Some(team), Some(user)) = (id("team_id"), id("user_id")) else {
            return Err(Lost::Unknown.into());
        };
        let me = Me { team, user, bot: id("bot_id").unwrap_or_default() };
        *self.me.borrow_mut() = Some(me.clone());
        Ok(me)
    }

    async fn news(&self, cursor: Option<&str>, held: bool) -> Result<Polled, Failure> {
        let mut receiver = self.receiver.lock().await;
        if self.doubted.take() || receiver.is_closed() {
            // The token is tried again, and another token may be another account's.
            *self.me.borrow_mut() = None;
        }
        let me = self.me().await?;
        let polled = receiver.poll(&me, cursor, held).await;
        if matches!(polled, Err(Failure::NoSocket(_))) {
            // A bot's token that is refused as well is the reason to give.
            *self.me.borrow_mut() = None;
            self.me().await?;
        }
        polled
    }

    /// Calls a method that sends. A token that is refused is tried by the next poll, which says so.
    async fn call(&self, method: &str, arguments: &Value) -> Result<Value, Failure> {
        let called = self.web.json(method, arguments).await;
        if matches!(&called, Err(Failure::Refused(refusal)) if refusal.is_of_token()) {
            self.doubted.set(true);
        }
        called
    }

    async fn send(&self, claim: &Claim) -> Outcome {
        match &claim.content.body {
            Body::Text(text) => sent(self.call("chat.postMessage", &request::post(claim, text)).await),
            Body::File { name, bytes } => upload::send(&self.web, claim, name, bytes).await,
        }
    }

    /// Looks for a piece once, and again while the history cannot be read.
    async fn look(&self, claim: &Claim) -> Found {
        for attempt in 1..=TRIES {
            let looked = match self.me().await {
                Ok(me) => look(&self.web, &me, claim, Ts::ago(PAST)).await,
                Err(failure) => Err(failure),
            };
            match looked {
                Ok(found) => return found,
                Err(Failure::Refused(_)) => return Found::Cannot,
                Err(Failure::Wait(seconds)) => tokio::time::sleep(Duration::from_secs(seconds.into())).await,
                Err(_) => tokio::time::sleep(Duration::from_secs(attempt.into())).await,
            }
        }
        Found::Cannot
    }
}

/// The outcome of a message that was sent.
fn sent(reply: Result<Value, Failure>) -> Outcome {
    match reply.map(|document| document.get("ts").and_then(Value::as_str).and_then(Ts::parse)) {
        Ok(Some(ts)) => Outcome::Sent { id: Text::clip(&ts.to_string()) },
        Ok(None) => Outcome::Unknown,
        Err(failure) => outcome(&failure),
    }
}

impl Platform for Workspace {
    const PROCESS: manifest::Process = manifest::Process::Slack;
    const FACTS: Facts = SLACK;

    fn make(api: Api, account: &ChannelAccount, _: &Host) -> Self {
        Self::new(Web::new(api, account))
    }

    fn own_id(&self) -> Option<Text<128>> {
        self.me.borrow().as_ref().map(|me| Text::clip(&me.user))
    }

    async fn poll(&self, cursor: Option<&str>, held: bool) -> Result<Polled, PollFault> {
        let polled = self.news(cursor, held).await;
        polled.map_err(|failure| poll_fault(&failure, self.web.api().account()))
    }

    async fn open_file(&self, source: &str) -> Result<Source, NoFile> {
        self.web.file(source).await
    }

    async fn put(&self, claim: &Claim) -> Outcome {
        let (Some(ts), Body::Text(text)) = (&claim.edits, &claim.content.body) else {
            return self.send(claim).await;
        };
        match self.call("chat.update", &request::update(claim, ts, text)).await {
            Err(Failure::Refused(Refusal { kind: Kind::Gone, .. })) => self.send(claim).await,
            Err(Failure::Lost(Lost::Unknown)) => Outcome::Unsent { after_ms: EDIT_AGAIN_MS },
            edited => sent(edited),
        }
    }

    async fn find(&self, claim: &Claim) -> Found {
        let mut found = Found::Cannot;
        for pause in LOOKS {
            tokio::time::sleep(pause).await;
            found = self.look(claim).await;
            if found != Found::Missing {
                break;
            }
        }
        found
    }

    async fn preview(
        &self,
        conversation: &Conversation,
        piece: &Piece,
        edits: Option<&Text<128>>,
    ) -> Option<Text<128>> {
        let arguments = request::preview(conversation, piece, edits.map(Text::as_str))?;
        let method = if edits.is_some() { "chat.update" } else { "chat.postMessage" };
        match sent(self.call(method, &arguments).await) {
            Outcome::Sent { id } => Some(id),
            Outcome::Refused { .. } | Outcome::Unsent { .. } | Outcome::Unknown => None,
        }
    }

    async fn answer(&self, id: &str, answer: &PressAnswer) {
        // A press that is answered too late is refused; its effect is done.
        drop(self.web.respond(id, &request::answer(answer)).await);
    }
}
