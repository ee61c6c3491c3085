//! Polls: the news of the sockets as batches, each acknowledged once router has stored it, and what was written while there was no
//! socket.

use crate::cursor::{Cursor, Me, Place, Ts};
use crate::event::Message;
use crate::failure::Failure;
use crate::frame::{self, Content, Frame};
use crate::gap::Gap;
use crate::sockets::{News, Sockets};
use crate::web::Web;
use channel::{Lost, Polled, Pressed};
use ipc_proto::Text;
use ipc_proto::channel::{CURSOR, Inbound};
use ipc_proto::credproxy::Stream;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// The longest time that a poll waits for news.
const HOLD: Duration = Duration::from_secs(50);
/// Messages of one batch, and bytes of their text.
const BATCH: usize = 32;
const BYTES: usize = 2 << 20;
/// After so long without a poll, envelopes may have been given up.
const ABSENT: Duration = Duration::from_secs(30);
/// The clocks of this machine and of Slack may differ by so much.
const SKEW: Duration = Duration::from_secs(120);

/// One thing that came.
struct Item {
    envelope: Option<(Stream, String)>,
    content: Content,
}

/// A batch that was given and is not known to be stored.
struct Unsettled {
    cursor: Text<CURSOR>,
    items: Vec<Item>,
    malformed: u32,
}

/// The receiving half of an account.
pub(crate) struct Receiver {
    web: Rc<Web>,
    sockets: Sockets,
    /// The position, and the account that it is of.
    position: Option<(Cursor, Me)>,
    given: Option<Unsettled>,
    /// True until a first cursor was given.
    unsaved: bool,
    /// Set while messages may have been missed that are not looked for yet.
    missed: bool,
    gap: Option<Gap>,
    last: Instant,
}

impl Receiver {
    pub(crate) fn new(web: Rc<Web>) -> Self {
        let sockets = Sockets::new(Rc::clone(&web));
        let last = Instant::now();
        Self { web, sockets, position: None, given: None, unsaved: false, missed: false, gap: None, last }
    }

    /// Returns true if there is no socket.
    pub(crate) const fn is_closed(&self) -> bool {
        self.sockets.is_empty()
    }

    /// The next batch after this cursor. A batch whose cursor router has is acknowledged, another one is given again.
    ///
    /// # Errors
    /// [`Failure`]: there is no socket, or the token is refused.
    pub(crate) async fn poll(
        &mut self,
        me: &Me,
        cursor: Option<&str>,
        held: bool,
    ) -> Result<Polled, Failure> {
        match self.given.take() {
            Some(given) if cursor == Some(given.cursor.as_str()) => {
                self.acknowledge(given.items);
            }
            Some(mut given) => {
                given.malformed = 0;
                let again = polled(&given);
                self.given = Some(given);
                return Ok(again);
            }
            None => {}
        }
        self.take_up(me, cursor);
        if std::mem::replace(&mut self.last, Instant::now()).elapsed() > ABSENT {
            self.missed = true;
        }
        if self.sockets.is_empty() {
            self.sockets.open().await?;
        }
        if self.unsaved {
            return Ok(self.give(Vec::new(), 0));
        }
        if self.sockets.is_ready() {
            self.look_back();
        }
        let polled = self.gather(me, held).await;
        self.last = Instant::now();
        polled
    }

    /// Takes up the position of a cursor; where there is none, it begins now.
    fn take_up(&mut self, me: &Me, cursor: Option<&str>) {
        if self.position.as_ref().is_some_and(|(_, of)| of == me) {
            return;
        }
        let known = cursor.and_then(|text| Cursor::parse(text, me));
        self.unsaved = known.is_none();
        self.missed = known.is_some();
        self.gap = None;
        self.position = Some((known.unwrap_or_else(|| Cursor::new(Ts::ago(SKEW))), me.clone()));
    }

    fn acknowledge(&self, items: Vec<Item>) {
        self.sockets.acknowledge(items.into_iter().filter_map(|item| item.envelope).collect());
    }

    /// Waits for something to give.
    async fn gather(&mut self, me: &Me, held: bool) -> Result<Polled, Failure> {
        let end = Instant::now() + if held { HOLD } else { Duration::ZERO };
        let (mut items, mut malformed) = (Vec::new(), 0);
        loop {
            if let Some(polled) = self.recovered(me).await? {
                return Ok(polled);
            }
            let until = self.gap.as_ref().map_or(end, |gap| gap.due().min(end));
            let mut news = self.sockets.next(until).await;
            while let Some(one) = news.take() {
                match self.take_in(one, me).await {
                    Ok(item) => items.extend(item),
                    Err(Useless::Malformed) => malformed += 1,
                    Err(Useless::Failed(failure)) if items.is_empty() => return Err(failure),
                    // It comes back by itself; these go first.
                    Err(Useless::Failed(_)) => break,
                }
                if items.len() < BATCH && size(&items) < BYTES {
                    news = self.sockets.waiting();
                }
            }
            if items.iter().all(|item| matches!(item.content, Content::Nothing)) {
                // There is nothing to store.
                self.acknowledge(std::mem::take(&mut items));
            }
            if !items.is_empty() || malformed > 0 {
                return Ok(self.give(items, malformed));
            }
            if Instant::now() >= end {
                return if self.sockets.close_silent() {
                    Err(Lost::Unknown.into())
                } else {
                    Ok(Polled::default())
                };
            }
        }
    }

