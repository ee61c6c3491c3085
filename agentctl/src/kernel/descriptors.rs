//! What a process holds open. Its descriptors are listed once, so that whatever is said of them is said of the same ones:
//! they come and go while they are read.

use super::{Mount, Said, reason};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

/// A descriptor: what it points to, and the kernel's number of the mount on which that was opened, empty without one.
pub(super) type Opened = (String, String);

/// What each of its descriptors points to.
pub(super) fn targets(folder: &Path) -> Said<Vec<String>> {
    each(folder, |number| target(folder, number))
}

/// What each of its descriptors points to, and where that was opened.
pub(super) fn opened(folder: &Path) -> Said<Vec<Opened>> {
    each(folder, |number| {
        let facts = fs::read_to_string(folder.join("fdinfo").join(number))?;
        let mount = facts.lines().find_map(|line| line.strip_prefix("mnt_id:")).map(str::trim);
        Ok((target(folder, number)?, mount.unwrap_or_default().to_owned()))
    })
}

/// What those of these descriptors point to that were not opened on one of these mounts.
pub(super) fn foreign(opened: &Said<Vec<Opened>>, mounts: &Said<Vec<Mount>>) -> Said<BTreeSet<String>> {
    let (opened, mounts) = (opened.as_ref().map_err(Clone::clone)?, mounts.as_ref().map_err(Clone::clone)?);
    let is_own = |mount: &String| mounts.iter().any(|own| own.id == *mount);
    let foreign = opened.iter().filter(|(_, mount)| !is_own(mount));
    Ok(foreign.map(|(target, _)| target.clone()).collect())
}

fn target(folder: &Path, number: &OsStr) -> io::Result<String> {
    Ok(fs::read_link(folder.join("fd").join(number))?.to_string_lossy().into_owned())
}

/// What is read of each of its descriptors by its number, but for those that were closed since they were listed.
fn each<T>(folder: &Path, read: impl Fn(&OsStr) -> io::Result<T>) -> Said<Vec<T>> {
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
    fn a_file_that_was_opened_elsewhere_is_told_from_one_of_its_own_mounts_though_it_is_closed_meanwhile() {
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
    fn without_its_mounts_or_its_descriptors_nothing_is_said_of_what_is_foreign() {
        assert_eq!(foreign(&Ok(vec![]), &Err("no mounts".to_owned())), Err("no mounts".to_owned()));
        assert_eq!(foreign(&Err("no fd".to_owned()), &Ok(vec![])), Err("no fd".to_owned()));
    }
}
