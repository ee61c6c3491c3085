//! A time without a socket: what was written then is read from the history of each conversation. Without the scopes for that it is
//! lost, but for what Slack itself sends again.

use crate::cursor::{Cursor, Me, Place, Ts, is_id};
use crate::event::{Message, of_history};
use crate::failure::Failure;
use crate::find::next_page;
use crate::web::Web;
use channel::Lost;
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Pages of one conversation, and messages of a page.
const PAGES: usize = 10;
const PAGE: &str = "100";
/// Conversations that are read after one gap.
const CONVERSATIONS: usize = 200;
/// The longest time for one conversation: what comes by the sockets waits meanwhile.
const REQUEST: Duration = Duration::from_secs(10);
/// The pause after a request that failed.
const AGAIN: Duration = Duration::from_secs(5);

/// A gap while it is filled.
pub(crate) struct Gap {
    /// True until the conversations of the account were listed.
    unlisted: bool,
    targets: VecDeque<Place>,
    known: BTreeSet<Place>,
    found: VecDeque<Message>,
    malformed: u32,
    due: Instant,
    /// Everything before it is read once the gap is filled.
    until: Ts,
}

impl Gap {
    /// A gap that ends at this time, and is to be filled from a cursor.
    pub(crate) fn new(cursor: &Cursor, until: Ts) -> Self {
        let targets: VecDeque<Place> = cursor.places().into();
        let known = targets.iter().cloned().collect();
        let (found, due) = (VecDeque::new(), Instant::now());
        Self { unlisted: true, targets, known, found, malformed: 0, due, until }
    }

    /// The time of the next request.
    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    /// Messages that were found, oldest first, at most so many, and the entries that could not be read.
    pub(crate) fn take(&mut self, most: usize) -> (Vec<Message>, u32) {
        let count = self.found.len().min(most);
        (self.found.drain(..count).collect(), std::mem::take(&mut self.malformed))
    }

    /// Returns true while the conversation of this place is to be read: its place in the cursor stays.
    pub(crate) fn covers(&self, place: &Place) -> bool {
        self.unlisted || self.targets.iter().any(|target| target.channel == place.channel)
    }

    /// The time up to which everything is read, once it is.
    pub(crate) fn filled(&self) -> Option<Ts> {
        let filled = !self.unlisted && self.targets.is_empty() && self.found.is_empty();
        filled.then_some(self.until)
    }

    /// Asks for the conversations, or for the messages of the next one.
    ///
    /// # Errors
    /// [`Failure::Refused`] if the token is refused; after another failure it goes on later.
    pub(crate) async fn step(&mut self, web: &Web, me: &Me, cursor: &Cursor) -> Result<(), Failure> {
        let request = async {
            if self.unlisted {
                self.list(web).await
            } else if let Some(place) = self.targets.front().cloned() {
                self.read(web, me, &place, cursor.from(&place)).await
            } else {
                Ok(())
            }
        };
        let done = timeout(REQUEST, request).await.unwrap_or(Err(Lost::Unknown.into()));
        match done {
            Ok(()) => Ok(()),
            Err(Failure::Refused(refusal)) if refusal.is_of_token() => Err(Failure::Refused(refusal)),
            Err(Failure::Refused(refusal)) => {
                // A conversation that cannot be read, or a scope that was not given, stops no other one.
                tracing::warn!(why = refusal.word, needed = refusal.needed, "no history is read here");
                self.skip();
                Ok(())
            }
            Err(Failure::Wait(seconds)) => {
                self.due = Instant::now() + Duration::from_secs(seconds.into());
                Ok(())
            }
            Err(_) => {
                self.due = Instant::now() + AGAIN;
                Ok(())
            }
        }
    }

    fn skip(&mut self) {
        if self.unlisted {
            self.unlisted = false;
        } else {
            self.targets.pop_front();
        }
    }

    fn add(&mut self, place: Place) {
        if self.known.len() < CONVERSATIONS && self.known.insert(place.clone()) {
            self.targets.push_back(place);
        }
    }

    /// Adds the conversations that the account is in.
    async fn list(&mut self, web: &Web) -> Result<(), Failure> {
        let mut next = String::new();
        for _ in 0..PAGES {
            let arguments = [
                ("types", "im,mpim,private_channel,public_channel"),
                ("exclude_archived", "true"),
                ("limit", PAGE),
                ("cursor", next.as_str()),
            ];
            let page = web.form("users.conversations", &arguments).await?;
            let channels = page.get("channels").and_then(Value::as_array).ok_or(Lost::Unknown)?;
            let ids = channels.iter().filter_map(|channel| channel.get("id")?.as_str());
            for id in ids.filter(|id| is_id(id)) {
                self.add(Place { channel: id.to_owned(), thread: None });
            }
            match next_page(&page) {
                Some(cursor) => next = cursor,
                None => break,
            }
        }
        self.unlisted = false;
        Ok(())
    }

    /// Reads a conversation from this time.
    async fn read(&mut self, web: &Web, me: &Me, place: &Place, from: Ts) -> Result<(), Failure> {
        let (oldest, thread) = (from.to_string(), place.thread.map(|thread| thread.to_string()));
        let (mut next, mut found) = (String::new(), Vec::new());
        for _ in 0..PAGES {
            let mut arguments = vec![
                ("channel", place.channel.as_str()),
                ("oldest", oldest.as_str()),
                ("limit", PAGE),
                ("cursor", next.as_str()),
            ];
            arguments.extend(thread.as_deref().map(|thread| ("ts", thread)));
            let method = if thread.is_some() { "conversations.replies" } else { "conversations.history" };
            let page = web.form(method, &arguments).await?;
            let entries = page.get("messages").and_then(Value::as_array).ok_or(Lost::Unknown)?;
            for entry in entries {
                match of_history(entry, &place.channel, me) {
                    Ok((message, below)) => {
                        found.extend(message.filter(|message| message.ts > from));
                        let below = below.filter(|_| thread.is_none());
                        below.into_iter().for_each(|thread| {
                            self.add(Place { channel: place.channel.clone(), thread: Some(thread) });
                        });
                    }
                    Err(_) => self.malformed = self.malformed.saturating_add(1),
                }
            }
            match next_page(&page) {
                Some(cursor) => next = cursor,
                None => break,
            }
        }
        found.sort_by_key(|message| message.ts);
        self.found.extend(found);
        self.targets.pop_front();
        Ok(())
    }
}
