//! Gaps in reporters' serials: a record that a reporter counted and that is missing was refused, or lost with the
//! process that wanted it. This is information, and no fault of the log.

use crate::entry::Head;

/// Holes that are listed.
const LISTED: usize = 16;
/// Witnesses that are followed: processes are a dozen, and a forged log must not fill memory.
const WITNESSES: usize = 64;

/// A hole in the count of one life of a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) witness: String,
    pub(crate) life: String,
    pub(crate) missing: u64,
}

/// One life of a witness.
struct Life {
    life: Vec<u8>,
    first: u64,
    last: u64,
    seen: u64,
}

/// The serial numbers of each reporter, and the gaps in them.
#[derive(Default)]
pub(crate) struct Gaps {
    /// By witness. Looked through for each entry: of a dozen, that is faster than any table.
    lives: Vec<(Vec<u8>, Life)>,
    found: Vec<Gap>,
    /// Entries were sealed before: counts may begin anywhere.
    sealed: bool,
}

impl Gaps {
    /// Takes an entry into account. Entries of one life may stand in another order than they were counted in.
    pub(crate) fn see(&mut self, head: &Head<'_>) {
        let first = if self.sealed { head.number } else { 1 };
        let begin = || Life { life: head.life.to_vec(), first, last: head.number, seen: 1 };
        let room = self.lives.len() < WITNESSES;
        let known = self.lives.iter_mut().find(|(witness, _)| witness == head.witness);
        match known.map(|(_, life)| life) {
            Some(life) if life.life == head.life => {
                life.first = life.first.min(head.number);
                life.last = life.last.max(head.number);
                life.seen += 1;
            }
            Some(life) => {
                let over = std::mem::replace(life, begin());
                self.close(head.witness, &over);
            }
            None if room => {
                self.lives.push((head.witness.to_vec(), begin()));
            }
            None => {}
        }
    }

    /// Entries that are sealed cannot be counted.
    pub(crate) fn skip(&mut self) {
        self.lives.clear();
        self.sealed = true;
    }

    fn close(&mut self, witness: &[u8], life: &Life) {
        let counted = life.last.saturating_sub(life.first).saturating_add(1);
        let missing = counted.saturating_sub(life.seen);
        if missing > 0 && self.found.len() < LISTED {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            self.found.push(Gap { witness: text(witness), life: text(&life.life), missing });
        }
    }

    /// Every hole that was found.
    pub(crate) fn end(mut self) -> Vec<Gap> {
        for (witness, life) in std::mem::take(&mut self.lives) {
            self.close(&witness, &life);
        }
        self.found.sort_by(|a, b| (&a.witness, &a.life).cmp(&(&b.witness, &b.life)));
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(numbers: &[(&str, u64)]) -> Vec<u64> {
        let mut gaps = Gaps::default();
        for (index, (life, number)) in numbers.iter().enumerate() {
            let index = index as u64;
            let (life, number) = (life.as_bytes(), *number);
            let (witness, action, result) = (b"gate", b"x", b"x");
            gaps.see(&Head { index, time_ms: 0, witness, life, number, action, result });
        }
        gaps.end().iter().map(|gap| gap.missing).collect()
    }

    #[test]
    fn a_missing_serial_is_found_and_reordering_is_none() {
        for (numbers, missing) in [
            (vec![("a", 1), ("a", 2), ("a", 3)], vec![]),
            (vec![("a", 2), ("a", 1), ("a", 3)], vec![]),
            (vec![("a", 1), ("a", 2), ("b", 1)], vec![]),
            (vec![("a", 1), ("a", 4)], vec![2]),
            (vec![("a", 2), ("b", 1), ("b", 3)], vec![1, 1]),
        ] {
            assert_eq!(gaps(&numbers), missing, "{numbers:?}");
        }
    }
}
