//! A runner in mode flat: launched cold, in its workspace from the beginning, with a folder on disk as its `/tmp`.

use crate::jails::Jails;
use crate::launched::{self, Launched};
use crate::places;
use crate::runner_fault::RunnerFault;
use crate::sockets;
use crate::workspaces::Space;
use confine::{Home, Ids, RunnerJail};
use manifest::Process as Name;
use std::io;
use std::path::PathBuf;

/// Launches it in this slot; also returns its folder for `/tmp`.
pub(crate) fn launch(
    jails: &Jails,
    slot: u16,
    turn: [u8; 16],
    space: &Space,
    cpu_seconds: u64,
) -> Result<(Launched, PathBuf), RunnerFault> {
    let ids = owner(jails, space.owner).map_err(RunnerFault::Workspace)?;
    let tmp = temporary(jails, turn, ids).map_err(RunnerFault::Workspace)?;
    let (theirs, gate) = sockets::edge()?;
    let row = launched::row(Name::Runner)?;
    let (notices, seccomp) = sockets::notices(jails, row)?;
    let jail = RunnerJail {
        row,
        program: &jails.runner_program,
        null: &jails.null,
        gate: &theirs,
        notices: &notices,
        cpu_seconds,
        home: Home::Flat { workspace: &space.mount, tmp: &tmp, ids },
        weakened: jails.weakens(row.process),
    };
    let child = confine::launch_runner(&jail)?;
    Ok((Launched::limited(jails, child, slot, gate, seccomp, row)?, tmp))
}

/// Without namespaces nothing is mapped: as root, the runner runs as the directory's owner, who is never root.
fn owner(jails: &Jails, owner: Ids) -> io::Result<Option<Ids>> {
    if jails.runner_ids.is_none() {
        return Ok(None);
    }
    if owner.uid == 0 {
        return Err(io::Error::from_raw_os_error(nix::libc::EACCES));
    }
    Ok(Some(owner))
}

/// A folder of the runner's own that stands for `/tmp` and is removed with it.
fn temporary(jails: &Jails, turn: [u8; 16], ids: Option<Ids>) -> io::Result<PathBuf> {
    let name: String = turn.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = jails.runtime.join("tmp").join(name);
    places::folder(&path, 0o700, ids).map_err(|_| io::Error::from(io::ErrorKind::PermissionDenied))?;
    Ok(path)
}
