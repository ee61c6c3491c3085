//! The open descriptors of a process. They come and go while they are read, so they are listed once and every finding is
//! about the same ones.

use super::{Mount, Reading, reason};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

/// A descriptor: what it points to, and the kernel's number of the mount on which that was opened, empty without one.
pub(super) type Opened = (String, String);

/// The target of each of its descriptors.
pub(super) fn targets(folder: &Path) -> Reading<Vec<String>> {
    each(folder, |number| target(folder, number))
}

/// The target of each of its descriptors, and the mount on which it was opened.
pub(super) fn opened(folder: &Path) -> Reading<Vec<Opened>> {
    each(folder, |number| {
        let facts = fs::read_to_string(folder.join("fdinfo").join(number))?;
        let mount = facts.lines().find_map(|line| line.strip_prefix("mnt_id:")).map(str::trim);
        Ok((target(folder, number)?, mount.unwrap_or_default().to_owned()))
    })
}

/// The targets of those descriptors that were opened on none of these mounts.
pub(super) fn foreign(
    opened: &Reading<Vec<Opened>>,
    mounts: &Reading<Vec<Mount>>,
) -> Reading<BTreeSet<String>> {
    let (opened, mounts) = (opened.as_ref().map_err(Clone::clone)?, mounts.as_ref().map_err(Clone::clone)?);
    let is_own = |mount: &String| mounts.iter().any(|own| own.id == *mount);
    let foreign = opened.iter().filter(|(_, mount)| !is_own(mount));
    Ok(foreign.map(|(target, _)| target.clone()).collect())
}

fn target(folder: &Path, number: &OsStr) -> io::Result<String> {
    Ok(fs::read_link(folder.join("fd").join(number))?.to_string_lossy().into_owned())
}

/// Reads each of its descriptors by number. Descriptors that were closed since they were listed are left out.
fn each<T>(folder: &Path, read: impl Fn(&OsStr) -> io::Result<T>) -> Reading<Vec<T>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.join("fd")).map_err(reason)? {
        match read(&entry.map_err(reason)?.file_name()) {
            Ok(read) => found.push(read),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(reason(error)),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::{parse_mounts, text};
    use super::*;

    #[test]
    fn a_file_opened_on_a_foreign_mount_is_found_even_if_closed_meanwhile() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_string_lossy().into_owned();
        let this = Path::new("/proc/self");
        let (before, own) = (opened(this), text(&this.join("mountinfo")).map(|text| parse_mounts(&text)));
        drop(file);
        assert!(before.iter().flatten().any(|(target, _)| *target == path));
        assert!(!foreign(&before, &own).unwrap().contains(&path));
        assert!(foreign(&before, &Ok(vec![])).unwrap().contains(&path));
    }

    #[test]
    fn foreign_files_are_unreadable_without_mounts_or_descriptors() {
        assert_eq!(foreign(&Ok(vec![]), &Err("no mounts".to_owned())), Err("no mounts".to_owned()));
        assert_eq!(foreign(&Err("no fd".to_owned()), &Ok(vec![])), Err("no fd".to_owned()));
    }
}
