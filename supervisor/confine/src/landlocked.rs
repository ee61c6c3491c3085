//! Landlock: the row's files and nothing else, at the highest ABI that this kernel has.

use crate::sys;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use manifest::command::Mode;
use nix::sys::stat::{SFlag, fstat};
use std::path::Path;

/// The newest ABI that this program knows; rights that the kernel lacks are left out.
const KNOWN: ABI = ABI::V6;

/// The reason why a process could not be landlocked.
#[derive(Debug, thiserror::Error)]
pub enum LandlockFault {
    /// The kernel's ABI is too old for the mode.
    #[error(
        "layer landlock, every row: this kernel has ABI {found}, mode {mode} needs {needed}; use a newer kernel (6.12 has 6) \
         or boot with lsm=landlock, and let a service's system call filter allow landlock_*"
    )]
    TooOld {
        /// The kernel's ABI; 0 without landlock.
        found: i32,
        /// The ABI that the mode needs.
        needed: i32,
        /// The mode.
        mode: &'static str,
    },
    /// A rule could not be made.
    #[error("layer landlock: {0}")]
    Ruleset(#[from] RulesetError),
    /// The kernel accepted the rules and does not enforce them.
    #[error("layer landlock: the kernel does not enforce the rules")]
    NotEnforced,
}

/// Fails, with the remedy, if the kernel's landlock is older than the mode needs.
pub(crate) fn require(mode: Mode) -> Result<(), LandlockFault> {
    // The kernel enforces truncation from ABI 3 on, TCP from 4, signals and abstract sockets from 6; with namespaces and seccomp
    // those have a second layer, in mode flat they have none.
    let needed = match mode {
        Mode::System | Mode::User => 2,
        Mode::Flat => 6,
    };
    let found = sys::landlock_abi();
    if found >= needed { Ok(()) } else { Err(LandlockFault::TooOld { found, needed, mode: mode.name() }) }
}

/// The rights beneath a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beneath {
    Read,
    Execute,
    Write,
    /// All that ordinary programs do in their own folders, execution included.
    Work,
    /// A device node: read, write, ioctl.
    Device,
}

impl Beneath {
    fn rights(self) -> BitFlags<AccessFs> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let change = AccessFs::WriteFile
            | AccessFs::Truncate
            | AccessFs::MakeReg
            | AccessFs::MakeDir
            | AccessFs::RemoveFile
            | AccessFs::RemoveDir;
        match self {
            Self::Read => read,
            Self::Execute => read | AccessFs::Execute,
            Self::Write => read | change,
            Self::Work => {
                let links = AccessFs::MakeSym | AccessFs::MakeFifo | AccessFs::MakeSock | AccessFs::Refer;
                read | change | links | AccessFs::Execute
            }
            Self::Device => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev,
        }
    }
}

/// Landlocks this thread, which is the only one: files as listed, no TCP unless `network`, no signals and no abstract sockets beyond
/// its own domain. A path that does not exist is not granted.
pub(crate) fn restrict(files: &[(&Path, Beneath)], network: bool) -> Result<(), LandlockFault> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?;
    if !network {
        ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN))?;
    }
    let mut created = ruleset.create()?;
    for (path, beneath) in files {
        created = grant(created, path, *beneath)?;
    }
    let status = created.restrict_self()?;
    if status.ruleset == RulesetStatus::NotEnforced { Err(LandlockFault::NotEnforced) } else { Ok(()) }
}

fn grant(created: RulesetCreated, path: &Path, beneath: Beneath) -> Result<RulesetCreated, LandlockFault> {
    let Ok(descriptor) = PathFd::new(path) else { return Ok(created) };
    // The type is read from the opened file, so that the path is not looked up again.
    let kind = fstat(&descriptor).map_or(SFlag::empty(), |stat| SFlag::from_bits_truncate(stat.st_mode));
    let folder = kind & SFlag::S_IFMT == SFlag::S_IFDIR;
    let rights = if folder { beneath.rights() } else { beneath.rights() & AccessFs::from_file(KNOWN) };
    Ok(created.add_rule(PathBeneath::new(descriptor, rights))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

    /// Runs `act` in a thread of its own, which alone is landlocked: no filter answers first there.
    fn restricted<T: Send + 'static>(network: bool, act: impl FnOnce() -> T + Send + 'static) -> T {
        let thread = std::thread::spawn(move || {
            sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).unwrap();
            restrict(&[], network).unwrap();
            act()
        });
        thread.join().unwrap()
    }

    // Holds P2-06.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "whether it connects is the question")]
    fn tcp_without_network_and_abstract_sockets_are_refused_without_a_filter() {
        let listening = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listening.local_addr().unwrap();
        let name = format!("cordon-landlocked-{}", std::process::id());
        let name = SocketAddr::from_abstract_name(name).unwrap();
        let _named = UnixListener::bind_addr(&name).unwrap();
        for (network, tcp) in [(false, Some(libc::EACCES)), (true, None)] {
            let name = name.clone();
            let came = restricted(network, move || {
                let connected = TcpStream::connect(address).err();
                let bound = TcpListener::bind("127.0.0.1:0").err();
                let named = UnixStream::connect_addr(&name).err();
                [connected, bound, named].map(|error| error.and_then(|error| error.raw_os_error()))
            });
            assert_eq!(came, [tcp, tcp, Some(libc::EPERM)], "network: {network}");
        }
    }
}
