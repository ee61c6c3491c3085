//! The turns of an account while they run: the account is shown as typing, and the beginning of the answer as a message that is
//! edited at the platform's pace. The answer itself is a delivery, which replaces that message.

use crate::account::{Account, Shown, flat};
use crate::parse::Links;
use crate::plan::plan;
use crate::platform::Platform;
use ipc_proto::Text;
use ipc_proto::channel::Conversation;
use ipc_proto::ids::TurnId;
use ipc_proto::router::{TurnEvent, method};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// The most events of one call.
const CREDIT: u16 = 64;
/// The longest text of which a preview is made, in bytes.
const SHOWN: usize = 64 * 1024;
/// The share of a sign of typing after which it is shown again.
const RENEW: f64 = 0.8;

/// Takes up the turns that were running when this process started.
pub async fn resume<P: Platform>(account: Rc<Account<P>>) {
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

/// The text of an answer while it comes.
#[derive(Default)]
struct Beginning {
    text: String,
}

impl Beginning {
    fn add(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::Text(text) if self.text.len() < SHOWN => self.text.push_str(text),
            // The text before a call is not the answer, and a reply that begins again is void.
            TurnEvent::Again | TurnEvent::Started { .. } | TurnEvent::ToolStart { .. } => self.text.clear(),
            _ => {}
        }
    }
}

/// Follows a turn to its end.
pub(crate) async fn turn<P: Platform>(
    account: Rc<Account<P>>,
    turn: TurnId,
    conversation: Conversation,
    message: Option<Text<128>>,
) {
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
    let every = P::FACTS.cadence.edit;
    let mut shows = account.previews && !every.is_zero();
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
        if let Some(message) = message.as_ref().filter(|_| shows)
            && !shown.text.trim().is_empty()
            && Instant::now() >= next
        {
            next = Instant::now() + every;
            shows = show(account, turn, (conversation, message), &shown.text).await;
        }
    }
}

/// Shows the text so far, as the answer to a message of a conversation. Returns false once the answer itself was sent.
async fn show<P: Platform>(
    account: &Account<P>,
    turn: TurnId,
    (conversation, message): (&Conversation, &Text<128>),
    text: &str,
) -> bool {
    // Links are code in a preview: it is shown before router has judged the answer.
    let planned = plan(text, &P::FACTS, Links::AsCode { except: &[] });
    let Some(part) = planned.parts.into_iter().next() else { return true };
    let piece = account.platform.piece(part);
    let permit = account.pacer.permit(conversation).await;
    let before = match account.shown(conversation, message) {
        Some(Shown::Answer) => return false,
        Some(Shown::Preview(id)) => Some(id),
        None => None,
    };
    let shown = account.platform.preview(conversation, &piece, before.as_ref()).await;
    let (None, Some(id)) = (before, shown) else { return true };
    account.note(conversation, message, Shown::Preview(id.clone()));
    drop(permit);
    let stored = account.router.call(&method::channel_preview, |router, context| {
        let (name, id) = (account.name.clone(), id.clone());
        async move { router.channel_preview(context, name, turn, id).await }
    });
    flat(stored.await).is_ok()
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
        assert_eq!(shown.text, "two");
    }
}
