//! The context of every command: the output and the connection to control. Nothing is connected before a command
//! calls the host, so commands that need no host work without one.

use crate::failure::Failure;
use crate::link::Link;
use crate::out::Out;
use crate::places;
use std::path::PathBuf;
use std::process::ExitCode;

/// The result of a command: its exit status, or its failure.
pub(crate) type Outcome = Result<ExitCode, Failure>;

/// The socket of the system's host.
const SYSTEM_SOCKET: &str = "/run/cordon/control.sock";

/// The context of a command.
pub(crate) struct App {
    /// The output.
    pub(crate) out: Out,
    /// The connection to control.
    pub(crate) link: Link,
}

impl App {
    /// Prints JSON if `json` is set, and asks the host at `named`, else the first whose socket is there.
    pub(crate) fn new(json: bool, named: Option<PathBuf>) -> Self {
        Self { out: Out::new(json), link: link(named) }
    }
}

/// An event loop on one thread: a command waits for one thing at a time.
///
/// # Errors
/// The kernel's error.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::Runtime)
}

/// A link to the named socket, else to the first of the system's and the user's that exists.
fn link(named: Option<PathBuf>) -> Link {
    if let Some(named) = named {
        return Link::new(named);
    }
    let system = PathBuf::from(SYSTEM_SOCKET);
    let candidates: Vec<PathBuf> = std::iter::once(system.clone()).chain(user_sockets()).collect();
    if let Some(found) = candidates.iter().find(|path| path.exists()) {
        return Link::new(found.clone());
    }
    let chosen = user_sockets().next().unwrap_or(system);
    let others = candidates.into_iter().filter(|path| *path != chosen).collect();
    Link::found(chosen, others)
}

/// The sockets of a host that a user runs: in the runtime folder, or in the state folder without one.
fn user_sockets() -> impl Iterator<Item = PathBuf> {
    let runtime = places::named("XDG_RUNTIME_DIR").map(|folder| folder.join("cordon/control.sock"));
    let state = places::user_state().map(|folder| folder.join("run/cordon/control.sock"));
    runtime.into_iter().chain(state)
}
