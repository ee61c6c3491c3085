//! The turns of an account while they run: the account is shown as typing, and the beginning of the answer as a message that is
//! edited at the platform's pace. The answer itself is a delivery, which replaces that message.

use crate::account::{Account, Shown, flat};
use crate::parse::Links;
use crate::plan::plan;
use crate::platform::Platform;
use ipc_proto::channel::{Conversation, ConversationKind};
use ipc_proto::config::Streaming;
use ipc_proto::ids::TurnId;
use ipc_proto::router::{TurnEvent, method};
use ipc_proto::{Name, Text};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// The most events of one call.
const CREDIT: u16 = 64;
/// The longest text of which a preview is made, in bytes.
const SHOWN: usize = 64 * 1024;
/// The most calls of tools that are named.
const TOOLS: usize = 64;
/// The time between two drafts.
const DRAFT: Duration = Duration::from_secs(1);
/// The share of a sign of typing after which it is shown again.
const RENEW: f64 = 0.8;

/// The most turns that a process follows at once, of all its accounts. Each holds one of the calls that router takes of it at once, and
/// messages and answers need the others; a turn beyond is answered and not shown.
const FOLLOWED: usize = 64;

thread_local! {
    /// The turns that are followed.
    static FOLLOWING: Cell<usize> = const { Cell::new(0) };
}

/// The place of a turn among those that are followed.
struct Place;

impl Place {
    /// Takes one; none while all are taken.
    fn take() -> Option<Self> {
        let taken = FOLLOWING.get();
        (taken < FOLLOWED).then(|| {
            FOLLOWING.set(taken + 1);
            Self
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        FOLLOWING.set(FOLLOWING.get().saturating_sub(1));
    }
}

/// Takes up the turns that were running when this process started.
pub(crate) async fn resume<P: Platform>(account: Rc<Account<P>>) {
    let turns = account.router.call(&method::channel_turns, |router, context| {
        let name = account.name.clone();
        async move { router.channel_turns(context, name).await }
    });
    for live in flat(turns.await).into_iter().flatten() {
        if let (Some(message), Some(preview)) = (&live.reply_to, live.preview) {
            account.note(&live.conversation, message, Shown::Preview(preview));
        }
        drop(tokio::task::spawn_local(turn(
            Rc::clone(&account),
            live.turn,
            live.conversation,
            live.reply_to,
        )));
    }
}

/// The text of an answer while it comes, and the tools that ran for it.
#[derive(Default)]
struct Beginning {
    text: String,
    tools: Vec<Name>,
}

impl Beginning {
    fn add(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::Text(text) if self.text.len() < SHOWN => self.text.push_str(text),
            TurnEvent::ToolStart { tool, refused, .. } => {
                // The text before a call is not the answer.
                self.text.clear();
                if refused.is_none() && self.tools.len() < TOOLS {
                    self.tools.push(tool.clone());
                }
            }
            // A reply that begins again is void.
            TurnEvent::Again | TurnEvent::Started { .. } => self.text.clear(),
            _ => {}
        }
    }

    /// The text to show; none while there is nothing.
    fn shown(&self, streaming: Streaming) -> Option<String> {
        let text = match streaming {
            Streaming::Off => return None,
            Streaming::Edit | Streaming::Draft => self.text.clone(),
            Streaming::Progress => self.progress(),
        };
        (!text.trim().is_empty()).then_some(text)
    }

    /// The names of the tools, each with the number of its calls in a row. Nothing of an argument is in it.
    fn progress(&self) -> String {
        let calls = self.tools.chunk_by(|a, b| a == b).filter_map(|calls| {
            let name = calls.first()?;
            Some(if calls.len() == 1 { format!("`{name}`") } else { format!("`{name}` ×{}", calls.len()) })
        });
        calls.collect::<Vec<_>>().join(", ")
    }
}

/// The way in which the beginning of an answer is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// A message that is edited.
    Edits,
    /// A draft.
    Drafts,
}

impl Way {
    /// The way for a conversation; none where nothing is shown.
    fn of<P: Platform>(streaming: Streaming, kind: ConversationKind) -> Option<Self> {
        match (streaming, kind) {
            (Streaming::Off, _) => None,
            (Streaming::Draft, ConversationKind::Direct) => Some(Self::Drafts),
            _ => Self::edits::<P>(),
        }
    }

    fn edits<P: Platform>() -> Option<Self> {
        (!P::FACTS.cadence.edit.is_zero()).then_some(Self::Edits)
    }

    const fn every<P: Platform>(self) -> Duration {
        match self {
            Self::Edits => P::FACTS.cadence.edit,
            Self::Drafts => DRAFT,
        }
    }
}

/// Follows a turn to its end, if there is a place for it.
pub(crate) async fn turn<P: Platform>(
    account: Rc<Account<P>>,
    turn: TurnId,
    conversation: Conversation,
    message: Option<Text<128>>,
) {
    let Some(_place) = Place::take() else { return };
    let typing = account.typing && !P::FACTS.cadence.typing.is_zero();
    let followed = follow(&account, turn, &conversation, message);
    if !typing {
        return followed.await;
    }
    tokio::select! {
        () = followed => {}
        () = type_on(&account, &conversation) => {}
    }
}

/// Shows the account as typing, for ever.
async fn type_on<P: Platform>(account: &Account<P>, conversation: &Conversation) {
    loop {
        account.platform.typing(conversation).await;
        tokio::time::sleep(P::FACTS.cadence.typing.mul_f64(RENEW)).await;
    }
}

