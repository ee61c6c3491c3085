//! Cutting live secrets out of a stream, wherever its pieces are split: bytes that may begin a secret are held back until
//! the next piece or the end decides, the longest form and 4 KiB of white space at most. Pure.

use crate::secret_patterns::{Found, SecretPatterns};
use zeroize::Zeroizing;

/// The text that stands in the place of a secret.
pub(crate) const MARK: &[u8] = b"[REDACTED]";

/// A stream on its way through.
#[derive(Default)]
pub(crate) struct Redactor {
    /// Bytes not yet let through.
    held: Zeroizing<Vec<u8>>,
    /// How many of them belong to a secret that was found, and are dropped.
    covered: usize,
    /// How many secrets were cut out.
    cut_out: u64,
    /// True if a secret is masked by as many stars as it has bytes, in the place of one mark.
    equal_length: bool,
}

impl Redactor {
    /// One that leaves every byte at its offset.
    pub(crate) fn of_equal_length() -> Self {
        Self { equal_length: true, ..Self::default() }
    }

    /// Returns true if bytes are held back.
    pub(crate) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes a piece, and appends to `out` what can be let through. A byte is let through when no form in any of
    /// `sets` covers it.
    pub(crate) fn push(&mut self, piece: &[u8], sets: &[&SecretPatterns], out: &mut Vec<u8>) {
        self.held.extend_from_slice(piece);
        self.pass(sets, out, false);
    }

    /// Ends the stream: the bytes that were held back are judged as they are.
    pub(crate) fn finish(&mut self, sets: &[&SecretPatterns], out: &mut Vec<u8>) {
        self.pass(sets, out, true);
    }

    /// How many secrets were cut out so far.
    pub(crate) fn cut_out(&self) -> u64 {
        self.cut_out
    }

    fn pass(&mut self, sets: &[&SecretPatterns], out: &mut Vec<u8>, ended: bool) {
        let mut at = 0;
        loop {
            at = self.plain(at, sets, out);
            let Some(rest) = self.held.get(at..).filter(|rest| !rest.is_empty()) else { break };
            let found = find(sets, rest);
            if found.cut && !ended {
                break;
            }
            if found.whole > 0 {
                // Secrets that overlap become one mark.
                if at >= self.covered {
                    let mark = if self.equal_length { b"".as_slice() } else { MARK };
                    out.extend_from_slice(mark);
                    self.cut_out += 1;
                }
                self.covered = self.covered.max(at + found.whole);
            }
            if at >= self.covered {
                out.extend(rest.first());
            } else if self.equal_length {
                out.push(b'*');
            }
            at += 1;
        }
        self.held.drain(..at);
        self.covered = self.covered.saturating_sub(at);
    }

    /// Lets through the bytes from `at` on that begin no secret, save those that one covers; returns where they end.
    fn plain(&self, at: usize, sets: &[&SecretPatterns], out: &mut Vec<u8>) -> usize {
        let rest = self.held.get(at..).unwrap_or_default();
        let nexts = rest.iter().skip(1).copied().map(Some).chain([None]);
        let mut pairs = rest.iter().copied().zip(nexts);
        let length = match sets {
            [one] => pairs.position(|(byte, next)| one.may_begin(byte, next)),
            sets => pairs.position(|(byte, next)| sets.iter().any(|set| set.may_begin(byte, next))),
        };
        let end = at + length.unwrap_or(rest.len());
        if self.equal_length {
            out.extend(std::iter::repeat_n(b'*', self.covered.clamp(at, end) - at));
        }
        out.extend_from_slice(self.held.get(self.covered.max(at)..end).unwrap_or_default());
        end
    }
}

