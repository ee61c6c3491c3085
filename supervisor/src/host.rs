//! The host: everything agentd keeps, made in order, then one loop.

use crate::args::Options;
use crate::configure::{self, Configuration};
use crate::disk::Disk;
use crate::exit::{self, Fault};
use crate::freeze::Frozen;
use crate::handed::Handed;
use crate::known::Known;
use crate::limits::Holding;
use crate::listeners::Listeners;
use crate::logs::Logs;
use crate::notify::Notify;
use crate::places::{self, Places};
use crate::process::Process;
use crate::proof::{self, Proof};
use crate::removed::{self, Removed};
use crate::restart::History;
use crate::runners::Runners;
use crate::twins::{self, Twins};
use crate::vault::Vault;
use crate::violations::Violations;
use crate::warm::Pool;
use crate::watch::Watch;
use crate::workspaces::Workspaces;
use crate::{clock, orphans, start, stop, wait};
use confine::{Ids, probe};
use manifest::Process as Name;
use manifest::command::{Failure, HostState, Mode, ProcessState, RecordState};
use manifest::settings::Settings;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Everything agentd keeps.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) options: Options,
    pub(crate) places: Places,
    pub(crate) configuration: Configuration,
    pub(crate) mode: Mode,
    pub(crate) state: HostState,
    pub(crate) processes: Vec<Process>,
    pub(crate) runners: Runners,
    pub(crate) twins: Twins,
    pub(crate) proof: Proof,
    pub(crate) workspaces: Workspaces,
    /// What is under way for directories that are handed over.
    pub(crate) handed: Handed,
    pub(crate) logs: Logs,
    pub(crate) disk: Disk,
    pub(crate) vault: Vault,
    /// Whether the record takes entries, as audit said last.
    pub(crate) record: RecordState,
    pub(crate) known: Known,
    /// How far every process's wall clock is off the machine's, ms; 0 but in tests.
    pub(crate) clock_ms: i64,
    pub(crate) notify: Notify,
    pub(crate) listeners: Listeners,
    pub(crate) signals: SignalFd,
    pub(crate) null: OwnedFd,
    pub(crate) runner_program: OwnedFd,
    /// Where the tree is built that runners' roots are copies of, in a mount namespace of its own.
    pub(crate) stage: PathBuf,
    /// Owner of the workspaces that the host keeps; `None` for agentd's own uid.
    pub(crate) runner_ids: Option<Ids>,
    /// The uid that people know agentd by, taken before any user namespace.
    pub(crate) own_uid: u32,
    pub(crate) began_ms: u64,
    pub(crate) stop_asked: bool,
    /// Every process but control stands still, for a copy of the state.
    pub(crate) frozen: Option<Frozen>,
    /// When it was last looked at who has not been heard of.
    pub(crate) looked: Instant,
    /// What holds the limits of jails.
    pub(crate) limits: Holding,
    pub(crate) watch: Watch,
    /// A runner may have left processes behind.
    pub(crate) orphans: bool,
    /// Folders of removed workspaces that go.
    pub(crate) removed: Removed,
    pub(crate) violations: Violations,
    #[cfg(debug_assertions)]
    pub(crate) recording: crate::recording::Recording,
    /// A process that failed before it ever was ready, and why.
    pub(crate) start_failed: Option<(Name, Option<Failure>)>,
    watchdog_fed: Instant,
    /// Held for as long as the host runs.
    _lock: nix::fcntl::Flock<File>,
}

/// The wall clock, unix ms.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// `agentd run`.
pub(crate) fn run(options: &Options) -> Result<(), Fault> {
    let began = Instant::now();
    let mut host = make(options)?;
    clock::look(&mut host);
    let names: Vec<Name> = host.processes.iter().map(|process| process.row.process).collect();
    for name in names {
        start::start(&mut host, name)?;
    }
    while !host.stop_asked && host.start_failed.is_none() {
        let before = host.state;
        wait::once(&mut host, None);
        if before == HostState::Starting && host.state == HostState::Ready {
            exit::say(&format!(
                "agentd: ready in {} ms, mode {}",
                began.elapsed().as_millis(),
                host.mode.name()
            ));
            if host.mode == Mode::Flat {
                exit::say(FLAT);
            }
        }
        proof::begin(&mut host);
    }
    stop::everything(&mut host);
    host.limits.close();
    match host.start_failed {
        Some((name, failure)) => Err(Fault::of_process(name, failure)),
        None => Ok(()),
    }
}

