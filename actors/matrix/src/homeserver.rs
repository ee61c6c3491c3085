//! A user of a homeserver: the platform of an account.

use crate::api::Api;
use crate::content;
use crate::cursor::{Me, Position};
use crate::event::{file_address, inbound};
use crate::reply::{Failure, Kind, outcome, poll_fault};
use crate::rooms::Rooms;
use crate::sync::{self, Joined, Sync};
use crate::timeline;
use channel::{
    Facts, Invitation, Lost, MATRIX, NoFile, Platform, PollFault, Polled, Source, media_type,
    percent_encoded, refused,
};
use ipc_proto::channel::{BATCH, Body, Claim, Conversation, ConversationKind, Inbound, Outcome, Piece};
use ipc_proto::config::ChannelAccount;
use ipc_proto::credproxy::Verb;
use ipc_proto::{Name, Text};
use kit::Host;
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// Events of each room in one sync. Fewer are asked for after a reply that did not come or was too long.
const EVENTS: u32 = 20;
/// The time after which a sync is stalled.
const STALLED: Duration = Duration::from_secs(90);
/// Tries to join a room whose homeserver does not answer.
const TRIES: u32 = 5;
/// The pause between two of them.
const PAUSE: Duration = Duration::from_secs(2);
/// Rooms whose state is remembered.
const REMEMBERED: usize = 256;

/// The news of one sync, until router has accepted all of it.
struct Pending {
    position: Position,
    next: Position,
    /// Each with the address of its file, if it has one.
    messages: Vec<(Inbound, String)>,
    invitations: Vec<Invitation>,
    malformed: u32,
}

/// A user of a homeserver.
pub(crate) struct Homeserver {
    api: Api,
    me: RefCell<Option<Me>>,
    rooms: Rooms,
    pending: RefCell<Option<Pending>>,
    events: Cell<u32>,
    typing: RefCell<HashSet<String>>,
    joins: RefCell<HashMap<String, u32>>,
}

impl Homeserver {
    pub(crate) fn new(api: Api) -> Self {
        Self {
            api,
            me: RefCell::default(),
            rooms: Rooms::default(),
            pending: RefCell::default(),
            events: Cell::new(EVENTS),
            typing: RefCell::default(),
            joins: RefCell::default(),
        }
    }

    /// The account itself; the homeserver is asked once.
    async fn me(&self) -> Result<Me, Failure> {
        if let Some(me) = self.me.borrow().clone() {
            return Ok(me);
        }
        let me: Me = self.api.get("/account/whoami").await?;
        *self.me.borrow_mut() = Some(me.clone());
        Ok(me)
    }

    async fn news(&self, cursor: Option<&str>, held: bool) -> Result<Polled, Failure> {
        let me = self.me().await?;
        let position = Position::read(cursor, &me);
        if let Some(polled) = self.rest(&position) {
            return Ok(polled);
        }
        let now_ms = kit::now_ms();
        let (sync, asked) = self.sync(&position, held).await?;
        let mut pending = Pending {
            next: position.next(&sync.next_batch, now_ms),
            position: position.unread(),
            messages: Vec::new(),
            invitations: Vec::new(),
            malformed: 0,
        };
        if pending.next.cursor().is_none() {
            return Err(Lost::Unknown.into());
        }
        for (room, part) in &sync.rooms.join {
            self.room(&me, &asked, (room, part), &mut pending).await?;
        }
        for (room, invited) in &sync.rooms.invite {
            pending.invitations.extend(sync::invitation(room, invited, &me.user_id));
        }
        sync.rooms.leave.keys().for_each(|room| self.rooms.forget(room));
        if pending.next.since == pending.position.since {
            return Ok(Polled::default());
        }
        let position = pending.position.clone();
        *self.pending.borrow_mut() = Some(pending);
        Ok(self.rest(&position).unwrap_or_default())
    }

