//! One pass over a log, bundle by bundle, in memory that does not grow with it. Where entries and tiles differ, both
//! trees are made: the signed one shows which of the two was changed.

use super::blame::{acquit, misplaced};
use super::bundle::{self, Bundle};
use super::claims::Claim;
use super::gaps::Gaps;
use super::seals::Seals;
use super::unsigned::Unsigned;
use super::{Fault, Faults, Findings, Kind};
use crate::entry::Head;
use crate::folder::Folder;
use crate::hash::{self, Hash, Range};
use crate::tile::{self, WIDTH};

/// A root by the tiles, and by the entries: the same but where something was changed.
type Pair = (Hash, Hash);

/// The pass.
pub(crate) struct Pass {
    folder: Folder,
    pub(crate) faults: Faults,
    pub(crate) seals: Seals,
    gaps: Gaps,
    unsigned: Unsigned,
    /// The next bundle.
    index: u64,
    /// Entries that were signed.
    signed: u64,
    /// The tree of the entries.
    entries: Range,
    /// The tree of the tiles, from where it differs.
    tiles: Option<Range>,
    /// Per level the roots of the tiles below it that are not in a full tile yet: by the tiles, and by the entries.
    above: Vec<Vec<Pair>>,
    /// The leaves of the last bundle, by entries and by tile, if it is not full.
    last: (Vec<Hash>, Vec<Hash>),
}

impl Pass {
    pub(crate) fn new(folder: Folder, claims: &[Claim], faults: Faults, now_ms: u64) -> Self {
        let signed = claims.last().map_or(0, |claim| claim.size);
        Self {
            folder,
            faults,
            seals: Seals::default(),
            gaps: Gaps::default(),
            unsigned: Unsigned::new(now_ms, signed),
            index: 0,
            signed,
            entries: Range::default(),
            tiles: None,
            above: Vec::new(),
            last: (Vec::new(), Vec::new()),
        }
    }

    /// The next bundle; whether there may be another.
    pub(crate) fn step(&mut self, claims: &mut [Claim]) -> bool {
        let (index, first) = (self.index, self.index * WIDTH);
        let found = Bundle::read(&self.folder, index);
        let tile = bundle::full_tile(&self.folder, 0, index);
        let (leaves, hashes) = match (found, tile) {
            (Some(bundle), tile) => {
                let leaves = self.look(&bundle, first);
                self.compare(&bundle, &leaves, tile, first)
            }
            (None, Some(tile)) => {
                self.gaps.skip();
                self.seals.gone(index, hash::root(&tile));
                (tile.clone(), tile)
            }
            (None, None) => {
                self.missing(first);
                (Vec::new(), Vec::new())
            }
        };
        self.settle(claims, first, &leaves, &hashes);
        if leaves.len().max(hashes.len()) as u64 != WIDTH {
            self.last = (leaves, hashes);
            return false;
        }
        let entries = hash::root(&leaves);
        // The two are equal except where something was changed, and hashing takes most of a pass's time.
        let tile = if leaves == hashes { entries } else { hash::root(&hashes) };
        self.push(index, entries, tile);
        self.index += 1;
        true
    }

    /// There is no bundle and no tile of it.
    fn missing(&mut self, first: u64) {
        if first >= self.signed {
            return;
        }
        let next = self.index + 1;
        // The one that grows is begun ahead, and may be there without an entry.
        if Bundle::read(&self.folder, next).is_some_and(|bundle| bundle.entries().next().is_some()) {
            let message = format!("entries {first} to {} and their tile are gone", first + WIDTH - 1);
            return self.faults.add(Fault::new(Kind::Deleted, first, message));
        }
        let message = format!("{} entries are signed, and only {first} are there", self.signed);
        self.faults.add(Fault::new(Kind::Truncated, first, message));
    }

