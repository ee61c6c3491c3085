//! The facts that every jail of this host is made from. None of them changes while the host runs.

use crate::limits::LimitHolder;
use confine::Ids;
use manifest::Process as Name;
use manifest::command::Mode;
use manifest::settings::Settings;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The facts.
#[derive(Debug)]
pub(crate) struct Jails {
    pub(crate) mode: Mode,
    pub(crate) settings: Settings,
    /// The state directory.
    pub(crate) state: PathBuf,
    /// The runtime directory.
    pub(crate) runtime: PathBuf,
    /// The empty folder on which the tree is built that runners' roots are copies of, in a mount namespace of its own.
    pub(crate) stage: PathBuf,
    /// `/dev/null`.
    pub(crate) null: OwnedFd,
    pub(crate) runner_program: OwnedFd,
    /// The owner of the workspaces that the host makes; `None` for agentd's own uid.
    pub(crate) runner_ids: Option<Ids>,
    /// Holds the limits of jails.
    pub(crate) limits: LimitHolder,
    /// Debug builds: a row whose jails lack a layer, so that tests see it noticed.
    pub(crate) weakened: Option<Name>,
    /// Debug builds: every call is notified, to find which rules are needed.
    pub(crate) records: bool,
}

impl Jails {
    /// Returns true if jails of this row lack a layer.
    pub(crate) fn weakens(&self, row: Name) -> bool {
        self.weakened == Some(row)
    }

    /// The ids of a runner slot on the host; `None` outside mode system.
    pub(crate) fn slot_ids(&self, slot: u16) -> Option<Ids> {
        slot_ids(self.mode, &self.settings, slot)
    }

    /// The folder of a workspace that the host keeps.
    pub(crate) fn workspace(&self, id: [u8; 16]) -> PathBuf {
        let name: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        self.state.join("runner").join(name)
    }
}

/// The ids of a runner slot on the host; `None` outside mode system.
pub(crate) fn slot_ids(mode: Mode, settings: &Settings, slot: u16) -> Option<Ids> {
    settings.slot(slot).filter(|_| mode == Mode::System).map(|id| Ids { uid: id, gid: id })
}