    /// The messages of the last sync from this position on that router was not given yet.
    fn rest(&self, position: &Position) -> Option<Polled> {
        let pending = self.pending.borrow();
        let pending = pending.as_ref().filter(|pending| pending.position.since == position.since)?;
        let rest = pending.messages.get(position.accepted..)?;
        let taken = rest.len().min(BATCH);
        let next = if taken == rest.len() { pending.next.clone() } else { position.plus(taken) };
        let first = position.accepted == 0;
        let mut polled = Polled {
            invitations: pending.invitations.iter().filter(|_| first).cloned().collect(),
            cursor: next.cursor(),
            malformed: if first { pending.malformed } else { 0 },
            ..Polled::default()
        };
        rest.iter().take(taken).for_each(|(message, file)| polled.take(message.clone(), [file.clone()]));
        Some(polled)
    }

    /// Syncs, and says from which position: a homeserver that does not know the token any more is asked without it.
    async fn sync(&self, position: &Position, held: bool) -> Result<(Sync, Position), Failure> {
        let synced = match self.sync_from(position, held).await {
            Err(Failure::Refused(refusal)) if refusal.status == 400 && !position.since.is_empty() => {
                let position = position.without_token();
                self.sync_from(&position, false).await.map(|sync| (sync, position))
            }
            synced => synced.map(|sync| (sync, position.clone())),
        };
        match &synced {
            Ok(_) => self.events.set(EVENTS),
            Err(Failure::Lost(Lost::Unknown)) => self.events.set((self.events.get() / 4).max(1)),
            Err(_) => {}
        }
        synced
    }

    async fn sync_from(&self, position: &Position, held: bool) -> Result<Sync, Failure> {
        let path = sync::path(position, self.events.get(), held);
        tokio::time::timeout(STALLED, self.api.get(&path)).await.unwrap_or(Err(Lost::Unknown.into()))
    }

    /// Takes the news of a room.
    async fn room(
        &self,
        me: &Me,
        position: &Position,
        (id, part): (&str, &Joined),
        pending: &mut Pending,
    ) -> Result<(), Failure> {
        if part.timeline.limited || part.has("m.room.member") {
            self.rooms.forget(id);
        }
        if !position.since.is_empty() && part.has("m.room.encryption") {
            self.say_encrypted(id).await?;
        }
        let news = timeline::news(&self.api, (position, &me.user_id), id, &part.timeline).await?;
        pending.malformed = pending.malformed.saturating_add(news.malformed);
        if !news.has_message(&me.user_id) {
            return Ok(());
        }
        let Some(room) = self.rooms.room(&self.api, id).await? else { return Ok(()) };
        for event in news.into_events() {
            match inbound(&event, &room, &me.user_id) {
                Ok(message) => {
                    pending.messages.extend(message.map(|message| (message, file_address(&event))))
                }
                Err(()) => pending.malformed = pending.malformed.saturating_add(1),
            }
        }
        Ok(())
    }

    /// Says that nothing can be read in an encrypted room: once, since its transaction has the room's own id.
    async fn say_encrypted(&self, room: &str) -> Result<(), Failure> {
        let transaction = format!("cordon-encrypted-{}", percent_encoded(room));
        match self.api.message(room, &transaction, &content::encrypted()).await {
            Err(Failure::Refused(refusal)) if !matches!(refusal.kind, Kind::Limited(_)) => Ok(()),
            sent => sent.map(drop),
        }
    }

    /// Returns false if somebody has joined a direct conversation: what is meant for one person is sent to no group.
    async fn is_as_it_was(&self, conversation: &Conversation) -> Result<bool, Failure> {
        if conversation.kind == ConversationKind::Group {
            return Ok(true);
        }
        let room = self.rooms.room(&self.api, &conversation.id).await?;
        Ok(room.is_none_or(|room| room.joined <= 2))
    }

    async fn type_in(&self, room: &str, typing: bool) {
        let Some(me) = self.me.borrow().clone() else { return };
        let path = format!("/rooms/{}/typing/{}", percent_encoded(room), percent_encoded(&me.user_id));
        let body = match typing {
            true => json!({ "typing": true, "timeout": Self::FACTS.cadence.typing.as_millis() }),
            false => json!({ "typing": false }),
        };
        // A sign that is not shown is no loss.
        drop(self.api.put(Verb::Put, &path, &body).await);
    }

