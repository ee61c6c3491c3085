//! A runner in mode flat: cold, in its workspace from the beginning, with a folder on disk for its `/tmp`.

use crate::host::Host;
use crate::places;
use crate::sockets;
use crate::warm::{self, Warm, WarmFault};
use crate::workspaces::Space;
use confine::{Home, Ids, RunnerJail};
use manifest::Process as Name;
use std::io;
use std::path::PathBuf;

/// Launches it; besides the runner gives its folder for `/tmp`.
pub(crate) fn launch(
    host: &Host,
    turn: [u8; 16],
    space: &Space,
    cpu_seconds: u64,
) -> Result<(Warm, PathBuf), WarmFault> {
    let slot = host.runners.free_slot(host.configuration.settings.runner_slots).ok_or(WarmFault::Full)?;
    let ids = owner(host, space.owner).map_err(WarmFault::Workspace)?;
    let tmp = temporary(host, turn, ids).map_err(WarmFault::Workspace)?;
    let (theirs, gate) = sockets::edge()?;
    let row = warm::row(Name::Runner)?;
    let (notices, ear) = sockets::notices(host, row)?;
    let jail = RunnerJail {
        row,
        program: &host.runner_program,
        null: &host.null,
        gate: &theirs,
        notices: &notices,
        cpu_seconds,
        home: Home::Flat { workspace: &space.mount, tmp: &tmp, ids },
        weakened: host.weakens(row.process),
    };
    let child = confine::launch_runner(&jail)?;
    Ok((Warm::held(host, child, slot, gate, ear, row)?, tmp))
}

/// Without namespaces nothing is mapped: as root, the runner runs as the directory's owner, who is never root.
fn owner(host: &Host, owner: Ids) -> io::Result<Option<Ids>> {
    if host.runner_ids.is_none() {
        return Ok(None);
    }
    if owner.uid == 0 {
        return Err(io::Error::from_raw_os_error(nix::libc::EACCES));
    }
    Ok(Some(owner))
}

/// A folder of the runner's own that stands for `/tmp`; gone with it.
fn temporary(host: &Host, turn: [u8; 16], ids: Option<Ids>) -> io::Result<PathBuf> {
    let name: String = turn.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = host.places.runtime.join("tmp").join(name);
    places::folder(&path, 0o700, ids).map_err(|_| io::Error::from(io::ErrorKind::PermissionDenied))?;
    Ok(path)
}
