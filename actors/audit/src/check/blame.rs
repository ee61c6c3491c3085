//! What a difference is called: which of two that differ was changed, and what became of an entry that is not in its
//! place.

use super::bundle::Bundle;
use super::claims::Claim;
use super::{Fault, Kind};
use crate::entry::Head;
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

/// Names what an entry is that does not say it stands where it stands.
pub(crate) fn misplaced(bundle: &Bundle, index: u64) -> Fault {
    let heads = || bundle.entries().map(Head::read);
    let at = usize::try_from(index % WIDTH).unwrap_or(0);
    let elsewhere = || heads().flatten().any(|head| head.index == index);
    match heads().nth(at).flatten().map(|head| head.index) {
        Some(says) if says > index && !elsewhere() => Fault::new(
            Kind::Deleted,
            index,
            format!("entry {index} is gone: in its place stands entry {says}"),
        ),
        Some(says) => {
            Fault::new(Kind::Reordered, index, format!("in the place of entry {index} stands entry {says}"))
        }
        None => Fault::new(Kind::Edited, index, format!("entry {index} is no entry any more")),
    }
}
