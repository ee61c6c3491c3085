//! Messages that no session brings any more: they are fetched, a page at a time, from the last message of each conversation.

use crate::bot::Bot;
use crate::cursor::{Cursor, Last};
use crate::message::add;
use crate::payload::Me;
use crate::reply::{Failure, poll_fault};
use crate::rest::Ask;
use crate::wire::{Message, id_at};
use channel::{PollFault, Polled};
use ipc_proto::channel::BATCH;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// The age beyond which a message that was missed is left: as that of an answer that could not be sent.
const DAY_MS: u64 = 86_400_000;
/// The longest wait for a request's limit.
const PATIENCE: Duration = Duration::from_secs(10);

impl Bot {
    /// The next page of what was missed; `None` if nothing was.
    pub(crate) async fn missed(&self, cursor: &mut Cursor, me: &Me) -> Result<Option<Polled>, PollFault> {
        let Some(last) = cursor.owed() else { return Ok(None) };
        let channel = last.channel.to_string();
        let after = last.message.max(id_at(kit::now_ms().saturating_sub(DAY_MS)));
        let path = format!("/channels/{channel}/messages?after={after}&limit={BATCH}");
        match self.rest().ask(Ask::get(("history", &channel), path), PATIENCE).await {
            Ok(page) => {
                let page = page.as_array().map_or(&[][..], Vec::as_slice);
                Ok(Some(read(page, &last, cursor, me)))
            }
            Err(Failure::Refused(refusal)) if refusal.status != 401 => {
                cursor.fetched(last.channel, None, false);
                Ok(Some(Polled::default()))
            }
            Err(failure) => Err(poll_fault(&failure, self.account())),
        }
    }
}

/// The messages of a page, oldest first. The position goes beyond all of them, read or not.
fn read(page: &[Value], last: &Last, cursor: &mut Cursor, me: &Me) -> Polled {
    let mut polled = Polled::default();
    let mut messages: Vec<Message> = page.iter().filter_map(|one| Message::deserialize(one).ok()).collect();
    messages.sort_unstable_by_key(|message| message.id.0);
    polled.malformed = u32::try_from(page.len().saturating_sub(messages.len())).unwrap_or(u32::MAX);
    // A message that cannot be read has no place among the others: with none that can, the rest is left.
    let newest = messages.last().map(|message| message.id.0);
    let more = page.len() >= BATCH && newest.is_some_and(|newest| newest > last.message);
    cursor.fetched(last.channel, newest, more);
    let own = messages.iter().filter(|message| message.channel_id.0 == last.channel);
    // A page holds no more than a batch.
    own.take(BATCH).for_each(|message| add(&mut polled, message, last.scene, false, me.id));
    polled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::{Scene, Session};
    use serde_json::json;

    const ME: Me = Me { id: 42, reads: true };

    fn cursor() -> Cursor {
        let mut cursor = Cursor::read(None, 42);
        cursor.note(5, 10, Scene::Thread(3));
        cursor.begin(Session { id: "s".into(), url: "wss://x".into(), seq: 1 });
        cursor
    }

    fn message(id: u64) -> Value {
        json!({ "id": id.to_string(), "channel_id": "5", "content": "x", "author": { "id": "7", "username": "ann" } })
    }

    // Holds P11-31.
    #[test]
    fn a_page_is_read_from_its_oldest_message_and_the_next_begins_behind_it() {
        let mut cursor = cursor();
        let page: Vec<Value> = (11..11 + BATCH as u64).rev().map(message).collect();
        let owed = cursor.owed().unwrap();
        let polled = read(&page, &owed, &mut cursor, &ME);
        let keys: Vec<&str> = polled.messages.iter().map(|one| one.key.as_str()).collect();
        assert_eq!((keys.len(), keys[0]), (BATCH, "11"));
        assert_eq!(polled.messages[0].conversation.thread.as_deref(), Some("5"));
        let owed = cursor.owed().unwrap();
        assert_eq!(owed.message, 10 + BATCH as u64);
        let polled = read(&[json!(1), message(99)], &owed, &mut cursor, &ME);
        assert_eq!((polled.messages.len(), polled.malformed, cursor.owed()), (1, 1, None));
    }

    #[test]
    fn a_page_of_nothing_that_can_be_read_ends_the_search() {
        let mut cursor = cursor();
        let owed = cursor.owed().unwrap();
        let page = vec![json!({ "id": 1 }); BATCH];
        let polled = read(&page, &owed, &mut cursor, &ME);
        assert_eq!((polled.malformed as usize, cursor.owed()), (BATCH, None));
    }
}