fn find(sets: &[&SecretPatterns], rest: &[u8]) -> Found {
    sets.iter()
        .map(|patterns| patterns.at(rest))
        .fold(Found::default(), |all, one| Found { whole: all.whole.max(one.whole), cut: all.cut | one.cut })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;
    use base64::Engine as _;
    use proptest::prelude::*;

    const SECRET: &str = "sk-live/0123+ABCDEF==";

    fn patterns(secrets: &[&str]) -> SecretPatterns {
        let secret = |text: &&str| Secret::new(Zeroizing::new(text.as_bytes().to_vec())).unwrap();
        SecretPatterns::new(&secrets.iter().map(secret).collect::<Vec<_>>())
    }

    fn run(patterns: &SecretPatterns, pieces: &[&[u8]]) -> Vec<u8> {
        let (mut redactor, mut out) = (Redactor::default(), Vec::new());
        for piece in pieces {
            redactor.push(piece, &[patterns], &mut out);
        }
        redactor.finish(&[patterns], &mut out);
        out
    }

    proptest! {
        // Holds P4-42.
        #[test]
        fn a_mask_of_equal_length_leaves_every_other_byte_at_its_offset(
            before in "[ -~]{0,12}", after in "[ -~]{0,12}", cut in 0..40_usize,
        ) {
            let text = format!("{before}\r\n{SECRET}\r\n{after}");
            let (first, second) = text.as_bytes().split_at(cut.min(text.len()));
            let patterns = patterns(&[SECRET]);
            let (mut redactor, mut out) = (Redactor::of_equal_length(), Vec::new());
            for piece in [first, second] {
                redactor.push(piece, &[&patterns], &mut out);
            }
            redactor.finish(&[&patterns], &mut out);
            let stars = "*".repeat(SECRET.len());
            prop_assert_eq!(String::from_utf8(out).unwrap(), format!("{before}\r\n{stars}\r\n{after}"));
        }
    }

    #[test]
    fn a_secret_split_at_any_two_offsets_is_cut_out_in_every_form() {
        let patterns = patterns(&[SECRET]);
        let forms = [
            SECRET.to_owned(),
            "sk-live%2F0123%2BABCDEF%3D%3D".to_owned(),
            "sk-live%2f0123%2bABCDEF%3d%3d".to_owned(),
            "sk-live\\/0123+ABCDEF==".to_owned(),
        ];
        for form in forms {
            let text = format!("before {form} after");
            let want = b"before [REDACTED] after";
            for first in 0..text.len() {
                for second in first..text.len() {
                    let bytes = text.as_bytes();
                    let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                    assert_eq!(run(&patterns, &pieces), want, "{first} {second}");
                }
            }
            let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(run(&patterns, &single), want);
        }
    }

    #[test]
    fn a_secret_is_cut_out_of_base64_at_every_alignment_and_split() {
        let patterns = patterns(&[SECRET]);
        for before in 0..4 {
            let framed = format!("{}{SECRET}tail", "x".repeat(before));
            let text = base64::engine::general_purpose::STANDARD.encode(&framed);
            for split in 0..text.len() {
                let out = run(&patterns, &[&text.as_bytes()[..split], &text.as_bytes()[split..]]);
                let out = String::from_utf8(out).unwrap();
                assert!(out.contains("[REDACTED]"), "{out}");
                assert!(out.len() - MARK.len() <= text.len() - (SECRET.len() * 8 / 6 - 2), "{out}");
            }
        }
    }

    #[test]
    fn overlapping_secrets_leave_no_part_of_either() {
        let patterns = patterns(&["abcdefgh12", "gh12345678", "12345678zz"]);
        for split in 0..20 {
            let text = b"<abcdefgh12345678zz>";
            assert_eq!(run(&patterns, &[&text[..split], &text[split..]]), b"<[REDACTED]>", "{split}");
        }
        assert_eq!(run(&patterns, &[b"abcdefgh12abcdefgh12"]), b"[REDACTED][REDACTED]");
    }

    #[test]
    fn a_mere_beginning_comes_through_with_the_next_piece_or_the_end() {
        let patterns = patterns(&["secret-one", "secret-two-longer"]);
        let (mut redactor, mut out) = (Redactor::default(), Vec::new());
        redactor.push(b"the secret-", &[&patterns], &mut out);
        assert_eq!(out, b"the ");
        redactor.push(b"sauce,", &[&patterns], &mut out);
        assert_eq!(out, b"the secret-sauce,");
        redactor.push(b" secr", &[&patterns], &mut out);
        redactor.finish(&[&patterns], &mut out);
        assert_eq!(out, b"the secret-sauce, secr");
        assert_eq!(redactor.cut_out(), 0);
    }

    #[test]
    fn a_secret_of_any_of_the_sets_is_cut_out() {
        let (one, other) = (patterns(&["first-secret"]), patterns(&["other-secret"]));
        let (mut redactor, mut out) = (Redactor::default(), Vec::new());
        redactor.push(b"first-secret other-se", &[&one, &other], &mut out);
        redactor.push(b"cret.", &[&one, &other], &mut out);
        assert_eq!(out, b"[REDACTED] [REDACTED].");
        assert_eq!(redactor.cut_out(), 2);
    }

    proptest! {
        // Holds P4-29.
        #[test]
        fn however_a_stream_is_split_the_result_is_the_same_and_holds_no_secret(
            words in prop::collection::vec(prop_oneof!["[a-c]{1,6}", Just("abcabcab".to_owned()), Just("bcabcabcc".to_owned())], 0..20),
            splits in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let patterns = patterns(&["abcabcab", "bcabcabcc"]);
            let text = words.concat().into_bytes();
            let whole = run(&patterns, &[&text]);
            let mut ends: Vec<usize> = splits.iter().map(|split| split.index(text.len() + 1)).collect();
            ends.extend([0, text.len()]);
            ends.sort_unstable();
            let pieces: Vec<&[u8]> = ends.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            prop_assert_eq!(&run(&patterns, &pieces), &whole);
            for secret in [&b"abcabcab"[..], b"bcabcabcc"] {
                prop_assert!(!whole.windows(secret.len()).any(|run| run == secret));
            }
        }

        #[test]
        fn a_stream_without_secrets_comes_through_byte_for_byte(
            pieces in prop::collection::vec(any::<Vec<u8>>(), 0..8),
        ) {
            let patterns = patterns(&["never-in-random-bytes"]);
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(run(&patterns, &pieces), pieces.concat());
        }
    }
}
