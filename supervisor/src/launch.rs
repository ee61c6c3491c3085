//! Launches of runners on request of router and gate, from the request to the report of the runner's end.

use crate::exit::{Fault, at};
use crate::host::Host;
use crate::jails::Jails;
use crate::launched::Launched;
use crate::pool::{Files, Shown};
use crate::processes::FORBIDDEN;
use crate::runner_fault::RunnerFault;
use crate::runners::{LONGEST, Runner, Terms};
use crate::self_test::Admission;
use crate::workspaces::Space;
use crate::{flat, own_log, places};
use manifest::command::{
    EndCause, Ended, Frame, HostState, Kind, LAUNCH_ATTACHED, LAUNCH_FILES, LAUNCH_NO_WORKSPACE,
    LAUNCH_WRITES_FILES, Mode, Role, id_words,
};
use manifest::{Network, Process as Name, Row};
use nix::libc::{EINVAL, ENOENT, ENOTCONN, SIGKILL, SIGSYS};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

/// The least and the most CPU time of a jail that the configuration can give.
const LEAST_CPU: Duration = Duration::from_secs(1);
const MOST_CPU: Duration = Duration::from_secs(3600);

/// The reason of a refusal, and an errno.
type Refusal = (Ended, i32);

/// Takes the request for a runner of a process that may launch its kind: it is launched now, after the self-test, or never.
pub(crate) fn request(host: &mut Host, from: Name, frame: &Frame) {
    if !manifest::row(from).is_some_and(|row| row.launches.contains(&frame.peer)) {
        return host.processes.kill(from, EndCause::Forbidden, FORBIDDEN);
    }
    admit(host, frame);
}

/// Takes a request that was found permitted.
pub(crate) fn admit(host: &mut Host, frame: &Frame) {
    match host.self_test.admit(frame) {
        Admission::Launch => begin(host, frame),
        Admission::Wait => {}
        Admission::Refuse(ended, code) => report_end(host, frame.peer, frame.id(0), ended, code),
    }
}

/// Launches a runner at once in a folder of the host's own, or begins the mount of an attached directory.
fn begin(host: &mut Host, frame: &Frame) {
    let turn = frame.id(0);
    if host.runners.turns().chain(host.attachments.turns()).any(|known| known == turn) {
        return;
    }
    let flags = frame.words[5];
    let begun = if flags & LAUNCH_NO_WORKSPACE != 0 {
        launch(host, frame, None);
        Ok(())
    } else if flags & LAUNCH_ATTACHED == 0 {
        own_folder(&host.jails, frame.id(1)).map(|space| launch(host, frame, Some(space)))
    } else {
        host.attachments.begin_mount(frame, host.jails.mode)
    };
    if let Err((ended, code)) = begun {
        report_end(host, frame.peer, turn, ended, code);
    }
}

/// Launches the runners whose directory was mounted. While the host is frozen none is launched.
pub(crate) fn finish_mounts(host: &mut Host) {
    if host.freeze.is_on() {
        return;
    }
    for (frame, mount) in host.attachments.finish_mounts() {
        match mount {
            Ok(space) => launch(host, &frame, Some(space)),
            Err(errno) => report_end(host, frame.peer, frame.id(0), Ended::NoWorkspace, errno),
        }
    }
}

/// Ends the runner of a turn; a launch that still waits is taken back and reported as killed.
pub(crate) fn cancel(host: &mut Host, turn: [u8; 16]) {
    host.runners.kill(turn);
    let waiting = host.self_test.take_back(turn);
    for frame in waiting.into_iter().chain(host.attachments.take_back(turn)) {
        report_end(host, frame.peer, frame.id(0), Ended::Killed, SIGKILL);
    }
}

/// A runner has ended: reports it to router, and clears up. A pid that is no runner's is ignored.
pub(crate) fn ended(host: &mut Host, pid: i32, ended: Ended, code: i32) {
    let Some(runner) = host.runners.remove(pid) else {
        if host.runners.pool.ended(pid) && host.state != HostState::Stopping {
            let how = if ended == Ended::Killed { "signal" } else { "exit status" };
            own_log::warn(&format!("a runner that waited for work ended: {how} {code}"));
        }
        return;
    };
    if ended == Ended::Killed && code == SIGSYS {
        host.violations.report_killed(runner.row.process, runner.owner(), pid, &host.processes);
    }
    let stated = runner.jail_limits.end();
    if let Some(tmp) = &runner.tmp {
        drop(std::fs::remove_dir_all(tmp));
    }
    report_end(host, runner.row.process, runner.turn, runner.over.or(stated).unwrap_or(ended), code);
}

/// Launches a runner in this workspace, or reports why not.
fn launch(host: &mut Host, frame: &Frame, space: Option<Space>) {
    match try_launch(host, frame, space) {
        Ok(runner) => host.runners.live.push(runner),
        Err((ended, code)) => report_end(host, frame.peer, frame.id(0), ended, code),
    }
}