async fn follow<P: Platform>(
    account: &Account<P>,
    turn: TurnId,
    conversation: &Conversation,
    message: Option<Text<128>>,
) {
    let (mut from, mut shown, mut next) = (0, Beginning::default(), Instant::now());
    let mut way = Way::of::<P>(account.streaming, conversation.kind);
    loop {
        let followed = account.router.call(&method::channel_follow, |router, context| {
            let name = account.name.clone();
            async move { router.channel_follow(context, name, turn, from, CREDIT).await }
        });
        let Ok(followed) = flat(followed.await) else { return };
        followed.events.iter().for_each(|event| shown.add(event));
        from = followed.next;
        if followed.over {
            return;
        }
        if followed.events.is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        if let (Some(now), Some(message)) = (way, message.as_ref())
            && let Some(text) = shown.shown(account.streaming)
            && Instant::now() >= next
        {
            next = Instant::now() + now.every::<P>();
            way = show(account, turn, (conversation, message), &text, now).await;
        }
    }
}

/// Shows the text so far, as the answer to a message of a conversation. Returns how to go on; none once the answer itself was sent.
async fn show<P: Platform>(
    account: &Account<P>,
    turn: TurnId,
    (conversation, message): (&Conversation, &Text<128>),
    text: &str,
    way: Way,
) -> Option<Way> {
    // Links are code in a preview: it is shown before router has judged the answer.
    let planned = plan(text, &P::FACTS, Links::AsCode { except: &[] });
    let Some(part) = planned.parts.into_iter().next() else { return Some(way) };
    let piece = account.platform.piece(part);
    if account.shown(conversation, message).is_none() && !may_preview(account, turn).await {
        return Some(way);
    }
    let permit = account.pacer.permit(conversation).await;
    let before = match account.shown(conversation, message) {
        Some(Shown::Answer) => return None,
        Some(Shown::Preview(id)) => Some(id),
        None => None,
    };
    if way == Way::Drafts && before.is_none() {
        let shown = account.platform.draft(conversation, draft_number(turn), &piece).await;
        return if shown { Some(way) } else { Way::edits::<P>() };
    }
    let shown = account.platform.preview(conversation, &piece, before.as_ref()).await;
    let (None, Some(id)) = (before, shown) else { return Some(Way::Edits) };
    account.note(conversation, message, Shown::Preview(id.clone()));
    drop(permit);
    let stored = account.router.call(&method::channel_preview, |router, context| {
        let (name, id) = (account.name.clone(), id.clone());
        async move { router.channel_preview(context, name, turn, id).await }
    });
    flat(stored.await).is_ok().then_some(Way::Edits)
}

/// Returns true if a first preview of a turn may be sent. It becomes the answer, so it stands behind everything that was to be sent
/// before.
async fn may_preview<P: Platform>(account: &Account<P>, turn: TurnId) -> bool {
    let may = account.router.call(&method::channel_may_show, |router, context| {
        let name = account.name.clone();
        async move { router.channel_may_show(context, name, turn).await }
    });
    flat(may.await).unwrap_or_default()
}

/// The number of a turn's draft: 31 bits of its random id, and never 0.
fn draft_number(turn: TurnId) -> u32 {
    let bits = turn.bytes().into_iter().rev().take(4).fold(0_u32, |bits, byte| bits << 8 | u32::from(byte));
    (bits >> 1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_that_begins_again_is_shown_once() {
        let mut shown = Beginning::default();
        let text = |text: &str| TurnEvent::Text(Text::clip(text));
        for event in [TurnEvent::Started { attempt: 1 }, text("one"), TurnEvent::Again, text("two")] {
            shown.add(&event);
        }
        assert_eq!(shown.shown(Streaming::Edit).as_deref(), Some("two"));
        assert_eq!(shown.shown(Streaming::Progress), None, "no tool ran");
    }

    // Holds P11-45.
    #[test]
    fn progress_names_the_tools_that_ran_and_no_argument() {
        let mut shown = Beginning::default();
        let start = |tool: &str, refused: Option<&str>| TurnEvent::ToolStart {
            call: ipc_proto::ids::CallId::from_bytes([1; 16]),
            tool: Name::clip(tool),
            args: Text::clip("{\"command\":\"cat /secret\"}"),
            refused: refused.map(Text::clip),
            record: 1,
        };
        for event in
            [start("bash", None), start("bash", None), start("web_fetch", Some("no")), start("read", None)]
        {
            shown.add(&event);
        }
        shown.add(&TurnEvent::Text(Text::clip("the answer")));
        assert_eq!(shown.shown(Streaming::Progress).as_deref(), Some("`bash` ×2, `read`"));
    }

    #[test]
    fn no_more_turns_are_followed_than_leave_room_for_messages() {
        let places: Vec<Place> = std::iter::from_fn(Place::take).take(FOLLOWED + 1).collect();
        assert_eq!(places.len(), FOLLOWED);
        drop(places);
        assert!(Place::take().is_some());
    }

    #[test]
    fn a_draft_has_a_number_that_is_not_zero() {
        for byte in [0, 1, 0x80, 0xff] {
            let number = draft_number(TurnId::from_bytes([byte; 16]));
            assert!(number > 0 && number <= 0x7fff_ffff);
        }
    }
}
