//! Deletes the folders of removed workspaces. Each folder is moved out of its place at once, and its content is deleted in small
//! steps, since agentd has one thread and a jail may have left millions of files. It deletes only below one folder of the state
//! directory and follows no link out of it.
//!
//! A folder below another is moved beside it before it is read, so that neither depth nor descriptors grow with the tree of an
//! agent. Names are tried in the kernel's order, each once before any is tried again, so that names that cannot be deleted do not
//! keep those behind them.

use crate::ownership;
use crate::places;
use nix::dir::{Dir, OwningIter};
use nix::errno::Errno;
use nix::fcntl::{OFlag, renameat};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::ffi::{CStr, CString};
use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The pause before the next step.
const AGAIN: Duration = Duration::from_millis(5);
/// The pause after a step that deleted nothing: its cause may pass, such as a lack of descriptors.
const LATER: Duration = Duration::from_secs(60);
/// Names that are deleted or moved in one step, and the longest time of a step after the first of them.
const STEP: usize = 256;
const LONGEST: Duration = Duration::from_millis(4);
/// Names of one folder that may fail in one step.
const FAILED: usize = 16;
const READ: OFlag =
    OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// Folders that wait to be deleted.
#[derive(Debug)]
pub(crate) struct Removed {
    /// The folder in which they wait.
    bin: PathBuf,
    /// The time of the next step; `None` while there is nothing.
    pub(crate) due: Option<Instant>,
    /// The number of names made so far, so that each is unique.
    names: u64,
    /// The pass under way.
    pass: Option<Pass>,
    /// It was reported that nothing can be deleted, and nothing was since.
    reported: bool,
}

impl Removed {
    /// Makes the first step soon: a host that was killed may have left some.
    pub(crate) fn new(state: &Path) -> Self {
        let bin = state.join(ownership::REMOVED);
        Self { bin, due: Some(Instant::now()), names: 0, pass: None, reported: false }
    }

    /// Takes the folder of a workspace out of its place. Nothing happens where there is none: a person's own directory has none.
    ///
    /// # Errors
    /// The line for the log, if it cannot be moved.
    pub(crate) fn remove(&mut self, path: &Path) -> Result<(), String> {
        if !path.exists() {
            return Ok(());
        }
        let made = places::folder(&self.bin, 0o700, None).map_err(|fault| fault.to_string());
        let moved = made.and_then(|()| {
            let name = fresh(&self.bin, &mut self.names);
            fs::rename(path, self.bin.join(name)).map_err(|cause| cause.to_string())
        });
        moved.map_err(|why| format!("{}: not removed: {why}", path.display()))?;
        self.more();
        Ok(())
    }

    /// Makes a step, if it is time. Returns a line for the log, if there is one.
    pub(crate) fn go_on(&mut self) -> Option<String> {
        let now = Instant::now();
        if self.due.is_none_or(|due| due > now) {
            return None;
        }
        let pace = Pace { tried: 0, most: STEP, until: now + LONGEST };
        let came = step(self, pace);
        let fault = self.schedule(came, Instant::now())?;
        Some(format!("{}: {fault}", self.bin.display()))
    }

    /// There are more folders, which the pass under way may not have seen.
    fn more(&mut self) {
        self.due = Some(Instant::now());
        if let Some(pass) = &mut self.pass {
            pass.again = true;
        }
    }

    /// Sets the time of the next step by the outcome of this one, and returns a fault to be reported, once.
    fn schedule(&mut self, came: nix::Result<Came>, now: Instant) -> Option<String> {
        let fault = match came {
            Ok(Came::Further) => {
                (self.due, self.reported) = (Some(now + AGAIN), false);
                return None;
            }
            Ok(Came::Onward) => {
                self.due = Some(now + AGAIN);
                return None;
            }
            Ok(Came::Through) | Err(Errno::ENOENT) => {
                (self.due, self.reported) = (None, false);
                return None;
            }
            Ok(Came::Nowhere) => "the rest cannot be removed".to_owned(),
            Err(errno) => format!("not removed: {errno}"),
        };
        (self.due, self.pass) = (Some(now + LATER), None);
        (!std::mem::replace(&mut self.reported, true)).then(|| format!("{fault}; it is tried again"))
    }
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    /// Something was deleted, and there may be more.
    Further,
    /// Nothing that was tried could be deleted, and there is more to try.
    Onward,
    /// Nothing is left.
    Through,
    /// Something is left that cannot be deleted.
    Nowhere,
}

/// One pass over all names.
struct Pass {
    names: OwningIter,
    /// Something was left there.
    left: bool,
    /// Something was deleted or added: another pass is worth it.
    again: bool,
}

impl std::fmt::Debug for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pass").field("left", &self.left).field("again", &self.again).finish_non_exhaustive()
    }
}

impl Pass {
    fn begin(bin: &Path) -> nix::Result<Self> {
        let names = Dir::open(bin, READ, Mode::empty())?.into_iter();
        Ok(Self { names, left: false, again: false })
    }
}

