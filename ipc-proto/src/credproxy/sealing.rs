//! The bytes that are sealed to credproxy's public key. Pure: who seals and who opens share these and nothing else.
//! Every part stands behind its length and every list behind its count, so no two meanings have the same bytes.

use super::{At, Binding, Lease};
use crate::Name;
use serde::{Deserialize, Serialize};

/// The head of the sealed value: name, binding and lease as the person gave them, so that a process that carries
/// the sealed bytes cannot have them stored under another name or for another use.
///
/// A client seals `binding(name, …)` followed by the value.
#[must_use]
pub fn binding(name: &str, binding: &Binding, lease: Lease) -> Vec<u8> {
    let mut bytes = b"cordon-secret-2".to_vec();
    put(&mut bytes, name.as_bytes());
    list(&mut bytes, binding.hosts.iter(), |bytes, host| put(bytes, host.as_bytes()));
    list(&mut bytes, binding.verbs.iter(), |bytes, verb| put(bytes, verb.word().as_bytes()));
    list(&mut bytes, binding.paths.iter(), |bytes, path| put(bytes, path.as_bytes()));
    list(&mut bytes, binding.at.iter(), place);
    number(&mut bytes, lease.until_ms);
    number(&mut bytes, lease.uses);
    bytes
}

fn place(bytes: &mut Vec<u8>, at: &At) {
    let (kind, name, prefix) = match at {
        At::Header { name, prefix } => (0, name.as_str(), prefix.as_str()),
        At::Query { name } => (1, name.as_str(), ""),
        At::Segment => (2, "", ""),
        At::Field { name } => (3, name.as_str(), ""),
        At::Login => (4, "", ""),
    };
    bytes.push(kind);
    put(bytes, name.as_bytes());
    put(bytes, prefix.as_bytes());
}

fn list<'a, T: 'a>(
    bytes: &mut Vec<u8>,
    items: impl ExactSizeIterator<Item = &'a T>,
    each: impl Fn(&mut Vec<u8>, &'a T),
) {
    bytes.extend(length(items.len()));
    items.for_each(|item| each(bytes, item));
}

fn put(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend(length(part.len()));
    bytes.extend(part);
}

fn number(bytes: &mut Vec<u8>, number: Option<u64>) {
    bytes.push(number.is_some().into());
    bytes.extend(number.unwrap_or_default().to_le_bytes());
}

fn length(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}

/// A secret in an export, which is a JSON array of these.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exported<V> {
    /// Its name.
    pub name: Name,
    /// The permitted use.
    pub binding: Binding,
    /// The rest of its lease.
    pub lease: Lease,
    /// Its value, as text.
    pub value: V,
}

/// The purpose of a sealed parcel: a parcel that was sealed for another purpose does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The passphrase.
    Unlock,
    /// The passphrase that holds, empty where none does, and the new one.
    Passphrase,
    /// The key that opens the vault (the passphrase, or the content of its key file or credential), and the X25519
    /// key, 32 bytes, that the export is sealed to.
    Export,
}

impl Purpose {
    const fn label(self) -> &'static [u8] {
        match self {
            Self::Unlock => b"cordon-unlock-1",
            Self::Passphrase => b"cordon-passphrase-1",
            Self::Export => b"cordon-export-1",
        }
    }
}

/// The plain text to be sealed for this purpose. The bytes are made in one piece, so that none are left behind where
/// they grew.
#[must_use]
pub fn parcel(purpose: Purpose, parts: &[&[u8]]) -> Vec<u8> {
    let whole = purpose.label().len() + parts.iter().map(|part| part.len() + 4).sum::<usize>();
    let mut bytes = Vec::with_capacity(whole);
    bytes.extend(purpose.label());
    parts.iter().for_each(|part| put(&mut bytes, part));
    bytes
}

/// The parts of a parcel that was opened; `None` if it is for something else, or has not so many.
#[must_use]
pub fn open_parcel<const N: usize>(purpose: Purpose, bytes: &[u8]) -> Option<[&[u8]; N]> {
    let mut rest = bytes.strip_prefix(purpose.label())?;
    let mut parts = [&[][..]; N];
    for part in &mut parts {
        let (length, after) = rest.split_first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        (*part, rest) = after.split_at_checked(length)?;
    }
    rest.is_empty().then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::super::Verb;
    use super::*;
    use crate::{List, Text};
    use proptest::prelude::*;

    type Parts = (Vec<String>, Vec<usize>, Vec<String>, Vec<(u8, String, String)>);

    /// Names, hosts, verbs, paths and places of few letters, so that many have the same letters in another order.
    fn words() -> impl Strategy<Value = (String, Parts, Option<u64>, Option<u64>)> {
        let text = || "[ab\0]{0,3}";
        let texts = || proptest::collection::vec(text(), 0..3);
        let places = proptest::collection::vec((0..5_u8, text(), text()), 0..3);
        let bound = (texts(), proptest::collection::vec(0..6_usize, 0..3), texts(), places);
        (text(), bound, proptest::option::of(0..3_u64), proptest::option::of(0..3_u64))
    }

    fn bound((hosts, verbs, paths, at): &Parts) -> Binding {
        let at = at.iter().map(|(kind, name, prefix)| match kind {
            0 => At::Header { name: Name::clip(name), prefix: Text::clip(prefix) },
            1 => At::Query { name: Name::clip(name) },
            2 => At::Segment,
            4 => At::Login,
            _ => At::Field { name: Name::clip(name) },
        });
        Binding {
            hosts: List::clip(hosts.iter().map(|host| Text::clip(host))),
            verbs: List::clip(verbs.iter().map(|verb| Verb::ALL[*verb])),
            paths: List::clip(paths.iter().map(|path| Text::clip(path))),
            at: List::clip(at),
        }
    }

    proptest! {
        // Holds P4-21.
        #[test]
        fn no_two_names_bindings_and_leases_begin_with_the_same_bytes(one in words(), other in words()) {
            let meant = |(name, words, until_ms, uses): &(String, Parts, Option<u64>, Option<u64>)| {
                (name.clone(), bound(words), Lease { until_ms: *until_ms, uses: *uses })
            };
            let (one, other) = (meant(&one), meant(&other));
            let bytes = |(name, bound, lease): &(String, Binding, Lease)| binding(name, bound, *lease);
            prop_assert_eq!(one == other, bytes(&one) == bytes(&other));
            prop_assert!(one == other || !bytes(&one).starts_with(&bytes(&other)));
        }

        #[test]
        fn a_parcel_opens_as_what_it_is_and_as_nothing_else(one: Vec<u8>, other: Vec<u8>, cut: prop::sample::Index) {
            let made = parcel(Purpose::Passphrase, &[&one, &other]);
            prop_assert_eq!(open_parcel(Purpose::Passphrase, &made), Some([&one[..], &other[..]]));
            prop_assert_eq!(open_parcel::<2>(Purpose::Export, &made), None);
            prop_assert_eq!(open_parcel::<1>(Purpose::Passphrase, &made), None);
            prop_assert_eq!(open_parcel::<3>(Purpose::Passphrase, &made), None);
            prop_assert_eq!(open_parcel::<2>(Purpose::Passphrase, &made[..cut.index(made.len())]), None);
            prop_assert!(made.capacity() == made.len());
        }

        #[test]
        fn any_bytes_at_all_are_a_parcel_or_none(bytes: Vec<u8>) {
            let _ = open_parcel::<2>(Purpose::Unlock, &bytes);
            let _ = open_parcel::<1>(Purpose::Unlock, &[&b"cordon-unlock-1"[..], &bytes].concat());
        }
    }
}
