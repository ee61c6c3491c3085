//! The forms in which a live secret is looked for in a reply: as it is, escaped in JSON, percent-encoded, in hexadecimal or
//! within base64 at each of its three alignments; and its reverse in each of these, and base64 and hexadecimal
//! reversed as a whole. Letters match in either case, and white space between the characters is skipped, up to
//! [`BLANKS`] bytes. Pure; every form is overwritten when dropped.
//!
//! A form by chance: of random base64 a letter matches one time in 32, a digit one in 64. The shortest form has eight
//! characters, so 256 secrets of eight letters, forwards and backwards, are found by chance less than once in 10^9 bytes.

use crate::blank::{BLANKS, Blank, blank, is_plain, may_begin_wide};
use crate::escape;
use crate::folding::{folded, reversed};
use crate::login_value;
use crate::secret::Secret;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// One form of a secret, in lower case and without white space.
type Form = Zeroizing<Vec<u8>>;

/// Characters that common encoders of JSON write as `\u00XX`, so that it can stand within HTML: those of Go, Gson and .NET.
const ESCAPED: [&[u8]; 3] = [b"<>&", b"<>&='", b"<>&+`'\""];
/// Characters by which forms are looked up.
const PREFIX: usize = 4;

/// Every form of every live secret.
pub(crate) struct SecretPatterns {
    /// In order, each once.
    forms: Vec<Form>,
    /// Those of mostly white space, which have kept it. They are tried wherever a form may begin.
    blank_forms: Vec<Form>,
    /// A bit for each two bytes that may begin a form, in either case and with white space between them.
    pairs: Bits,
    /// A bit for the hash of each form's prefix.
    prefixes: Bits,
}

/// The secrets that begin at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Bytes of the longest secret that stands there whole, with the white space in it; 0 if none.
    pub(crate) whole: usize,
    /// True if the bytes end within another, so that more of them must be seen.
    pub(crate) cut: bool,
}

impl SecretPatterns {
    /// The forms of these secrets.
    pub(crate) fn new(secrets: &[Secret]) -> Self {
        let parts = secrets.iter().flat_map(login_value::parts);
        let mut forms: Vec<Form> = parts.flat_map(|part| forms(part.reveal())).map(folded).collect();
        forms.sort_by(|one, other| one.as_slice().cmp(other.as_slice()));
        forms.dedup_by(|one, other| one.as_slice() == other.as_slice());
        let (mut pairs, mut prefixes) = (Bits::new(), Bits::new());
        let (blank_forms, forms): (Vec<Form>, Vec<Form>) =
            forms.into_iter().partition(|form| form.iter().any(|byte| is_plain(*byte)));
        for form in forms.iter().chain(&blank_forms) {
            if let Some(prefix) = form.first_chunk() {
                add_pairs(&mut pairs, prefix);
                prefixes.set(hash(prefix));
            }
        }
        Self { forms, blank_forms, pairs, prefixes }
    }

    /// Returns true if some form may begin with this byte and go on with the next one, if there is a next one.
    pub(crate) fn may_begin(&self, byte: u8, next: Option<u8>) -> bool {
        // A null byte is in no form: it stands for every one that may follow.
        self.pairs.has(u16::from_be_bytes([byte, next.unwrap_or(0)]))
    }

    /// The secrets that begin where `rest` begins.
    pub(crate) fn at(&self, rest: &[u8]) -> Found {
        let candidates = match (prefix(rest), rest.first()) {
            (Some(prefix), _) if !self.prefixes.has(hash(&prefix)) => &[],
            (Some(prefix), _) => self.beginning_with(&prefix),
            (None, Some(first)) => self.beginning_with(&[first.to_ascii_lowercase()]),
            (None, None) => &[],
        };
        let mut found = Found::default();
        for form in candidates.iter().chain(&self.blank_forms) {
            match compare(form, rest) {
                Comparison::Equal(length) => found.whole = found.whole.max(length),
                Comparison::Cut => found.cut = true,
                Comparison::Other => {}
            }
        }
        found
    }

    fn beginning_with(&self, prefix: &[u8]) -> &[Form] {
        let from = self.forms.partition_point(|form| form.as_slice() < prefix);
        let rest = self.forms.get(from..).unwrap_or_default();
        let count = rest.partition_point(|form| form.starts_with(prefix));
        rest.get(..count).unwrap_or_default()
    }
}

/// A set of numbers below 65,536.
struct Bits(Zeroizing<Vec<u64>>);

impl Bits {
    fn new() -> Self {
        Self(Zeroizing::new(vec![0; 1024]))
    }

    fn set(&mut self, number: u16) {
        if let Some(word) = self.0.get_mut(usize::from(number >> 6)) {
            *word |= 1 << (number & 63);
        }
    }

