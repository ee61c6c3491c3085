//! `seal(row)`: the second moment of confinement, in the process after it opened its files and before it serves, while it has one
//! thread. Serving requires the [`Sealed`] token, so a process that serves unsealed does not compile.

use crate::filters::Tells;
use crate::landlocked::{self, Beneath, LandlockFault};
use crate::passing;
use crate::seccomp::{self, SeccompFault};
use crate::sys;
use manifest::command::{Frame, Kind, Mode};
use manifest::{Access, Network, Place, Row};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

/// Proof that this process is sealed. Only [`seal`] and [`seal_runner`] make one.
#[derive(Debug)]
pub struct Sealed(());

/// The reason why a process could not be sealed. It must not serve.
#[derive(Debug, thiserror::Error)]
pub enum SealFault {
    /// It has more than one thread, and landlock and seccomp bind the calling thread alone.
    #[error("it has {0} threads; sealing binds one")]
    Threads(usize),
    /// It is dumpable: others of its uid could read it.
    #[error("it is dumpable; harden() must be the first statement of main")]
    Dumpable,
    /// no_new_privs was not set before exec.
    #[error("no_new_privs is not set; it was not started by agentd")]
    NewPrivs,
    /// The kernel could not be asked.
    #[error("the kernel cannot be asked: {0}")]
    Ask(#[from] io::Error),
    /// Landlock.
    #[error(transparent)]
    Landlock(#[from] LandlockFault),
    /// seccomp.
    #[error("layer seccomp: {0}")]
    Seccomp(#[from] SeccompFault),
}

/// Makes this process undumpable: the first statement of every main, since exec undoes it. No process of the same uid can then
/// attach to it or read its memory or its descriptors, and it leaves no core. Also makes it end with its first panic, however it was
/// built: after an unwound task the others would go on.
///
/// # Errors
/// The kernel's error.
pub fn harden() -> io::Result<()> {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        told(panic);
        std::process::abort();
    }));
    sys::prctl(libc::PR_SET_DUMPABLE, 0, 0).map(drop)
}

/// The receiver of a sealed process's refused calls.
#[derive(Clone, Copy, Debug)]
pub enum Watch<'a> {
    /// agentd, which gets the listener over this socket.
    Agentd(BorrowedFd<'a>),
    /// agentd, which is notified of every call and lets through those that the row allows: for the tests that look for rules which
    /// nothing needs.
    #[cfg(debug_assertions)]
    Recording(BorrowedFd<'a>),
    /// Nobody: the kernel itself kills or refuses. For probes, whose every act is forbidden.
    Nobody,
}

/// Seals an actor: landlock, then seccomp, both from its row.
///
/// # Errors
/// [`SealFault`]: the process must end.
pub fn seal(row: &Row, mode: Mode, watch: Watch<'_>) -> Result<Sealed, SealFault> {
    ready(mode)?;
    let files: Vec<(PathBuf, Beneath)> =
        row.opens.iter().filter_map(|open| Some((path(open.place)?, beneath(open.access)))).collect();
    let files: Vec<(&Path, Beneath)> = files.iter().map(|(path, how)| (path.as_path(), *how)).collect();
    restrict(row, &files, watch)
}

/// The places that a runner may use, within the jail or on the host in mode flat.
#[derive(Debug)]
pub struct RunnerPlaces {
    /// Folders that it may read, write and execute in: the workspace and its temporary folder.
    pub work: Vec<PathBuf>,
    /// Folders and files that it may read and execute: the system, and its skills.
    pub system: Vec<PathBuf>,
    /// Folders that it may only read.
    pub read: Vec<PathBuf>,
    /// Device nodes.
    pub devices: Vec<PathBuf>,
}

/// Seals a runner, and with it every program it will start.
///
/// # Errors
/// [`SealFault`]: the runner must end.
pub fn seal_runner(
    row: &Row,
    mode: Mode,
    places: &RunnerPlaces,
    watch: Watch<'_>,
) -> Result<Sealed, SealFault> {
    ready(mode)?;
    let lists = [
        (&places.work, Beneath::Work),
        (&places.system, Beneath::Execute),
        (&places.read, Beneath::Read),
        (&places.devices, Beneath::Device),
    ];
    let files: Vec<(&Path, Beneath)> =
        lists.iter().flat_map(|(paths, how)| paths.iter().map(|path| (path.as_path(), *how))).collect();
    restrict(row, &files, watch)
}

/// Applies landlock, then seccomp, whose filters are made before: making them may need files that landlock refuses.
fn restrict(row: &Row, files: &[(&Path, Beneath)], watch: Watch<'_>) -> Result<Sealed, SealFault> {
    let network = row.network != Network::None;
    let (socket, tells) = match watch {
        Watch::Agentd(socket) => (socket, Tells::Refusals),
        #[cfg(debug_assertions)]
        Watch::Recording(socket) => (socket, Tells::Everything),
        Watch::Nobody => {
            let filters = seccomp::unwatched(row)?;
            landlocked::restrict(files, network)?;
            seccomp::apply(&filters)?;
            return Ok(Sealed(()));
        }
    };
    let filters = seccomp::watched(row, tells)?;
    landlocked::restrict(files, network)?;
    let frame = Frame::new(Kind::Listening, row.process).encode();
    filters.apply(|listener| passing::hand_over(socket, &frame, listener))?;
    Ok(Sealed(()))
}

/// Checks that a process may be sealed.
fn ready(mode: Mode) -> Result<(), SealFault> {
    landlocked::require(mode)?;
    let threads = sys::threads()?;
    if threads != 1 {
        return Err(SealFault::Threads(threads));
    }
    if sys::prctl(libc::PR_GET_DUMPABLE, 0, 0)? != 0 {
        return Err(SealFault::Dumpable);
    }
    if sys::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0)? != 1 {
        return Err(SealFault::NewPrivs);
    }
    Ok(())
}

/// The path of a place of an actor, which agentd starts in its own folder; `None` for a file that is opened only before the seal.
fn path(place: Place) -> Option<PathBuf> {
    match place {
        Place::Own => Some(PathBuf::from(".")),
        Place::State(name) => Some(Path::new("..").join(name)),
        Place::System(path) => Some(PathBuf::from(path)),
        Place::Named(_) => None,
    }
}

const fn beneath(access: Access) -> Beneath {
    match access {
        Access::Read => Beneath::Read,
        Access::Write => Beneath::Write,
        Access::Execute => Beneath::Execute,
    }
}
