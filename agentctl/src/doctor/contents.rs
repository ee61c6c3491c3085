//! Whose the files are that lie in the folders of the processes: one that its process may not use keeps the host from its
//! start. Names, owners and modes alone are looked at, and nothing is changed: what these files hold is the processes'.

use super::files::owner;
use super::{Row, Scene, Status};
use manifest::{TABLE, is_actor};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Names that are looked at in one folder.
const MOST: usize = 16_384;

/// The row of files.
pub(super) fn row(scene: &Scene) -> Row {
    let mut row = Row::new("permissions.files", "files of the processes", Status::Pass, String::new());
    let (mut wrong, mut unseen) = (Vec::new(), 0_usize);
    for process in TABLE.iter().map(|row| row.process).filter(|process| is_actor(*process)) {
        let folder = scene.state.join(process.name());
        let Ok(about) = folder.symlink_metadata() else { continue };
        let uid = owner(scene, process).map_or(about.uid(), |(uid, _)| uid);
        match first(&folder, (uid, about.gid())) {
            Ok(None) => {}
            Ok(Some((path, act))) => wrong.push(format!(
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
        (true, 0) => (Status::Pass, "each can be used by its process".to_owned()),
        (true, unseen) => {
            (Status::Warn, format!("{unseen} folders may not be looked into; ask as their owner or as root"))
        }
    };
    row
}

/// The first file below a folder that its process may not use, and what it may not.
fn first(folder: &Path, who: (u32, u32)) -> std::io::Result<Option<(PathBuf, &'static str)>> {
    let (mut next, mut looked_at) = (vec![(folder.to_owned(), 1)], 0);
    while let Some((folder, deep)) = next.pop() {
        for entry in fs::read_dir(&folder)?.flatten() {
            let Ok(about) = entry.metadata() else { continue };
            looked_at += 1;
            if about.is_symlink() || looked_at > MOST {
                continue;
            }
            if let Some(act) = refused(&about, who, deep) {
                return Ok(Some((entry.path(), act)));
            }
            next.extend(about.is_dir().then(|| (entry.path(), deep + 1)));
        }
    }
    Ok(None)
}

/// What a process of this uid and gid may not do with a file so deep in its folder, and has to. Files of others that lie
/// deeper may be there to be read alone: the owner's own policies and scripts.
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

    #[test]
    fn a_file_that_its_process_may_not_use_is_found_wherever_it_lies_and_one_to_be_read_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("policies");
        fs::create_dir(&below).unwrap();
        let (shallow, deep) = (folder.path().join("queue.db"), below.join("own.cedar"));
        let own = fs::metadata(&below).unwrap().uid();
        // The owner of these files is somebody else than the process that is asked about.
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
            let said = first(folder.path(), other).unwrap();
            assert_eq!(said.as_ref().map(|(path, act)| (path, *act)), found, "{modes:?}");
        }
        let said = first(folder.path(), (own, 0)).unwrap();
        assert!(said.is_none(), "its own: {said:?}");
    }
}
