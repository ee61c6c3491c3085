//! A person's own file, put into the workspace or given out of it, by the same tools and bounds as an agent's.

use crate::gate::Gate;
use crate::places::Places;
use crate::{FAILED, RunnerFault};
use ipc_proto::runner_gate::Ending;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

const PIECE: usize = 32 * 1024;
const DONE: Ending = Ending::Exited { status: 0 };

/// Puts a file.
pub(crate) fn put(path: &str, bytes: &[u8], places: &Places) -> Ending {
    let Some(path) = beneath(places, path) else { return FAILED };
    // The workspace itself is there.
    let made = path.parent().filter(|folder| *folder != places.workspace).map_or(Ok(()), fs::create_dir_all);
    // Removed first: a link that stands there must not be written through, and a FIFO not waited for.
    let _ = fs::remove_file(&path);
    if made.and_then(|()| fs::write(&path, bytes)).is_ok() { DONE } else { FAILED }
}

/// Gives a file out.
pub(crate) async fn get(gate: &Gate, path: &str, places: &Places) -> Result<Ending, RunnerFault> {
    let file = beneath(places, path)
        .filter(|path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file()))
        .and_then(|path| fs::File::open(path).ok());
    let Some(mut file) = file else {
        gate.output(true, format!("no such file in the workspace: {path}\n").as_bytes()).await?;
        return Ok(FAILED);
    };
    let mut buffer = vec![0; PIECE];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Ok(DONE);
        }
        gate.output(false, buffer.get(..length).unwrap_or_default()).await?;
    }
}

/// A path beneath the workspace, by its words alone; the kernel holds the rest.
fn beneath(places: &Places, path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let ordinary = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    (ordinary && path.file_name().is_some()).then(|| places.workspace.join(path))
}
