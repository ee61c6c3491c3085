//! `jail(row)`: the first moment of confinement, in the child between fork and exec. The code is straight lines with one comment
//! per irreversible step; the parent has one thread, so ordinary code may run here.

use crate::cell::Cell;
use crate::child::{
    At, Child, LaunchFault, Step, die_with_parent, give_up, outcome, own_session, place_descriptors,
    program_number, reset_signals,
};
use crate::sys::{self, Forked};
use crate::template::{Template, make_private};
use crate::{apart, caps, limits, passing, root};
use manifest::command::Mode;
use manifest::{Network, Row};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, fchdir, getpid};
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The uid and gid of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    /// Uid.
    pub uid: u32,
    /// Gid.
    pub gid: u32,
}

/// An actor to launch.
#[derive(Debug)]
pub struct ActorJail<'a> {
    /// Its row.
    pub row: &'a Row,
    /// The host's mode.
    pub mode: Mode,
    /// The ids that it runs as; `None` leaves agentd's own (modes user and flat as an ordinary user).
    pub ids: Option<Ids>,
    /// Its program, opened before the uid change.
    pub program: &'a OwnedFd,
    /// `/dev/null`.
    pub null: &'a OwnedFd,
    /// Its standard error.
    pub log: &'a OwnedFd,
    /// Its end of the control pair.
    pub control: &'a OwnedFd,
    /// Its own folder.
    pub folder: &'a OwnedFd,
    /// The state directory, which contains its folder.
    pub state: &'a Path,
    /// Debug builds' tests of `attest` and of probes: leave ids and capability sets as they are.
    pub weakened: bool,
}

/// A runner to launch.
#[derive(Debug)]
pub struct RunnerJail<'a> {
    /// Its row.
    pub row: &'a Row,
    /// Its program, opened before the uid change.
    pub program: &'a OwnedFd,
    /// `/dev/null`.
    pub null: &'a OwnedFd,
    /// Its end of the edge to the gate: the one socket it holds.
    pub gate: &'a OwnedFd,
    /// Its end of the socket over which it passes agentd the listener of its filter, and which it then closes.
    pub notices: &'a OwnedFd,
    /// CPU seconds of each process; [`limit_cpu`] changes it later.
    pub cpu_seconds: u64,
    /// Its environment.
    pub home: Home<'a>,
    /// As for an actor.
    pub weakened: bool,
}

/// The environment of a runner.
#[derive(Clone, Copy, Debug)]
pub enum Home<'a> {
    /// Modes system and user: a copy of the template, in the namespaces of a cell. Its workspace comes later, by
    /// [`Template::attach`].
    Apart {
        /// The tree.
        template: &'a Template,
        /// The namespaces of its slot.
        cell: &'a Cell,
    },
    /// Mode flat: the host itself, within landlock alone.
    Flat {
        /// The directory of the workspace.
        workspace: &'a OwnedFd,
        /// The folder that serves as `/tmp`.
        tmp: &'a Path,
        /// The ids that it runs as; `None` leaves agentd's own.
        ids: Option<Ids>,
    },
}

/// Starts an actor in its jail. The new process has executed its program when this returns.
///
/// # Errors
/// [`LaunchFault`]: the failed step and its cause.
pub fn launch_actor(jail: &ActorJail<'_>) -> Result<Child, LaunchFault> {
    let (report, report_to) = passing::pipe().at(Step::Clone)?;
    let parent = getpid().as_raw();
    match sys::clone(actor_namespaces(jail)).at(Step::Clone)? {
        Forked::Child => {
            let fault = match become_actor(jail, &report_to, parent) {
                Ok(never) => match never {},
                Err(fault) => fault,
            };
            give_up(&report_to, &fault)
        }
        Forked::Parent(pid, pidfd) => {
            drop(report_to);
            finish(pid, pidfd, report)
        }
    }
}

/// Starts a runner in its jail. The new process has executed its program when this returns, and can do nothing before
/// the gate has the other end of its socket.
///
/// # Errors
/// [`LaunchFault`]: the failed step and its cause.
pub fn launch_runner(jail: &RunnerJail<'_>) -> Result<Child, LaunchFault> {
    match jail.home {
        Home::Apart { template, cell } => apart::launch(jail, template, cell),
        Home::Flat { workspace, tmp, ids } => launch_flat(jail, workspace, tmp, ids),
    }
}

/// Sets the CPU seconds of a runner that has started nothing yet.
///
/// # Errors
/// The kernel's error.
pub fn limit_cpu(child: &Child, seconds: u64) -> io::Result<()> {
    sys::limit_cpu(child.pid, seconds)
}

