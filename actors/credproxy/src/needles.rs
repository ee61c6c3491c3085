//! What a live secret can look like in a reply: as it is, escaped in JSON, percent-encoded, or within base64 at
//! each of its three alignments. Pure; every form is overwritten when dropped.

use crate::escape;
use crate::login;
use crate::secret::Secret;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// One form of a secret.
type Form = Zeroizing<Vec<u8>>;

/// Every form of every live secret, by its first byte.
pub(crate) struct Needles {
    by_first: Vec<Vec<Form>>,
}

/// What begins at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Bytes of the longest form that stands there whole; 0 if none.
    pub(crate) whole: usize,
    /// True if the bytes end within another form, so that more of them must be seen.
    pub(crate) cut: bool,
}

impl Needles {
    /// The forms of these secrets.
    pub(crate) fn new(secrets: &[Secret]) -> Self {
        let mut by_first = Vec::new();
        by_first.resize_with(256, Vec::new);
        let mut all: Vec<Form> =
            secrets.iter().flat_map(login::parts).flat_map(|part| forms(part.reveal())).collect();
        all.sort_by(|one, other| one.as_slice().cmp(other.as_slice()));
        all.dedup_by(|one, other| one.as_slice() == other.as_slice());
        for form in all {
            let first = form.first().copied().unwrap_or_default();
            if let Some(bucket) = by_first.get_mut(usize::from(first)) {
                bucket.push(form);
            }
        }
        Self { by_first }
    }

    /// What begins where `rest` begins.
    pub(crate) fn at(&self, rest: &[u8]) -> Found {
        let mut found = Found::default();
        let bucket = rest.first().and_then(|first| self.by_first.get(usize::from(*first)));
        for form in bucket.into_iter().flatten() {
            if rest.starts_with(form) {
                found.whole = found.whole.max(form.len());
            } else if form.starts_with(rest) {
                found.cut = true;
            }
        }
        found
    }
}

fn forms(secret: &[u8]) -> Vec<Form> {
    let mut forms = vec![
        Zeroizing::new(secret.to_vec()),
        bytes(escape::json(secret, false)),
        bytes(escape::json(secret, true)),
        bytes(escape::percent(secret, true)),
        bytes(escape::percent(secret, false)),
    ];
    for before in 0..3 {
        forms.push(within_base64(&STANDARD_NO_PAD, secret, before));
        forms.push(within_base64(&URL_SAFE_NO_PAD, secret, before));
    }
    forms
}

fn bytes(mut text: Zeroizing<String>) -> Form {
    Zeroizing::new(std::mem::take(&mut *text).into_bytes())
}

/// The characters that the secret alone decides when `before` bytes (modulo 3) stand before it, whatever they and
/// those behind it are.
fn within_base64(alphabet: &impl base64::Engine, secret: &[u8], before: usize) -> Form {
    let mut shifted = Zeroizing::new(vec![0; before]);
    shifted.extend_from_slice(secret);
    let mut encoded = Zeroizing::new(alphabet.encode(&*shifted).into_bytes());
    encoded.truncate(shifted.len() * 8 / 6);
    Zeroizing::new(encoded.split_off((before * 8).div_ceil(6)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use proptest::prelude::*;

    fn needles(secrets: &[&str]) -> Needles {
        let secret = |text: &&str| Secret::new(Zeroizing::new(text.as_bytes().to_vec())).unwrap();
        Needles::new(&secrets.iter().map(secret).collect::<Vec<_>>())
    }

    fn holds(needles: &Needles, text: &[u8]) -> bool {
        (0..text.len()).any(|at| needles.at(&text[at..]).whole > 0)
    }

    #[test]
    fn the_longest_form_wins_and_a_form_cut_off_by_the_end_is_told() {
        let needles = needles(&["abcdefgh", "abcdefghij"]);
        assert_eq!(needles.at(b"abcdefghi"), Found { whole: 8, cut: true });
        assert_eq!(needles.at(b"abcdefghij-"), Found { whole: 10, cut: false });
        assert_eq!(needles.at(b"abc"), Found { whole: 0, cut: true });
        assert_eq!(needles.at(b"abd"), Found::default());
        assert_eq!(needles.at(b""), Found::default());
    }

    proptest! {
        #[test]
        fn a_secret_is_found_in_every_form_with_anything_around_it(
            secret in "[!-~]{8,40}", before: Vec<u8>, after: Vec<u8>,
        ) {
            let needles = needles(&[&secret]);
            let framed = [&before, secret.as_bytes(), &after].concat();
            let percent: String = secret.bytes().map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
                _ => format!("%{byte:02X}"),
            }).collect();
            let forms = [
                framed.clone(),
                STANDARD_NO_PAD.encode(&framed).into_bytes(),
                base64::engine::general_purpose::STANDARD.encode(&framed).into_bytes(),
                URL_SAFE_NO_PAD.encode(&framed).into_bytes(),
                serde_json::to_vec(&secret).unwrap(),
                [&before, percent.as_bytes(), &after].concat(),
                [&before, percent.to_lowercase().as_bytes(), &after].concat(),
            ];
            // Lower-casing the whole would change the letters of the secret itself.
            let checked = if secret.bytes().any(|byte| byte.is_ascii_uppercase()) { 6 } else { 7 };
            for (number, form) in forms.iter().take(checked).enumerate() {
                prop_assert!(holds(&needles, form), "form {number}");
            }
        }
    }
}
