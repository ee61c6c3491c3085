//! The steps between fork and exec: each irreversible one has a name, and the parent gets its errno.

use crate::passing;
use crate::sys::{self, Forked};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, getpid};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A process that was launched.
#[derive(Debug)]
pub struct Child {
    /// Its pid as agentd sees it.
    pub pid: i32,
    /// Readable when it has ended; never refers to a later process of the same pid.
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
    /// Building the tree that runners' roots are copies of.
    #[error("building the runners' root")]
    Root = 2,
    /// Entering a copy of it.
    #[error("entering a copy of the runners' root")]
    Copy = 3,
    /// Mounting its own `/proc` and `/tmp`.
    #[error("mounting /proc and /tmp")]
    Mounts = 4,
    /// Naming the host.
    #[error("naming the host")]
    HostName = 5,
    /// Making or entering the user namespace.
    #[error("entering the user namespace")]
    UserNamespace = 6,
    /// Entering the network namespace.
    #[error("entering the network namespace")]
    Network = 7,
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
        Self::Copy,
        Self::Mounts,
        Self::HostName,
        Self::UserNamespace,
        Self::Network,
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
    /// The step that failed.
    pub step: Step,
    /// The cause.
    pub cause: io::Error,
}

/// Adds the step to the error of a failed call.
pub(crate) trait At<T> {
    fn at(self, step: Step) -> Result<T, LaunchFault>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, step: Step) -> Result<T, LaunchFault> {
        self.map_err(|cause| LaunchFault { step, cause: cause.into() })
    }
}

/// Reports the failed step and its errno, and ends the child.
pub(crate) fn give_up(report: &OwnedFd, fault: &LaunchFault) -> ! {
    report_step(report, Some(fault));
    sys::end(127)
}

/// Stands for no failure in a report.
const WELL: u8 = u8::MAX;
/// Bytes of a report: the step, and its errno.
const REPORT: usize = 5;

/// Writes to a pipe the step that failed and its errno, or that none did.
fn report_step(report: &OwnedFd, fault: Option<&LaunchFault>) {
    let errno = fault.and_then(|fault| fault.cause.raw_os_error()).unwrap_or(libc::EIO).to_le_bytes();
    let [a, b, c, d] = errno;
    let step = fault.map_or(WELL, |fault| fault.step as u8);
    let _ = nix::unistd::write(report.as_fd(), &[step, a, b, c, d]);
}

/// Reads what [`report_step`] has written.
fn reported(report: [u8; REPORT]) -> Result<(), LaunchFault> {
    let [step, errno @ ..] = report;
    if step == WELL {
        return Ok(());
    }
    let cause = io::Error::from_raw_os_error(i32::from_le_bytes(errno));
    Err(LaunchFault { step: Step::from_number(step), cause })
}

impl Step {
    /// The step of this number.
    pub(crate) fn from_number(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::Execute)
    }
}

/// Waits until the child has executed its program (the report closes by itself) or has given up.
pub(crate) fn outcome(report: OwnedFd) -> Result<(), LaunchFault> {
    let mut bytes = [0; REPORT];
    match File::from(report).read(&mut bytes) {
        Ok(0) => Ok(()),
        Ok(_) => reported(bytes),
        Err(cause) => Err(LaunchFault { step: Step::Execute, cause }),
    }
}

/// A child that only holds the namespaces that it was started in or has made, until this is dropped.
pub(crate) struct Holder(i32);

impl Holder {
    /// Starts it in new namespaces of these kinds. It calls `work` there before this returns.
    ///
    /// # Errors
    /// [`LaunchFault`]: the failed step and its cause.
    pub(crate) fn start(
        namespaces: libc::c_int,
        work: impl FnOnce() -> Result<(), LaunchFault>,
    ) -> Result<Self, LaunchFault> {
        let (report, report_to) = passing::pipe().at(Step::Clone)?;
        let parent = getpid().as_raw();
        match sys::clone(namespaces as u64).at(Step::Clone)? {
            Forked::Child => hold(parent, &report_to, work),
            Forked::Parent(pid, _pidfd) => {
                let holder = Self(pid);
                drop(report_to);
                let mut bytes = [0; REPORT];
                File::from(report).read_exact(&mut bytes).at(Step::Clone)?;
                reported(bytes).map(|()| holder)
            }
        }
    }

    /// Its pid.
    pub(crate) const fn pid(&self) -> i32 {
        self.0
    }

