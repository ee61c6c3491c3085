//! Runners in their jails as agentd launches and binds them, by the same functions of `confine` in the same order, with
//! the real runner's program. The gate's end of each socket stays here.

use confine::{Cell, Child, Home, Ids, Mountpoint, RunnerJail, Template, passing};
use manifest::Process;
use manifest::command::Mode;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use tempfile::TempDir;
use wire::hello::HELLO;

/// The owner of the workspace, as a host's own workspaces have one; nobody of that uid is on the machine.
const OWNER: Ids = Ids { uid: 781_000, gid: 781_000 };
/// The first slot's uid.
const FIRST_SLOT: u32 = 781_064;
/// CPU seconds of a runner.
const CPU_SECONDS: u64 = 60;

/// The runners that agentd has ready.
pub(crate) struct Jails {
    template: Template,
    cells: Vec<Cell>,
    program: OwnedFd,
    null: OwnedFd,
    /// For the next runner, as agentd has them.
    spare: Option<Sockets>,
    folder: TempDir,
}

/// The sockets of a runner: of each its end, and the other.
struct Sockets {
    edge: (OwnedFd, OwnedFd),
    notices: (OwnedFd, OwnedFd),
}

impl Sockets {
    fn make() -> io::Result<Self> {
        let edge = passing::stream_pair()?;
        let notices = passing::frame_pair()?;
        passing::set_nonblocking(notices.1.as_fd())?;
        passing::refuse_descriptors(notices.0.as_fd());
        Ok(Self { edge, notices })
    }
}

/// A runner; it ends with the value.
pub(crate) struct Jailed {
    pub(crate) child: Child,
    /// The cell that it is in.
    pub(crate) slot: usize,
    /// The gate's end.
    pub(crate) gate: UnixStream,
    /// agentd's end of the socket over which the listener of its filter comes.
    _notices: OwnedFd,
}

impl Drop for Jailed {
    fn drop(&mut self) {
        let pid = Pid::from_raw(self.child.pid);
        let _ = kill(pid, Signal::SIGKILL);
        let _ = waitpid(pid, None);
    }
}

impl Jails {
    /// As at agentd's start; no slot was used yet.
    pub(crate) fn prepare() -> io::Result<Self> {
        if !nix::unistd::geteuid().is_root() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "only root has a uid for each slot"));
        }
        let folder = tempfile::Builder::new().prefix("cordon-bench-").tempdir()?;
        let (stage, workspace) = (folder.path().join("stage"), folder.path().join("workspace"));
        for path in [&stage, &workspace] {
            std::fs::create_dir(path)?;
        }
        chown(&workspace, Some(OWNER.uid), Some(OWNER.gid))?;
        let program = crate::person::programs()?.join(Process::Runner.name());
        Ok(Self {
            template: Template::build(&stage).map_err(io::Error::other)?,
            cells: Vec::new(),
            program: File::open(program)?.into(),
            null: File::options().read(true).write(true).open("/dev/null")?.into(),
            spare: None,
            folder,
        })
    }

    /// The workspace that every runner is bound to.
    pub(crate) fn workspace(&self) -> std::path::PathBuf {
        self.folder.path().join("workspace")
    }

    /// Makes what so many slots keep from one runner to the next.
    pub(crate) fn slots(&mut self, count: usize) -> io::Result<()> {
        for slot in (FIRST_SLOT..).take(count).skip(self.cells.len()) {
            let mut cell = Cell::make(Mode::System, Some(Ids { uid: slot, gid: slot }))?;
            cell.mapping(OWNER)?;
            self.cells.push(cell);
        }
        Ok(())
    }

    /// Makes the next runner's sockets ahead, as agentd does when it has nothing else to do.
    pub(crate) fn rest(&mut self) -> io::Result<()> {
        if self.spare.is_none() {
            self.spare = Some(Sockets::make()?);
        }
        Ok(())
    }

    /// A runner without a turn.
    pub(crate) fn launch(&mut self, slot: usize) -> io::Result<Jailed> {
        let none = || io::Error::from(io::ErrorKind::NotFound);
        let sockets = self.spare.take().map_or_else(Sockets::make, Ok)?;
        let Sockets { edge: (theirs, gate), notices: (notices, agentds) } = sockets;
        let jail = RunnerJail {
            row: manifest::row(Process::Runner).ok_or_else(none)?,
            program: &self.program,
            null: &self.null,
            gate: &theirs,
            notices: &notices,
            cpu_seconds: CPU_SECONDS,
            home: Home::Apart { template: &self.template, cell: self.cells.get(slot).ok_or_else(none)? },
            weakened: false,
        };
        let child = confine::launch_runner(&jail).map_err(io::Error::other)?;
        Ok(Jailed { child, slot, gate: gate.into(), _notices: agentds })
    }

    /// Gives it the workspace.
    pub(crate) fn bind(&mut self, runner: &Jailed) -> io::Result<()> {
        let directory = File::open(self.workspace())?;
        let cell = self.cells.get_mut(runner.slot).ok_or(io::ErrorKind::NotFound)?;
        let tree = cell.workspace(confine::copied(directory.as_fd())?, OWNER)?;
        self.template.attach(&runner.child, tree.as_fd(), Mountpoint::Workspace)?;
        confine::limit_cpu(&runner.child, CPU_SECONDS)
    }
}

impl Jailed {
    /// Waits until it has said hello, which it does when it is sealed.
    pub(crate) fn ready(&mut self) -> io::Result<()> {
        self.gate.read_exact(&mut [0; HELLO])
    }

    /// Its memory, a page that several map shared among them, MiB.
    pub(crate) fn weight(&self) -> io::Result<f64> {
        let text = std::fs::read_to_string(
            Path::new("/proc").join(self.child.pid.to_string()).join("smaps_rollup"),
        )?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
        let kib: f64 = line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN);
        Ok(kib / 1024.0)
    }
}