    fn has(&self, number: u16) -> bool {
        self.0.get(usize::from(number >> 6)).is_some_and(|word| word >> (number & 63) & 1 == 1)
    }
}

/// The first two characters of a form, in either case; and its first one before the end of a text, or before a byte that may
/// be white space.
fn add_pairs(pairs: &mut Bits, [first, second, ..]: &[u8; PREFIX]) {
    let follows = |byte: &u8| *byte == 0 || is_plain(*byte) || may_begin_wide(*byte);
    let blanks = (0..=u8::MAX).filter(follows);
    let seconds: Vec<u8> = blanks.chain([*second, second.to_ascii_uppercase()]).collect();
    for first in [*first, first.to_ascii_uppercase()] {
        for second in &seconds {
            pairs.set(u16::from_be_bytes([first, *second]));
        }
    }
}

fn hash(prefix: &[u8; PREFIX]) -> u16 {
    let [.., high, low] = u32::from_le_bytes(*prefix).wrapping_mul(0x9e37_79b1).to_le_bytes();
    u16::from_le_bytes([high, low])
}

/// The first characters of a text in lower case, without white space. `None` if there are fewer, or if one of them begins
/// white space of several bytes, which may be characters of a secret as well: then the forms themselves must be tried.
fn prefix(rest: &[u8]) -> Option<[u8; PREFIX]> {
    let mut prefix = [0; PREFIX];
    let mut characters = rest.iter().enumerate().take(BLANKS).filter(|(_, byte)| !is_plain(**byte));
    for slot in &mut prefix {
        let (at, byte) = characters.next()?;
        if may_begin_wide(*byte) && blank(rest.get(at..)?) != Blank::None {
            return None;
        }
        *slot = byte.to_ascii_lowercase();
    }
    Some(prefix)
}

/// How a text compares to a form.
enum Comparison {
    /// It begins with the form, which takes so many bytes of it.
    Equal(usize),
    /// It ends within the form.
    Cut,
    /// It is another text.
    Other,
}

fn compare(form: &[u8], rest: &[u8]) -> Comparison {
    let (mut at, mut skipped) = (0, 0);
    for (number, character) in form.iter().enumerate() {
        loop {
            let text = rest.get(at..).unwrap_or_default();
            let Some(byte) = text.first() else { return Comparison::Cut };
            if byte.to_ascii_lowercase() == *character && !is_escape(text, form.get(number + 1)) {
                at += 1;
                break;
            }
            match blank(text) {
                Blank::Bytes(length) if at > 0 && skipped + length <= BLANKS => {
                    skipped += length;
                    at += length;
                }
                Blank::Cut if at > 0 => return Comparison::Cut,
                _ => return Comparison::Other,
            }
        }
    }
    Comparison::Equal(at)
}

/// Returns true if a text begins with white space of several bytes, although its first byte is a character of the form: an
/// escape of white space begins like one of a quote. The form's next character decides.
fn is_escape(text: &[u8], next: Option<&u8>) -> bool {
    let goes_on = |byte: &u8| next.is_none_or(|next| byte.to_ascii_lowercase() == *next);
    text.first().is_some_and(|byte| may_begin_wide(*byte))
        && !text.get(1).is_none_or(goes_on)
        && matches!(blank(text), Blank::Bytes(_))
}

fn forms(secret: &[u8]) -> Vec<Form> {
    let backwards = reversed(secret);
    let mut forms = encodings(secret);
    forms.extend(binary(secret).iter().map(|text| reversed(text)));
    forms.extend(encodings(&backwards));
    forms
}

/// A value as text may hold it.
fn encodings(value: &[u8]) -> Vec<Form> {
    let mut forms = vec![
        Zeroizing::new(value.to_vec()),
        bytes(escape::json(value, false)),
        bytes(escape::json(value, true)),
        bytes(escape::percent(value, true)),
        bytes(escape::percent_in_path(value)),
        bytes(escape::percent_all(value)),
        bytes(escape::json_unicode(value, |_| true)),
    ];
    for set in ESCAPED {
        forms.push(bytes(escape::json_unicode(value, |byte| set.contains(&byte))));
    }
    forms.extend(binary(value));
    forms
}

/// A value as text holds bytes: hexadecimal and base64.
fn binary(value: &[u8]) -> Vec<Form> {
    let mut forms = vec![Zeroizing::new(data_encoding::HEXLOWER.encode(value).into_bytes())];
    for before in 0..3 {
        forms.push(within_base64(&STANDARD_NO_PAD, value, before));
        forms.push(within_base64(&URL_SAFE_NO_PAD, value, before));
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
mod tests;
