//! Answers of models that an `Idempotency-Key` stands for: the same key with the same body is the same answer for ten
//! minutes, and is not asked twice at once. Only whole answers are kept, streams as they were sent, in memory, and so many
//! bytes of them.

use crate::desk::lock;
use crate::fault::{Fault, Kind};
use axum::http::HeaderMap;
use bytes::Bytes;
use ipc_proto::api::Caller;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long an answer is kept.
const LIFE: Duration = Duration::from_secs(600);
/// Answers that are kept or on their way.
const ANSWERS: usize = 256;
/// Bytes of all that are kept; and of all streams that are under way and may be, which are no answers yet.
const BYTES: usize = 16 << 20;
/// Bytes of a stream that is kept.
const STREAM: usize = 2 << 20;
/// Bytes of a key.
const KEY: usize = 255;

type Place = (Caller, String);

/// Answers that are kept.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    entries: HashMap<Place, Entry>,
    /// Bytes of streams that are under way.
    taped: usize,
}

struct Entry {
    body: [u8; 32],
    since: Instant,
    answer: Answer,
}

enum Answer {
    /// It is on its way.
    Coming,
    /// This is it.
    Whole(Bytes),
    /// It was given, and was too long to be kept.
    Gone,
}

/// What a key comes to.
pub(crate) enum Claim {
    /// It was answered before.
    Answered(Bytes),
    /// It is to be answered now.
    Ours(Ours),
}

/// The right to answer; given back when dropped.
pub(crate) struct Ours {
    kept: Kept,
    place: Option<Place>,
}

/// A stream as it is sent, kept once it is whole.
pub(crate) struct Tape {
    claim: Option<Ours>,
    kept: Kept,
    bytes: Vec<u8>,
    too_long: bool,
}

/// The client's key, if it sent one.
///
/// # Errors
/// It is no key.
pub(crate) fn key(headers: &HeaderMap) -> Result<Option<String>, Fault> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().ok().map(str::trim).filter(|key| !key.is_empty() && key.len() <= KEY);
    let message = format!("An Idempotency-Key is from 1 to {KEY} printable characters.");
    key.map(|key| Some(key.to_owned())).ok_or_else(|| Fault::bad("Idempotency-Key", message))
}

impl Kept {
    /// Claims a key for a request with this body.
    ///
    /// # Errors
    /// It stands for another request, for one that is on its way, or for an answer that is not there any more.
    pub(crate) fn claim(&self, caller: Caller, key: &str, body: &[u8]) -> Result<Claim, Fault> {
        let place = (caller, key.to_owned());
        let body: [u8; 32] = Sha256::digest(body).into();
        let entries = &mut lock(&self.0).entries;
        entries.retain(|_, entry| entry.is_coming() || entry.since.elapsed() < LIFE);
        match entries.get(&place) {
            Some(entry) if entry.body != body => {
                let message = "This Idempotency-Key was used with another request.";
                Err(Fault::bad("Idempotency-Key", message).coded("idempotency_key_reused"))
            }
            Some(Entry { answer: Answer::Coming, .. }) => {
                let message = "A request with this Idempotency-Key is under way.";
                Err(Fault::new(Kind::Conflict, message).coded("idempotency_key_in_use").after(1))
            }
            Some(Entry { answer: Answer::Gone, .. }) => {
                let message = "The answer that this Idempotency-Key stands for was too long to be kept.";
                Err(Fault::new(Kind::Conflict, message).coded("idempotency_answer_gone"))
            }
            Some(Entry { answer: Answer::Whole(answer), .. }) => Ok(Claim::Answered(answer.clone())),
            None => {
                make_room(entries);
                entries.insert(place.clone(), Entry { body, since: Instant::now(), answer: Answer::Coming });
                Ok(Claim::Ours(Ours { kept: self.clone(), place: Some(place) }))
            }
        }
    }
}

/// Forgets the oldest answers while there are too many.
fn make_room(entries: &mut HashMap<Place, Entry>) {
    while entries.len() >= ANSWERS || entries.values().map(Entry::size).sum::<usize>() > BYTES {
        let answered = entries.iter().filter(|(_, entry)| !entry.is_coming());
        let oldest = answered.min_by_key(|(_, entry)| entry.since).map(|(place, _)| place.clone());
        match oldest {
            Some(oldest) => drop(entries.remove(&oldest)),
            // Those on their way are bounded by the connections there may be.
            None => return,
        }
    }
}

impl Entry {
    const fn is_coming(&self) -> bool {
        matches!(self.answer, Answer::Coming)
    }

    const fn size(&self) -> usize {
        match &self.answer {
            Answer::Whole(answer) => answer.len(),
            Answer::Coming | Answer::Gone => 0,
        }
    }
}

impl Ours {
    /// Keeps the answer.
    pub(crate) fn keep(self, answer: &Bytes) {
        self.settle(Answer::Whole(answer.clone()));
    }

    fn settle(mut self, answer: Answer) {
        let Some(place) = self.place.take() else { return };
        let entries = &mut lock(&self.kept.0).entries;
        if let Some(entry) = entries.get_mut(&place) {
            (entry.answer, entry.since) = (answer, Instant::now());
        }
        make_room(entries);
    }
}

impl Tape {
    /// The stream that is sent by this right.
    pub(crate) fn new(claim: Ours) -> Self {
        Self { kept: claim.kept.clone(), claim: Some(claim), bytes: Vec::new(), too_long: false }
    }

