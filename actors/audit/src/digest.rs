//! The digest of a day: a signed note with the counts of that day and the tree at its end.

use crate::counts::{Closed, word};
use crate::hash::Hash;
use crate::note::{self, Checkpoint, PublicKey, SecretKey};
use ipc_proto::audit::{Category, Result3};

/// The folder of the digests.
pub(crate) const FOLDER: &str = "digests";
/// A digest's first line.
const TITLE: &str = "cordon.audit digest";

/// The file of a day's digest.
pub(crate) fn file(day: u32) -> String {
    format!("{FOLDER}/{}", date(day))
}

/// A day's digest: its file and its note.
pub(crate) fn of(closed: &Closed, root: &Hash, key: &SecretKey) -> (String, String) {
    let head = Checkpoint { origin: key.public.name.clone(), size: closed.size, root: *root };
    let text = format!("{TITLE}\n{}\n{}{}", date(closed.day), head.text(), lines(closed));
    (file(closed.day), note::sign(&text, &[key]))
}

/// The counts as lines of `CATEGORY RESULT COUNT`.
fn lines(closed: &Closed) -> String {
    let mut sums: Vec<(Category, Result3, u64)> = Vec::new();
    for count in closed.counts.iter().filter(|count| count.today > 0) {
        let key = (count.action.category(), count.result);
        match sums.iter_mut().find(|sum| (sum.0, sum.1) == key) {
            Some(sum) => sum.2 += count.today,
            None => sums.push((key.0, key.1, count.today)),
        }
    }
    sums.iter()
        .map(|(category, result, sum)| format!("{} {} {sum}\n", word(category), word(result)))
        .collect()
}

/// The tree that a digest one of `keys` signed is of.
pub(crate) fn open(text: &str, keys: &[PublicKey]) -> Option<Checkpoint> {
    let text = note::open(text, keys).ok()?.strip_prefix(TITLE)?.strip_prefix('\n')?;
    Checkpoint::read(text.split_once('\n')?.1)
}

/// `YYYY-MM-DD` of a day since 1970-01-01: eras of 400 years, years that begin in March.
pub(crate) fn date(day: u32) -> String {
    let shifted = u64::from(day) + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march = (5 * of_year + 2) / 153;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{:02}", of_year - (153 * march + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::audit::{Action, Count};

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (day, text) in
            [(0, "1970-01-01"), (11_016, "2000-02-29"), (20_778, "2026-11-21"), (47_482, "2100-01-01")]
        {
            assert_eq!(date(day), text);
        }
    }

    #[test]
    fn a_digest_names_counts_and_tree_and_needs_the_logs_key() {
        let (key, other) = (SecretKey::new("cordon/a", &[1; 32]), SecretKey::new("cordon/a", &[2; 32]));
        let count = |action, today| Count { action, result: Result3::Success, total: 9, today };
        let counts =
            vec![count(Action::ToolDecided, 2), count(Action::ToolEnded, 1), count(Action::UserAdded, 0)];
        let (file, note) = of(&Closed { day: 0, size: 3, counts }, &[7; 32], &key);
        assert_eq!(file, "digests/1970-01-01");
        assert!(note.contains("\ntool success 3\n\n") && !note.contains("auth"));
        let head = open(&note, std::slice::from_ref(&key.public)).unwrap();
        assert_eq!((head.size, head.root), (3, [7; 32]));
        assert_eq!(open(&note, std::slice::from_ref(&other.public)), None);
        assert_eq!(open(&note.replace("success 3", "success 4"), std::slice::from_ref(&key.public)), None);
    }
}
