//! The ids in use on this machine: the accounts, the ranges lent to their containers, and the range of ids that exist at all. Only
//! files of `/etc` and `/proc/self` are read; accounts of a directory server are not seen.

use manifest::TABLE;
use manifest::settings::{ID_RANGE, PROCESSES, ordinary};
use std::fs;
use std::path::Path;

/// A range of ids in use, and its user.
#[derive(Clone, Debug, PartialEq, Eq)]
struct UsedRange {
    first: u64,
    count: u64,
    by: String,
}

/// The accounts of a machine.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    users: Vec<(String, u32, u32)>,
    used: Vec<UsedRange>,
    /// Ranges of ids that exist here, first and count; empty where that is not known.
    mapped: Vec<(u64, u64)>,
}

/// Uid and gid of each process, by number from 1.
pub type Ids = [(u32, u32); PROCESSES];

impl Accounts {
    /// Reads `passwd`, `group`, `subuid` and `subgid` of the folder `etc`, and the file `uid_map`. A missing file counts as empty.
    #[must_use]
    pub fn read(etc: &Path, uid_map: &Path) -> Self {
        let mut accounts = Self::default();
        for (name, ids) in [("passwd", 2), ("group", 2), ("subuid", 1), ("subgid", 1)] {
            let text = fs::read(etc.join(name)).unwrap_or_default();
            for line in String::from_utf8_lossy(&text).lines() {
                accounts.add(name, ids, &line.split(':').collect::<Vec<_>>());
            }
        }
        let map = fs::read_to_string(uid_map).unwrap_or_default();
        let range = |line: &str| {
            let mut numbers = line.split_ascii_whitespace().map(str::parse);
            Some((numbers.next()?.ok()?, numbers.nth(1)?.ok()?))
        };
        accounts.mapped = map.lines().filter_map(range).collect();
        accounts
    }

    /// One line of a file: in `passwd` and `group` its field `id` is an id, in the others the first of a range.
    fn add(&mut self, file: &str, id: usize, fields: &[&str]) {
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
        let (Some(name), Some(first)) = (fields.first(), number(id)) else { return };
        let by = format!("{} in /etc/{file}", crate::problem::quoted(name));
        let count = if id == 1 { number(2).unwrap_or(1) } else { 1 };
        self.used.push(UsedRange { first, count, by: by.clone() });
        let group = number(3).filter(|_| file == "passwd");
        if let Some(gid) = group {
            self.used.push(UsedRange { first: gid, count: 1, by });
            if let (Ok(uid), Ok(gid)) = (u32::try_from(first), u32::try_from(gid)) {
                self.users.push(((*name).to_owned(), uid, gid));
            }
        }
    }

    /// The ids of the users that the table of privilege names, if every one of them is installed.
    #[must_use]
    pub fn installed(&self) -> Option<Ids> {
        let mut ids = [(0, 0); PROCESSES];
        for (row, slot) in TABLE.iter().zip(&mut ids) {
            let user = self.users.iter().find(|(name, ..)| name == row.user)?;
            *slot = (user.1, user.2);
        }
        Some(ids)
    }

    /// The reason why the host's ids cannot begin at `base`, if there is one.
    #[must_use]
    pub fn against(&self, base: u32) -> Option<String> {
        let (first, end) = (u64::from(base), u64::from(base) + u64::from(ID_RANGE));
        let touches =
            |range: &&UsedRange| range.first < end && first < range.first.saturating_add(range.count);
        if let Some(range) = self.used.iter().find(touches) {
            let last = range.first.saturating_add(range.count).saturating_sub(1);
            return Some(match range.count {
                1 => format!("id {} belongs to {}", range.first, range.by),
                _ => format!("ids {} to {last} belong to {}", range.first, range.by),
            });
        }
        let exists = |(start, count): &(u64, u64)| *start <= first && end <= start.saturating_add(*count);
        let none = !self.mapped.is_empty() && !self.mapped.iter().any(exists);
        none.then(|| "they do not exist in this container".to_owned())
    }

