//! Folders of workspaces that were removed: each is taken out of its place at once, and what is in it goes in small steps, since
//! agentd has one thread and a jail may have left millions of files. It removes what lies in one folder of the state directory
//! and follows no link out of it.
//!
//! A folder below another is moved beside it before it is looked into, so that neither depth nor descriptors grow with what an
//! agent made. Names are gone through in the order in which the kernel gives them, each once before any is tried again, so
//! that however many do not go, those behind them do.

use crate::host::Host;
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

/// The folder of the state directory in which they wait.
pub(crate) const FOLDER: &str = "removed";
/// How soon the next step is made.
const AGAIN: Duration = Duration::from_millis(5);
/// The same after one that came to nothing: what kept it from it may pass, such as a want of descriptors.
const LATER: Duration = Duration::from_secs(60);
/// Names that are removed or moved in one step, and the longest that it goes on after the first.
const STEP: usize = 256;
const LONGEST: Duration = Duration::from_millis(4);
/// Names of one folder that may fail to go in one step.
const FAILED: usize = 16;
const READ: OFlag =
    OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// What waits to be removed.
#[derive(Debug)]
pub(crate) struct Removed {
    /// When the next step is made; `None` while there is nothing.
    pub(crate) due: Option<Instant>,
    /// Names given so far, so that each is another.
    given: u64,
    /// What is being gone through.
    pass: Option<Pass>,
    /// It was said that nothing could be removed, and nothing was since.
    said: bool,
}

impl Removed {
    /// A life before may have left something.
    pub(crate) fn new() -> Self {
        Self { due: Some(Instant::now()), given: 0, pass: None, said: false }
    }

    /// There is more than there was, which what is being gone through may have been begun without.
    fn more(&mut self) {
        self.due = Some(Instant::now());
        if let Some(pass) = &mut self.pass {
            pass.again = true;
        }
    }

    /// What a step came to says when the next one is; and what is to be said of it, once.
    fn go_on(&mut self, came: nix::Result<Came>, now: Instant) -> Option<String> {
        let fault = match came {
            Ok(Came::Further) => {
                (self.due, self.said) = (Some(now + AGAIN), false);
                return None;
            }
            Ok(Came::Onward) => {
                self.due = Some(now + AGAIN);
                return None;
            }
            Ok(Came::Through) | Err(Errno::ENOENT) => {
                (self.due, self.said) = (None, false);
                return None;
            }
            Ok(Came::Nowhere) => "what is left there cannot be removed".to_owned(),
            Err(errno) => format!("not removed: {errno}"),
        };
        (self.due, self.pass) = (Some(now + LATER), None);
        (!std::mem::replace(&mut self.said, true)).then(|| format!("{fault}; it is tried again"))
    }
}

/// Takes the folder of a workspace out of its place. Nothing happens where there is none: a person's own directory is none.
pub(crate) fn remove(host: &mut Host, workspace: [u8; 16]) {
    let path = crate::runners::folder_of(host, workspace);
    if !path.exists() {
        return;
    }
    let bin = host.places.state.join(FOLDER);
    let moved = places::folder(&bin, 0o700, None).map_err(|fault| fault.to_string()).and_then(|()| {
        let name = fresh(&bin, &mut host.removed.given);
        fs::rename(&path, bin.join(name)).map_err(|cause| cause.to_string())
    });
    match moved {
        Ok(()) => host.removed.more(),
        Err(why) => host.logs.write("agentd", &format!("{}: not removed: {why}", path.display())),
    }
}

/// Makes a step, unless everything stands still for a copy of the state.
pub(crate) fn go_on(host: &mut Host) {
    let now = Instant::now();
    if host.frozen.is_some() || host.removed.due.is_none_or(|due| due > now) {
        return;
    }
    let bin = host.places.state.join(FOLDER);
    let pace = Pace { tried: 0, most: STEP, until: now + LONGEST };
    let came = step(&bin, &mut host.removed, pace);
    if let Some(fault) = host.removed.go_on(came, Instant::now()) {
        host.logs.write("agentd", &format!("{}: {fault}", bin.display()));
    }
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    /// Something went, and there may be more.
    Further,
    /// Nothing went of what was tried, and there is more to try.
    Onward,
    /// Nothing is left.
    Through,
    /// Something is left that nothing could be done about.
    Nowhere,
}