    /// Reads the entries: their hashes, and their own fields.
    fn look(&mut self, bundle: &Bundle, first: u64) -> Vec<Hash> {
        let mut leaves = Vec::with_capacity(256);
        for entry in bundle.entries() {
            leaves.push(hash::leaf(entry));
            let (index, head) = (first + leaves.len() as u64 - 1, Head::read(entry));
            if let Some(head) = &head {
                self.gaps.see(head);
                self.seals.see(head, entry);
                self.unsigned.see(index, head.time_ms);
            }
            if head.is_none_or(|head| head.index != index)
                && self.faults.listed.iter().all(|it| it.index < Some(first))
            {
                let fault = misplaced(&self.folder, bundle, index);
                self.faults.add(fault);
            }
        }
        leaves
    }

    /// Compares a bundle's leaves with its tile; gives both, the one standing in for the other where it is missing.
    fn compare(
        &mut self,
        bundle: &Bundle,
        leaves: &[Hash],
        tile: Option<Vec<Hash>>,
        first: u64,
    ) -> (Vec<Hash>, Vec<Hash>) {
        let partial = self.partial(bundle, leaves, first);
        let is_full = leaves.len() as u64 == WIDTH;
        if let Some(tile) = tile {
            if let Some(at) = tile.iter().zip(leaves).position(|(tile, leaf)| tile != leaf) {
                self.differs(first + at as u64, "its tile");
            } else if !is_full {
                self.short(bundle, leaves, first, tile.len());
            }
            self.over(bundle, first);
            return (leaves.to_vec(), tile);
        }
        if is_full && (!bundle.is_tail || self.signed > first + WIDTH) {
            let message = format!("{} is not there, or not whole", tile::path(0, first / WIDTH));
            self.faults.add(Fault::new(Kind::Tile, first, message));
        }
        let there = first + leaves.len() as u64;
        if there < self.signed.min(first + WIDTH) {
            self.short(bundle, leaves, first, partial.len());
        } else if bundle.rest() > 0 {
            let message = format!("entry {there}, the last, was not finished: a start cuts it off");
            self.faults.add(Fault::new(Kind::Torn, there, message));
        }
        let newer = leaves.get(partial.len()..).unwrap_or_default();
        (leaves.to_vec(), [&partial, newer].concat())
    }

    /// Entries are missing at the end of a bundle.
    fn short(&mut self, bundle: &Bundle, leaves: &[Hash], first: u64, known: usize) {
        let there = first + leaves.len() as u64;
        if self
            .faults
            .listed
            .iter()
            .any(|fault| fault.index.is_some_and(|index| index >= first && index <= there))
        {
            return;
        }
        let whole = bundle::partial_bundles(&self.folder, first / WIDTH).iter().map(Vec::len).max();
        let edited =
            bundle.rest() > 0 && (!bundle.is_tail || whole.is_some_and(|whole| bundle.bytes.len() >= whole));
        let fault = if edited {
            Fault::new(Kind::Edited, there, format!("entry {there} is no entry any more"))
        } else if bundle.is_tail {
            let signed = self.signed.max(first + known as u64);
            Fault::new(
                Kind::Truncated,
                there,
                format!("{signed} entries are signed, and only {there} are there"),
            )
        } else {
            Fault::new(
                Kind::Deleted,
                there,
                format!("entry {there} and what follows it in its bundle are gone"),
            )
        };
        self.faults.add(fault);
    }

    /// Bytes after the last entry of a full bundle.
    fn over(&mut self, bundle: &Bundle, first: u64) {
        if bundle.rest() > 0 && bundle.entries().count() as u64 == WIDTH {
            let message =
                format!("{} has {} bytes too many", tile::bundle_path(first / WIDTH), bundle.rest());
            self.faults.add(Fault::new(Kind::Edited, first + WIDTH - 1, message));
        }
    }

    fn differs(&mut self, index: u64, with: &str) {
        // A fault that is already listed for this entry says more.
        if self.faults.listed.iter().all(|fault| fault.index != Some(index) || fault.kind == Kind::Tile) {
            self.faults.add(Fault::new(Kind::Edited, index, format!("entry {index} and {with} differ")));
        }
    }

