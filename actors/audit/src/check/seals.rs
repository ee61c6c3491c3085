//! The record's own entries about itself: the entries that retention removed, and the key rotations. A bundle that is
//! gone and that no entry accounts for was deleted.

use super::{Fault, Kind};
use crate::entry::{self, Head};
use crate::hash::Hash;
use crate::retention;
use crate::tile::WIDTH;
use ipc_proto::audit::Event;

/// The removals and rotations on the record, and the bundles that are gone.
#[derive(Default)]
pub(crate) struct Seals {
    /// Bundles that are not there, with the roots of their tiles.
    gone: Vec<(u64, Hash)>,
    /// Removals: first and last bundle, and the hash over the roots.
    removals: Vec<(u64, u64, Hash)>,
    rotations: Vec<Hash>,
}

impl Seals {
    /// Takes up an entry that is of a removal or a rotation.
    pub(crate) fn see(&mut self, head: &Head<'_>, entry: &[u8]) {
        if head.witness != manifest::Process::Audit.name().as_bytes() {
            return;
        }
        let event = || entry::decode(entry).ok().map(|record| record.event);
        match head.action {
            b"record_sealed" => self.removals.extend(event().and_then(|event| removal(&event))),
            b"key_rotated" => self.rotations.extend(event().and_then(|event| event.hash)),
            _ => {}
        }
    }

    /// A bundle is not there; its tile's root.
    pub(crate) fn gone(&mut self, index: u64, root: Hash) {
        self.gone.push((index, root));
    }

    /// Returns whether this rotation is on the record.
    pub(crate) fn has_rotation(&self, note: &Hash) -> bool {
        self.rotations.contains(note)
    }

    /// Bundles that were removed as the record says, and a fault for the first that was not.
    pub(crate) fn end(&self) -> (u64, Option<Fault>) {
        let mut accounted = vec![false; self.gone.len()];
        for (first, last, hash) in &self.removals {
            let from = self.gone.partition_point(|(index, _)| index < first);
            let to = self.gone.partition_point(|(index, _)| index <= last);
            let roots: Vec<Hash> =
                self.gone.get(from..to).unwrap_or_default().iter().map(|(_, root)| *root).collect();
            let whole = roots.len() as u64 == last - first + 1;
            if whole && retention::hash(&roots) == *hash {
                accounted.iter_mut().take(to).skip(from).for_each(|it| *it = true);
            }
        }
        let sealed = accounted.iter().filter(|it| **it).count() as u64;
        let deleted = self.gone.iter().zip(&accounted).find(|(_, accounted)| !**accounted);
        let fault = deleted.map(|((index, _), _)| {
            let (first, last) = (index * WIDTH, (index + 1) * WIDTH - 1);
            let message =
                format!("entries {first} to {last} are gone, and no entry says that retention removed them");
            Fault::new(Kind::Deleted, first, message)
        });
        (sealed, fault)
    }
}

fn removal(event: &Event) -> Option<(u64, u64, Hash)> {
    let (first, last) = event.subject.as_ref()?.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    let whole = first <= last && first.is_multiple_of(WIDTH) && last % WIDTH == WIDTH - 1;
    whole.then_some((first / WIDTH, last / WIDTH, event.hash?))
}
