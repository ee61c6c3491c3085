//! Asks the kernel, by trying, which mode it can hold. A kernel may grant a hollow user namespace, so one is
//! made and mounted in, in a child that ends.

use crate::landlocked::{self, LandlockFault};
use crate::namespaces::become_root_of_own_namespace;
use crate::sys::{self, Forked};
use manifest::command::Mode;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::io;

/// Why a mode cannot be held here. Each names the layer and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ModeFault {
    /// Mode system needs root.
    #[error("mode system: layer uids: agentd must be started as root; or set [host] mode = \"user\"")]
    NotRoot,
    /// No namespaces.
    #[error(
        "mode {mode}: layer namespaces: the kernel refuses them ({cause}); allow them (user.max_user_namespaces, \
         kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns) or ask for [host] mode = \"flat\""
    )]
    NoNamespaces {
        /// The mode.
        mode: &'static str,
        /// The kernel's word.
        cause: io::Error,
    },
    /// Landlock.
    #[error(transparent)]
    Landlock(#[from] LandlockFault),
}

/// Checks that every layer of `mode` is there.
///
/// # Errors
/// [`ModeFault`]: which layer is missing, and the remedy.
pub fn require(mode: Mode) -> Result<(), ModeFault> {
    landlocked::require(mode)?;
    let tried = match mode {
        Mode::Flat => return Ok(()),
        Mode::System if !nix::unistd::geteuid().is_root() => return Err(ModeFault::NotRoot),
        Mode::System => attempt(|| {
            unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWPID)?;
            mount_something()?;
            Ok(unshare(CloneFlags::CLONE_NEWUSER)?)
        }),
        Mode::User => attempt(|| {
            become_root_of_own_namespace()?;
            mount_something()
        }),
    };
    let mode = if mode == Mode::System { "system" } else { "user" };
    tried.map_err(|cause| ModeFault::NoNamespaces { mode, cause })
}

fn mount_something() -> io::Result<()> {
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
    Ok(mount(Some("tmpfs"), "/tmp", Some("tmpfs"), MsFlags::MS_NOSUID, None::<&str>)?)
}

/// Runs `act` in a child; its errno is the child's exit status.
fn attempt(act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    match sys::clone(0)? {
        Forked::Child => sys::end(act().err().map_or(0, |error| error.raw_os_error().unwrap_or(libc::EIO))),
        Forked::Parent(pid, _pidfd) => match waitpid(Pid::from_raw(pid), None)? {
            WaitStatus::Exited(_, 0) => Ok(()),
            WaitStatus::Exited(_, errno) => Err(io::Error::from_raw_os_error(errno)),
            _ => Err(io::ErrorKind::Other.into()),
        },
    }
}