    /// A base with no id in use.
    #[must_use]
    pub fn free_base(&self) -> Option<u32> {
        let high = (780_000..=4_000_000_000_u32).step_by(1_000_000);
        let near = (780_000..=1_780_000).step_by(1000);
        let low = (20_000..=60_000).step_by(1000);
        near.chain(high).chain(low).find(|base| nobody(*base).is_none() && self.against(*base).is_none())
    }
}

/// The first id of the range beginning at `base` that is reserved on every machine.
#[must_use]
pub fn nobody(base: u32) -> Option<u32> {
    (base..=base.saturating_add(ID_RANGE - 1)).find(|id| !ordinary(*id))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The accounts that these files would state.
    fn accounts(files: &[(&str, &str)]) -> Accounts {
        let etc = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(etc.path().join(name), text).unwrap();
        }
        Accounts::read(etc.path(), &etc.path().join("uid_map"))
    }

    fn passwd_of_the_table(but: usize) -> String {
        let lines = TABLE.iter().enumerate().skip(but);
        lines.map(|(n, row)| format!("{}:x:{}:{}::/:/bin/false\n", row.user, 400 + n, 500 + n)).collect()
    }

    #[test]
    fn the_installed_users_count_only_if_all_are_there() {
        let ids = accounts(&[("passwd", &passwd_of_the_table(0))]).installed().unwrap();
        assert_eq!((ids[0], ids[9]), ((400, 500), (409, 509)));
        assert_eq!(accounts(&[("passwd", &passwd_of_the_table(1))]).installed(), None);
        assert_eq!(accounts(&[]).installed(), None);
    }

    #[test]
    fn a_range_that_touches_any_account_is_known_with_its_owner() {
        let files = [
            ("passwd", "root:x:0:0::/:/bin/sh\nada:x:780255:100::/:/bin/sh\n"),
            ("group", "staff:x:790000:\n"),
            ("subuid", "ada:799999:2\nbob:100000:65536\n"),
            ("subgid", "ada:900000:65536\n+\nx:y:z\n"),
        ];
        let accounts = accounts(&files);
        let against = |base| accounts.against(base).unwrap_or_default();
        assert_eq!(against(780_000), "id 780255 belongs to \"ada\" in /etc/passwd");
        assert_eq!(against(789_745), "id 790000 belongs to \"staff\" in /etc/group");
        assert_eq!(against(800_000), "ids 799999 to 800000 belong to \"ada\" in /etc/subuid");
        assert_eq!(against(165_535), "ids 100000 to 165535 belong to \"bob\" in /etc/subuid");
        assert_eq!(against(965_535), "ids 900000 to 965535 belong to \"ada\" in /etc/subgid");
        assert_eq!((nobody(65_400), nobody(65_536), nobody(1000)), (Some(65_534), None, None));
        for free in [779_999, 780_256, 790_001, 165_536, 965_536] {
            assert_eq!(against(free), "");
        }
        assert_eq!(accounts.free_base(), Some(781_000));
    }

    #[test]
    fn in_a_container_only_ids_that_exist_there_are_free() {
        let accounts = accounts(&[("uid_map", "         0     100000      65536\n")]);
        assert_eq!(accounts.against(780_000).unwrap(), "they do not exist in this container");
        assert_eq!(accounts.free_base(), Some(20_000));
    }

    proptest::proptest! {
        #[test]
        fn any_files_are_read_without_panic(bytes: Vec<u8>, text in "([a-z:0-9]{0,12}\n?){0,8}", base in 0..4_294_000_000_u32) {
            let etc = tempfile::tempdir().unwrap();
            for (name, bytes) in [("passwd", text.as_bytes()), ("subuid", text.as_bytes()), ("group", &bytes), ("uid_map", text.as_bytes())] {
                fs::write(etc.path().join(name), bytes).unwrap();
            }
            let accounts = Accounts::read(etc.path(), &etc.path().join("uid_map"));
            let _ = (accounts.against(base), accounts.installed());
            if let Some(free) = accounts.free_base() {
                proptest::prop_assert_eq!(accounts.against(free), None);
            }
        }
    }
}
