//! Finds secrets that the host itself holds, without holding them: a keyed hash of the eight bytes at every offset
//! is looked up, and a hit is confirmed by an HMAC of the whole length. One pass over the text as it is and one over its
//! characters in lower case without white space, of which the fingerprints are made; most offsets cost one multiplication
//! and one look at a bit. It must never yield the text, and never a hit that was not confirmed, unless confirming was
//! made too dear on purpose: then it hides the rest.

mod compact;

use compact::Compact;
use hmac::{Hmac, Mac};
use ipc_proto::credproxy::{Fingerprints, WINDOW, window};
use sha2::Sha256;
use std::ops::Range;

/// Bits of a hash by which an offset is first looked at.
const FILTER_BITS: u32 = 16;
/// Bytes that one search hashes to confirm. A text that repeats the beginning of a secret would otherwise cost the
/// secret's length at each place; who reaches this wrote the text to reach it.
const CONFIRMED: usize = 32 << 20;

/// The secrets that are searched for.
pub struct Held {
    key: [u8; 32],
    mac: Option<Hmac<Sha256>>,
    /// One bit for each beginning of a window's hash.
    filter: Vec<u64>,
    /// Window, length and whole of each, sorted.
    prints: Vec<(u32, usize, [u8; 32])>,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Held").field("secrets", &self.prints.len()).finish_non_exhaustive()
    }
}

/// The secrets of the host that one text contains.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Where each stands.
    pub(crate) whole: Vec<Range<usize>>,
    /// From where on the end of the text may be the beginning of one.
    pub(crate) open: Option<usize>,
}

impl Held {
    /// Nothing to search for.
    #[must_use]
    pub const fn nothing() -> Self {
        Self { key: [0; 32], mac: None, filter: Vec::new(), prints: Vec::new() }
    }

    /// The search for these.
    #[must_use]
    pub fn new(fingerprints: &Fingerprints) -> Self {
        let mut held = Self::nothing();
        let prints = fingerprints.prints.iter();
        held.prints = prints
            .filter_map(|print| Some((print.window, usize::try_from(print.length).ok()?, print.whole)))
            .filter(|(_, length, _)| *length >= WINDOW)
            .collect();
        held.prints.sort_unstable();
        held.prints.dedup();
        if held.prints.is_empty() {
            return held;
        }
        held.key = fingerprints.key;
        held.mac = Hmac::new_from_slice(&fingerprints.key).ok();
        held.filter = vec![0; 1 << (FILTER_BITS - 6)];
        for (window, ..) in &held.prints {
            let (word, bit) = place(*window);
            if let Some(word) = held.filter.get_mut(word) {
                *word |= bit;
            }
        }
        held
    }

    /// Returns whether there is anything to search for.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.prints.is_empty()
    }

    /// Every secret in the text, and where one may have begun at its end.
    pub(crate) fn find(&self, text: &str) -> Found {
        let mut found = Found::default();
        if self.is_empty() {
            return found;
        }
        let mut budget = CONFIRMED;
        self.search(text.as_bytes(), &mut budget, &mut found);
        if let Some(compact) = Compact::of(text) {
            let mut inner = Found::default();
            self.search(compact.bytes(), &mut budget, &mut inner);
            found.whole.extend(inner.whole.into_iter().filter_map(|range| compact.back(range)));
            let open = inner.open.and_then(|at| compact.place(at));
            found.open = found.open.into_iter().chain(open).min();
            merge(&mut found.whole);
        }
        found
    }

    fn search(&self, bytes: &[u8], budget: &mut usize, found: &mut Found) {
        for (at, part) in bytes.windows(WINDOW).enumerate() {
            let Ok(part) = <[u8; WINDOW]>::try_from(part) else { continue };
            let hash = window(&self.key, part);
            let (word, bit) = place(hash);
            if self.filter.get(word).is_some_and(|word| word & bit != 0)
                && !self.confirm(hash, bytes, at, budget, found)
            {
                found.whole.push(at..bytes.len());
                return;
            }
        }
    }

    /// Looks whether a secret with this window stands at `at`. False when the search has become too dear.
    fn confirm(&self, hash: u32, bytes: &[u8], at: usize, budget: &mut usize, found: &mut Found) -> bool {
        let first = self.prints.partition_point(|(window, ..)| *window < hash);
        let same = self.prints.iter().skip(first).take_while(|(window, ..)| *window == hash);
        let mut last: Option<(usize, [u8; 32])> = None;
        for (_, length, whole) in same {
            let Some(candidate) = bytes.get(at..at.saturating_add(*length)) else {
                found.open = found.open.or(Some(at));
                continue;
            };
            let digest = match last {
                Some((of, digest)) if of == *length => digest,
                _ => {
                    let Some(left) = budget.checked_sub(*length) else { return false };
                    *budget = left;
                    self.digest(candidate)
                }
            };
            last = Some((*length, digest));
            if digest == *whole {
                found.whole.push(at..at + length);
            }
        }
        true
    }

    fn digest(&self, candidate: &[u8]) -> [u8; 32] {
        self.mac.clone().map_or([0; 32], |mac| mac.chain_update(candidate).finalize().into_bytes().into())
    }
}

