//! Makes the host, in order: configuration, mode, folders, lock, programs, listeners.

use crate::args::Options;
use crate::attachments::Attachments;
use crate::clock::{ClockOffset, now_ms};
use crate::configure::{self, Configuration};
use crate::disk::Disk;
use crate::exit::Fault;
use crate::freeze::Freeze;
use crate::host::Host;
use crate::jails::{Jails, slot_ids};
use crate::limits::LimitHolder;
use crate::listeners::Listeners;
use crate::logs::Logs;
use crate::notify::Notify;
use crate::orphans::Orphans;
use crate::own_log;
use crate::ownership;
use crate::places::{self, Places};
use crate::pool::Pool;
use crate::probes::Probes;
use crate::process::Process;
use crate::processes::Processes;
use crate::record_id::RecordId;
use crate::removed::Removed;
use crate::restart::History;
use crate::runners::Runners;
use crate::self_test::SelfTest;
use crate::vault::Vault;
use crate::violations::Violations;
use crate::watch::Watch;
use confine::{Ids, probe};
use manifest::Process as Name;
use manifest::command::{HostState, Mode, ProcessState, RecordState};
use manifest::settings::Settings;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Makes it.
pub(crate) fn host(options: &Options) -> Result<Host, Fault> {
    let kernel = |what| move |cause: std::io::Error| Fault::Kernel(what, cause);
    let configuration = configure::read(options)?;
    let settings = configuration.settings;
    let places = places::find(options);
    let own_uid = nix::unistd::getuid().as_raw();
    raise_descriptor_limit().map_err(kernel("cannot raise the limit of descriptors"))?;
    let found = places::found(&places)?;
    let mode = enter_mode(&configuration)?;
    let ids = own_ids(settings, own_uid);
    places::directories(&places, found)?;
    let lock = lock(&places, mode, own_uid)?;
    let orphans = Orphans::adopt(mode).map_err(kernel("cannot adopt orphans"))?;
    let processes = processes(&configuration, &places, &ids)?;
    let stage = own_folder(&places, "stage", None)?;
    let mut pool = pool(mode, &stage)?;
    runners_folders(&places)?;
    check_workspaces(&mut pool, mode, settings, ids(Name::Runner), &places)?;
    let log_folder = own_folder(&places, "logs", ids(Name::Control))?;
    let logs = Logs::new(log_folder, settings.rotate_bytes.into(), ids(Name::Control));
    own_log::open(logs.clone(), settings.log_json);
    let (probe_program, record_id) = (places::program("jail-probe")?, RecordId::read(&places.state)?);
    let listeners = Listeners::make(&places.runtime, &settings, own_uid == 0)?;
    let signals = signals().map_err(kernel("cannot receive signals"))?;
    let jails = jails(options, mode, settings, &places, stage, ids(Name::Runner))?;
    Ok(Host {
        state: HostState::Starting,
        processes: Processes::new(processes),
        runners: Runners::new(pool),
        probes: Probes::new(probe_program),
        self_test: SelfTest::default(),
        attachments: Attachments::default(),
        logs,
        disk: Disk::new(settings.disk_reserve, settings.inode_reserve),
        vault: Vault::new(),
        record: RecordState::default(),
        record_id,
        clock: ClockOffset::new(options.clock.clone()),
        notify: Notify::from_environment(),
        listeners,
        signals,
        own_uid,
        began_ms: now_ms(),
        stop_asked: false,
        freeze: Freeze::default(),
        looked: Instant::now(),
        watch: Watch::default(),
        orphans,
        removed: Removed::new(&places.state),
        violations: Violations::default(),
        #[cfg(debug_assertions)]
        recording: crate::recording::Recording::new(options.record.clone()),
        fault: options.fault,
        start_failed: None,
        configuration,
        jails,
        _lock: lock,
    })
}

/// The facts that every jail is made from. Must be the last step that can fail: it divides cgroups, which only the end of the host
/// undoes.
fn jails(
    options: &Options,
    mode: Mode,
    settings: Settings,
    places: &Places,
    stage: PathBuf,
    runner_ids: Option<Ids>,
) -> Result<Jails, Fault> {
    let null = null().map_err(|cause| Fault::Kernel("cannot open /dev/null", cause))?;
    let runner_program = places::program(Name::Runner.name())?;
    let limits = LimitHolder::find();
    let limits = limits.map_err(|cause| Fault::Kernel("cannot set up the limits of jails", cause))?;
    Ok(Jails {
        mode,
        settings,
        state: places.state.clone(),
        runtime: places.runtime.clone(),
        stage,
        null,
        runner_program,
        runner_ids,
        limits,
        weakened: options.weaken,
        records: options.record.is_some(),
    })
}