/// Launches a runner in mode flat: without namespaces there is nothing to prepare.
fn launch_flat(
    jail: &RunnerJail<'_>,
    workspace: &OwnedFd,
    tmp: &Path,
    ids: Option<Ids>,
) -> Result<Child, LaunchFault> {
    let (report, report_to) = passing::pipe().at(Step::Clone)?;
    let parent = getpid().as_raw();
    match sys::clone(0).at(Step::Clone)? {
        Forked::Child => {
            let fault = match become_flat(jail, workspace, tmp, ids, &report_to, parent) {
                Ok(never) => match never {},
                Err(fault) => fault,
            };
            give_up(&report_to, &fault)
        }
        Forked::Parent(pid, pidfd) => {
            drop(report_to);
            finish(pid, pidfd, report)
        }
    }
}

fn finish(pid: i32, pidfd: OwnedFd, report: OwnedFd) -> Result<Child, LaunchFault> {
    outcome(report).inspect_err(|_| {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        let _ = waitpid(Pid::from_raw(pid), None);
    })?;
    Ok(Child { pid, pidfd })
}

fn actor_namespaces(jail: &ActorJail<'_>) -> u64 {
    let network = if jail.row.network == Network::None { libc::CLONE_NEWNET } else { 0 };
    match jail.mode {
        Mode::Flat => 0,
        Mode::System | Mode::User => {
            (libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | network) as u64
        }
    }
}

/// Has no value: the function that returns it does so only with an error.
enum Never {}

fn become_actor(jail: &ActorJail<'_>, report_to: &OwnedFd, parent: i32) -> Result<Never, LaunchFault> {
    die_with_parent(Some(parent)).at(Step::DeathSignal)?;
    if jail.mode != Mode::Flat {
        // Later mounts here or on the host stay apart.
        make_private().at(Step::Private)?;
    }
    reset_signals().and_then(|()| own_session()).at(Step::Signals)?;
    // It begins in its own folder: no path is passed.
    match jail.mode {
        Mode::System => root::enter_state(jail.state, jail.row.process.name()).at(Step::Directory)?,
        Mode::User | Mode::Flat => fchdir(jail.folder).at(Step::Directory)?,
    }
    limits::set(&jail.row.limits, false).at(Step::Limits)?;
    drop_privileges(jail.ids, jail.weakened)?;
    let stay = [jail.null, jail.null, jail.log, jail.control];
    place_descriptors(&stay, &[jail.program, report_to]).at(Step::Descriptors)?;
    limits::set_files(&jail.row.limits).at(Step::Limits)?;
    // Last, after the uid change that would clear it.
    die_with_parent(Some(parent)).at(Step::DeathSignal)?;
    let name = CString::new(jail.row.process.name()).map_err(io::Error::from).at(Step::Execute)?;
    Err(sys::execute(program_number(&stay), &[&name])).at(Step::Execute)
}

fn become_flat(
    jail: &RunnerJail<'_>,
    workspace: &OwnedFd,
    tmp: &Path,
    ids: Option<Ids>,
    report_to: &OwnedFd,
    parent: i32,
) -> Result<Never, LaunchFault> {
    die_with_parent(Some(parent)).at(Step::DeathSignal)?;
    reset_signals().and_then(|()| own_session()).at(Step::Signals)?;
    fchdir(workspace).at(Step::Directory)?;
    limits::set(&jail.row.limits, false).at(Step::Limits)?;
    limits::set_cpu(jail.cpu_seconds).at(Step::Limits)?;
    // Without a pid namespace its orphans would be reparented to agentd: they are known as its own only if it is their reaper.
    sys::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0).at(Step::Limits)?;
    drop_privileges(ids, jail.weakened)?;
    let stay = jail.stay();
    place_descriptors(&stay, &[jail.program, report_to]).at(Step::Descriptors)?;
    limits::set_files(&jail.row.limits).at(Step::Limits)?;
    die_with_parent(Some(parent)).at(Step::DeathSignal)?;
    let tmp = CString::new(tmp.as_os_str().as_bytes()).map_err(io::Error::from).at(Step::Execute)?;
    Err(sys::execute(program_number(&stay), &[c"runner", c"flat", &tmp])).at(Step::Execute)
}

impl RunnerJail<'_> {
    /// The descriptors of a runner: `/dev/null` three times, one socket, and until it is sealed another. It has no others.
    pub(crate) const fn stay(&self) -> [&OwnedFd; 5] {
        [self.null, self.null, self.null, self.gate, self.notices]
    }
}

/// Drops bounding set, ids and capability sets, and sets no_new_privs: none of these can be regained.
fn drop_privileges(ids: Option<Ids>, weakened: bool) -> Result<(), LaunchFault> {
    if !is_left_out(weakened) {
        // Needs a capability that the uid change takes.
        caps::drop_bounding().at(Step::Bounding)?;
        if let Some(ids) = ids {
            sys::drop_groups().at(Step::Ids)?;
            sys::set_ids(ids.uid, ids.gid).at(Step::Ids)?;
        }
        caps::drop_all().at(Step::Capabilities)?;
    }
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).at(Step::NoNewPrivs).map(drop)
}

/// Returns true if a weakened jail lacks its layer: never in a release.
pub(crate) const fn is_left_out(weakened: bool) -> bool {
    weakened && cfg!(debug_assertions)
}
