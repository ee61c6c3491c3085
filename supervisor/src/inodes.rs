//! Inodes of the state directory's disk. Empty files take no byte, and without a free inode no file can be made: below the inodes
//! that are kept free nothing new begins, and the jail whose workspace gets most files is ended.

use crate::jails::Jails;
use crate::places;
use crate::rest::Rest;
use crate::runners::Runners;
use manifest::command::Ended;
use nix::dir::{Dir, Type};
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use nix::sys::statvfs::statvfs;
use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// The longest time for which one workspace is counted: enough for a few ten thousand files. agentd has one thread.
const LONGEST: Duration = Duration::from_millis(25);
/// The longest pause after a look at all jails: meanwhile one may make some hundred thousand files.
const PAUSE: Duration = Duration::from_millis(500);
/// The depth of folders that are looked into.
const DEEP: usize = 64;

/// The files of jails' workspaces.
#[derive(Debug, Default)]
pub(crate) struct WorkspaceFiles {
    /// At the last count, by the pid of each runner.
    counted: HashMap<i32, Files>,
    /// Inodes can stay few for as long as nobody removes files, and each look is a count.
    rest: Rest,
}

/// The files and folders of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Files {
    count: u64,
    /// False if the count was cut short, by its time or by depth, so that there may be more.
    is_whole: bool,
}

/// A workspace's files now, and the growth since the count before.
#[derive(Clone, Copy, Debug)]
struct Count {
    files: Files,
    /// `None` without a whole count before.
    grown: Option<u64>,
}

impl Count {
    fn new(files: Files, before: Option<Files>) -> Self {
        let before = before.filter(|before| before.is_whole);
        Self { files, grown: before.map(|before| files.count.saturating_sub(before.count)) }
    }
}

impl WorkspaceFiles {
    /// Drops the last count: there are inodes enough, and what grows meanwhile is no concern.
    pub(crate) fn forget(&mut self) {
        self.counted.clear();
    }

    /// Ends the jail that uses up the inodes. Returns true if it ended one. To be called while fewer are free than are kept.
    pub(crate) fn end_worst(&mut self, jails: &Jails, runners: &mut Runners) -> bool {
        let began = Instant::now();
        if self.rest.lasts() {
            return false;
        }
        let before = std::mem::take(&mut self.counted);
        let mut counts = Vec::new();
        for (at, runner) in runners.live.iter().enumerate().filter(|(_, runner)| runner.over.is_none()) {
            let Some(workspace) = runner.workspace else { continue };
            let Ok(folder) = places::open_folder(&jails.workspace(workspace)) else { continue };
            let files = count(folder, Instant::now() + LONGEST);
            counts.push((at, Count::new(files, before.get(&runner.child.pid).copied())));
            self.counted.insert(runner.child.pid, files);
        }
        self.rest.begin(began, PAUSE);
        // The first look only counts; the next one follows after a short pause.
        let worst = worst(&counts).filter(|_| !before.is_empty()).and_then(|at| runners.live.get_mut(at));
        worst.map(|runner| runner.end(Ended::Disk)).is_some()
    }
}

/// Inodes that processes which are not root can still have; `None` where the file system has no such number.
pub(crate) fn free(state: &Path) -> Option<u64> {
    let about = statvfs(state).ok()?;
    (about.files() > 0).then(|| about.files_available())
}

/// The jail whose files grew most since the last count. If none is known to have grown, the largest whose count was cut short,
/// since its growth cannot be seen; a jail that has many files and makes no more is not ended.
fn worst(counts: &[(usize, Count)]) -> Option<usize> {
    let grown = counts.iter().filter_map(|(at, count)| Some((*at, count.grown?)));
    let grown = grown.filter(|(_, grown)| *grown > 0).max_by_key(|(_, grown)| *grown);
    let cut_short = counts.iter().filter(|(_, count)| !count.files.is_whole);
    let largest = cut_short.max_by_key(|(_, count)| count.files.count).map(|(at, _)| *at);
    grown.map(|(at, _)| at).or(largest)
}

