//! Answers of models by `Idempotency-Key`: the same key with the same body gets the same answer for ten minutes, and is not asked twice at
//! once. Only whole answers are stored, streams as they were sent, in memory and within a bound of bytes.

use crate::fault::{Fault, Kind};
use crate::lock::lock;
use axum::http::HeaderMap;
use bytes::Bytes;
use ipc_proto::api::Caller;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long an answer is stored.
const LIFE: Duration = Duration::from_secs(600);
/// Answers that are stored or on their way.
const ANSWERS: usize = 256;
/// Bytes of all stored answers; and of all streams under way that may become answers.
const BYTES: usize = 16 << 20;
/// Bytes of a stream that is stored.
const STREAM: usize = 2 << 20;
/// Bytes of a key.
const KEY: usize = 255;

type Place = (Caller, String);

/// The stored answers.
#[derive(Clone, Default)]
pub(crate) struct IdempotencyCache(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    entries: HashMap<Place, Entry>,
    /// Bytes of streams that are under way.
    recording: usize,
}

struct Entry {
    body: [u8; 32],
    since: Instant,
    answer: Answer,
}

enum Answer {
    /// It is on its way.
    Coming,
    /// The answer.
    Whole(Bytes),
    /// It was sent, and was too long to be stored.
    Gone,
}

/// The outcome of a claim.
pub(crate) enum Claim {
    /// The request was answered before.
    Answered(Bytes),
    /// The request is to be answered now.
    New(KeyClaim),
}

/// The right to answer a request; given back when dropped.
pub(crate) struct KeyClaim {
    cache: IdempotencyCache,
    place: Option<Place>,
}

/// Records a stream as it is sent, and stores it once it is whole.
pub(crate) struct StreamRecorder {
    claim: Option<KeyClaim>,
    cache: IdempotencyCache,
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

impl IdempotencyCache {
    /// Claims a key for a request with this body.
    ///
    /// # Errors
    /// The key stands for another request, for one that is on its way, or for an answer that is not there any more.
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
                Ok(Claim::New(KeyClaim { cache: self.clone(), place: Some(place) }))
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

impl KeyClaim {
    /// Stores the answer.
    pub(crate) fn store(self, answer: &Bytes) {
        self.settle(Answer::Whole(answer.clone()));
    }

    fn settle(mut self, answer: Answer) {
        let Some(place) = self.place.take() else { return };
        let entries = &mut lock(&self.cache.0).entries;
        if let Some(entry) = entries.get_mut(&place) {
            (entry.answer, entry.since) = (answer, Instant::now());
        }
        make_room(entries);
    }
}

impl StreamRecorder {
    /// The stream that is sent by this right.
    pub(crate) fn new(claim: KeyClaim) -> Self {
        Self { cache: claim.cache.clone(), claim: Some(claim), bytes: Vec::new(), too_long: false }
    }

    /// Takes a part that is sent; with the `last` one the answer is whole.
    pub(crate) fn push(&mut self, part: &[u8], last: bool) {
        if !self.too_long {
            let mut state = lock(&self.cache.0);
            self.too_long = self.bytes.len() + part.len() > STREAM || state.recording + part.len() > BYTES;
            if self.too_long {
                state.recording -= std::mem::take(&mut self.bytes).len();
            } else {
                state.recording += part.len();
                self.bytes.extend_from_slice(part);
            }
        }
        if let Some(claim) = self.claim.take_if(|_| last) {
            let whole = Bytes::copy_from_slice(&self.bytes);
            claim.settle(if self.too_long { Answer::Gone } else { Answer::Whole(whole) });
        }
    }
}

impl Drop for StreamRecorder {
    fn drop(&mut self) {
        lock(&self.cache.0).recording -= self.bytes.len();
    }
}

impl Drop for KeyClaim {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            lock(&self.cache.0).entries.remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const ME: Caller = Caller::Peer(1);

