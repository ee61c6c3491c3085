//! A bot: the platform of an account.

use crate::cursor::Cursor;
use crate::find::{Tried, id};
use crate::gateway::Gateway;
use crate::inbox::{Came, Inbox};
use crate::message::{add, pressed};
use crate::payload::{Event, Me, me};
use crate::reply::{Failure, UNREAD, outcome, poll_fault};
use crate::request::{aside, edit, preview, send, target};
use crate::rest::{Ask, Rest};
use crate::scenes::Scenes;
use crate::watch::Watch;
use channel::{Api, DISCORD, Facts, Found, Lost, NoFile, Platform, PollFault, Polled, Source};
use ipc_proto::channel::{BATCH, Body, Claim, Conversation, Link, Outcome, Piece, PressAnswer};
use ipc_proto::config::ChannelAccount;
use ipc_proto::credproxy::Verb;
use ipc_proto::{Name, Text};
use kit::Host;
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

/// The hold of a poll for which there is nothing.
const HOLD: Duration = Duration::from_secs(50);
/// The pause before an edit is tried again: an edit that may have had its effect has no other when it is repeated.
const EDIT_AGAIN_MS: u32 = 1_000;
/// The longest wait for the limit of a request that matters, and of one that does not.
const PATIENCE: Duration = Duration::from_secs(5);
const SHORT: Duration = Duration::from_millis(500);
/// The wait for the event of a preview.
const ARRIVES: Duration = Duration::from_secs(1);
/// Channels with a preview that may have been sent.
const UNSURE: usize = 256;
/// Presses of one poll.
const PRESSES: usize = 16;

/// A bot.
pub(crate) struct Bot {
    account: Name,
    rest: Rc<Rest>,
    gateway: Gateway,
    watch: Rc<Watch>,
    scenes: Scenes,
    tried: RefCell<Tried>,
    me: RefCell<Option<Me>>,
    previews: Cell<u64>,
    /// The marks of previews that may have been sent, by their channels.
    unsure: RefCell<HashMap<String, String>>,
}

impl Bot {
    /// The bot of an account.
    pub(crate) fn new(api: Api, account: &ChannelAccount) -> Self {
        let (name, secret) = (api.account().clone(), Name::clip(&account.secret));
        let api = Rc::new(api);
        let rest = Rc::new(Rest::new(Rc::clone(&api), secret.clone(), account.base_url.as_deref()));
        let watch = Rc::new(Watch::new(Rc::clone(&rest)));
        let noticing = Rc::clone(&watch);
        let notice = Rc::new(move |event: &Event| noticing.notice(event));
        let gateway = Gateway::new(api, Rc::clone(&rest), name.clone(), secret, notice);
        Self {
            account: name,
            rest,
            gateway,
            watch,
            scenes: Scenes::default(),
            tried: RefCell::default(),
            me: RefCell::default(),
            previews: Cell::new(getrandom::u64().unwrap_or_default()),
            unsure: RefCell::default(),
        }
    }

    pub(crate) fn rest(&self) -> &Rest {
        &self.rest
    }

    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    pub(crate) const fn tried(&self) -> &RefCell<Tried> {
        &self.tried
    }

    pub(crate) const fn account(&self) -> &Name {
        &self.account
    }

    /// The bot itself; Discord is asked once.
    async fn me(&self) -> Result<Me, Failure> {
        if let Some(me) = self.me.borrow().clone() {
            return Ok(me);
        }
        let user = self.rest.ask(Ask::get(("me", ""), "/users/@me".to_owned()), PATIENCE).await?;
        let asked = Ask::get(("application", ""), "/applications/@me".to_owned());
        let application = match self.rest.ask(asked, PATIENCE).await {
            Ok(application) => Some(application),
            Err(Failure::Refused(refusal)) if refusal.status != 401 => None,
            Err(failure) => return Err(failure),
        };
        let me = me(&user, application.as_ref()).ok_or(Lost::Unknown)?;
        self.watch.is(me.id);
        *self.me.borrow_mut() = Some(me.clone());
        Ok(me)
    }

    async fn events(&self, text: Option<&str>, held: bool) -> Result<Polled, PollFault> {
        let fault = |failure: Failure| poll_fault(&failure, &self.account);
        let me = self.me().await.map_err(fault)?;
        let mut cursor = Cursor::read(text, me.id);
        let mut inbox = self.gateway.connected(&mut cursor, &me).await?;
        let mut polled = match self.missed(&mut cursor, &me).await? {
            Some(polled) => polled,
            None => {
                let begun = text != Some(cursor.write().as_str());
                if held
                    && !begun
                    && tokio::time::timeout(HOLD, inbox.until_beyond(cursor.seq())).await.is_ok()
                {
                    inbox = self.gateway.connected(&mut cursor, &me).await?;
                }
                if cursor.owed().is_some() {
                    // Another session has begun: what came between the two is fetched before what comes now.
                    Polled::default()
                } else {
                    self.scenes.look_up(&inbox, &self.rest).await.map_err(fault)?;
                    self.take(&inbox, &mut cursor, &me)
                }
            }
        };
        let written = cursor.write();
        polled.cursor = (text != Some(written.as_str())).then_some(written);
        Ok(polled)
    }

