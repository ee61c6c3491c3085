//! Names a difference: says which of two values that differ was changed, and explains an entry that is missing from its
//! place.

use super::bundle::{self, Bundle};
use super::claims::Claim;
use super::{Fault, Kind};
use crate::entry::Head;
use crate::folder::Folder;
use crate::hash;
use crate::tile::WIDTH;

/// Where an entry and a hash of it differ and the tree of the entries is the one that was signed, the hash was changed.
pub(crate) fn acquit(fault: &mut Fault, claims: &[Claim]) {
    let Some(index) = fault.index.filter(|_| fault.kind == Kind::Edited) else { return };
    let mut covering = claims.iter().filter(|claim| claim.size > index).peekable();
    if covering.peek().is_some() && covering.all(|claim| claim.entries == Some(true)) {
        fault.kind = Kind::Tile;
        fault.message = format!("a hash kept of entry {index} was edited; the entry is as it was signed");
    }
}

/// Names an entry that claims another place than its own. Its claim is believed where its hash was stored for that
/// place, or for this one.
pub(crate) fn misplaced(folder: &Folder, bundle: &Bundle, index: u64) -> Fault {
    let at = usize::try_from(index % WIDTH).unwrap_or(0);
    let entry = bundle.entries().nth(at);
    let Some((entry, says)) = entry.and_then(|entry| Some((entry, Head::read(entry)?.index))) else {
        return edited(index);
    };
    let leaf = hash::leaf(entry);
    let stored = [says, index].map(|place| bundle::stored_hash(folder, place));
    if stored.iter().any(Option::is_some) && stored.iter().flatten().all(|hash| *hash != leaf) {
        return edited(index);
    }
    let holds = |bundle: &Bundle| bundle.entries().filter_map(Head::read).any(|head| head.index == index);
    let elsewhere = holds(bundle)
        || (says / WIDTH != index / WIDTH
            && Bundle::read(folder, says / WIDTH).is_some_and(|other| holds(&other)));
    if says > index && !elsewhere {
        return Fault::new(
            Kind::Deleted,
            index,
            format!("entry {index} is gone: in its place stands entry {says}"),
        );
    }
    Fault::new(Kind::Reordered, index, format!("in the place of entry {index} stands entry {says}"))
}

fn edited(index: u64) -> Fault {
    Fault::new(Kind::Edited, index, format!("entry {index} is no entry any more"))
}
