//! Second pass over `[embedder]` and `[memory] embedder`: a model that makes vectors, either of a configured provider, built in, or
//! of this machine. Every file of a model of this machine is read and checked against the others here, so that a host which starts
//! has a model that works.

use crate::problem::{Problems, listed, nearest, quoted};
use crate::providers::Outside;
use crate::view::View;
use ipc_proto::config::Embedder;
use ipc_proto::embedder::LOCAL;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use weights::Folder;

/// The embedder that needs no provider.
const OFFLINE: &str = "offline/hash-384";
/// The name of this machine's model in `[memory] embedder`.
const OWN: &str = "local";

/// Reads `[embedder]`. `base` is the folder of relative paths; `own_ids` is true if processes run under ids of their own.
#[must_use]
pub fn local(view: &View<'_>, base: &Path, own_ids: bool, problems: &mut Problems) -> Option<Embedder> {
    let folder = base.join(view.text("folder")?);
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let name = hidden(&folder, own_ids).map_or_else(|| hashed(&folder), Err);
    match name {
        Ok(name) => {
            let folder = folder.to_string_lossy().into_owned();
            Some(Embedder { folder, name, ..view.section(problems) })
        }
        Err(what) => {
            let valid =
                "a folder with config.json of a BERT, tokenizer.json or vocab.txt, and model.safetensors";
            problems.add(view.line("folder"), &view.key("folder"), what, valid);
            None
        }
    }
}

/// The name of the vectors of this very model.
fn hashed(folder: &Path) -> Result<String, String> {
    let model = Folder::open(folder).and_then(|folder| folder.read(|_| {}));
    model.map(|model| format!("{LOCAL}{}", model.hash)).map_err(|unusable| unusable.to_string())
}

/// The reason why a process with an id of its own cannot read these files; none if it can.
fn hidden(folder: &Path, own_ids: bool) -> Option<String> {
    if !own_ids {
        return None;
    }
    if folder.starts_with("/tmp") {
        return Some("it lies below /tmp, where each process has a folder of its own".to_owned());
    }
    let files = manifest::MODEL_FILES.iter().map(|name| (folder.join(name), 0o004));
    let folders = folder.ancestors().map(|folder| (PathBuf::from(folder), 0o001));
    // A missing file is reported by the process that opens it.
    let closed = |(path, bit): &(PathBuf, u32)| std::fs::metadata(path).is_ok_and(|at| at.mode() & bit == 0);
    let (path, _) = files.chain(folders).find(closed)?;
    Some(format!(
        "embedder, which has an id of its own, may not read {}",
        path.to_string_lossy().escape_debug()
    ))
}

/// Reads `[memory] embedder`.
#[must_use]
pub fn embedder(
    memory: &View<'_>,
    outside: &Outside,
    local: Option<&Embedder>,
    problems: &mut Problems,
) -> Option<String> {
    let named = memory.text("embedder")?;
    if named == OWN {
        if local.is_none() {
            let what = "there is no model of this machine";
            problems.add(
                memory.line("embedder"),
                &memory.key("embedder"),
                what,
                "`[embedder] folder` with it",
            );
        }
        return local.map(|local| local.name.clone());
    }
    let providers = outside.model.providers.iter();
    let of_providers = providers.flat_map(|(provider, at)| {
        let embedding = at.models.iter().filter(|(_, model)| model.embeds);
        embedding.map(move |(model, _)| format!("{provider}/{model}"))
    });
    let mut known: Vec<String> = of_providers.collect();
    known.extend([OFFLINE, OWN].map(str::to_owned));
    if known.contains(&named) {
        return Some(named);
    }
    let what = format!("there is no model {} that makes vectors{}", quoted(&named), nearest(&named, &known));
    let valid = listed(known.iter().map(String::as_str));
    problems.add(memory.line("embedder"), &memory.key("embedder"), what, valid);
    None
}
