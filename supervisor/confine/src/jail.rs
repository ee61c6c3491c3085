//! `jail(row)`: the first moment, in the child between fork and exec. Straight lines, one comment per
//! irreversible step; the parent has one thread, so what runs here is ordinary code.

use crate::child::{
    At, Child, LaunchFault, Step, die_with_parent, give_up, outcome, place_descriptors, program_number, raw,
    reset_signals,
};
use crate::sys::{self, Forked};
use crate::{caps, limits, namespaces, passing, root};
use manifest::command::Mode;
use manifest::{Network, Row};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{Gid, Pid, Uid, fchdir, getpid, setgroups, setresgid, setresuid};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Whom a process runs as.
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
    /// Whom it runs as; `None` leaves agentd's own (modes user and flat as an ordinary user).
    pub ids: Option<Ids>,
    /// Its program, opened before the uid change.
    pub program: &'a OwnedFd,
    /// `/dev/null`.
    pub null: &'a OwnedFd,
    /// Where its standard error goes.
    pub log: &'a OwnedFd,
    /// Its end of the control pair.
    pub control: &'a OwnedFd,
    /// Its own folder.
    pub folder: &'a OwnedFd,
    /// The state directory, which its own folder lies in.
    pub state: &'a Path,
    /// Debug builds' tests of `attest`: leave the capability sets as they are.
    pub weakened: bool,
}

/// A runner to launch.
#[derive(Debug)]
pub struct RunnerJail<'a> {
    /// Its row.
    pub row: &'a Row,
    /// The host's mode.
    pub mode: Mode,
    /// The slot's uid and gid on the host; `None` leaves agentd's own.
    pub ids: Option<Ids>,
    /// Its program, opened before the uid change.
    pub program: &'a OwnedFd,
    /// `/dev/null`.
    pub null: &'a OwnedFd,
    /// Its end of the edge to the gate: the one socket it holds.
    pub gate: &'a OwnedFd,
    /// The workspace: a detached mount, or in flat mode the directory itself.
    pub workspace: &'a OwnedFd,
    /// An empty folder that only agentd can reach.
    pub stage: &'a Path,
    /// CPU seconds.
    pub cpu_seconds: u64,
    /// In flat mode, the folder that stands for `/tmp`.
    pub tmp: Option<&'a Path>,
}

const INSIDE: u32 = 1000;

/// Starts an actor in its jail. The new process has executed its program when this returns.
///
/// # Errors
/// [`LaunchFault`]: which step failed, and why.
pub fn launch_actor(jail: &ActorJail<'_>) -> Result<Child, LaunchFault> {
    let (report, word) = passing::pipe().at(Step::Clone)?;
    let parent = getpid().as_raw();
    match sys::clone(actor_namespaces(jail)).at(Step::Clone)? {
        Forked::Child => {
            let fault = match become_actor(jail, &word, parent) {
                Ok(never) => match never {},
                Err(fault) => fault,
            };
            give_up(&word, &fault)
        }
        Forked::Parent(pid, pidfd) => {
            drop(word);
            finish(pid, pidfd, report)
        }
    }
}

