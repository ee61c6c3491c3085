//! The manifest of a backup: `manifest.json`, its first member, written once everything else is known. It also decides
//! the names that members may have: a name that leads out of the folder is refused before it is used.

use crate::failure::backup::Fault;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;

/// The name of the first member.
pub(super) const NAME: &str = "manifest.json";
/// The version of the form of all this.
pub(super) const FORMAT: u32 = 2;
/// Bytes of it at most: some hundred thousand members.
pub(super) const BOUND: u64 = 128 << 20;
/// Bytes of a member's path at most: `PATH_MAX` without its end.
pub(super) const PATH: usize = 4095;
/// Bytes of one name in it: `NAME_MAX`.
const COMPONENT: usize = 255;

/// The manifest.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Contents {
    /// [`FORMAT`].
    pub(super) format: u32,
    /// The version of the program that made it.
    pub(super) cordon: String,
    /// When, unix ms.
    pub(super) made_ms: u64,
    /// True if the vault, its key and the record's signing key are in it.
    pub(super) secrets: bool,
    /// The version of each database in it, by its path.
    pub(super) schemas: BTreeMap<String, u32>,
    /// The record's last signed note.
    pub(super) checkpoint: Option<String>,
    /// Every member after this one, in their order; a folder before what is in it.
    pub(super) members: Vec<Member>,
    /// Files that were found and are not in the backup.
    pub(super) left_out: Vec<LeftOut>,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Member {
    /// Its path below the state directory.
    pub(super) path: String,
    /// File or folder.
    pub(super) kind: Kind,
    /// Its permissions, without any that lend the owner's identity.
    pub(super) mode: u32,
    /// When it was changed last, unix seconds.
    pub(super) modified: u64,
    /// Bytes of the file; 0 for a folder.
    pub(super) size: u64,
    /// Bytes of it in the archive: fewer than `size` if it has holes.
    pub(super) stored: u64,
    /// SHA-256 of the stored bytes in hex digits; empty for a folder.
    pub(super) sha256: String,
}

/// The kind of a member. A backup has no links, sockets or devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// A regular file.
    File,
    /// A regular file with holes.
    Sparse,
    /// A folder.
    Folder,
}

/// Something that is not in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LeftOut {
    /// Where it is.
    pub(super) path: String,
    /// Why it is not in the backup.
    pub(super) why: String,
}

/// The format alone: a manifest of another format need not be read to be refused by its number.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

impl Contents {
    /// Reads it, and judges every path before any is used.
    ///
    /// # Errors
    /// It is no manifest, one of another format, or names what may not be restored.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Fault> {
        let bad = |_| Fault::NotABackup("its manifest cannot be read");
        let Format { format } = serde_json::from_slice(bytes).map_err(bad)?;
        match format.cmp(&FORMAT) {
            Ordering::Greater => {
                return Err(Fault::Newer { what: NAME.to_owned(), found: format, known: FORMAT });
            }
            Ordering::Less => return Err(Fault::Older { found: format, known: FORMAT }),
            Ordering::Equal => {}
        }
        let contents: Self = serde_json::from_slice(bytes).map_err(bad)?;
        match contents.members.iter().find(|member| !may_be(&member.path)) {
            Some(member) => Err(Fault::Path(crate::text::line(&member.path))),
            None => Ok(contents),
        }
    }

    /// The database in it that is newer than this program, if there is one.
    pub(super) fn newer(&self) -> Option<Fault> {
        manifest::schemas::DATABASES.iter().find_map(|database| {
            let what = database.path();
            let found = *self.schemas.get(&what)?;
            (found > database.version).then_some(Fault::Newer { what, found, known: database.version })
        })
    }
}

/// Returns true if a member may have this path: names below a folder, none of which leads up or away.
fn may_be(path: &str) -> bool {
    let name =
        |name: &str| !matches!(name, "" | "." | "..") && name.len() <= COMPONENT && !name.contains('\0');
    path.len() <= PATH && path.split('/').all(name) && Path::new(path).is_relative()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(path: &str) -> Contents {
        let member = Member {
            path: path.to_owned(),
            kind: Kind::File,
            mode: 0o600,
            modified: 1,
            size: 2,
            stored: 2,
            sha256: "00".repeat(32),
        };
        Contents {
            format: FORMAT,
            cordon: "1".to_owned(),
            made_ms: 1,
            secrets: false,
            schemas: BTreeMap::new(),
            checkpoint: None,
            members: vec![member],
            left_out: Vec::new(),
        }
    }

    #[test]
    fn a_name_that_leads_out_of_the_folder_is_refused_before_it_is_used() {
        let (long, deep) = ("n".repeat(256), "d/".repeat(2048) + "f");
        for path in ["/etc/passwd", "../up", "a/../../b", "a/..", ".", "", "a//b", "a/", "a\0b", &long, &deep]
        {
            let bytes = serde_json::to_vec(&contents(path)).unwrap();
            assert!(matches!(Contents::read(&bytes), Err(Fault::Path(_))), "{path}");
        }
        let valid = contents("runner/00ff/notes ..md");
        assert_eq!(Contents::read(&serde_json::to_vec(&valid).unwrap()).unwrap(), valid);
    }

    #[test]
    fn another_format_and_a_newer_database_are_refused() {
        let newer = br#"{"format": 3, "members": "in some other form"}"#;
        assert!(matches!(Contents::read(newer), Err(Fault::Newer { found: 3, known: 2, .. })));
        let older = br#"{"format": 1, "members": "in some other form"}"#;
        assert!(matches!(Contents::read(older), Err(Fault::Older { found: 1, known: 2 })));
        let mut contents = contents("router/queue.db");
        assert!(contents.newer().is_none());
        contents.schemas.insert("router/queue.db".to_owned(), 9999);
        assert!(matches!(contents.newer(), Some(Fault::Newer { found: 9999, .. })));
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_read_as_a_path_stays_below_the_folder(path in "[a./\0]{0,12}") {
            let above = Path::new(&path).components().any(|part| !matches!(part, std::path::Component::Normal(_)));
            proptest::prop_assert!(!may_be(&path) || !above);
        }

        #[test]
        fn any_bytes_are_a_manifest_or_are_refused(bytes: Vec<u8>) {
            let _ = Contents::read(&bytes);
        }
    }
}
