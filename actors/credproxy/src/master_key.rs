//! The vault's key while the vault is open: in a page that no other process has mapped, that is never swapped, and that
//! agentd keeps over the lives of this process; in this process's own memory where there is no such page. Keys that are
//! derived from it live only while they are used.

use crate::envelope::Key;
use kit::KeyPage;
use zeroize::Zeroizing;

/// Stands before a key that was put there whole.
const MARK: [u8; 8] = *b"CRDNKEY1";
/// Bytes from one place to the next.
const PLACE: usize = 64;

/// A place for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The key that opens the vault.
    Current = 0,
    /// The key that is about to: a death between the vault's change and this page's loses neither.
    Next = 1,
}

impl Slot {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Current, Self::Next];

    const fn at(self) -> usize {
        self as usize * PLACE
    }
}

/// Keys of the vault.
#[derive(Default)]
pub(crate) struct KeyStore {
    page: Option<KeyPage>,
    own: [Option<Key>; 2],
}

impl KeyStore {
    /// A store in this page, with the keys that an earlier life left there.
    pub(crate) const fn new(page: Option<KeyPage>) -> Self {
        Self { page, own: [None, None] }
    }

    /// The key there.
    pub(crate) fn get(&self, slot: Slot) -> Option<Key> {
        let Some(page) = &self.page else {
            return self.own.get(slot as usize)?.as_ref().map(Key::copy);
        };
        let marked = page.read::<8>(slot.at()) == Some(MARK);
        let bytes = Zeroizing::new(page.read::<32>(slot.at() + MARK.len())?);
        if marked { Key::from_slice(&*bytes) } else { None }
    }

    /// Puts a key there. The mark comes last: a death before it leaves no key. One that is there already is not touched, so
    /// that no death leaves none.
    pub(crate) fn put(&mut self, slot: Slot, key: &Key) {
        if self.get(slot).is_some_and(|there| there.bytes() == key.bytes()) {
            return;
        }
        self.clear(slot);
        match (&mut self.page, self.own.get_mut(slot as usize)) {
            (Some(page), _) => {
                page.write(slot.at() + MARK.len(), key.bytes());
                page.write(slot.at(), &MARK);
            }
            (None, Some(own)) => *own = Some(key.copy()),
            (None, None) => {}
        }
    }

    /// Overwrites the key there.
    pub(crate) fn clear(&mut self, slot: Slot) {
        if let Some(page) = &mut self.page {
            page.write(slot.at(), &[0; PLACE]);
        }
        if let Some(own) = self.own.get_mut(slot as usize) {
            *own = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_has_its_own_key_until_it_is_cleared() {
        let (one, other) = (Key::random().unwrap(), Key::random().unwrap());
        let mut key_store = KeyStore::new(None);
        assert!(Slot::ALL.iter().all(|slot| key_store.get(*slot).is_none()));
        key_store.put(Slot::Current, &one);
        key_store.put(Slot::Next, &other);
        assert_eq!(key_store.get(Slot::Current).unwrap().bytes(), one.bytes());
        assert_eq!(key_store.get(Slot::Next).unwrap().bytes(), other.bytes());
        key_store.clear(Slot::Next);
        assert!(key_store.get(Slot::Next).is_none() && key_store.get(Slot::Current).is_some());
    }
}