fn step(removed: &mut Removed, mut pace: Pace) -> nix::Result<Came> {
    let bin = &removed.bin;
    let top = Dir::open(bin, READ, Mode::empty())?;
    let mut pass = removed.pass.take().map_or_else(|| Pass::begin(bin), Ok)?;
    let mut done = 0;
    while !pace.is_over(done) {
        let Some(entry) = pass.names.next() else {
            match pass {
                Pass { again: true, .. } => pass = Pass::begin(bin)?,
                Pass { left: true, .. } => return Ok(Came::Nowhere),
                Pass { .. } => return Ok(Came::Through),
            }
            continue;
        };
        let entry = entry?;
        let name = entry.file_name();
        if is_real(name) {
            pace.tried += 1;
            let gone = take_away(&top, name, bin, &mut removed.names, &mut pace);
            pass.left |= gone == 0;
            pass.again |= gone > 0;
            done += gone;
        }
    }
    removed.pass = Some(pass);
    Ok(if done > 0 { Came::Further } else { Came::Onward })
}

/// Deletes the file or folder of this name, as far as this step goes; returns the number of names done.
fn take_away(top: &Dir, name: &CStr, bin: &Path, count: &mut u64, pace: &mut Pace) -> usize {
    match unlinkat(top.as_fd(), name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) => 1,
        Err(Errno::EISDIR | Errno::EPERM) => empty(top, name, bin, count, pace),
        Err(_) => 0,
    }
}

/// The progress of a step. A name that fails counts as work too: on a read-only disk every name does.
struct Pace {
    /// Names that were tried, and how many may be.
    tried: usize,
    most: usize,
    until: Instant,
}

impl Pace {
    /// Returns true if the step is over. Every step does something if it can, however slow the disk is.
    fn is_over(&self, done: usize) -> bool {
        self.tried >= self.most || (done > 0 && Instant::now() >= self.until)
    }
}

/// Empties a folder as far as this step goes, and deletes it once it is empty; returns the number of names done.
fn empty(top: &Dir, name: &CStr, bin: &Path, count: &mut u64, pace: &mut Pace) -> usize {
    let opened = || Dir::openat(top.as_fd(), name, READ, Mode::empty());
    // An agent may have taken its own folders' modes away.
    let opened = opened().or_else(|_| open_up(top.as_fd(), name).and_then(|()| opened()));
    let Ok(mut folder) = opened else { return 0 };
    let Ok(names) = names(&mut folder) else { return 0 };
    let mut gone = 0;
    for (before, inner) in names.iter().enumerate() {
        // A folder whose names cannot be deleted leaves time for the others, but only once enough of its names have failed: a
        // name that the step had no time for has not.
        if (gone > 0 && pace.is_over(gone)) || before - gone >= FAILED {
            return gone;
        }
        pace.tried += 1;
        gone += usize::from(take_out(&folder, inner, top, bin, count));
    }
    let is_last = names.len() <= STEP;
    let removed = is_last && unlinkat(top.as_fd(), name, UnlinkatFlags::RemoveDir).is_ok();
    gone + usize::from(removed)
}

/// Deletes the file or folder of this name, or moves a folder that is not empty up; returns true if that was done.
fn take_out(folder: &Dir, name: &CStr, top: &Dir, bin: &Path, count: &mut u64) -> bool {
    let from = folder.as_fd();
    match unlinkat(from, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) => return true,
        Err(Errno::EACCES) => return open_up(from, c".").is_ok(),
        Err(_) => {}
    }
    if unlinkat(from, name, UnlinkatFlags::RemoveDir).is_ok() {
        return true;
    }
    let mut moved = || renameat(from, name, top.as_fd(), fresh(bin, count).as_os_str()).is_ok();
    // The mode of the folder itself matters for a move; a mountpoint cannot be moved, whatever its mode.
    moved() || (open_up(from, name).is_ok() && moved())
}

/// Gives its owner every right to a folder.
fn open_up(at: BorrowedFd<'_>, name: &CStr) -> nix::Result<()> {
    fchmodat(at, name, Mode::S_IRWXU, FchmodatFlags::NoFollowSymlink)
}

/// The names in a folder, at most one more than a step takes.
fn names(folder: &mut Dir) -> nix::Result<Vec<CString>> {
    let entries = folder.iter().map(|entry| entry.map(|entry| entry.file_name().to_owned()));
    entries.filter(|name| name.as_ref().map_or(true, |name| is_real(name))).take(STEP + 1).collect()
}

fn is_real(name: &CStr) -> bool {
    name != c"." && name != c".."
}