/// Sorts the places, and drops those that lie within another.
fn merge(places: &mut Vec<Range<usize>>) {
    places.sort_unstable_by_key(|place| (place.start, std::cmp::Reverse(place.end)));
    let mut end = 0;
    places.retain(|place| {
        let stays = place.end > end;
        end = end.max(place.end);
        stays
    });
}

/// The bit of the filter for a window's hash.
const fn place(hash: u32) -> (usize, u64) {
    let short = hash >> (32 - FILTER_BITS);
    ((short >> 6) as usize, 1 << (short & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::List;
    use ipc_proto::credproxy::Fingerprint;
    use proptest::prelude::*;

    const KEY: [u8; 32] = [7; 32];

    fn held(secrets: &[&str]) -> Held {
        let print = |secret: &&str| {
            let mac = Hmac::<Sha256>::new_from_slice(&KEY).unwrap().chain_update(secret.as_bytes());
            Fingerprint {
                length: u32::try_from(secret.len()).unwrap(),
                window: window(&KEY, secret.as_bytes()[..WINDOW].try_into().unwrap()),
                whole: mac.finalize().into_bytes().into(),
            }
        };
        let prints = List::clip(secrets.iter().map(print));
        Held::new(&Fingerprints { version: 1, key: KEY, prints })
    }

    #[test]
    fn a_secret_is_found_where_it_stands_and_its_neighbours_are_not() {
        let held = held(&["hunter2-hunter2", "hunter2-other-one"]);
        let found = held.find("é hunter2-hunter2! hunter2-hunter3, hunter2-other-one");
        assert_eq!(found.whole, [3..18, 37..54]);
        assert_eq!(found.open, None);
    }

    #[test]
    fn the_beginning_of_a_secret_at_the_end_of_a_text_is_told() {
        let held = held(&["hunter2-hunter2"]);
        assert_eq!(held.find("so: hunter2-hun").open, Some(4));
        assert_eq!(held.find("so: hunter2-hunter2").open, None);
        assert_eq!(held.find("so: hunter2").open, None, "fewer bytes than a window say nothing");
    }

    // Holds P8-10.
    #[test]
    fn case_white_space_and_direction_hide_no_secret() {
        let secret = "sk-live-0123abcd";
        let backwards: String = secret.chars().rev().collect();
        let held = held(&[secret, &backwards]);
        let spaced: String = secret.chars().flat_map(|c| [c, '\n']).collect();
        let wide: String = secret.chars().flat_map(|c| [c, '\u{3000}', ' ']).collect();
        for text in [secret.to_uppercase(), backwards.clone(), spaced, wide, backwards.to_uppercase()] {
            let text = text.trim_end();
            let found = held.find(&format!("é: {text}, and é"));
            let place = 4..4 + text.len();
            assert_eq!(found.whole, std::slice::from_ref(&place), "{text}");
        }
        assert_eq!(held.find("so: S K - l i v e -").open, Some(4));
    }

    #[test]
    fn more_than_four_kib_of_white_space_within_a_secret_hides_it() {
        let held = held(&["sk-live-0123abcd"]);
        let text = |blanks: usize| format!("SK-live-0123abc{}d", " ".repeat(blanks));
        assert_eq!(held.find(&text(4096)).whole.len(), 1);
        assert!(held.find(&text(4097)).whole.is_empty());
    }

    #[test]
    fn with_no_secrets_nothing_is_found() {
        assert_eq!(Held::nothing().find("hunter2-hunter2"), Found::default());
        assert!(held(&[]).is_empty());
    }

    // Holds B-106.
    #[test]
    fn a_text_made_to_be_dear_to_confirm_is_hidden_instead() {
        let secret = format!("abcdefgh{}", "x".repeat(8000));
        let found = held(&[&secret]).find(&"abcdefgh".repeat(20_000));
        assert_eq!(found.whole.len(), 1);
        assert_eq!(found.whole[0].end, 160_000);
    }

    proptest! {
        #[test]
        fn every_secret_is_found_in_any_surroundings(
            secrets in proptest::collection::vec("[!-~]{8,60}", 1..8),
            before in any::<String>(),
            after in any::<String>(),
        ) {
            let held = held(&secrets.iter().map(String::as_str).collect::<Vec<_>>());
            for secret in &secrets {
                let found = held.find(&format!("{before}{secret}{after}"));
                prop_assert!(found.whole.contains(&(before.len()..before.len() + secret.len())));
            }
        }
    }
}