/// Starts a runner in its jail.
///
/// # Errors
/// [`LaunchFault`]: which step failed, and why.
pub fn launch_runner(jail: &RunnerJail<'_>) -> Result<Child, LaunchFault> {
    let (report, word) = passing::pipe().at(Step::Clone)?;
    let (ours, theirs) = passing::frame_pair().at(Step::Clone)?;
    let parent = getpid().as_raw();
    match sys::clone(runner_namespaces(jail.mode)).at(Step::Clone)? {
        Forked::Child => {
            // With its own copy of agentd's end closed, a child whose agentd died hears so instead of waiting for ever.
            drop(ours);
            let fault = match become_runner(jail, &word, &theirs, parent) {
                Ok(never) => match never {},
                Err(fault) => fault,
            };
            give_up(&word, &fault)
        }
        Forked::Parent(pid, pidfd) => {
            drop((word, theirs));
            // A child that gave up has closed its end: then there is nobody to map, and the report says why.
            if jail.mode != Mode::Flat && passing::receive::<1>(ours.as_fd()).ok().flatten().is_some() {
                let outside = jail.ids.map_or((0, 0), |ids| (ids.uid, ids.gid));
                let mapped = namespaces::map_one(pid, INSIDE, outside, jail.mode == Mode::User);
                drop(passing::send_plain(ours.as_fd(), &[u8::from(mapped.is_ok())]));
            }
            drop(ours);
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

fn runner_namespaces(mode: Mode) -> u64 {
    let all = libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    if mode == Mode::Flat { 0 } else { all as u64 }
}

/// What cannot come back.
enum Never {}

fn become_actor(jail: &ActorJail<'_>, word: &OwnedFd, parent: i32) -> Result<Never, LaunchFault> {
    die_with_parent(None).at(Step::DeathSignal)?;
    if jail.mode != Mode::Flat {
        // What is mounted here from now on, or on the host, stays apart.
        make_private().at(Step::Private)?;
    }
    reset_signals().at(Step::Signals)?;
    // Its own folder is where it begins: no path is handed over.
    match jail.mode {
        Mode::System => root::enter_state(jail.state, jail.row.process.name()).at(Step::Directory)?,
        Mode::User | Mode::Flat => fchdir(jail.folder).at(Step::Directory)?,
    }
    limits::set(&jail.row.limits, false).at(Step::Limits)?;
    if !(jail.weakened && cfg!(debug_assertions)) {
        drop_privileges(jail.ids)?;
    } else {
        sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).at(Step::NoNewPrivs)?;
    }
    let stay = [jail.null, jail.null, jail.log, jail.control];
    let program = program_number(&stay);
    place_descriptors(&stay, jail.program, word).at(Step::Descriptors)?;
    // Last, after the uid change that would clear it.
    die_with_parent(Some(parent)).at(Step::DeathSignal)?;
    let name = CString::new(jail.row.process.name()).map_err(io::Error::from).at(Step::Execute)?;
    Err(sys::execute(program, &[&name])).at(Step::Execute)
}

fn become_runner(
    jail: &RunnerJail<'_>,
    word: &OwnedFd,
    parent_end: &OwnedFd,
    parent: i32,
) -> Result<Never, LaunchFault> {
    die_with_parent(None).at(Step::DeathSignal)?;
    reset_signals().at(Step::Signals)?;
    if jail.mode == Mode::Flat {
        fchdir(jail.workspace).at(Step::Directory)?;
        limits::set(&jail.row.limits, false).at(Step::Limits)?;
        limits::set_cpu(jail.cpu_seconds).at(Step::Limits)?;
        drop_privileges(jail.ids)?;
    } else {
        enter_jail(jail, parent_end)?;
    }
    // One socket, and /dev/null three times: nothing else comes along.
    let stay = [jail.null, jail.null, jail.null, jail.gate];
    let program = program_number(&stay);
    place_descriptors(&stay, jail.program, word).at(Step::Descriptors)?;
    // In a pid namespace of its own it cannot ask for its parent; the gate's end of the socket is its second word.
    die_with_parent((jail.mode == Mode::Flat).then_some(parent)).at(Step::DeathSignal)?;
    let mode: &CStr = match jail.mode {
        Mode::System => c"system",
        Mode::User => c"user",
        Mode::Flat => c"flat",
    };
    let tmp = jail.tmp.map_or(String::new(), |path| path.to_string_lossy().into_owned());
    let tmp = CString::new(tmp).map_err(io::Error::from).at(Step::Execute)?;
    Err(sys::execute(program, &[c"runner", mode, &tmp])).at(Step::Execute)
}

/// The namespaced part of a runner's jail: its root, its host name, its user namespace.
fn enter_jail(jail: &RunnerJail<'_>, parent_end: &OwnedFd) -> Result<(), LaunchFault> {
    make_private().at(Step::Private)?;
    root::build(jail.stage).at(Step::Root)?;
    root::attach(jail.stage, jail.workspace.as_fd()).at(Step::Workspace)?;
    // The host's tree is gone after this.
    root::enter(jail.stage).at(Step::Pivot)?;
    nix::unistd::sethostname("AGENT").at(Step::HostName)?;
    if jail.ids.is_some() {
        setgroups(&[]).at(Step::Ids)?;
    }
    // Mounts, network and pids belong to the namespace above: regained capabilities give nothing over them.
    unshare(CloneFlags::CLONE_NEWUSER).at(Step::UserNamespace)?;
    // The child may not map a uid that is not its own; agentd does.
    passing::send_plain(parent_end.as_fd(), &[1]).at(Step::Map)?;
    let mapped = passing::receive::<1>(parent_end.as_fd()).at(Step::Map)?;
    if !matches!(mapped, Some(([1], _))) {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied)).at(Step::Map);
    }
    caps::drop_bounding().at(Step::Bounding)?;
    setresgid(Gid::from_raw(INSIDE), Gid::from_raw(INSIDE), Gid::from_raw(INSIDE)).at(Step::Ids)?;
    setresuid(Uid::from_raw(INSIDE), Uid::from_raw(INSIDE), Uid::from_raw(INSIDE)).at(Step::Ids)?;
    caps::drop_all().at(Step::Capabilities)?;
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).at(Step::NoNewPrivs)?;
    limits::set(&jail.row.limits, true).at(Step::Limits)?;
    limits::set_cpu(jail.cpu_seconds).at(Step::Limits)?;
    debug_assert!(raw(parent_end) > 2, "the pair is not one of the standard descriptors");
    Ok(())
}

fn make_private() -> nix::Result<()> {
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
}

/// Bounding set, ids, capability sets, no_new_privs: each can only be lost.
fn drop_privileges(ids: Option<Ids>) -> Result<(), LaunchFault> {
    // Needs a capability that the uid change takes.
    caps::drop_bounding().at(Step::Bounding)?;
    if let Some(ids) = ids {
        let (uid, gid) = (Uid::from_raw(ids.uid), Gid::from_raw(ids.gid));
        setgroups(&[]).at(Step::Ids)?;
        setresgid(gid, gid, gid).at(Step::Ids)?;
        setresuid(uid, uid, uid).at(Step::Ids)?;
    }
    caps::drop_all().at(Step::Capabilities)?;
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).at(Step::NoNewPrivs).map(drop)
}
