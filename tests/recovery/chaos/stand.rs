//! The host under test: started in directories of its own, started again when it ended, as systemd would, and looked
//! at from outside, through the kernel.

use crate::disk::Disk;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tests::signal;

/// The processes of a killed agentd must be gone by then; the kernel ends them by descriptors and death signals.
const BURIED: Duration = Duration::from_secs(10);
/// True if the clock of a host of this build can be stepped: that of a release is the machine's.
pub(crate) const STEPS: bool = cfg!(debug_assertions);
/// From the end of a host to its next start.
const PAUSE: Duration = Duration::from_millis(100);

/// Agents and limits under which faults are met rather than quotas.
const CONFIG: &str = "\
[agent.default.limits]
seconds = 60
model_calls_per_hour = 100000
[agent.scribe]
model = \"scripted/scribe\"
[router]
queue_per_session = 8
[policy]
approval_seconds = 10
[tool.bash]
effect = \"write\"
relevant_args = [\"command\", \"cwd\"]
[tool.bash.approval]
danger_patterns = [\"PLEASE\"]
[tool.bash.execution]
sandbox = \"container\"
";

/// The replies of `scripted/scribe`: two effects, with time for a fault around each.
const SCRIPT: &str = r#"{"pieces":[{"text":"first "},{"delay_ms":80},{"call":{"tool":"bash","args":{"command":"echo one >> ledger"}}}]}
{"pieces":[{"delay_ms":80},{"call":{"tool":"bash","args":{"command":"echo two >> ledger"}}}]}
{"pieces":[{"text":"that "},{"delay_ms":40},{"text":"is all"}]}
"#;

/// The host and what lies around it.
pub(crate) struct Stand {
    /// Dropped first: it is mounted beneath `dir`.
    pub(crate) disk: Disk,
    dir: TempDir,
    programs: PathBuf,
    agentd: Option<Child>,
    ended: Instant,
    /// Starts of the host.
    pub(crate) starts: u32,
    /// Processes that outlived their host.
    pub(crate) orphans: Vec<String>,
}

impl Stand {
    /// Starts a host on a fresh disk. Whatever it leaves behind becomes a child of this process.
    pub(crate) fn start(mode: Option<&str>) -> io::Result<Self> {
        nix::sys::prctl::set_child_subreaper(true)?;
        let dir = tempfile::Builder::new().prefix("cordon-chaos-").tempdir()?;
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755))?;
        let mode = mode.map(|mode| format!("[host]\nmode = \"{mode}\"\n")).unwrap_or_default();
        let config = dir.path().join("cordon.toml");
        fs::write(&config, format!("{mode}{CONFIG}"))?;
        fs::set_permissions(&config, Permissions::from_mode(0o644))?;
        let own = std::env::current_exe()?;
        let programs = own.parent().map(Path::to_owned).ok_or(io::ErrorKind::NotFound)?;
        let disk = Disk::make(dir.path())?;
        let mut stand =
            Self { disk, dir, programs, agentd: None, ended: Instant::now(), starts: 0, orphans: Vec::new() };
        stand.launch()?;
        Ok(stand)
    }

    /// The control socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.runtime().join("control.sock")
    }

    /// The runtime directory.
    pub(crate) fn runtime(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    /// The state directory.
    pub(crate) fn state(&self) -> PathBuf {
        self.disk.at.join("state")
    }

    /// The folder that holds all files of the host.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Where the host looks for how far its clock is off the machine's.
    fn clock(&self) -> PathBuf {
        self.dir.path().join("clock")
    }

    /// Has its clock be so many ms off the machine's.
    pub(crate) fn step(&self, ms: i64) -> io::Result<()> {
        let fresh = self.dir.path().join("clock.new");
        fs::write(&fresh, format!("{ms}\n"))?;
        fs::rename(fresh, self.clock())
    }

    fn launch(&mut self) -> io::Result<()> {
        let log = File::options().create(true).append(true).open(self.dir.path().join("log"))?;
        let mut command = Command::new(self.programs.join("agentd"));
        command.arg("run").arg("--config").arg(self.dir.path().join("cordon.toml"));
        command.arg("--state-dir").arg(self.state()).arg("--runtime-dir").arg(self.runtime());
        if STEPS {
            command.arg("--clock-offset").arg(self.clock());
        }
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.agentd = Some(command.spawn()?);
        self.starts += 1;
        Ok(())
    }

    /// agentd's pid, while it runs.
    pub(crate) fn agentd(&self) -> Option<i32> {
        self.agentd.as_ref().and_then(|agentd| i32::try_from(agentd.id()).ok())
    }

    /// agentd's children: pid and name.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        self.agentd().map(children).unwrap_or_default()
    }

    /// Starts the host again if it has ended.
    pub(crate) fn tend(&mut self) -> io::Result<()> {
        let ended = match &mut self.agentd {
            Some(agentd) => agentd.try_wait()?.is_some(),
            None => false,
        };
        if ended {
            self.bury();
        }
        if self.agentd.is_none() && self.ended.elapsed() > PAUSE {
            self.launch()?;
        }
        Ok(())
    }

    /// Waits for the end of everything that a host which has ended had started.
    fn bury(&mut self) {
        self.agentd = None;
        let until = Instant::now() + BURIED;
        loop {
            while matches!(waitpid(None, Some(WaitPidFlag::WNOHANG)), Ok(status) if status != WaitStatus::StillAlive)
            {
            }
            let left = own_children();
            if left.is_empty() {
                break;
            }
            if Instant::now() > until {
                self.orphans.extend(left.iter().map(|(pid, name)| format!("{name} ({pid})")));
                left.iter().for_each(|(pid, _)| tests::kill(*pid));
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.ended = Instant::now();
    }

    /// Stops it as systemd would, waits for its end, and gives how it ended.
    pub(crate) fn stop(&mut self) -> io::Result<Option<ExitStatus>> {
        let Some(pid) = self.agentd() else { return Ok(None) };
        signal(pid, Signal::SIGTERM);
        let status = self.agentd.as_mut().map(Child::wait).transpose()?;
        self.bury();
        Ok(status)
    }

    /// Runs `agentctl … --json`: whether it was well, and what it said.
    pub(crate) fn ctl(&self, words: &[&str]) -> io::Result<(bool, Value)> {
        let mut command = Command::new(self.programs.join("agentctl"));
        command.arg("--socket").arg(self.socket()).args(words).arg("--json").stdin(Stdio::null());
        let output = command.output()?;
        Ok((output.status.success(), serde_json::from_slice(&output.stdout).unwrap_or_default()))
    }

    /// Puts the script where the model has it from, once its folder is there.
    pub(crate) fn put_script(&self) -> io::Result<()> {
        let path = self.state().join("model/scripts/scribe");
        fs::write(&path, SCRIPT)?;
        fs::set_permissions(&path, Permissions::from_mode(0o644))
    }

    /// Every line of every ledger: the folder of the workspace, and the line.
    pub(crate) fn ledgers(&self) -> io::Result<Vec<(String, String)>> {
        let mut lines = Vec::new();
        for entry in fs::read_dir(self.state().join("runner"))? {
            let entry = entry?;
            let workspace = entry.file_name().to_string_lossy().into_owned();
            let text = fs::read_to_string(entry.path().join("ledger")).unwrap_or_default();
            lines.extend(text.lines().map(|line| (workspace.clone(), line.to_owned())));
        }
        Ok(lines)
    }

    /// Keeps the state and the log for whoever looks for the cause, and says where.
    pub(crate) fn keep(&self) -> PathBuf {
        let kept = std::env::temp_dir().join(format!("chaos-kept-{}", std::process::id()));
        let made = fs::create_dir_all(&kept);
        let mut copy = Command::new("cp");
        copy.arg("-a").arg(self.state()).arg(self.dir.path().join("log")).arg(&kept);
        drop(made.and_then(|()| copy.status()));
        kept
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        drop(self.stop());
    }
}

/// The children of a process with one thread: pid and name.
pub(crate) fn children(of: i32) -> Vec<(i32, String)> {
    let listed = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    let pids = listed.split_whitespace().filter_map(|pid| pid.parse().ok());
    pids.filter_map(|pid: i32| Some((pid, name(pid)?))).collect()
}

/// Children of this process, whichever of its threads has them.
fn own_children() -> Vec<(i32, String)> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let listed = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let listed: Vec<String> = listed.collect();
    let pids = listed.iter().flat_map(|listed| listed.split_whitespace()).filter_map(|pid| pid.parse().ok());
    pids.filter_map(|pid: i32| Some((pid, name(pid)?))).collect()
}

/// The name that agentd gives a process; `None` once it has ended.
fn name(pid: i32) -> Option<String> {
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    let name = line.split('\0').next().filter(|name| !name.is_empty());
    Some(name.unwrap_or("ending").to_owned())
}