/// What mode flat gives up, said whenever it is used.
const FLAT: &str = "agentd: mode flat gives up: own network, mount, pid and ipc namespaces of every process; a \
    runner's private /tmp, /proc and read-only root; killing all of a jail at once by its pid namespace; limits \
    that the kernel counts for one jail alone. What is left: landlock, seccomp and the descriptor topology.";

/// Everything in order: configuration, mode, folders, lock, programs, listeners.
fn make(options: &Options) -> Result<Host, Fault> {
    let kernel = |what| move |cause: std::io::Error| Fault::Kernel(what, cause);
    let configuration = configure::read(options)?;
    let places = places::find(options);
    let own_uid = nix::unistd::getuid().as_raw();
    many_descriptors().map_err(kernel("cannot be given more descriptors"))?;
    let found = places::found(&places)?;
    let mode = enter_mode(&configuration)?;
    let ids = own_ids(configuration.settings, own_uid);
    places::directories(&places, found)?;
    let lock = locked(&places, mode, own_uid)?;
    orphans::adopt(mode).map_err(kernel("cannot take orphans"))?;
    let processes = processes(&configuration, &places, &ids)?;
    let stage = own_folder(&places, "stage", None)?;
    let mut pool = made_ready(mode, &stage)?;
    runners_folders(&places)?;
    workspaces_are_shown(&mut pool, mode, configuration.settings, ids(Name::Runner), &places)?;
    let log_folder = own_folder(&places, "logs", ids(Name::Control))?;
    Ok(Host {
        options: options.kept(),
        mode,
        state: HostState::Starting,
        processes,
        runners: Runners::new(pool),
        twins: Twins::new(places::program("twin")?),
        proof: Proof::default(),
        workspaces: Workspaces::default(),
        handed: Handed::default(),
        logs: Logs::new(log_folder, configuration.settings.rotate_bytes.into(), ids(Name::Control)),
        disk: Disk::new(configuration.settings.disk_reserve, configuration.settings.inode_reserve),
        vault: Vault::new(),
        record: RecordState::default(),
        known: Known::read(&places.state)?,
        clock_ms: 0,
        notify: Notify::from_environment(),
        listeners: Listeners::make(&places.runtime, &configuration.settings, own_uid == 0)?,
        signals: signals().map_err(kernel("cannot take signals"))?,
        null: null().map_err(kernel("cannot open /dev/null"))?,
        runner_program: places::program(Name::Runner.name())?,
        stage,
        runner_ids: ids(Name::Runner),
        own_uid,
        began_ms: now_ms(),
        stop_asked: false,
        frozen: None,
        looked: Instant::now(),
        limits: Holding::find().map_err(kernel("cannot find out what holds limits"))?,
        watch: Watch::default(),
        orphans: false,
        // A host that was killed may have left some.
        removed: Removed::new(),
        violations: Violations::default(),
        #[cfg(debug_assertions)]
        recording: crate::recording::Recording::new(options.record.clone()),
        start_failed: None,
        watchdog_fed: Instant::now(),
        configuration,
        places,
        _lock: lock,
    })
}

/// The state directory, which no other host has while the lock is held.
fn locked(places: &Places, mode: Mode, own_uid: u32) -> Result<nix::fcntl::Flock<File>, Fault> {
    let lock = places::lock(&places.state)?;
    if mode == Mode::Flat && own_uid == 0 {
        places::traversable(&places.state)?;
    }
    Ok(lock)
}

/// A folder of the state directory that nobody else looks into.
fn own_folder(places: &Places, name: &str, owner: Option<Ids>) -> Result<PathBuf, Fault> {
    let folder = places.state.join(name);
    places::folder(&folder, 0o700, owner)?;
    Ok(folder)
}

