//! A probe of a jail: agentd launches it in place of a row's program, in the very same jail and under the very same seal. It tries
//! acts of the table's catalogue and ends with their outcome as its exit status.
//!
//! It holds no secret and reads only agentd's one frame. It must never do anything but those acts, nor live on after them: a probe
//! that served something would be a second process of its row.

use confine::jail_probe::{NotReady, ProbeFn, Scene, outcome, prepare};
use confine::{RunnerPlaces, Watch};
use manifest::Row;
use manifest::acts::{AT_ONCE, Act, Moment, status};
use manifest::command::{FRAME, Frame, Kind, Mode};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit status of a probe that cannot try anything.
struct Unable(u8);

impl From<NotReady> for Unable {
    fn from(why: NotReady) -> Self {
        Self(why.status())
    }
}

const UNPREPARED: Unable = Unable(status::UNPREPARED);

fn main() -> ExitCode {
    ExitCode::from(run().unwrap_or_else(|unable| unable.0))
}

/// Tries the acts and returns the exit status.
fn run() -> Result<u8, Unable> {
    confine::harden().map_err(|_| UNPREPARED)?;
    let control = confine::passing::inherited_control().ok_or(UNPREPARED)?;
    // A runner has this socket until it is sealed. A probe's refused calls are not notified.
    drop(confine::passing::inherited_notices());
    let request = Request::receive(&control)?;
    let probes = request.prepare()?;
    let mut sealed = false;
    let mut last = UNPREPARED.0;
    for (n, (act, probe)) in probes.into_iter().enumerate() {
        if act.moment == Moment::Sealed && !sealed {
            request.seal()?;
            sealed = true;
        }
        let done = probe();
        last = outcome(n, &done);
        if done.is_ok() {
            break;
        }
    }
    Ok(last)
}

/// agentd's request.
struct Request {
    scene: Scene,
    acts: Vec<&'static Act>,
    /// In mode flat, the folder that stands for a runner's `/tmp`.
    tmp: PathBuf,
}

impl Request {
    /// Receives agentd's one frame. Before it arrives, a runner's probe has no workspace.
    fn receive(control: &OwnedFd) -> Result<Self, Unable> {
        let received = confine::passing::receive::<FRAME>(control.as_fd());
        let Ok(Some((bytes, _))) = received else { return Err(UNPREPARED) };
        let frame = Frame::decode(&bytes).filter(|frame| frame.kind == Kind::Probe).ok_or(UNPREPARED)?;
        let [mode, agentd, peer, acts @ ..] = frame.words;
        let row = manifest::row(frame.peer).ok_or(UNPREPARED)?;
        let mode = Mode::from_number(mode).ok_or(UNPREPARED)?;
        let pid = |word: u64| i32::try_from(word).unwrap_or(0);
        let scene = Scene { row, mode, agentd: pid(agentd), peer: pid(peer) };
        // Each word is the number plus one, so that 0 stands for none.
        let numbers = acts.into_iter().take(AT_ONCE).take_while(|number| *number != 0);
        let act = |number: u64| u16::try_from(number - 1).ok().and_then(Act::numbered).ok_or(UNPREPARED);
        let acts = numbers.map(act).collect::<Result<Vec<_>, Unable>>()?;
        let tmp = std::env::args_os().nth(2).map(PathBuf::from).unwrap_or_default();
        if is_runner(row) && mode != Mode::Flat {
            std::env::set_current_dir("/workspace").map_err(|_| UNPREPARED)?;
        }
        Ok(Self { scene, acts, tmp })
    }

    /// Prepares every act while nothing is sealed.
    fn prepare(&self) -> Result<Vec<(&'static Act, ProbeFn)>, Unable> {
        self.acts.iter().map(|act| Ok((*act, prepare(act, &self.scene)?))).collect()
    }

    /// Seals this process as the row's own program does, but without notifications of refused calls.
    fn seal(&self) -> Result<(), Unable> {
        let Scene { row, mode, .. } = self.scene;
        let sealed = if is_runner(row) {
            let places = RunnerPlaces::of(row, mode, &self.workspace(), &self.tmp);
            confine::seal_runner(row, mode, &places, Watch::Nobody)
        } else {
            confine::seal(row, mode, Watch::Nobody)
        };
        sealed.map(drop).map_err(|_| Unable(status::NOT_SEALED))
    }

    fn workspace(&self) -> PathBuf {
        std::env::current_dir().unwrap_or_else(|_| Path::new("/").to_owned())
    }
}

fn is_runner(row: &Row) -> bool {
    row.process.is_runner()
}
