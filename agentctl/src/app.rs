//! What every command is given: where to print, and the connection to control. Nothing is connected before a
//! command asks, so that commands that need no host work without one.

use crate::cli::Cli;
use crate::failure::Failure;
use crate::link::Link;
use crate::out::Out;
use std::path::PathBuf;
use std::process::ExitCode;

/// How a command ends: its exit status, or why it failed.
pub(crate) type Outcome = Result<ExitCode, Failure>;

/// Where a host of the system listens.
const SYSTEM_SOCKET: &str = "/run/cordon/control.sock";

/// What every command is given.
pub(crate) struct App {
    /// Where to print.
    pub(crate) out: Out,
    /// The connection to control.
    pub(crate) link: Link,
}

impl App {
    /// For this command line.
    pub(crate) fn new(cli: &Cli) -> Self {
        Self { out: Out::new(cli.json), link: Link::new(socket(cli.socket.clone())) }
    }
}

/// One thread with one event loop: a command waits for one thing at a time.
///
/// # Errors
/// What the kernel says.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::Runtime)
}

/// The socket that was named, else the first that is there of the system's and the user's.
fn socket(named: Option<PathBuf>) -> PathBuf {
    let system = PathBuf::from(SYSTEM_SOCKET);
    let candidates = || std::iter::once(system.clone()).chain(user_sockets());
    named
        .or_else(|| candidates().find(|path| path.exists()))
        .or_else(|| user_sockets().next())
        .unwrap_or(system)
}

/// Where agentd listens when a user runs it: in the runtime folder, or in the state folder where there is none.
fn user_sockets() -> impl Iterator<Item = PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = of("XDG_STATE_HOME").or_else(|| Some(of("HOME")?.join(".local/state")));
    let runtime = of("XDG_RUNTIME_DIR").map(|folder| folder.join("cordon/control.sock"));
    runtime.into_iter().chain(state.map(|folder| folder.join("cordon/run/cordon/control.sock")))
}