    /// The events that wait, and the position after them. One that came since the channels were looked up, in a channel that was not,
    /// waits for the next poll.
    fn take(&self, inbox: &Inbox, cursor: &mut Cursor, me: &Me) -> Polled {
        let mut polled = Polled { malformed: inbox.take_malformed(), ..Polled::default() };
        let seq = inbox.each(|came| {
            if polled.messages.len() >= BATCH || polled.presses.len() >= PRESSES {
                return false;
            }
            match came {
                Came::Message(message, edit) => {
                    let Some(scene) = self.scenes.of_message(message) else { return false };
                    if !edit {
                        cursor.note(message.channel_id.0, message.id.0, scene);
                    }
                    add(&mut polled, message, scene, *edit, me.id);
                }
                Came::Press(press) => {
                    let Some(scene) = self.scenes.of_press(press) else { return false };
                    polled.presses.extend(pressed(press, scene));
                }
            }
            true
        });
        cursor.advance(seq);
        polled
    }

    async fn send(&self, claim: &Claim) -> Outcome {
        self.tried.borrow_mut().now(claim.piece);
        let channel = target(&claim.conversation);
        let sent = outcome(&self.rest.ask(Ask::send(claim, channel, &send(claim)), PATIENCE).await);
        if sent != Outcome::Unknown {
            self.tried.borrow_mut().over(claim.piece);
        }
        sent
    }

    fn fresh_mark(&self) -> String {
        self.previews.set(self.previews.get().wrapping_add(1));
        format!("p{:x}", self.previews.get())
    }

    /// The preview in a channel that may have been sent, if it was.
    async fn lost_preview(&self, channel: &str) -> Option<Text<128>> {
        let mark = self.unsure.borrow_mut().remove(channel)?;
        self.watch.arrived(&mark, ARRIVES).await.map(|id| Text::clip(&id.to_string()))
    }

    async fn change(
        &self,
        conversation: &Conversation,
        message: &str,
        body: &serde_json::Value,
    ) -> Result<(), Failure> {
        let channel = target(conversation);
        let path = format!("/channels/{channel}/messages/{message}");
        self.rest.ask(Ask::json(Verb::Patch, ("edit", channel), path, body), PATIENCE).await.map(drop)
    }
}

impl Platform for Bot {
    const PROCESS: manifest::Process = manifest::Process::Discord;
    const FACTS: Facts = DISCORD;

    fn make(api: Api, account: &ChannelAccount, _: &Host) -> Self {
        Self::new(api, account)
    }

    fn own_id(&self) -> Option<Text<128>> {
        self.me.borrow().as_ref().map(|me| Text::clip(&me.id.to_string()))
    }

    fn limitation(&self) -> Option<String> {
        self.me.borrow().as_ref().filter(|me| !me.reads).map(|_| UNREAD.to_owned())
    }

    async fn poll(&self, cursor: Option<&str>, held: bool) -> Result<Polled, PollFault> {
        let polled = self.events(cursor, held).await;
        if let Err(PollFault { link: Link::Refused, .. }) = &polled {
            // Another token may be another bot, and this one may be allowed more by now.
            *self.me.borrow_mut() = None;
        }
        polled
    }

    async fn open_file(&self, source: &str) -> Result<Source, NoFile> {
        self.rest.file(source).await
    }

    async fn put(&self, claim: &Claim) -> Outcome {
        let first = claim.piece.number == 0;
        let lost = if first { self.lost_preview(target(&claim.conversation)).await } else { None };
        let (Some(message), Body::Text(text)) = (claim.edits.clone().or(lost), &claim.content.body) else {
            return self.send(claim).await;
        };
        match self.change(&claim.conversation, &message, &edit(text, &claim.buttons)).await {
            Ok(()) => Outcome::Sent { id: message },
            Err(Failure::Refused(refusal)) if refusal.is_gone() => self.send(claim).await,
            Err(Failure::Lost(Lost::Unknown)) => Outcome::Unsent { after_ms: EDIT_AGAIN_MS },
            Err(failure) => outcome(&Err(failure)),
        }
    }

    async fn find(&self, claim: &Claim) -> Found {
        let found = self.find_piece(claim).await;
        self.tried.borrow_mut().over(claim.piece);
        found
    }

    async fn preview(
        &self,
        conversation: &Conversation,
        piece: &Piece,
        edits: Option<&Text<128>>,
    ) -> Option<Text<128>> {
        let Body::Text(text) = &piece.body else { return None };
        if let Some(message) = edits {
            return self.change(conversation, message, &edit(text, &[])).await.ok().map(|()| message.clone());
        }
        let channel = target(conversation);
        // A preview that may have been sent is asked for again under its mark, which makes no second one.
        let mark = self.unsure.borrow().get(channel).cloned().unwrap_or_else(|| self.fresh_mark());
        let (route, path) = (("send", channel), format!("/channels/{channel}/messages"));
        let sent = self.rest.ask(Ask::json(Verb::Post, route, path, &preview(text, &mark)), SHORT).await;
        let mut unsure = self.unsure.borrow_mut();
        if sent == Err(Lost::Unknown.into()) && unsure.len() < UNSURE {
            unsure.insert(channel.to_owned(), mark);
        } else if sent.is_ok() {
            unsure.remove(channel);
        }
        sent.ok().as_ref().and_then(id)
    }

    async fn typing(&self, conversation: &Conversation) {
        let channel = target(conversation);
        let ask =
            Ask::json(Verb::Post, ("typing", channel), format!("/channels/{channel}/typing"), &json!({}));
        // A sign that is not shown is no loss.
        drop(self.rest.ask(ask, SHORT).await);
    }

    async fn answer(&self, id: &str, answer: &PressAnswer) {
        let Some((_, token)) = id.split_once('/') else { return };
        self.watch.noticed(token).await;
        let ask = Ask::json(Verb::Post, ("aside", token), format!("/webhooks/{id}"), &aside(&answer.text));
        // A press that is answered too late is refused; its effect is done.
        drop(self.rest.ask(ask.unsigned(), PATIENCE).await);
    }
}
