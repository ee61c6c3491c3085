//! `prove`: an entry with proof that it is in the log, and that the log only grew, as JSON that needs no program of
//! ours to be checked.

use super::OfflineFault;
use super::args::Args;
use super::verify::saved;
use crate::check::{Check, SavedCheckpoint};
use crate::folder::Folder;
use crate::hash::{self, Hash, hex};
use crate::keys::PUBLIC;
use crate::log::CHECKPOINT;
use crate::note::Checkpoint;
use crate::tile::{self, WIDTH};
use crate::tiles::Tiles;
use ipc_proto::audit::NOTE;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;

/// Prints the proof.
pub(crate) fn prove(args: &Args) -> Result<ExitCode, OfflineFault> {
    let dir = args.dir()?;
    let index = args.bare.as_deref().and_then(|word| word.parse::<u64>().ok());
    let index = index.ok_or_else(|| OfflineFault::Usage("prove needs an entry's index".to_owned()))?;
    let saved = saved(args)?;
    let check = Check::begin(&dir, None, saved.as_deref().map(SavedCheckpoint::Note))
        .map_err(|fault| OfflineFault::Log(fault.message))?;
    if let Some(fault) = check.unsigned() {
        return Err(OfflineFault::Log(fault.message.clone()));
    }
    let folder = Folder::new(&dir);
    let file = |file: &str, cause| OfflineFault::File { file: file.to_owned(), cause };
    let note =
        folder.read_text(CHECKPOINT, NOTE).map_err(|cause| file(CHECKPOINT, cause))?.unwrap_or_default();
    let size = Checkpoint::unchecked(&note).map_or(0, |checkpoint| checkpoint.size);
    if index >= size {
        return Err(OfflineFault::Log(format!(
            "the checkpoint is of {size} entries, and {index} is not among them"
        )));
    }
    let tiles = load(&folder, size).map_err(|cause| file("tile", cause))?;
    let entry = entry(&folder, index)?;
    let known = saved.as_deref().and_then(Checkpoint::unchecked);
    let from = known.as_ref().map_or(index + 1, |known| known.size);
    if from == 0 || from > size {
        return Err(OfflineFault::Log(format!(
            "the kept checkpoint is of {from} entries, and the log's of {size}"
        )));
    }
    let proofs = (tiles.inclusion(index, size), tiles.consistency(from, size), tiles.root(from));
    let (Ok(inclusion), Ok(consistency), Ok(from_root)) = proofs else {
        return Err(OfflineFault::Log("a tile is missing; verify says which".to_owned()));
    };
    if known.is_some_and(|known| known.root != from_root) {
        let message = format!("the kept checkpoint is of another tree of {from} entries: the log has forked");
        return Err(OfflineFault::Log(message));
    }
    let hexes = |hashes: &[Hash]| hashes.iter().map(|hash| hex(hash)).collect::<Vec<_>>();
    let document = json!({
        "ok": true,
        "index": index,
        "entry": entry,
        "key": folder.read_text(PUBLIC, NOTE).ok().flatten().map(|key| key.trim_end().to_owned()),
        "checkpoint": note,
        "inclusion": hexes(&inclusion),
        "consistency": {
            "from": from,
            "from_root": hex(&from_root),
            "from_checkpoint": saved,
            "checkpoint": note,
            "proof": hexes(&consistency),
        },
    });
    writeln!(std::io::stdout(), "{document}")?;
    Ok(ExitCode::SUCCESS)
}

/// The tree of the first `size` entries.
fn load(folder: &Folder, size: u64) -> std::io::Result<Tiles> {
    let mut tiles = Tiles::load(folder, size / WIDTH, false)?;
    let width = usize::try_from(size % WIDTH).unwrap_or(0);
    if width > 0 {
        bundle(folder, size / WIDTH).iter().take(width).for_each(|entry| tiles.push(hash::leaf(entry)));
    }
    Ok(tiles)
}

fn bundle(folder: &Folder, index: u64) -> Vec<Vec<u8>> {
    let read = |path: &str| folder.read(path, 2 * tile::BUNDLE).ok().flatten();
    let bytes = read(&tile::bundle_path(index)).or_else(|| read(&tile::tail_path(index))).unwrap_or_default();
    tile::entries(&bytes).filter_map(|range| bytes.get(range)).map(<[u8]>::to_vec).collect()
}

fn entry(folder: &Folder, index: u64) -> Result<String, OfflineFault> {
    let at = usize::try_from(index % WIDTH).unwrap_or(0);
    let entry = bundle(folder, index / WIDTH).into_iter().nth(at);
    let entry =
        entry.ok_or_else(|| OfflineFault::Log(format!("entry {index} is sealed; its hash alone is kept")))?;
    String::from_utf8(entry)
        .map_err(|_| OfflineFault::Log(format!("entry {index} is no text: it was edited")))
}
