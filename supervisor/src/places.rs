//! The host's directories and its lock, made once with the owners that the mode gives; and the programs beside agentd's own.

use crate::args::Options;
use crate::exit::{Fault, at};
use crate::ownership::{self, Found, Place};
use confine::Ids;
use std::env;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The directories and the configuration file of a host.
#[derive(Debug)]
pub(crate) struct Places {
    /// Everything durable.
    pub(crate) state: PathBuf,
    /// Sockets and files that do not outlive the host.
    pub(crate) runtime: PathBuf,
    /// The configuration file, if there is one.
    pub(crate) config: Option<PathBuf>,
}

/// The paths that options and environment give.
pub(crate) fn find(options: &Options) -> Places {
    let system = nix::unistd::geteuid().is_root() && env::var_os("INVOCATION_ID").is_some();
    let home = env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let xdg = |name: &str, fallback: PathBuf| {
        env::var_os(name).filter(|path| !path.is_empty()).map_or(fallback, PathBuf::from).join("cordon")
    };
    let choose = |given: &Option<PathBuf>, system_path: &str, own: PathBuf| {
        given.clone().unwrap_or_else(|| if system { PathBuf::from(system_path) } else { own })
    };
    let state = choose(&options.state, "/var/lib/cordon", xdg("XDG_STATE_HOME", home.join(".local/state")));
    let runtime = choose(&options.runtime, "/run/cordon", xdg("XDG_RUNTIME_DIR", state.join("run")));
    let usual = if system {
        PathBuf::from("/etc/cordon/cordon.toml")
    } else {
        xdg("XDG_CONFIG_HOME", home.join(".config")).join("cordon.toml")
    };
    let config = options.config.clone().or_else(|| usual.exists().then_some(usual));
    Places { state: absolute(state), runtime: absolute(runtime), config }
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// Checks the state and the runtime directory. Must be called before agentd enters a user namespace, which changes uids.
pub(crate) fn found(places: &Places) -> Result<[Found; 2], Fault> {
    let own = Some(nix::unistd::geteuid().as_raw());
    Ok([
        ownership::look(&places.state, Place::State, own)?,
        ownership::look(&places.runtime, Place::Runtime, own)?,
    ])
}

/// Makes the state and the runtime directory; one that also holds other files keeps its mode.
pub(crate) fn directories(places: &Places, [state, runtime]: [Found; 2]) -> Result<(), Fault> {
    for (path, mode, found) in [(&places.state, 0o711, state), (&places.runtime, 0o755, runtime)] {
        if found != Found::Shared {
            folder(path, mode, None)?;
        }
    }
    Ok(())
}

/// Makes a folder, or sets owner and mode of one that exists.
pub(crate) fn folder(path: &Path, mode: u32, ids: Option<Ids>) -> Result<(), Fault> {
    DirBuilder::new().recursive(true).mode(mode).create(path).map_err(at("cannot make", path))?;
    if let Some(ids) = ids {
        chown(path, Some(ids.uid), Some(ids.gid)).map_err(at("cannot give away", path))?;
    }
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(at("cannot set the mode of", path))
}

/// Checks that other users can pass through every folder above: in mode flat as root, actors reach their folder by its path.
pub(crate) fn traversable(state: &Path) -> Result<(), Fault> {
    for folder in state.ancestors().skip(1) {
        let mode = fs::metadata(folder).map_err(at("cannot look at", folder))?.mode();
        if mode & 0o001 == 0 {
            let cause = io::Error::new(
                io::ErrorKind::PermissionDenied,
                "other users cannot pass through it, and every process is another user; use another --state-dir",
            );
            return Err(at("the folder", folder)(cause));
        }
    }
    Ok(())
}

/// The time in which the lock of a host that was killed is released: a child that it was launching has it until the child ends as well.
const RELEASE: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_millis(10);

/// Locks a state directory, so that a second host on it is refused.
pub(crate) fn lock(state: &Path) -> Result<nix::fcntl::Flock<File>, Fault> {
    let path = state.join("lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&path)
        .map_err(at("cannot open", &path))?;
    let (mut file, end) = (file, Instant::now() + RELEASE);
    loop {
        match nix::fcntl::Flock::lock(file, nix::fcntl::FlockArg::LockExclusiveNonblock) {
            Ok(locked) => return Ok(locked),
            Err(_) if Instant::now() >= end => return Err(Fault::Locked(state.display().to_string())),
            Err((again, _)) => file = again,
        }
        std::thread::sleep(AGAIN);
    }
}

/// Opens a folder for a child to begin in, or to be mounted.
pub(crate) fn open_folder(path: &Path) -> Result<OwnedFd, Fault> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nix::libc::O_DIRECTORY | nix::libc::O_NOFOLLOW)
        .open(path)
        .map_err(at("cannot open", path))?;
    Ok(file.into())
}

/// Opens the program of this name, which lies beside agentd's own.
pub(crate) fn program(name: &str) -> Result<OwnedFd, Fault> {
    let own = env::current_exe().map_err(|cause| Fault::Kernel("cannot find agentd's own program", cause))?;
    let path = own.with_file_name(name);
    File::open(&path).map(OwnedFd::from).map_err(at("cannot open the program", &path))
}
