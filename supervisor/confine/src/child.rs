//! What stands between a fork and an exec: each irreversible step named, and its errno told to the parent.

use crate::sys;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// A process that was launched.
#[derive(Debug)]
pub struct Child {
    /// Its pid as agentd sees it.
    pub pid: i32,
    /// Readable when it has ended; cannot be mistaken for a later process of the same pid.
    pub pidfd: OwnedFd,
}

/// A step between fork and exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u8)]
pub enum Step {
    /// Forking itself.
    #[error("clone3 with namespaces")]
    Clone = 0,
    /// Making mounts private to this namespace.
    #[error("making mounts private")]
    Private = 1,
    /// Building the jail's root.
    #[error("building the jail's root")]
    Root = 2,
    /// Attaching the workspace.
    #[error("attaching the workspace")]
    Workspace = 3,
    /// Changing into the jail's root.
    #[error("changing into the jail's root")]
    Pivot = 4,
    /// Naming the host.
    #[error("naming the host")]
    HostName = 5,
    /// Making the user namespace.
    #[error("making the user namespace")]
    UserNamespace = 6,
    /// Waiting for the parent to map ids.
    #[error("mapping ids")]
    Map = 7,
    /// Setting limits.
    #[error("setting limits")]
    Limits = 8,
    /// Emptying the bounding set.
    #[error("emptying the bounding set")]
    Bounding = 9,
    /// Changing groups, gid and uid.
    #[error("changing uid and gid")]
    Ids = 10,
    /// Emptying capability sets.
    #[error("emptying capability sets")]
    Capabilities = 11,
    /// no_new_privs.
    #[error("setting no_new_privs")]
    NoNewPrivs = 12,
    /// Placing descriptors.
    #[error("placing descriptors")]
    Descriptors = 13,
    /// Changing the working directory.
    #[error("changing the working directory")]
    Directory = 14,
    /// The death signal.
    #[error("setting the death signal")]
    DeathSignal = 15,
    /// Signals and session.
    #[error("resetting signals and session")]
    Signals = 16,
    /// Executing the program.
    #[error("executing the program")]
    Execute = 17,
}

impl Step {
    const ALL: [Self; 18] = [
        Self::Clone,
        Self::Private,
        Self::Root,
        Self::Workspace,
        Self::Pivot,
        Self::HostName,
        Self::UserNamespace,
        Self::Map,
        Self::Limits,
        Self::Bounding,
        Self::Ids,
        Self::Capabilities,
        Self::NoNewPrivs,
        Self::Descriptors,
        Self::Directory,
        Self::DeathSignal,
        Self::Signals,
        Self::Execute,
    ];
}

/// A process could not be launched.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {cause}")]
pub struct LaunchFault {
    /// Which step failed.
    pub step: Step,
    /// Why.
    pub cause: io::Error,
}

/// Names the step of a failed call.
pub(crate) trait At<T> {
    fn at(self, step: Step) -> Result<T, LaunchFault>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, step: Step) -> Result<T, LaunchFault> {
        self.map_err(|cause| LaunchFault { step, cause: cause.into() })
    }
}

/// The child's last word: which step failed and its errno; then it ends.
pub(crate) fn give_up(report: &OwnedFd, fault: &LaunchFault) -> ! {
    let errno = fault.cause.raw_os_error().unwrap_or(libc::EIO).to_le_bytes();
    let [a, b, c, d] = errno;
    let _ = nix::unistd::write(report.as_fd(), &[fault.step as u8, a, b, c, d]);
    sys::end(127)
}

/// Waits until the child has executed its program (the report closes by itself) or has given up.
pub(crate) fn outcome(report: OwnedFd) -> Result<(), LaunchFault> {
    let mut word = [0; 5];
    match File::from(report).read(&mut word) {
        Ok(0) => Ok(()),
        Ok(_) => {
            let [step, errno @ ..] = word;
            let step = Step::ALL.get(usize::from(step)).copied().unwrap_or(Step::Execute);
            Err(LaunchFault { step, cause: io::Error::from_raw_os_error(i32::from_le_bytes(errno)) })
        }
        Err(cause) => Err(LaunchFault { step: Step::Execute, cause }),
    }
}

/// Puts descriptors at their numbers: what is to stay goes to high numbers first, so that none is overwritten
/// before it is moved; everything else is closed. The last one is kept open only until exec.
pub(crate) fn place_descriptors(stay: &[&OwnedFd], program: &OwnedFd, report: &OwnedFd) -> io::Result<()> {
    const HIGH: i32 = 200;
    let high = |descriptor: &OwnedFd| {
        nix::fcntl::fcntl(descriptor.as_fd(), nix::fcntl::FcntlArg::F_DUPFD_CLOEXEC(HIGH))
    };
    let mut moved = Vec::new();
    for descriptor in stay {
        moved.push(high(descriptor)?);
    }
    let (program, report) = (high(program)?, high(report)?);
    for (number, descriptor) in (0_i32..).zip(&moved) {
        // SAFETY: F_DUPFD_CLOEXEC has just given these numbers to us; they are open until close_from.
        let descriptor = unsafe { std::os::fd::BorrowedFd::borrow_raw(*descriptor) };
        sys::place(descriptor, number)?;
    }
    let next = i32::try_from(stay.len()).unwrap_or(i32::MAX);
    for (number, raw) in [(next, program), (next + 1, report)] {
        // SAFETY: as above.
        let descriptor = unsafe { std::os::fd::BorrowedFd::borrow_raw(raw) };
        sys::place(descriptor, number)?;
        nix::fcntl::fcntl(
            // SAFETY: dup2 has just put an open descriptor at this number.
            unsafe { std::os::fd::BorrowedFd::borrow_raw(number) },
            nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC),
        )?;
    }
    sys::close_from(u32::try_from(next + 2).unwrap_or(u32::MAX))
}

/// The death signal, last of all uid changes: without it a child would outlive a killed agentd. Where the
/// parent can be asked for, it must still be agentd.
pub(crate) fn die_with_parent(parent: Option<i32>) -> io::Result<()> {
    sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as u64, 0)?;
    match parent {
        Some(parent) if nix::unistd::getppid().as_raw() != parent => Err(io::ErrorKind::NotFound.into()),
        _ => Ok(()),
    }
}

/// No blocked signals, and a session of its own: a terminal's signals are agentd's to handle.
pub(crate) fn reset_signals() -> io::Result<()> {
    use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
    nix::unistd::setsid()?;
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
    Ok(())
}

/// The raw number of where [`place_descriptors`] put the program.
pub(crate) fn program_number(stay: &[&OwnedFd]) -> i32 {
    i32::try_from(stay.len()).unwrap_or(i32::MAX)
}

/// The descriptor of agentd's own end that the child must not wait on; a helper to make the reading clear.
pub(crate) fn raw(descriptor: &impl AsRawFd) -> i32 {
    descriptor.as_raw_fd()
}