/// Everything there is, gone through once.
struct Pass {
    names: OwningIter,
    /// Something was left there.
    left: bool,
    /// Something went, or came: there is reason to go through it once more.
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

fn step(bin: &Path, removed: &mut Removed, mut pace: Pace) -> nix::Result<Came> {
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
            let gone = take_away(&top, name, bin, &mut removed.given, &mut pace);
            pass.left |= gone == 0;
            pass.again |= gone > 0;
            done += gone;
        }
    }
    removed.pass = Some(pass);
    Ok(if done > 0 { Came::Further } else { Came::Onward })
}

/// Removes what has this name, as far as this step goes; how much was done.
fn take_away(top: &Dir, name: &CStr, bin: &Path, given: &mut u64, pace: &mut Pace) -> usize {
    match unlinkat(top.as_fd(), name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) => 1,
        Err(Errno::EISDIR | Errno::EPERM) => empty(top, name, bin, given, pace),
        Err(_) => 0,
    }
}

/// How far a step has come. What fails is work as well: on a disk that can only be read everything does.
struct Pace {
    /// Names that were tried, whatever came of it, and how many may be.
    tried: usize,
    most: usize,
    until: Instant,
}

impl Pace {
    /// Every step does something, however slow the disk is, if it can at all.
    fn is_over(&self, done: usize) -> bool {
        self.tried >= self.most || (done > 0 && Instant::now() >= self.until)
    }
}

/// Empties a folder as far as this step goes, and removes it once nothing is in it; how much was done.
fn empty(top: &Dir, name: &CStr, bin: &Path, given: &mut u64, pace: &mut Pace) -> usize {
    let opened = || Dir::openat(top.as_fd(), name, READ, Mode::empty());
    // An agent may have taken its own folders' modes away.
    let opened = opened().or_else(|_| open_up(top.as_fd(), name).and_then(|()| opened()));
    let Ok(mut folder) = opened else { return 0 };
    let Ok(names) = names(&mut folder) else { return 0 };
    let mut gone = 0;
    for (before, inner) in names.iter().enumerate() {
        // One that keeps what is in it leaves room for the others, but not before that was found out: what a step had no
        // more time for is none that does not go.
        if (gone > 0 && pace.is_over(gone)) || before - gone >= FAILED {
            return gone;
        }
        pace.tried += 1;
        gone += usize::from(take_out(&folder, inner, top, bin, given));
    }
    let is_last = names.len() <= STEP;
    let removed = is_last && unlinkat(top.as_fd(), name, UnlinkatFlags::RemoveDir).is_ok();
    gone + usize::from(removed)
}

/// Removes what has this name, or moves it up where it is a folder that is not empty; whether that was done.
fn take_out(folder: &Dir, name: &CStr, top: &Dir, bin: &Path, given: &mut u64) -> bool {
    let from = folder.as_fd();
    match unlinkat(from, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) => return true,
        Err(Errno::EACCES) => return open_up(from, c".").is_ok(),
        Err(_) => {}
    }
    if unlinkat(from, name, UnlinkatFlags::RemoveDir).is_ok() {
        return true;
    }
    let mut moved = || renameat(from, name, top.as_fd(), fresh(bin, given).as_os_str()).is_ok();
    // Where it is moved its own mode counts too; one that is mounted on is not moved, whatever its mode.
    moved() || (open_up(from, name).is_ok() && moved())
}

/// Lets its owner look into a folder and change it.
fn open_up(at: BorrowedFd<'_>, name: &CStr) -> nix::Result<()> {
    fchmodat(at, name, Mode::S_IRWXU, FchmodatFlags::NoFollowSymlink)
}

