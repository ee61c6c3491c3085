//! A host in which some processes are the probe.

use manifest::{Place, Process};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use tempfile::TempDir;
use tests::{Host, Setup};

/// Every process that has a row but is no runner.
pub(crate) fn actors() -> impl Iterator<Item = Process> {
    manifest::TABLE.iter().map(|row| row.process).filter(|process| manifest::is_actor(*process))
}

/// A host with probes in it, and where they left what.
pub(crate) struct Probed {
    pub(crate) host: Host,
    _state: TempDir,
    _programs: TempDir,
}

/// Starts a host with every process of the table, in which each of these is a probe with this task, and does not wait.
pub(crate) fn launch(config: &str, tasks: &[(Process, &str)]) -> Probed {
    let probes: Vec<Process> = tasks.iter().map(|(process, _)| *process).collect();
    let (programs, state) = (programs(&probes), open_to_all());
    // One more in each folder that no process opens as its own, so that there is something to be refused in it.
    let opens_its_own = |process: &Process| {
        let row = manifest::row(*process).unwrap();
        row.opens.iter().any(|open| open.place == Place::Own)
    };
    let others = actors().filter(|process| !probes.contains(process) && !opens_its_own(process));
    let others = others.map(Process::name).chain(["logs", "stage", "runner"]).map(|name| (name, ""));
    for (folder, task) in tasks.iter().map(|(process, task)| (process.name(), *task)).chain(others) {
        let folder = state.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("task"), task).unwrap();
        fs::set_permissions(folder.join("task"), fs::Permissions::from_mode(0o644)).unwrap();
    }
    // As in one that was restored: with the record's folder, any other that a host has is taken for a host's.
    fs::create_dir_all(state.path().join("audit")).unwrap();
    let host = Setup::default()
        .config(config)
        .every_process()
        .programs(programs.path())
        .state(state.path())
        .launch();
    Probed { host, _state: state, _programs: programs }
}

fn open_to_all() -> TempDir {
    let folder = tempfile::Builder::new().prefix("cordon-probed-").tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// The built programs, with the probe under the names of some. agentd is a copy, since it looks for the others
/// beside where it really is.
fn programs(probes: &[Process]) -> TempDir {
    let (built, folder) = (tests::programs(), open_to_all());
    fs::copy(built.join("agentd"), folder.path().join("agentd")).unwrap();
    for name in ["agentd-config", "agentctl", "jail-probe"] {
        symlink(built.join(name), folder.path().join(name)).unwrap();
    }
    // Every jail is of the runner's program.
    let others = |it: &Process| !it.is_runner() || *it == Process::Runner;
    for process in manifest::TABLE.iter().map(|row| row.process).filter(others) {
        let program = if probes.contains(&process) { "probe" } else { process.program() };
        assert!(built.join(program).exists(), "{program} is not built: run `make build` first");
        symlink(built.join(program), folder.path().join(process.program())).unwrap();
    }
    folder
}

impl Probed {
    /// The output so far of the probe in the place of `process`.
    pub(crate) fn said(&self, process: Process) -> Vec<String> {
        let prefix = format!("{}: probe: ", process.name());
        self.host.log().lines().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_owned).collect()
    }

    /// Waits until a probe has said this line.
    pub(crate) fn wait_said(&self, process: Process, line: &str) {
        self.host.wait_for(&format!("{} says `{line}`", process.name()), || {
            let said = self.said(process);
            assert!(!said.iter().any(|line| line.starts_with("fault:")), "{}: {said:?}", process.name());
            said.iter().any(|said| said == line)
        });
    }

    /// The rest of the first line of the probe that begins with this text.
    pub(crate) fn after(&self, process: Process, words: &str) -> Option<String> {
        self.said(process).iter().find_map(|line| line.strip_prefix(words).map(str::to_owned))
    }
}

/// Every actor of this host by name, by the kernel's word: agentd's children, and what it called them. Before
/// [`wait_ready`] a name may be given the pid of a probe of the host's check of itself.
pub(crate) fn processes(host: &Host) -> BTreeMap<String, i32> {
    let parent = format!("PPid:\t{}", host.agentd());
    let named = pids().into_iter().filter_map(|pid| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let name = String::from_utf8(line.split(|byte| *byte == 0).next()?.to_vec()).ok()?;
        let actor = actors().any(|process| process.name() == name);
        (actor && status.lines().any(|line| line == parent)).then_some((name, pid))
    });
    named.collect()
}

fn pids() -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A field of the kernel's status of a process.
pub(crate) fn field(pid: i32, name: &str) -> String {
    let path = PathBuf::from(format!("/proc/{pid}/status"));
    let status = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let prefix = format!("{name}:");
    let value = status.lines().find_map(|line| line.strip_prefix(&prefix));
    value.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Waits until every process of a host has been ready at once and the host has checked itself, by agentd's own word:
/// needs no control.
pub(crate) fn wait_ready(host: &Host) {
    host.wait_for("ready", || host.log().contains("agentd: self-check passed"));
}
