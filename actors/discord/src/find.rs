//! The search for a piece whose outcome is unknown. Discord keeps a message's mark for some minutes and sends it with the event of the
//! message, but not with the history: so the event is waited for, then the piece is sent once more under its mark, which makes no second
//! message, and at last the history is read for its text.

use crate::bot::Bot;
use crate::reply::{Failure, outcome};
use crate::request::{mark, send, target};
use crate::rest::Ask;
use crate::wire::{Message, id_at};
use channel::Found;
use ipc_proto::Text;
use ipc_proto::channel::{Body, Claim, Outcome, PieceId};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The time for which Discord surely knows a mark again.
const MARKED: Duration = Duration::from_secs(45);
/// The wait for the event of a message.
const EVENT: Duration = Duration::from_millis(1500);
/// The pauses before a piece is sent once more.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_secs(2), Duration::from_secs(8)];
/// The age beyond which a piece was not sent: its delivery has expired.
const DAY_MS: u64 = 86_400_000;
/// Messages of one page of the history, and the most pages that are read.
const PAGE: usize = 100;
const PAGES: usize = 5;
/// Pieces whose sending is remembered.
const REMEMBERED: usize = 256;
/// The longest wait for a request's limit.
const PATIENCE: Duration = Duration::from_secs(10);

/// When pieces were sent first.
#[derive(Default)]
pub(crate) struct Tried(HashMap<PieceId, Instant>);

impl Tried {
    /// Notes that a piece is sent now.
    pub(crate) fn now(&mut self, piece: PieceId) {
        if self.0.len() >= REMEMBERED {
            self.0.retain(|_, at| at.elapsed() < MARKED);
        }
        self.0.entry(piece).and_modify(|at| *at = (*at).min(Instant::now())).or_insert_with(Instant::now);
    }

    /// Notes that a piece has an outcome.
    pub(crate) fn over(&mut self, piece: PieceId) {
        self.0.remove(&piece);
    }

    fn at(&self, piece: PieceId) -> Option<Instant> {
        self.0.get(&piece).copied()
    }
}

impl Bot {
    /// Looks for a piece.
    pub(crate) async fn find_piece(&self, claim: &Claim) -> Found {
        if let Some(id) = self.watch().arrived(&mark(claim.piece), EVENT).await {
            return sent(id);
        }
        let tried = self.tried().borrow().at(claim.piece);
        if let Some(at) = tried {
            for pause in PAUSES {
                tokio::time::sleep(pause).await;
                if at.elapsed() > MARKED {
                    break;
                }
                let channel = target(&claim.conversation);
                let reply = self.rest().ask(Ask::send(claim, channel, &send(claim)), PATIENCE).await;
                if let Outcome::Sent { id } = outcome(&reply) {
                    return Found::Sent(id);
                }
            }
        }
        self.find_in_history(claim).await.unwrap_or(Found::Cannot)
    }

    async fn find_in_history(&self, claim: &Claim) -> Result<Found, Failure> {
        let channel = target(&claim.conversation);
        let answered = claim.reply_to.as_ref().and_then(|id| id.parse::<u64>().ok());
        let oldest = answered.unwrap_or(id_at(kit::now_ms().saturating_sub(DAY_MS)));
        let (mut before, mut alike) = (String::new(), false);
        for _ in 0..PAGES {
            let path = format!("/channels/{channel}/messages?limit={PAGE}{before}");
            let page = self.rest().ask(Ask::get(("history", channel), path), PATIENCE).await?;
            let page: Vec<Message> = page
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|one| Message::deserialize(one).ok())
                .collect();
            let mut newer = page.iter().filter(|message| message.id.0 > oldest);
            if let Some(found) = newer.find(|message| is_like(message, claim, self.watch().me())) {
                match answered {
                    // Only the first piece of an answer is found by the message that it answers.
                    Some(_) => return Ok(sent(found.id.0)),
                    None => alike = true,
                }
            }
            let least = page.iter().map(|message| message.id.0).min();
            match least.filter(|least| page.len() >= PAGE && *least > oldest) {
                Some(least) => before = format!("&before={least}"),
                None => return Ok(if alike { Found::Cannot } else { Found::Missing }),
            }
        }
        Ok(Found::Cannot)
    }
}

fn sent(id: u64) -> Found {
    Found::Sent(Text::clip(&id.to_string()))
}

/// Returns true if a message of the bot says what a piece says.
fn is_like(message: &Message, claim: &Claim, me: u64) -> bool {
    if message.author.as_ref().is_none_or(|author| author.id.0 != me) {
        return false;
    }
    match &claim.content.body {
        Body::Text(text) => message.content.trim() == text.trim(),
        Body::File { name, bytes } => message
            .attachments
            .iter()
            .any(|file| file.filename == name.as_str() && file.size == bytes.len() as u64),
    }
}

/// The id of a message, as a reply gives it.
pub(crate) fn id(message: &Value) -> Option<Text<128>> {
    message.get("id").and_then(Value::as_str).and_then(|id| Text::new(id).ok())
}
