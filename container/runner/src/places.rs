//! Where a runner may work: fixed paths in the jail, and in flat mode the directory it was started in.

use confine::RunnerPlaces;
use manifest::command::Mode;
use std::path::{Path, PathBuf};

/// System folders that programs are started from.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/skills"];
/// In the jail all of `/etc` is the jail's own; on the host only what programs look up.
const ETC_FLAT: &[&str] =
    &["/etc/ld.so.cache", "/etc/ssl", "/etc/alternatives", "/etc/localtime", "/etc/passwd", "/etc/group"];
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Where this runner is.
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) mode: Mode,
    pub(crate) workspace: PathBuf,
    pub(crate) tmp: PathBuf,
}

impl Places {
    /// agentd's own words on the command line: the mode, and in flat mode the temporary folder.
    pub(crate) fn from_arguments() -> Option<Self> {
        let mut words = std::env::args_os().skip(1);
        let mode = match words.next()?.to_str()? {
            "system" => Mode::System,
            "user" => Mode::User,
            "flat" => Mode::Flat,
            _ => return None,
        };
        let (workspace, tmp) = match mode {
            Mode::Flat => (std::env::current_dir().ok()?, PathBuf::from(words.next()?)),
            Mode::System | Mode::User => (PathBuf::from("/workspace"), PathBuf::from("/tmp")),
        };
        if mode != Mode::Flat {
            std::env::set_current_dir(&workspace).ok()?;
        }
        Some(Self { mode, workspace, tmp })
    }

    /// Folders besides the workspace that tools may read.
    pub(crate) fn readable(&self) -> Vec<&Path> {
        vec![Path::new("/skills"), &self.tmp]
    }

    /// What the seal grants.
    pub(crate) fn sealed(&self) -> RunnerPlaces {
        let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
        let flat = self.mode == Mode::Flat;
        let mut work = vec![self.workspace.clone(), self.tmp.clone()];
        if !flat {
            work.push("/dev/shm".into());
        }
        RunnerPlaces {
            work,
            system: paths(SYSTEM),
            read: paths(if flat { ETC_FLAT } else { &["/etc", "/proc"] }),
            devices: paths(DEVICES),
        }
    }
}