/// What runners are made of, before there is one.
fn made_ready(mode: Mode, stage: &Path) -> Result<Pool, Fault> {
    let pool = Pool::new(mode, stage).map_err(std::io::Error::other);
    pool.map_err(|cause| Fault::Kernel("cannot make ready for runners", cause))
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

/// Where runners work.
fn runners_folders(places: &Places) -> Result<(), Fault> {
    // Made now, since it is what frees a disk on which none can be made any more.
    own_folder(places, removed::FOLDER, None)?;
    places::folder(&places.state.join("runner"), 0o711, None)?;
    // What the runners of a host that was killed left there is nobody's any more; their own end would have removed it.
    drop(std::fs::remove_dir_all(places.runtime.join("tmp")));
    drop(std::fs::remove_dir_all(places.state.join(twins::FOLDER)));
    places::folder(&places.runtime.join("tmp"), 0o711, None)
}

/// Refuses a state directory whose folders could be no runner's workspace: every turn would fail.
fn workspaces_are_shown(
    pool: &mut Pool,
    mode: Mode,
    settings: Settings,
    owner: Option<Ids>,
    places: &Places,
) -> Result<(), Fault> {
    let slot = settings.slot(0).filter(|_| mode == Mode::System).map(|id| Ids { uid: id, gid: id });
    let (Some(slot), Some(owner)) = (slot, owner) else { return Ok(()) };
    let folder = places.state.join("runner");
    pool.try_workspaces(slot, owner, &folder).map_err(|cause| match cause.raw_os_error() {
        Some(nix::libc::EINVAL | nix::libc::EPERM) => {
            Fault::Unmapped { path: folder.display().to_string(), cause }
        }
        _ => Fault::Kernel("cannot make ready for runners", cause),
    })
}

/// As many descriptors as there may be: a slot takes three, a runner three more, an attached directory one. Every child
/// has a limit of its own.
fn many_descriptors() -> std::io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?)
}

/// The mode asked for, or the strongest that this kernel holds. Flat must be asked for.
fn choose_mode(configuration: &Configuration) -> Result<Mode, Fault> {
    let usual = if nix::unistd::geteuid().is_root() { Mode::System } else { Mode::User };
    let mode = configuration.settings.mode.unwrap_or(usual);
    probe::require(mode)?;
    Ok(mode)
}

/// Whom each process runs as: its own uid where agentd is root.
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
            program: places::program(row.process.name())?,
            folder: places::open_folder(&path)?,
            state: ProcessState::Starting,
            life: None,
            history: History::default(),
            generation: 0,
            due: None,
            counters: [0; 8],
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

impl Host {
    /// Returns whether every call is told, to find which rules are needed: debug builds, for their tests.
    #[cfg(debug_assertions)]
    pub(crate) const fn records(&self) -> bool {
        self.recording.is_on()
    }

    /// Returns whether every call is told: never.
    #[cfg(not(debug_assertions))]
    pub(crate) const fn records(&self) -> bool {
        false
    }

    /// Returns whether jails of this row lack a layer, so that it can be seen that this is noticed: debug builds alone.
    pub(crate) fn weakens(&self, row: Name) -> bool {
        self.options.weaken == Some(row)
    }

    /// The process of this name.
    pub(crate) fn process(&self, name: Name) -> Option<&Process> {
        self.processes.iter().find(|process| process.row.process == name)
    }

    /// The process of this name, to be changed.
    pub(crate) fn process_mut(&mut self, name: Name) -> Option<&mut Process> {
        self.processes.iter_mut().find(|process| process.row.process == name)
    }

    /// Those that run.
    pub(crate) fn running(&self) -> impl Iterator<Item = Name> {
        self.processes.iter().filter(|process| process.is_running()).map(|process| process.row.process)
    }

    /// Tells systemd's watchdog that agentd is alive, at half of what it allows.
    pub(crate) fn feed_watchdog(&mut self) {
        if self.notify.watchdog.is_some_and(|half| self.watchdog_fed.elapsed() >= half) {
            self.notify.tell("WATCHDOG=1");
            self.watchdog_fed = Instant::now();
        }
    }
}