/// The names in a folder, as far as a step goes and one more.
fn names(folder: &mut Dir) -> nix::Result<Vec<CString>> {
    let entries = folder.iter().map(|entry| entry.map(|entry| entry.file_name().to_owned()));
    entries.filter(|name| name.as_ref().map_or(true, |name| is_real(name))).take(STEP + 1).collect()
}

fn is_real(name: &CStr) -> bool {
    name != c"." && name != c".."
}

/// A name that nothing there has.
fn fresh(bin: &Path, given: &mut u64) -> PathBuf {
    loop {
        *given += 1;
        let name = PathBuf::from(given.to_string());
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

    /// How many steps it takes, each of which lasts so long.
    fn all(bin: &Path, longest: Duration) -> usize {
        let mut removed = Removed::new();
        for steps in 1..100_000 {
            match step(bin, &mut removed, pace(STEP, longest)).unwrap() {
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
    fn whatever_an_agent_made_goes_in_small_steps_and_nothing_that_its_links_lead_to() {
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
    fn a_step_whose_time_is_over_does_one_thing_and_the_next_goes_on_from_there() {
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
    fn a_step_that_comes_to_nothing_ends_as_soon_as_one_that_comes_to_something() {
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

    /// Names that nobody can remove, and in which nothing can be changed.
    const FAST: &str = "/proc/self/ns";

    // Holds P1-07.
    #[test]
    fn however_many_names_do_not_go_each_is_tried_before_any_is_tried_again() {
        let (bin, mut removed) = (Path::new(FAST), Removed::new());
        let there = fs::read_dir(bin).unwrap().count();
        assert!(there > 4);
        for most in [1, 2, there - 1] {
            // One step more finds that nothing is left.
            let steps = there / most;
            for nth in 0..steps {
                let came = step(bin, &mut removed, pace(most, Duration::from_secs(60)));
                assert_eq!(came, Ok(Came::Onward), "{most} {nth}");
            }
            assert_eq!(step(bin, &mut removed, pace(most, Duration::from_secs(60))), Ok(Came::Nowhere));
            assert!(removed.pass.is_none(), "everything is tried again");
        }
        assert_eq!(fs::read_dir(bin).unwrap().count(), there);
    }

    // Holds P1-07.
    #[test]
    fn what_comes_while_the_rest_is_gone_through_is_not_left_for_later() {
        let (bin, mut removed) = (Path::new(FAST), Removed::new());
        let there = fs::read_dir(bin).unwrap().count();
        let one = |removed: &mut Removed| step(bin, removed, pace(1, Duration::from_secs(60)));
        assert_eq!(one(&mut removed), Ok(Came::Onward));
        removed.more();
        for nth in 1..2 * there {
            assert_eq!(one(&mut removed), Ok(Came::Onward), "{nth}");
        }
        assert_eq!(one(&mut removed), Ok(Came::Nowhere));
    }

    // Holds P1-07.
    #[test]
    fn a_fault_that_may_pass_is_said_once_and_ends_nothing() {
        let (mut removed, now) = (Removed::new(), Instant::now());
        for fault in [Err(Errno::EMFILE), Ok(Came::Nowhere), Err(Errno::EBUSY)] {
            assert!(removed.go_on(fault, now).unwrap().ends_with("it is tried again"));
            assert_eq!((removed.go_on(Ok(Came::Onward), now), removed.due), (None, Some(now + AGAIN)));
            assert_eq!((removed.go_on(fault, now), removed.due), (None, Some(now + LATER)));
            assert_eq!((removed.go_on(Ok(Came::Further), now), removed.due), (None, Some(now + AGAIN)));
        }
        for end in [Ok(Came::Through), Err(Errno::ENOENT)] {
            assert_eq!((removed.go_on(end, now), removed.due), (None, None));
        }
    }
}