    /// Compares the partial tiles; returns the widest.
    fn partial(&mut self, bundle: &Bundle, leaves: &[Hash], first: u64) -> Vec<Hash> {
        let index = first / WIDTH;
        let mut widest = Vec::new();
        for (width, hashes) in bundle::partials(&self.folder, 0, index) {
            let Some(hashes) = hashes else {
                let path = tile::partial_path(&tile::path(0, index), width);
                self.faults.add(Fault::new(Kind::Tile, first, format!("{path} is not whole")));
                continue;
            };
            if let Some(at) = hashes.iter().zip(leaves).position(|(hash, leaf)| hash != leaf) {
                self.differs(first + at as u64, "its partial tile");
            }
            if hashes.len() > widest.len() {
                widest = hashes;
            }
        }
        for bytes in bundle::partial_bundles(&self.folder, index) {
            let entries = tile::entries(&bytes).filter_map(|range| bytes.get(range));
            if let Some(at) = entries.zip(bundle.entries()).position(|(one, other)| one != other) {
                self.differs(first + at as u64, "its copy in the partial bundle");
            } else if !bundle.bytes.starts_with(&bytes)
                && (bundle.bytes.len() >= bytes.len() || bundle::end(&bytes) < bytes.len())
            {
                let path = tile::partial_folder(&tile::bundle_path(index));
                self.faults.add(Fault::new(Kind::Tile, first, format!("{path} is not what the bundle is")));
            }
        }
        widest
    }

    /// Compares both trees with the claims of a size that ends in this bundle.
    fn settle(&self, claims: &mut [Claim], first: u64, leaves: &[Hash], hashes: &[Hash]) {
        let root = |range: &Range, hashes: &[Hash], size: u64| {
            let width = usize::try_from(size - first).ok()?;
            let part = hashes.get(..width)?;
            Some(range.root((width > 0).then(|| hash::root(part))))
        };
        let here = |claim: &&mut Claim| claim.size >= first && claim.size - first <= WIDTH;
        for claim in claims.iter_mut().filter(here) {
            let entries = root(&self.entries, leaves, claim.size).map(|root| root == claim.root);
            let tiles = root(self.tiles.as_ref().unwrap_or(&self.entries), hashes, claim.size);
            claim.entries = entries.or(claim.entries);
            claim.tiles = tiles.map(|root| root == claim.root).or(claim.tiles);
        }
    }

    /// Adds a full bundle to both trees, and compares the levels above with their tiles.
    fn push(&mut self, index: u64, entries: Hash, tile: Hash) {
        if entries != tile && self.tiles.is_none() {
            self.tiles = Some(self.entries.clone());
        }
        self.entries.push(entries);
        if let Some(tiles) = &mut self.tiles {
            tiles.push(tile);
        }
        let mut root = (tile, entries);
        for level in 1..8 {
            if self.above.len() < level {
                self.above.push(Vec::new());
            }
            let Some(roots) = self.above.get_mut(level - 1) else { return };
            roots.push(root);
            if (roots.len() as u64) < WIDTH {
                return;
            }
            let roots = std::mem::take(roots);
            self.upper(level, index >> (8 * level), &roots);
            root = joined(&roots);
        }
    }

    fn upper(&mut self, level: usize, number: u64, roots: &[Pair]) {
        let span = WIDTH << (8 * level);
        let first = number * span;
        match bundle::full_tile(&self.folder, level, number) {
            None => {
                let message = format!("{} is not there, or not whole", tile::path(level, number));
                self.faults.add(Fault::new(Kind::Tile, first, message));
            }
            Some(hashes) => self.upper_differs(level, number, roots, &hashes),
        }
    }

    fn upper_differs(&mut self, level: usize, number: u64, roots: &[Pair], hashes: &[Hash]) {
        let span = WIDTH << (8 * level);
        if let Some(at) = hashes.iter().zip(roots).position(|(hash, pair)| *hash != pair.0 && *hash != pair.1)
        {
            let first = number * span + at as u64 * (span / WIDTH);
            let message = format!("{} does not fit what is below it", tile::path(level, number));
            self.faults.add(Fault::new(Kind::Tile, first, message));
        }
    }

