//! Where a runner may work: fixed paths in the jail, and in flat mode the directory it was started in.

use confine::RunnerPlaces;
use manifest::Row;
use manifest::command::Mode;
use std::path::{Path, PathBuf};

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
        Some(Self { mode, workspace, tmp })
    }

    /// Goes into the workspace. Only once there is work: until then an empty folder stands in its place, and would stay
    /// this process's own after the workspace has covered it.
    ///
    /// # Errors
    /// The kernel's error.
    pub(crate) fn enter(&self) -> std::io::Result<()> {
        std::env::set_current_dir(&self.workspace)
    }

    /// Folders besides the workspace that tools may read.
    pub(crate) fn readable(&self) -> Vec<&Path> {
        vec![Path::new("/skills"), &self.tmp]
    }

    /// The grants of the seal.
    pub(crate) fn sealed(&self, row: &Row) -> RunnerPlaces {
        RunnerPlaces::of(row, self.mode, &self.workspace, &self.tmp)
    }
}