    /// Opens its namespaces of these names.
    pub(crate) fn namespaces<const N: usize>(&self, names: [&str; N]) -> io::Result<[OwnedFd; N]> {
        let opened: io::Result<Vec<OwnedFd>> =
            names.iter().map(|name| Ok(File::open(format!("/proc/{}/ns/{name}", self.0))?.into())).collect();
        opened?.try_into().map_err(|_| io::ErrorKind::InvalidData.into())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.0), Signal::SIGKILL);
        let _ = waitpid(Pid::from_raw(self.0), None);
    }
}

/// The child's part: does the work, reports how that went, and holds the namespaces until it is killed. It ends by itself where
/// a step failed or where `parent`, agentd, has ended: even if that was before this child could ask for the death signal.
fn hold(parent: i32, report: &OwnedFd, work: impl FnOnce() -> Result<(), LaunchFault>) -> ! {
    if let Err(fault) = die_with_parent(Some(parent)).at(Step::DeathSignal).and_then(|()| work()) {
        give_up(report, &fault);
    }
    report_step(report, None);
    loop {
        nix::unistd::pause();
    }
}

/// The most descriptors that are placed at once.
const MOST: usize = 8;

/// Places descriptors at the numbers from 0 on: first those that stay, then those that are open only until exec. All are copied to
/// high numbers first, so that none is overwritten before it is moved; every other descriptor is closed. Allocates nothing.
pub(crate) fn place_descriptors(stay: &[&OwnedFd], until_exec: &[&OwnedFd]) -> io::Result<()> {
    const HIGH: i32 = 200;
    let count = stay.len() + until_exec.len();
    let mut moved = [-1; MOST];
    if count > MOST {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (slot, descriptor) in moved.iter_mut().zip(stay.iter().chain(until_exec)) {
        *slot = nix::fcntl::fcntl(descriptor.as_fd(), nix::fcntl::FcntlArg::F_DUPFD_CLOEXEC(HIGH))?;
    }
    for (number, moved) in (0_i32..).zip(moved).take(count) {
        // SAFETY: F_DUPFD_CLOEXEC has just given this number to us; it is open until close_from.
        sys::place(unsafe { BorrowedFd::borrow_raw(moved) }, number)?;
        if usize::try_from(number).is_ok_and(|number| number >= stay.len()) {
            // SAFETY: dup2 has just put an open descriptor at this number.
            let placed = unsafe { BorrowedFd::borrow_raw(number) };
            nix::fcntl::fcntl(placed, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC))?;
        }
    }
    sys::close_from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Has the kernel kill this process when its parent ends. A change of uid clears that, so it is asked for again after one.
///
/// The signal comes only if the parent ends after this call: with `parent`, agentd's pid, the call fails where agentd has ended
/// before it. A child in a pid namespace of its own cannot see its parent's pid and passes `None`.
///
/// # Errors
/// `NotFound` if the parent has ended; else the kernel's error.
pub(crate) fn die_with_parent(parent: Option<i32>) -> io::Result<()> {
    sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as u64, 0)?;
    match parent {
        Some(parent) if nix::unistd::getppid().as_raw() != parent => Err(io::ErrorKind::NotFound.into()),
        _ => Ok(()),
    }
}

/// Unblocks every signal and resets those that have a name. Signals that agentd's own parent ignores, as `nohup` and the `&` of a
/// script do, would stay ignored over every exec, and no program in a jail could be interrupted.
pub(crate) fn reset_signals() -> io::Result<()> {
    use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, sigaction, sigprocmask};
    let usual = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    for signal in Signal::iterator().filter(|signal| !matches!(signal, Signal::SIGKILL | Signal::SIGSTOP)) {
        // SAFETY: the default action of a signal runs no code of this process.
        unsafe { sigaction(signal, &usual) }?;
    }
    Ok(sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?)
}

/// Begins a session of its own, so that a terminal's signals reach only agentd, with a umask that gives others no rights.
pub(crate) fn own_session() -> io::Result<()> {
    nix::unistd::setsid()?;
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
    Ok(())
}

/// The number at which [`place_descriptors`] puts the program.
pub(crate) fn program_number(stay: &[&OwnedFd]) -> i32 {
    i32::try_from(stay.len()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::orphaned;

    // Holds P7-07.
    #[test]
    fn a_namespace_holder_ends_if_agentd_died_before_the_death_signal() {
        assert!(orphaned(|parent, report| hold(parent, report, || Ok(()))).is_some(), "it goes on");
    }
}
