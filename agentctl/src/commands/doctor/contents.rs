//! Owners of the files in the processes' folders: a file that its process may not use prevents the host's start. Only
//! names, owners and modes are read, never contents, and nothing is changed.

use super::files::owner;
use super::{Row, Scene, Status};
use manifest::{TABLE, is_actor};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Id and name of the row.
pub(super) const FILES: (&str, &str) = ("permissions.files", "files of the processes");
/// Names that are read of one folder.
const MOST: usize = 16_384;

/// The row of files.
pub(super) fn row(scene: &Scene) -> Row {
    let mut row = Row::new(FILES.0, FILES.1, Status::Pass, String::new());
    let (mut wrong, mut unseen, mut more) = (Vec::new(), 0_usize, false);
    for process in TABLE.iter().map(|row| row.process).filter(|process| is_actor(*process)) {
        let folder = scene.state.join(process.name());
        let Ok(about) = folder.symlink_metadata() else { continue };
        let uid = owner(scene, process).map_or(about.uid(), |(uid, _)| uid);
        match first(&folder, (uid, about.gid())) {
            Ok(Looked::All) => {}
            Ok(Looked::Most) => more = true,
            Ok(Looked::Refused(path, act)) => wrong.push(format!(
                "{}: uid {uid} may not {act} it; `chown -Rh {uid}:{} {}` gives it back",
                path.display(),
                about.gid(),
                folder.display()
            )),
            Err(_) => unseen += 1,
        }
    }
    (row.status, row.message) = match (wrong.is_empty(), unseen) {
        (false, _) => (Status::Fail, wrong.join("; ")),
        (true, 0) if more => {
            (Status::Pass, format!("each can be used by its process, of the first {MOST} of a folder"))
        }
        (true, 0) => (Status::Pass, "each can be used by its process".to_owned()),
        (true, unseen) => {
            (Status::Warn, format!("{unseen} folders may not be looked into; ask as their owner or as root"))
        }
    };
    row
}

/// The finding below a folder.
#[derive(Debug, PartialEq, Eq)]
enum Looked {
    /// The first file that its process may not use, and the access that it lacks.
    Refused(PathBuf, &'static str),
    /// None among all of them.
    All,
    /// None among the first.
    Most,
}

/// Looks for a file below a folder that its process may not use.
fn first(folder: &Path, who: (u32, u32)) -> std::io::Result<Looked> {
    let (mut next, mut looked_at) = (vec![(folder.to_owned(), 1)], 0);
    while let Some((folder, deep)) = next.pop() {
        for entry in fs::read_dir(&folder)?.flatten() {
            if looked_at == MOST {
                return Ok(Looked::Most);
            }
            looked_at += 1;
            let Ok(about) = entry.metadata() else { continue };
            if about.is_symlink() {
                continue;
            }
            if let Some(act) = refused(&about, who, deep) {
                return Ok(Looked::Refused(entry.path(), act));
            }
            next.extend(about.is_dir().then(|| (entry.path(), deep + 1)));
        }
    }
    Ok(Looked::All)
}

/// The access that a process of this uid and gid needs and lacks to a file at this depth of its folder. Deeper files of
/// another owner may be there to be read only: the owner's own policies and scripts.
fn refused(about: &Metadata, (uid, gid): (u32, u32), deep: u32) -> Option<&'static str> {
    let own = about.uid() == uid;
    let shift = if own {
        6
    } else if about.gid() == gid {
        3
    } else {
        0
    };
    let may = |bits: u32| (about.mode() >> shift) & bits == bits;
    let (read, write) = if about.is_dir() { (0o5, 0o3) } else { (0o4, 0o2) };
    if uid == 0 {
        return None;
    }
    if !may(read) {
        return Some("read");
    }
    let writes = about.is_dir() || deep == 1;
    (!own && writes && !may(write)).then_some("write")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    // Holds P2-22.
    #[test]
    fn a_file_that_its_process_may_not_use_is_found_at_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("policies");
        fs::create_dir(&below).unwrap();
        let (shallow, deep) = (folder.path().join("queue.db"), below.join("own.cedar"));
        let own = fs::metadata(&below).unwrap().uid();
        // These files belong to another user than the process's.
        let other = (own + 1, u32::MAX - 1);
        for (modes, found) in [
            ((0o777, 0o666, 0o644), None),
            ((0o755, 0o666, 0o644), Some((&below, "write"))),
            ((0o777, 0o644, 0o644), Some((&shallow, "write"))),
            ((0o777, 0o600, 0o644), Some((&shallow, "read"))),
            ((0o777, 0o666, 0o600), Some((&deep, "read"))),
        ] {
            for (path, mode) in [(&below, modes.0), (&shallow, modes.1), (&deep, modes.2)] {
                if path != &below {
                    fs::write(path, "").unwrap();
                }
                fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
            }
            let refusal = first(folder.path(), other).unwrap();
            let expected = found.map_or(Looked::All, |(path, act)| Looked::Refused(path.clone(), act));
            assert_eq!(refusal, expected, "{modes:?}");
        }
        assert_eq!(first(folder.path(), (own, 0)).unwrap(), Looked::All, "its own");
        fs::set_permissions(&deep, PermissionsExt::from_mode(0o0)).unwrap();
        assert_eq!(first(folder.path(), (0, 0)).unwrap(), Looked::All, "root may do anything");
    }

    // Holds B-126.
    #[test]
    fn of_a_folder_with_very_many_files_the_first_are_looked_at_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..MOST {
            fs::File::create(folder.path().join(number.to_string())).unwrap();
        }
        let own = fs::metadata(folder.path()).unwrap().uid();
        assert_eq!(first(folder.path(), (own, 0)).unwrap(), Looked::All);
        fs::create_dir(folder.path().join("one more")).unwrap();
        assert_eq!(first(folder.path(), (own, 0)).unwrap(), Looked::Most);
    }
}