/// Files and folders below a folder, counted until then. No link is followed.
fn count(folder: OwnedFd, until: Instant) -> Files {
    let mut files = Files { count: 0, is_whole: true };
    // Each folder on the way down, with those of its folders that are not looked into yet.
    let mut open: Vec<(Dir, Vec<CString>)> = Vec::new();
    let mut next = Some(folder);
    loop {
        if let Some(mut names) = next.take().and_then(|folder| Dir::from_fd(folder).ok()) {
            let mut below = Vec::new();
            for entry in names.iter().flatten() {
                let name = entry.file_name();
                if matches!(name.to_bytes(), b"." | b"..") {
                    continue;
                }
                files.count += 1;
                if Instant::now() >= until {
                    return Files { is_whole: false, ..files };
                }
                if entry.file_type() == Some(Type::Directory) {
                    below.push(name.to_owned());
                }
            }
            if open.len() < DEEP {
                open.push((names, below));
            } else {
                files.is_whole &= below.is_empty();
            }
        }
        let Some((names, below)) = open.last_mut() else { return files };
        let Some(name) = below.pop() else {
            open.pop();
            continue;
        };
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        next = nix::fcntl::openat(names.as_fd(), name.as_c_str(), flags, Mode::empty()).ok();
    }
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
        let until = Instant::now() + Duration::from_secs(5);
        assert_eq!(count(opened(), until), Files { count: 7, is_whole: true });
        assert_eq!(count(opened(), Instant::now()), Files { count: 1, is_whole: false }, "its time is over");
    }

    // Holds B-169.
    #[test]
    fn a_wide_tree_is_counted_whole_and_one_that_is_too_deep_is_not() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..3 * DEEP {
            fs::create_dir(folder.path().join(n.to_string())).unwrap();
            fs::write(folder.path().join(n.to_string()).join("file"), "").unwrap();
        }
        let counted =
            || count(places::open_folder(folder.path()).unwrap(), Instant::now() + Duration::from_secs(5));
        assert_eq!(counted(), Files { count: 6 * DEEP as u64, is_whole: true });
        let deep: std::path::PathBuf = (0..2 * DEEP).map(|_| "d").collect();
        fs::create_dir_all(folder.path().join(deep)).unwrap();
        assert!(!counted().is_whole);
    }

    // Holds B-169.
    #[test]
    fn only_a_jail_that_grew_is_ended_else_the_largest_without_a_whole_count() {
        let grew = |count, files| Count { files: Files { count, is_whole: true }, grown: Some(files) };
        let first = |count| Count { files: Files { count, is_whole: true }, grown: None };
        let cut = |count, grown| Count { files: Files { count, is_whole: false }, grown };
        for (counts, ended) in [
            (vec![grew(90_000, 0), grew(500, 400), grew(700, 10)], Some(1)),
            (vec![grew(90_000, 0), grew(500, 0)], None),
            (vec![first(90_000), grew(500, 0)], None),
            (vec![grew(90_000, 0), cut(5_000, None), cut(7_000, None)], Some(2)),
            (vec![cut(90_000, None), grew(500, 1)], Some(1)),
            (vec![cut(90_000, Some(3)), grew(500, 2)], Some(0)),
            (vec![grew(0, 0)], None),
            (vec![], None),
        ] {
            let numbered: Vec<(usize, Count)> = counts.into_iter().enumerate().collect();
            assert_eq!(worst(&numbered), ended, "{numbered:?}");
        }
    }

    #[test]
    fn growth_is_known_only_against_a_whole_count() {
        let files = |count, is_whole| Files { count, is_whole };
        for (before, now, grown) in [
            (None, files(9, true), None),
            (Some(files(4, true)), files(9, true), Some(5)),
            (Some(files(9, true)), files(4, true), Some(0)),
            (Some(files(4, true)), files(9, false), Some(5)),
            (Some(files(4, false)), files(9, true), None),
        ] {
            assert_eq!(Count::new(now, before).grown, grown, "{before:?} {now:?}");
        }
    }

    #[test]
    fn the_kernel_says_how_many_are_free() {
        assert!(free(Path::new("/dev/shm")).is_none_or(|free| free > 0));
        assert_eq!(free(Path::new("/nowhere/at/all")), None);
    }
}