    fn new_claim(claim: Result<Claim, Fault>) -> KeyClaim {
        match claim {
            Ok(Claim::New(claim)) => claim,
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
        let cache = IdempotencyCache::default();
        let claim = new_claim(cache.claim(ME, "k", b"body"));
        assert_eq!(refused(cache.claim(ME, "k", b"body")), "idempotency_key_in_use");
        assert_eq!(refused(cache.claim(ME, "k", b"other")), "idempotency_key_reused");
        claim.store(&Bytes::from_static(b"answer"));
        let again = cache.claim(ME, "k", b"body");
        assert!(matches!(again, Ok(Claim::Answered(answer)) if answer == "answer"));
        // Nobody else's key is the same one.
        drop(new_claim(cache.claim(Caller::Peer(2), "k", b"other")));
    }

    #[test]
    fn a_request_that_came_to_nothing_can_be_made_again() {
        let cache = IdempotencyCache::default();
        drop(new_claim(cache.claim(ME, "k", b"body")));
        new_claim(cache.claim(ME, "k", b"another")).store(&Bytes::new());
    }

    // Holds P7-81.
    #[test]
    fn a_whole_stream_is_stored_and_a_broken_one_can_be_repeated() {
        let cache = IdempotencyCache::default();
        let mut recorder = StreamRecorder::new(new_claim(cache.claim(ME, "k", b"body")));
        recorder.push(b"one ", false);
        drop(recorder);
        let mut recorder = StreamRecorder::new(new_claim(cache.claim(ME, "k", b"body")));
        recorder.push(b"one ", false);
        assert_eq!(refused(cache.claim(ME, "k", b"body")), "idempotency_key_in_use");
        recorder.push(b"two", true);
        drop(recorder);
        let again = cache.claim(ME, "k", b"body");
        assert!(matches!(again, Ok(Claim::Answered(answer)) if answer == "one two"));
        assert_eq!(lock(&cache.0).recording, 0);
    }

    // Holds B-162.
    #[test]
    fn a_stream_that_is_too_long_is_sent_once_and_then_gone() {
        let cache = IdempotencyCache::default();
        let record = |key: &str| StreamRecorder::new(new_claim(cache.claim(ME, key, b"")));
        let mut long = record("long");
        long.push(&vec![b'a'; STREAM], false);
        long.push(b"a", false);
        assert_eq!(refused(cache.claim(ME, "long", b"")), "idempotency_key_in_use");
        long.push(b"a", true);
        assert_eq!(refused(cache.claim(ME, "long", b"")), "idempotency_answer_gone");
        let mut beside: Vec<StreamRecorder> =
            (0..BYTES / STREAM).map(|number| record(&number.to_string())).collect();
        beside.iter_mut().for_each(|recorder| recorder.push(&vec![b'a'; STREAM], false));
        let mut crowded = record("crowded");
        crowded.push(b"a", true);
        assert_eq!(refused(cache.claim(ME, "crowded", b"")), "idempotency_answer_gone");
        drop((long, beside, crowded));
        assert_eq!(lock(&cache.0).recording, 0);
    }

    // Holds B-162.
    #[test]
    fn the_oldest_answers_are_forgotten_when_there_are_too_many() {
        let cache = IdempotencyCache::default();
        for number in 0..ANSWERS + 10 {
            new_claim(cache.claim(ME, &number.to_string(), b"")).store(&Bytes::from_static(b"a"));
        }
        assert!(lock(&cache.0).entries.len() <= ANSWERS);
        assert!(matches!(cache.claim(ME, &(ANSWERS + 9).to_string(), b""), Ok(Claim::Answered(_))));
        assert!(matches!(cache.claim(ME, "0", b""), Ok(Claim::New(_))));
        let large = Bytes::from(vec![b'a'; BYTES]);
        new_claim(cache.claim(ME, "x", b"")).store(&large);
        new_claim(cache.claim(ME, "y", b"")).store(&large);
        let bytes: usize = lock(&cache.0).entries.values().map(Entry::size).sum();
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