    /// Counts a try to join a room. Returns false after the last one.
    fn tries_again(&self, room: &str) -> bool {
        let mut joins = self.joins.borrow_mut();
        if joins.len() >= REMEMBERED {
            joins.clear();
        }
        let tries = joins.entry(room.to_owned()).or_default();
        *tries += 1;
        *tries < TRIES
    }
}

impl Platform for Homeserver {
    const PROCESS: manifest::Process = manifest::Process::Matrix;
    const FACTS: Facts = MATRIX;

    fn make(api: channel::Api, account: &ChannelAccount, _: &Host) -> Self {
        // The configuration has one for every account of this platform.
        let server = account.base_url.as_deref().unwrap_or_default();
        Self::new(Api::new(api, Name::clip(&account.secret), server))
    }

    fn own_id(&self) -> Option<Text<128>> {
        self.me.borrow().as_ref().map(|me| Text::clip(&me.user_id))
    }

    async fn poll(&self, cursor: Option<&str>, held: bool) -> Result<Polled, PollFault> {
        let polled = self.news(cursor, held).await;
        polled.map_err(|failure| {
            if failure.is(Kind::Token) {
                // Another token may be of another device, or of another user.
                *self.me.borrow_mut() = None;
            }
            poll_fault(&failure, self.api.account())
        })
    }

    async fn open_file(&self, source: &str) -> Result<Source, NoFile> {
        self.api.file(source).await
    }

    async fn join(&self, invitation: &Invitation) -> Result<(), Duration> {
        let again = match self.api.join(&invitation.conversation).await {
            Err(Failure::Refused(refusal)) => match refusal.kind {
                Kind::Limited(wait) => Some(Duration::from_millis(wait.into())),
                _ => None,
            },
            Err(_) if self.tries_again(&invitation.conversation) => Some(PAUSE),
            Ok(()) | Err(_) => None,
        };
        again.map_or(Ok(()), Err)
    }

    async fn put(&self, claim: &Claim) -> Outcome {
        let room = claim.conversation.id.as_str();
        match self.is_as_it_was(&claim.conversation).await {
            Ok(true) => {}
            Ok(false) => return refused("somebody has joined the conversation, which is no longer direct"),
            Err(failure) => return outcome(Err(failure)),
        }
        let content = match &claim.content.body {
            Body::Text(text) => content::text(text, &claim.content.markup),
            Body::File { name, bytes } => {
                let kind = media_type(bytes);
                match self.api.upload(name, kind, bytes).await {
                    Ok(address) => content::file(name, kind, bytes.len(), &address),
                    Err(failure) => return outcome(Err(failure)),
                }
            }
        };
        let content = match &claim.edits {
            Some(message) => content::edit(content, message),
            None => content::related(content, claim),
        };
        let sent = outcome(self.api.message(room, &content::transaction(claim), &content).await);
        if !matches!(sent, Outcome::Sent { .. }) {
            return sent;
        }
        if self.typing.borrow_mut().remove(room) {
            self.type_in(room, false).await;
        }
        claim.edits.clone().map_or(sent, |id| Outcome::Sent { id })
    }

    async fn preview(
        &self,
        conversation: &Conversation,
        piece: &Piece,
        edits: Option<&Text<128>>,
    ) -> Option<Text<128>> {
        let Body::Text(text) = &piece.body else { return None };
        self.is_as_it_was(conversation).await.ok().filter(|as_it_was| *as_it_was)?;
        let mut content = content::text(text, &piece.markup);
        if let Some(message) = edits {
            content = content::edit(content, message);
        } else if let Some(root) = &conversation.thread {
            content = content::in_thread(content, root);
        }
        let digest = content::digest(conversation, &[text.as_bytes()]);
        let transaction = format!("cordon-preview-{}-{digest}", kit::now_ms());
        self.api.message(&conversation.id, &transaction, &content).await.ok()
    }

    async fn typing(&self, conversation: &Conversation) {
        {
            let mut typing = self.typing.borrow_mut();
            if typing.len() >= REMEMBERED {
                typing.clear();
            }
            typing.insert(conversation.id.to_string());
        }
        self.type_in(&conversation.id, true).await;
    }
}
