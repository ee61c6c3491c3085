//! Inodes of the state directory's disk: empty files take no byte, and without an inode no file can be made. Below those that are
//! kept nothing new begins, and the jail whose workspace has most files, or gets more of them, is ended.

use crate::host::Host;
use crate::places;
use crate::runners;
use manifest::command::Ended;
use nix::dir::{Dir, Type};
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use nix::sys::statvfs::statvfs;
use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// The longest that one workspace is counted for: a few ten thousand files. agentd has one thread.
const LONGEST: Duration = Duration::from_millis(25);
/// Folders in folders that are looked into.
const DEEP: usize = 64;

/// Files of the workspaces of jails as they were counted last, by the pid of each runner.
#[derive(Debug, Default)]
pub(crate) struct Counted(HashMap<i32, u64>);

/// Inodes that processes which are not root can still have; `None` where the file system has no such number.
pub(crate) fn free(state: &Path) -> Option<u64> {
    let about = statvfs(state).ok()?;
    (about.files() > 0).then(|| about.files_available())
}

/// Ends the jail that takes the inodes, while fewer are free than are kept.
pub(crate) fn end_worst(host: &mut Host) {
    let before = std::mem::take(&mut host.disk.counted.0);
    let mut counts = Vec::new();
    for (at, runner) in host.runners.live.iter().enumerate().filter(|(_, runner)| runner.over.is_none()) {
        let Some(workspace) = runner.workspace else { continue };
        let Ok(folder) = places::open_folder(&runners::folder_of(host, workspace)) else { continue };
        let pid = runner.child.pid;
        let files = count(folder, Instant::now() + LONGEST);
        counts.push((at, files, files.saturating_sub(before.get(&pid).copied().unwrap_or(files))));
        host.disk.counted.0.insert(pid, files);
    }
    if let Some(runner) = worst(&counts).and_then(|at| host.runners.live.get_mut(at)) {
        runner.over = Some(Ended::Disk);
        runners::end(runner);
        host.logs.write("agentd", "a jail was ended: it took of the disk's inodes those that are kept free");
    }
}

/// The jail whose files grew most since the last count; where none grew, or this is the first, the one that has most.
fn worst(counts: &[(usize, u64, u64)]) -> Option<usize> {
    let grown = counts.iter().max_by_key(|(_, _, grown)| *grown).filter(|(_, _, grown)| *grown > 0);
    let largest = counts.iter().max_by_key(|(_, files, _)| *files).filter(|(_, files, _)| *files > 0);
    grown.or(largest).map(|(at, _, _)| *at)
}

/// Files and folders below a folder, as far as they are counted until then. No link is followed.
fn count(folder: OwnedFd, until: Instant) -> u64 {
    let mut found = 0;
    let mut open = vec![folder];
    while let Some(folder) = open.pop() {
        let Ok(mut names) = Dir::from_fd(folder) else { continue };
        let mut below: Vec<CString> = Vec::new();
        for entry in names.iter().flatten() {
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            found += 1;
            if Instant::now() >= until {
                return found;
            }
            if entry.file_type() == Some(Type::Directory) {
                below.push(name.to_owned());
            }
        }
        let room = DEEP.saturating_sub(open.len());
        for name in below.into_iter().take(room) {
            let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            open.extend(nix::fcntl::openat(&names, name.as_c_str(), flags, Mode::empty()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_and_folders_are_counted_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a/b", "c"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        for name in ["a/1", "a/b/2", "3"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("/usr", folder.path().join("out")).unwrap();
        let opened = || places::open_folder(folder.path()).unwrap();
        assert_eq!(count(opened(), Instant::now() + Duration::from_secs(5)), 7);
        assert_eq!(count(opened(), Instant::now()), 1, "a count whose time is over ends");
    }

    #[test]
    fn the_jail_whose_files_grow_is_ended_before_the_one_that_has_most() {
        for (counts, ended) in [
            (vec![(0, 90_000, 0), (1, 500, 400), (2, 700, 10)], Some(1)),
            (vec![(0, 90, 0), (1, 500, 0)], Some(1)),
            (vec![(0, 0, 0)], None),
            (vec![], None),
        ] {
            assert_eq!(worst(&counts), ended, "{counts:?}");
        }
    }

    #[test]
    fn the_kernel_says_how_many_are_free() {
        assert!(free(Path::new("/dev/shm")).is_none_or(|free| free > 0));
        assert_eq!(free(Path::new("/nowhere/at/all")), None);
    }
}