    /// The partial tiles of the levels above.
    fn upper_partials(&mut self) {
        let above = std::mem::take(&mut self.above);
        for (below, roots) in above.iter().enumerate() {
            let level = below + 1;
            let number = self.index >> (8 * level);
            for (width, hashes) in bundle::partials(&self.folder, level, number) {
                match hashes {
                    Some(hashes) if hashes.len() <= roots.len() => {
                        self.upper_differs(level, number, roots, &hashes)
                    }
                    _ => {
                        let path = tile::partial_path(&tile::path(level, number), width);
                        self.faults.add(Fault::new(
                            Kind::Tile,
                            None,
                            format!("{path} is not whole, or too wide"),
                        ));
                    }
                }
            }
        }
    }

    /// The bundle after the growing one has room and nothing else, until the growing one is full.
    fn ahead(&mut self) {
        let next = Bundle::read(&self.folder, self.index + 1);
        if !next.is_some_and(|next| next.is_tail && !next.bytes.is_empty()) {
            return;
        }
        // Read behind it: a host that writes meanwhile fills this one first.
        let Some(grows) = Bundle::read(&self.folder, self.index) else { return };
        let there = grows.entries().count() as u64;
        if there < WIDTH {
            let path = tile::tail_path(self.index + 1);
            let message = format!("{path} holds something before its time: a start cuts it off");
            self.faults.add(Fault::new(Kind::Torn, self.index * WIDTH + there, message));
        }
    }

    /// Ends the pass and returns its findings.
    pub(crate) fn end(mut self, claims: &[Claim], origin: String) -> Findings {
        self.upper_partials();
        self.ahead();
        let there = self.index * WIDTH + self.last.0.len() as u64;
        let (sealed, deleted) = self.seals.end();
        deleted.into_iter().for_each(|fault| self.faults.add(fault));
        let vouched = self.judge(claims, there);
        let last = (!self.last.0.is_empty()).then(|| hash::root(&self.last.0));
        self.faults.listed.iter_mut().for_each(|fault| acquit(fault, claims));
        let concerned = self.faults.listed.iter().filter(|fault| fault.kind != Kind::Tile);
        let first = concerned.filter_map(|fault| fault.index).min();
        Findings {
            entries: first.unwrap_or(there).min(there),
            sealed: sealed * WIDTH,
            head: self.entries.root(last),
            vouched,
            origin,
            others_hold: claims.iter().all(|claim| claim.tiles == Some(true) || claim.entries == Some(true)),
            faults: self.faults,
            gaps: self.gaps.end(),
            late: self.unsigned.end(),
        }
    }

    /// Names a signed tree that is missing; returns the size up to which the claims hold.
    fn judge(&mut self, claims: &[Claim], there: u64) -> u64 {
        let holds = |claim: &Claim| claim.entries == Some(true) || claim.tiles == Some(true);
        let mut vouched = 0;
        for claim in claims {
            let what = super::source(&claim.source);
            if holds(claim) {
                vouched = vouched.max(claim.size);
            } else if claim.size > there {
                let message = format!("{what} is of {} entries, and only {there} are there", claim.size);
                if !self.faults.is_broken() {
                    self.faults.add(Fault::new(Kind::Truncated, there, message));
                }
            } else if !self.faults.is_broken() {
                let message = format!(
                    "{what}, of {} entries, is of another tree: it differs from entry {vouched} on or later",
                    claim.size
                );
                self.faults.add(Fault::new(Kind::Fork, vouched, message));
            }
        }
        vouched
    }
}

/// The root over these, both ways.
fn joined(pairs: &[Pair]) -> Pair {
    let (tiles, entries): (Vec<Hash>, Vec<Hash>) = pairs.iter().copied().unzip();
    let root = hash::root(&tiles);
    (root, if tiles == entries { root } else { hash::root(&entries) })
}
