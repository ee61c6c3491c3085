//! Text, bytes and lists whose bound is in the type. A value over its bound cannot be made, and when decoding
//! the bound is checked before anything is allocated for it.

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// A value is over the bound of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} of {given} is over the bound of {bound}")]
pub struct TooLong {
    /// "text", "bytes" or "list".
    pub what: &'static str,
    /// Bytes or items given.
    pub given: usize,
    /// Bytes or items allowed.
    pub bound: usize,
}

fn within(what: &'static str, given: usize, bound: usize) -> Result<(), TooLong> {
    if given <= bound { Ok(()) } else { Err(TooLong { what, given, bound }) }
}

/// UTF-8 text of at most `N` bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Text<const N: usize>(String);

/// A short name: of a tool, a secret, an agent, a user.
pub type Name = Text<64>;

impl<const N: usize> Text<N> {
    /// The text, or how much it is too long.
    ///
    /// # Errors
    /// [`TooLong`] if it has more than `N` bytes.
    pub fn new(text: impl Into<String>) -> Result<Self, TooLong> {
        let text = text.into();
        within("text", text.len(), N)?;
        Ok(Self(text))
    }

    /// As much of the text as fits, cut at a character boundary.
    #[must_use]
    pub fn clip(text: &str) -> Self {
        let mut end = text.len().min(N);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self(text.get(..end).unwrap_or_default().to_owned())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl<const N: usize> std::ops::Deref for Text<N> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Content never appears in errors or logs: only the length is shown, save for short names.
impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if N <= 64 { write!(f, "{:?}", self.0) } else { write!(f, "Text({} bytes)", self.0.len()) }
    }
}

impl<const N: usize> Serialize for Text<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de, const N: usize> Deserialize<'de> for Text<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bounded<const N: usize>;
        impl<const N: usize> Visitor<'_> for Bounded<N> {
            type Value = Text<N>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "text of at most {N} bytes")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Text<N>, E> {
                within("text", text.len(), N).map_err(E::custom)?;
                Ok(Text(text.to_owned()))
            }
        }
        deserializer.deserialize_str(Bounded)
    }
}

/// At most `N` bytes.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Blob<const N: usize>(Vec<u8>);

impl<const N: usize> Blob<N> {
    /// The bytes, or how many are too many.
    ///
    /// # Errors
    /// [`TooLong`] if there are more than `N`.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, TooLong> {
        let bytes = bytes.into();
        within("bytes", bytes.len(), N)?;
        Ok(Self(bytes))
    }

    /// The bytes, owned.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        self.0
    }
}

impl<const N: usize> std::ops::Deref for Blob<N> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl<const N: usize> fmt::Debug for Blob<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blob({} bytes)", self.0.len())
    }
}

impl<const N: usize> Serialize for Blob<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de, const N: usize> Deserialize<'de> for Blob<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bounded<const N: usize>;
        impl<'de, const N: usize> Visitor<'de> for Bounded<N> {
            type Value = Blob<N>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "at most {N} bytes")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Blob<N>, E> {
                within("bytes", bytes.len(), N).map_err(E::custom)?;
                Ok(Blob(bytes.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Blob<N>, A::Error> {
                Items::<u8, N>(PhantomData).visit_seq(seq).map(|list| Blob(list.0))
            }
        }
        deserializer.deserialize_bytes(Bounded)
    }
}

/// At most `N` items.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct List<T, const N: usize>(Vec<T>);

impl<T, const N: usize> List<T, N> {
    /// The items, or how many are too many.
    ///
    /// # Errors
    /// [`TooLong`] if there are more than `N`.
    pub fn new(items: impl Into<Vec<T>>) -> Result<Self, TooLong> {
        let items = items.into();
        within("list", items.len(), N)?;
        Ok(Self(items))
    }

    /// The first items, as many as fit.
    #[must_use]
    pub fn clip(items: impl IntoIterator<Item = T>) -> Self {
        Self(items.into_iter().take(N).collect())
    }

    /// Adds one.
    ///
    /// # Errors
    /// [`TooLong`] if it is full.
    pub fn push(&mut self, item: T) -> Result<(), TooLong> {
        within("list", self.0.len() + 1, N)?;
        self.0.push(item);
        Ok(())
    }

    /// The items, owned.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.0
    }
}

impl<T, const N: usize> Default for List<T, N> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const N: usize> std::ops::Deref for List<T, N> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T, const N: usize> IntoIterator for List<T, N> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a List<T, N> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: Serialize, const N: usize> Serialize for List<T, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

struct Items<T, const N: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const N: usize> Visitor<'de> for Items<T, N> {
    type Value = List<T, N>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {N} items")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<T, N>, A::Error> {
        let announced = seq.size_hint().unwrap_or(0);
        within("list", announced, N).map_err(A::Error::custom)?;
        // The announcement is the peer's word: items are only made room for as they come.
        let mut items = Vec::with_capacity(announced.min(64));
        while let Some(item) = seq.next_element()? {
            within("list", items.len() + 1, N).map_err(A::Error::custom)?;
            items.push(item);
        }
        Ok(List(items))
    }
}

impl<'de, T: Deserialize<'de>, const N: usize> Deserialize<'de> for List<T, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Items(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bincode::Options;

    fn options() -> impl Options {
        bincode::DefaultOptions::new().with_fixint_encoding().with_limit(1 << 16)
    }

    // Holds P9-03.
    #[test]
    fn a_value_over_its_bound_cannot_be_made() {
        assert!(Text::<3>::new("four").is_err());
        assert!(Blob::<3>::new(vec![0; 4]).is_err());
        assert!(List::<u8, 3>::new(vec![0; 4]).is_err());
        assert_eq!(Text::<3>::clip("a\u{e9}\u{e9}").as_str(), "a\u{e9}");
    }

    // Holds P9-03.
    #[test]
    fn a_frame_that_announces_too_much_is_refused_before_it_is_allocated() {
        let announces_an_exabyte = u64::MAX.to_le_bytes();
        assert!(options().deserialize::<List<u64, 4>>(&announces_an_exabyte).is_err());
        assert!(options().deserialize::<Text<4>>(&announces_an_exabyte).is_err());
        assert!(options().deserialize::<Blob<4>>(&announces_an_exabyte).is_err());
    }

    proptest::proptest! {
        #[test]
        fn decoding_gives_back_what_was_encoded_and_refuses_what_is_over(text in ".{0,12}", items: Vec<u16>) {
            let bytes = options().serialize(&text).unwrap();
            proptest::prop_assert_eq!(options().deserialize::<Text<8>>(&bytes).is_ok(), text.len() <= 8);
            let bytes = options().serialize(&items).unwrap();
            let back = options().deserialize::<List<u16, 8>>(&bytes);
            proptest::prop_assert_eq!(back.ok().map(List::into_vec), Some(items).filter(|i| i.len() <= 8));
        }

        #[test]
        fn any_bytes_at_all_decode_without_panic(bytes: Vec<u8>) {
            let _ = options().deserialize::<List<Text<16>, 4>>(&bytes);
        }
    }
}