    /// Takes a part that is sent; with the `last` one the answer is whole.
    pub(crate) fn take(&mut self, part: &[u8], last: bool) {
        if !self.too_long {
            let mut state = lock(&self.kept.0);
            self.too_long = self.bytes.len() + part.len() > STREAM || state.taped + part.len() > BYTES;
            if self.too_long {
                state.taped -= std::mem::take(&mut self.bytes).len();
            } else {
                state.taped += part.len();
                self.bytes.extend_from_slice(part);
            }
        }
        if let Some(claim) = self.claim.take_if(|_| last) {
            let whole = Bytes::copy_from_slice(&self.bytes);
            claim.settle(if self.too_long { Answer::Gone } else { Answer::Whole(whole) });
        }
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        lock(&self.kept.0).taped -= self.bytes.len();
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            lock(&self.kept.0).entries.remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const ME: Caller = Caller::Peer(1);

    fn ours(claim: Result<Claim, Fault>) -> Ours {
        match claim {
            Ok(Claim::Ours(ours)) => ours,
            Ok(Claim::Answered(_)) => panic!("it was answered"),
            Err(fault) => panic!("{fault:?}"),
        }
    }

    fn refused(claim: Result<Claim, Fault>) -> &'static str {
        claim.err().map_or("", |fault| fault.code())
    }

    // Holds P7-81.
    #[test]
    fn the_same_key_and_body_is_the_same_answer_and_one_at_a_time() {
        let kept = Kept::default();
        let claim = ours(kept.claim(ME, "k", b"body"));
        assert_eq!(refused(kept.claim(ME, "k", b"body")), "idempotency_key_in_use");
        assert_eq!(refused(kept.claim(ME, "k", b"other")), "idempotency_key_reused");
        claim.keep(&Bytes::from_static(b"answer"));
        let again = kept.claim(ME, "k", b"body");
        assert!(matches!(again, Ok(Claim::Answered(answer)) if answer == "answer"));
        // Nobody else's key is the same one.
        drop(ours(kept.claim(Caller::Peer(2), "k", b"other")));
    }

    #[test]
    fn a_request_that_came_to_nothing_can_be_made_again() {
        let kept = Kept::default();
        drop(ours(kept.claim(ME, "k", b"body")));
        ours(kept.claim(ME, "k", b"another")).keep(&Bytes::new());
    }

    // Holds P7-81.
    #[test]
    fn a_stream_is_kept_as_it_was_sent_once_it_is_whole_and_one_that_is_not_can_be_asked_for_again() {
        let kept = Kept::default();
        let mut tape = Tape::new(ours(kept.claim(ME, "k", b"body")));
        tape.take(b"one ", false);
        drop(tape);
        let mut tape = Tape::new(ours(kept.claim(ME, "k", b"body")));
        tape.take(b"one ", false);
        assert_eq!(refused(kept.claim(ME, "k", b"body")), "idempotency_key_in_use");
        tape.take(b"two", true);
        drop(tape);
        let again = kept.claim(ME, "k", b"body");
        assert!(matches!(again, Ok(Claim::Answered(answer)) if answer == "one two"));
        assert_eq!(lock(&kept.0).taped, 0);
    }

    // Holds B-162.
    #[test]
    fn a_stream_that_is_too_long_or_finds_no_room_is_given_once_and_said_to_be_gone() {
        let kept = Kept::default();
        let tape = |key: &str| Tape::new(ours(kept.claim(ME, key, b"")));
        let mut long = tape("long");
        long.take(&vec![b'a'; STREAM], false);
        long.take(b"a", false);
        assert_eq!(refused(kept.claim(ME, "long", b"")), "idempotency_key_in_use");
        long.take(b"a", true);
        assert_eq!(refused(kept.claim(ME, "long", b"")), "idempotency_answer_gone");
        let mut beside: Vec<Tape> = (0..BYTES / STREAM).map(|number| tape(&number.to_string())).collect();
        beside.iter_mut().for_each(|tape| tape.take(&vec![b'a'; STREAM], false));
        let mut crowded = tape("crowded");
        crowded.take(b"a", true);
        assert_eq!(refused(kept.claim(ME, "crowded", b"")), "idempotency_answer_gone");
        drop((long, beside, crowded));
        assert_eq!(lock(&kept.0).taped, 0);
    }

    // Holds B-162.
    #[test]
    fn the_oldest_answers_are_forgotten_when_there_are_too_many() {
        let kept = Kept::default();
        for number in 0..ANSWERS + 10 {
            ours(kept.claim(ME, &number.to_string(), b"")).keep(&Bytes::from_static(b"a"));
        }
        assert!(lock(&kept.0).entries.len() <= ANSWERS);
        assert!(matches!(kept.claim(ME, &(ANSWERS + 9).to_string(), b""), Ok(Claim::Answered(_))));
        assert!(matches!(kept.claim(ME, "0", b""), Ok(Claim::Ours(_))));
        let large = Bytes::from(vec![b'a'; BYTES]);
        ours(kept.claim(ME, "x", b"")).keep(&large);
        ours(kept.claim(ME, "y", b"")).keep(&large);
        let bytes: usize = lock(&kept.0).entries.values().map(Entry::size).sum();
        assert!(bytes <= BYTES, "{bytes}");
    }

    #[test]
    fn a_key_is_printable_and_bounded() {
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("idempotency-key", HeaderValue::from_str(value).unwrap());
            key(&headers)
        };
        assert_eq!(key(&HeaderMap::new()).unwrap(), None);
        assert_eq!(of("k-1").unwrap().as_deref(), Some("k-1"));
        assert!(of("").is_err() && of(&"k".repeat(256)).is_err() && of("\u{e9}").is_err());
    }
}
