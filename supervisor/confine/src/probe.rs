//! Finds out by trying which mode the kernel supports. A kernel may grant a hollow user namespace, so a child makes one and mounts
//! in it; and a filter around agentd may refuse the calls that seal a process, so a child seals itself. agentd itself is unchanged.

use crate::landlocked::{self, LandlockFault};
use crate::namespaces::become_root_of_own_namespace;
use crate::seccomp;
use crate::sys::{self, Forked};
use manifest::command::Mode;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use std::error::Error;
use std::io;

/// The reason why a mode is not supported. Each names the layer and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ModeFault {
    /// Mode system needs root.
    #[error("mode system: layer uids: agentd must be started as root; or set [host] mode = \"user\"")]
    NotRoot,
    /// No namespaces.
    #[error(
        "mode {mode}: layer namespaces, every row: the kernel refuses them ({cause}); allow them \
         (user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns; for a \
         service, RestrictNamespaces= and its system call filter) or ask for [host] mode = \"flat\""
    )]
    NoNamespaces {
        /// The mode.
        mode: &'static str,
        /// The kernel's error.
        cause: io::Error,
    },
    /// Landlock.
    #[error(transparent)]
    Landlock(#[from] LandlockFault),
    /// A layer of the seal exists and may not be used.
    #[error(
        "mode {mode}: layer {layer}, every row: a process may not seal itself ({cause}); let the system call filter of a \
         service or container allow {calls}"
    )]
    NoSeal {
        /// The mode.
        mode: &'static str,
        /// The layer.
        layer: &'static str,
        /// The system calls that set it up.
        calls: &'static str,
        /// The kernel's error.
        cause: io::Error,
    },
}

/// Checks that every layer of `mode` is there.
///
/// # Errors
/// [`ModeFault`]: the missing layer and the remedy.
pub fn require(mode: Mode) -> Result<(), ModeFault> {
    let sealed = |layer, calls, act: fn() -> io::Result<()>| {
        attempt(act).map_err(|cause| ModeFault::NoSeal { mode: mode.name(), layer, calls, cause })
    };
    // A filter may kill a process that only asks for the version.
    sealed("landlock", "landlock_*", || {
        sys::landlock_abi();
        Ok(())
    })?;
    landlocked::require(mode)?;
    namespaces(mode)?;
    sealed("landlock", "landlock_*", landlocks)?;
    sealed("seccomp", "seccomp", filters)
}

fn namespaces(mode: Mode) -> Result<(), ModeFault> {
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
    tried.map_err(|cause| ModeFault::NoNamespaces { mode: mode.name(), cause })
}

/// Landlocks as every row does, with no file to be opened.
fn landlocks() -> io::Result<()> {
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0)?;
    landlocked::restrict(&[], false).map_err(|fault| errno(&fault))
}

/// Installs a filter as every row does, with a listener, that allows everything.
fn filters() -> io::Result<()> {
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0)?;
    // `linux/bpf_common.h`: return a value.
    let all = [libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW }];
    seccomp::install(&all, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER).map(drop)
}

/// The kernel's error behind a fault.
fn errno(fault: &LandlockFault) -> io::Error {
    let mut cause: Option<&(dyn Error + 'static)> = Some(fault);
    while let Some(error) = cause {
        if let Some(code) = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return io::Error::from_raw_os_error(code);
        }
        cause = error.source();
    }
    io::ErrorKind::Other.into()
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
            _ => Err(io::Error::other("a child that tried was killed")),
        },
    }
}