/// A name that is not in use there.
fn fresh(bin: &Path, count: &mut u64) -> PathBuf {
    loop {
        *count += 1;
        let name = PathBuf::from(count.to_string());
        if bin.join(&name).symlink_metadata().is_err() {
            return name;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn pace(most: usize, longest: Duration) -> Pace {
        Pace { tried: 0, most, until: Instant::now() + longest }
    }

    fn removed(bin: &Path) -> Removed {
        Removed { bin: bin.to_owned(), ..Removed::new(Path::new("/")) }
    }

    /// The number of steps of this length until nothing is left.
    fn all(bin: &Path, longest: Duration) -> usize {
        let mut removed = removed(bin);
        for steps in 1..100_000 {
            match step(&mut removed, pace(STEP, longest)).unwrap() {
                Came::Further => {}
                came => {
                    assert_eq!(came, Came::Through);
                    return steps;
                }
            }
        }
        panic!("it does not end")
    }

    // Holds P1-07.
    #[test]
    fn any_tree_is_deleted_in_small_steps_and_no_target_of_its_links() {
        let folder = tempfile::tempdir().unwrap();
        let (bin, outside) = (folder.path().join("bin"), folder.path().join("outside"));
        fs::create_dir_all(bin.join("w/wide")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "kept").unwrap();
        symlink(&outside, bin.join("w/link")).unwrap();
        for n in 0..1000 {
            fs::write(bin.join(format!("w/wide/{n}")), "").unwrap();
        }
        let deep: PathBuf = (0..200).map(|_| "deeper").collect();
        fs::create_dir_all(bin.join("w").join(deep)).unwrap();
        fs::create_dir(bin.join("w/closed")).unwrap();
        fs::write(bin.join("w/closed/file"), "").unwrap();
        fs::set_permissions(bin.join("w/closed"), fs::Permissions::from_mode(0o000)).unwrap();
        assert!(all(&bin, Duration::from_secs(60)) > 4, "no step takes everything");
        assert_eq!(fs::read_dir(&bin).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(outside.join("kept")).unwrap(), "kept");
    }

    // Holds P1-07.
    #[test]
    fn a_step_whose_time_is_over_does_one_thing_and_the_next_continues() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir_all(bin.join("w")).unwrap();
        for n in 0..100 {
            fs::write(bin.join(format!("w/{n}")), "").unwrap();
        }
        let steps = all(&bin, Duration::ZERO);
        assert!((101..=103).contains(&steps), "{steps}");
        assert_eq!(fs::read_dir(&bin).unwrap().count(), 0);
    }

    // Holds P1-07.
    #[test]
    fn a_step_that_deletes_nothing_ends_as_soon_as_one_that_does() {
        let far = Instant::now() + Duration::from_secs(60);
        let most = STEP;
        for (tried, done, is_over) in
            [(0, 0, false), (STEP - 1, 0, false), (STEP, 0, true), (STEP, STEP, true)]
        {
            assert_eq!(Pace { tried, most, until: far }.is_over(done), is_over, "{tried} {done}");
        }
        let now = Pace { tried: 1, most, until: Instant::now() };
        assert_eq!((now.is_over(0), now.is_over(1)), (false, true));
    }

    /// A folder in which nothing can be deleted or changed.
    const FAST: &str = "/proc/self/ns";

    // Holds P1-07.
    #[test]
    fn each_name_that_cannot_be_deleted_is_tried_before_any_is_tried_again() {
        let (bin, mut removed) = (Path::new(FAST), removed(Path::new(FAST)));
        let there = fs::read_dir(bin).unwrap().count();
        assert!(there > 4);
        for most in [1, 2, there - 1] {
            // One step more finds that nothing is left.
            let steps = there / most;
            for nth in 0..steps {
                let came = step(&mut removed, pace(most, Duration::from_secs(60)));
                assert_eq!(came, Ok(Came::Onward), "{most} {nth}");
            }
            assert_eq!(step(&mut removed, pace(most, Duration::from_secs(60))), Ok(Came::Nowhere));
            assert!(removed.pass.is_none(), "everything is tried again");
        }
        assert_eq!(fs::read_dir(bin).unwrap().count(), there);
    }

    // Holds P1-07.
    #[test]
    fn a_folder_that_is_added_during_a_pass_is_not_left_for_later() {
        let (bin, mut removed) = (Path::new(FAST), removed(Path::new(FAST)));
        let there = fs::read_dir(bin).unwrap().count();
        let one = |removed: &mut Removed| step(removed, pace(1, Duration::from_secs(60)));
        assert_eq!(one(&mut removed), Ok(Came::Onward));
        removed.more();
        for nth in 1..2 * there {
            assert_eq!(one(&mut removed), Ok(Came::Onward), "{nth}");
        }
        assert_eq!(one(&mut removed), Ok(Came::Nowhere));
    }

    // Holds P1-07.
    #[test]
    fn a_fault_that_may_pass_is_reported_once_and_ends_nothing() {
        let (mut removed, now) = (removed(Path::new("/")), Instant::now());
        for fault in [Err(Errno::EMFILE), Ok(Came::Nowhere), Err(Errno::EBUSY)] {
            assert!(removed.schedule(fault, now).unwrap().ends_with("it is tried again"));
            assert_eq!((removed.schedule(Ok(Came::Onward), now), removed.due), (None, Some(now + AGAIN)));
            assert_eq!((removed.schedule(fault, now), removed.due), (None, Some(now + LATER)));
            assert_eq!((removed.schedule(Ok(Came::Further), now), removed.due), (None, Some(now + AGAIN)));
        }
        for end in [Ok(Came::Through), Err(Errno::ENOENT)] {
            assert_eq!((removed.schedule(end, now), removed.due), (None, None));
        }
    }
}