    /// Messages of a time without a socket, after one more request for them.
    async fn recovered(&mut self, me: &Me) -> Result<Option<Polled>, Failure> {
        let Some((gap, (cursor, _))) = self.gap.as_mut().zip(self.position.as_mut()) else {
            return Ok(None);
        };
        if gap.due() <= Instant::now() {
            gap.step(&self.web, me, cursor).await?;
        }
        let (found, malformed) = gap.take(BATCH);
        if !found.is_empty() || malformed > 0 {
            let content = |message| Content::Message(Box::new(message));
            let item = |message| Item { envelope: None, content: content(message) };
            let items = found.into_iter().map(item).collect();
            return Ok(Some(self.give(items, malformed)));
        }
        let Some(until) = gap.filled() else { return Ok(None) };
        cursor.raise(until);
        self.gap = None;
        Ok(Some(self.give(Vec::new(), 0)))
    }

    /// Takes in news of a socket.
    async fn take_in(&mut self, news: News, me: &Me) -> Result<Option<Item>, Useless> {
        match news {
            News::Over(stream) => {
                if self.sockets.over(stream) {
                    self.missed = true;
                }
                if self.sockets.is_empty() {
                    self.sockets.open().await.map_err(Useless::Failed)?;
                }
                Ok(None)
            }
            News::Message(stream, bytes) => match frame::read(&bytes, me).map_err(|_| Useless::Malformed)? {
                Frame::Hello => {
                    self.sockets.hello(stream);
                    self.look_back();
                    Ok(None)
                }
                Frame::Ending => {
                    // The next one is open before this one ends; if that fails, it is tried again at the end.
                    if self.sockets.ending(stream)
                        && let Err(failure) = self.sockets.open().await
                    {
                        tracing::warn!(%failure, "the next socket is not open yet");
                    }
                    Ok(None)
                }
                Frame::Disabled => Err(Useless::Failed(Failure::Disabled)),
                Frame::Envelope(id, content) => Ok(Some(Item { envelope: Some((stream, id)), content })),
                Frame::Other => Ok(None),
            },
        }
    }

    /// Begins to look for what was missed, now that what happens comes by a socket again.
    fn look_back(&mut self) {
        if std::mem::take(&mut self.missed)
            && let Some((cursor, _)) = &self.position
        {
            self.gap = Some(Gap::new(cursor, Ts::ago(SKEW)));
        }
    }

    /// Gives a batch, with the position after it.
    fn give(&mut self, items: Vec<Item>, malformed: u32) -> Polled {
        let Some((cursor, me)) = &mut self.position else { return Polled::default() };
        let gap = self.gap.as_ref();
        let messages = items.iter().filter_map(Item::message);
        let places = messages.flat_map(|message| message.places.iter().map(|place| (place, message.ts)));
        let open = places.filter(|(place, _)| !gap.is_some_and(|gap| gap.covers(place)));
        let reached: Vec<(Place, Ts)> = open.map(|(place, ts)| (place.clone(), ts)).collect();
        *cursor = cursor.after(reached);
        self.unsaved = false;
        let given = Unsettled { cursor: cursor.text(me), items, malformed };
        let polled = polled(&given);
        self.given = Some(given);
        polled
    }
}

/// The reason for which news gave nothing.
enum Useless {
    Malformed,
    Failed(Failure),
}

impl Item {
    fn message(&self) -> Option<&Message> {
        match &self.content {
            Content::Message(message) => Some(message),
            _ => None,
        }
    }

    fn inbound(&self) -> Option<&Inbound> {
        match &self.content {
            Content::Message(message) => Some(&message.inbound),
            Content::Command(inbound) => Some(inbound),
            _ => None,
        }
    }
}

fn size(items: &[Item]) -> usize {
    let parts = items.iter().filter_map(Item::inbound).flat_map(|inbound| inbound.parts.iter());
    parts.map(|part| part.text.len()).sum()
}

fn polled(given: &Unsettled) -> Polled {
    let press = |item: &Item| match &item.content {
        Content::Press(press, id) => Some(Pressed { press: press.clone(), id: id.clone() }),
        _ => None,
    };
    let mut polled = Polled {
        presses: given.items.iter().filter_map(press).collect(),
        cursor: Some(given.cursor.clone()),
        malformed: given.malformed.saturating_add(unread(given)),
        ..Polled::default()
    };
    for item in &given.items {
        match &item.content {
            Content::Message(message) => polled.take(message.inbound.clone(), message.files.clone()),
            Content::Command(inbound) => polled.take((**inbound).clone(), []),
            Content::Press(..) | Content::Malformed | Content::Nothing => {}
        }
    }
    polled
}

/// Payloads of a batch that could not be read.
fn unread(given: &Unsettled) -> u32 {
    let unread = given.items.iter().filter(|item| matches!(item.content, Content::Malformed)).count();
    u32::try_from(unread).unwrap_or(u32::MAX)
}