/// Locks the state directory, so that no second host runs on it.
fn lock(places: &Places, mode: Mode, own_uid: u32) -> Result<nix::fcntl::Flock<File>, Fault> {
    let lock = places::lock(&places.state)?;
    if mode == Mode::Flat && own_uid == 0 {
        places::traversable(&places.state)?;
    }
    Ok(lock)
}

/// A folder of the state directory that only its owner can read.
fn own_folder(places: &Places, name: &str, owner: Option<Ids>) -> Result<PathBuf, Fault> {
    let folder = places.state.join(name);
    places::folder(&folder, 0o700, owner)?;
    Ok(folder)
}

/// The pool with the tree that runners' roots are copies of.
fn pool(mode: Mode, stage: &Path) -> Result<Pool, Fault> {
    let pool = Pool::new(mode, stage).map_err(std::io::Error::other);
    pool.map_err(|cause| Fault::Kernel("cannot prepare runners", cause))
}

/// The mode; in mode user agentd is root of a namespace of its own from here on.
fn enter_mode(configuration: &Configuration) -> Result<Mode, Fault> {
    let mode = choose_mode(configuration)?;
    if mode == Mode::User {
        let own = confine::become_root_of_own_namespace();
        own.map_err(|cause| Fault::Kernel("cannot make a user namespace", cause))?;
    }
    Ok(mode)
}

/// Makes the folders of workspaces and of runners' `/tmp`.
fn runners_folders(places: &Places) -> Result<(), Fault> {
    // Made now: removed workspaces go there, and on a full disk it could not be made any more.
    own_folder(places, ownership::REMOVED, None)?;
    places::folder(&places.state.join("runner"), 0o711, None)?;
    // Left by the runners and probes of a host that was killed; their own end removes it otherwise.
    drop(std::fs::remove_dir_all(places.runtime.join("tmp")));
    drop(std::fs::remove_dir_all(places.state.join(ownership::PROBES)));
    places::folder(&places.runtime.join("tmp"), 0o711, None)
}

/// Refuses a state directory whose folders cannot be shown as workspaces: every turn would fail.
fn check_workspaces(
    pool: &mut Pool,
    mode: Mode,
    settings: Settings,
    owner: Option<Ids>,
    places: &Places,
) -> Result<(), Fault> {
    let (Some(slot), Some(owner)) = (slot_ids(mode, &settings, 0), owner) else { return Ok(()) };
    let folder = places.state.join("runner");
    pool.try_workspaces(slot, owner, &folder).map_err(|cause| match cause.raw_os_error() {
        Some(nix::libc::EINVAL | nix::libc::EPERM) => {
            Fault::Unmapped { path: folder.display().to_string(), cause }
        }
        _ => Fault::Kernel("cannot prepare runners", cause),
    })
}

/// Raises agentd's limit of descriptors to its maximum: a slot takes three, a runner three more, an attached directory one. Every
/// child has a limit of its own.
fn raise_descriptor_limit() -> std::io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?)
}

/// The configured mode, or the strongest that this kernel supports. Mode flat must be configured.
fn choose_mode(configuration: &Configuration) -> Result<Mode, Fault> {
    let usual = if nix::unistd::geteuid().is_root() { Mode::System } else { Mode::User };
    let mode = configuration.settings.mode.unwrap_or(usual);
    probe::require(mode)?;
    Ok(mode)
}

/// The ids that each process runs as: its own where agentd is root.
fn own_ids(settings: Settings, own_uid: u32) -> impl Fn(Name) -> Option<Ids> {
    move |name| settings.ids(name).filter(|_| own_uid == 0).map(|(uid, gid)| Ids { uid, gid })
}

fn processes(
    configuration: &Configuration,
    places: &Places,
    ids: &impl Fn(Name) -> Option<Ids>,
) -> Result<Vec<Process>, Fault> {
    let wanted = manifest::TABLE
        .iter()
        .filter(|row| manifest::is_actor(row.process) && configuration.settings.enabled(row.process));
    let mut processes = Vec::new();
    for row in wanted {
        let path = places.state.join(row.process.name());
        let mode = if row.shows.is_some() { 0o711 } else { 0o700 };
        places::folder(&path, mode, ids(row.process))?;
        processes.push(Process {
            row,
            ids: ids(row.process),
            program: places::program(row.process.program())?,
            folder: places::open_folder(&path)?,
            state: ProcessState::Starting,
            life: None,
            history: History::default(),
            generation: 0,
            due: None,
            counters: [0; 8],
            beats: 0,
            ends: VecDeque::new(),
            proven: false,
        });
    }
    Ok(processes)
}

fn signals() -> std::io::Result<SignalFd> {
    let mut set = SigSet::empty();
    set.add(Signal::SIGTERM);
    set.add(Signal::SIGINT);
    set.thread_block()?;
    Ok(SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?)
}

fn null() -> std::io::Result<OwnedFd> {
    Ok(File::options().read(true).write(true).open("/dev/null")?.into())
}