fn try_launch(host: &mut Host, frame: &Frame, space: Option<Space>) -> Result<Runner, Refusal> {
    let terms = terms(&host.jails, frame)?;
    let shown = Shown { workspace: space, files: files(&host.jails, frame)? };
    if !host.processes.get(Name::Gate).is_some_and(crate::process::Process::is_running) {
        return Err((Ended::NotLaunched, ENOTCONN));
    }
    let (launched, tmp) = launched(host, &terms, shown).map_err(|fault| {
        own_log::warn(&format!("runner not launched: {fault}"));
        (Ended::NotLaunched, fault.errno())
    })?;
    let edge = Frame { role: Role::Server, ..Frame::new(Kind::Edge, terms.row.process) };
    if !host.processes.send(Name::Gate, edge.with(&id_words(terms.turn)), &[launched.gate.as_fd()]) {
        let _ = kill(Pid::from_raw(launched.child.pid), Signal::SIGKILL);
    }
    Ok(Runner::new(terms, launched, tmp))
}

/// The terms of the turn, within the bounds of the host.
fn terms(jails: &Jails, frame: &Frame) -> Result<Terms, Refusal> {
    let [.., wall, flags] = [frame.words[4], frame.words[5]];
    let row = manifest::row(frame.peer).filter(|row| row.process.is_runner());
    let row = row.ok_or((Ended::NotLaunched, EINVAL))?;
    if has_loopback(row) && jails.mode == Mode::Flat {
        return Err((Ended::NoLoopback, 0));
    }
    // Router gives a person's own program its time; an agent's turn never gets more than is configured for any.
    let longest = match row.process {
        Name::Runner | Name::NetRunner => Duration::from_millis(jails.settings.wall_ms.into()),
        _ => LONGEST,
    };
    Ok(Terms {
        turn: frame.id(0),
        session: frame.id(4),
        row,
        wall: Duration::from_millis(wall).min(longest),
        cpu: Duration::from_millis(frame.words[6]).clamp(LEAST_CPU, MOST_CPU),
        workspace: (flags & (LAUNCH_ATTACHED | LAUNCH_NO_WORKSPACE) == 0).then(|| frame.id(1)),
    })
}

fn launched(
    host: &mut Host,
    terms: &Terms,
    shown: Shown,
) -> Result<(Launched, Option<PathBuf>), RunnerFault> {
    let (jails, used, cpu) = (&host.jails, host.runners.used_slots(), terms.cpu.as_secs());
    let pool = &mut host.runners.pool;
    if has_loopback(terms.row) {
        return pool.with_loopback(jails, &used, terms.row, shown, cpu).map(|it| (it, None));
    }
    let space = shown.workspace.ok_or(RunnerFault::Workspace(ErrorKind::NotFound.into()))?;
    match jails.mode {
        Mode::Flat => {
            let slot = pool.free_slot(jails, &used).ok_or(RunnerFault::Full)?;
            flat::launch(jails, slot, terms.turn, &space, cpu).map(|(it, tmp)| (it, Some(tmp)))
        }
        Mode::System | Mode::User => pool.bound(jails, &used, space, cpu).map(|it| (it, None)),
    }
}

fn has_loopback(row: &Row) -> bool {
    row.network == Network::Loopback
}

/// The files that a launch is shown, if it is shown any.
fn files(jails: &Jails, frame: &Frame) -> Result<Option<Files>, Refusal> {
    let flags = frame.words[5];
    if flags & LAUNCH_FILES == 0 {
        return Ok(None);
    }
    let writes = flags & LAUNCH_WRITES_FILES != 0;
    // Only an installation begins with an empty folder.
    if !writes && !jails.workspace(frame.id(5)).exists() {
        return Err((Ended::NoWorkspace, ENOENT));
    }
    Ok(Some(Files { space: own_folder(jails, frame.id(5))?, writes }))
}

/// A folder of the host's own, made when it is first needed.
fn own_folder(jails: &Jails, id: [u8; 16]) -> Result<Space, Refusal> {
    let path = jails.workspace(id);
    let opened = || -> Result<Space, Fault> {
        if !path.exists() {
            places::folder(&path, 0o700, jails.runner_ids)?;
        }
        let directory = places::open_folder(&path)?;
        Space::of(jails.mode, directory.as_fd()).map_err(at("cannot mount", &path))
    };
    opened().map_err(|_| (Ended::NoWorkspace, ENOENT))
}

/// Reports that a turn or a server has no runner of this row, or none any more, to the process that launches such runners.
fn report_end(host: &Host, row: Name, turn: [u8; 16], ended: Ended, code: i32) {
    let [low, high] = id_words(turn);
    let words = [low, high, ended as u64, u64::from(code.unsigned_abs())];
    if let Some(launcher) = manifest::launcher(row) {
        host.processes.send(launcher, Frame::new(Kind::RunnerEnded, row).with(&words), &[]);
    }
}
