//! Reasons why a runner cannot be made or bound to a turn.

use confine::LaunchFault;
use std::io;

/// The reason.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunnerFault {
    #[error("every slot is taken")]
    Full,
    #[error(transparent)]
    Launch(#[from] LaunchFault),
    #[error("its namespaces cannot be made: {0}")]
    Cell(io::Error),
    #[error("its socket cannot be made: {0}")]
    Socket(io::Error),
    #[error("its limits cannot be set: {0}")]
    Limits(io::Error),
    #[error("its workspace cannot be made ready: {0}")]
    Workspace(io::Error),
    #[error("its workspace cannot be attached: {0}")]
    Attach(io::Error),
}

impl RunnerFault {
    /// The errno that router gets.
    pub(crate) fn errno(&self) -> i32 {
        let cause = match self {
            Self::Full => return nix::libc::EAGAIN,
            Self::Launch(fault) => &fault.cause,
            Self::Cell(cause)
            | Self::Socket(cause)
            | Self::Limits(cause)
            | Self::Workspace(cause)
            | Self::Attach(cause) => cause,
        };
        match cause.raw_os_error() {
            // It was killed before it was bound; another may live.
            Some(nix::libc::ESRCH) => nix::libc::EAGAIN,
            Some(errno) => errno,
            None => nix::libc::EIO,
        }
    }
}
