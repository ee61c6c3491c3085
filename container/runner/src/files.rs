//! A person's own file, put into the workspace or read from it, by the same tools and bounds as an agent's.

use crate::gate::Gate;
use crate::places::Places;
use crate::{FAILED, RunnerFault};
use ipc_proto::runner_gate::Ending;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

const PIECE: usize = 32 * 1024;
const DONE: Ending = Ending::Exited { status: 0 };

/// Puts a file.
pub(crate) fn put(path: &str, bytes: &[u8], places: &Places) -> Ending {
    let Some(path) = beneath(places, path) else { return FAILED };
    // The workspace itself is there.
    let made = path.parent().filter(|folder| *folder != places.workspace).map_or(Ok(()), fs::create_dir_all);
    if made.and_then(|()| anew(&path)?.write_all(bytes)).is_ok() { DONE } else { FAILED }
}

/// A new file, in the place of one that may stand there: a link must not be written through, and a FIFO not waited for.
fn anew(path: &Path) -> io::Result<fs::File> {
    let make = || fs::File::create_new(path);
    match make() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path).and_then(|()| make())
        }
        made => made,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use manifest::command::Mode;
    use nix::sys::stat;
    use std::os::unix::fs::symlink;

    #[test]
    fn an_obstacle_to_a_put_file_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        let workspace = folder.path().join("workspace");
        let places = Places { mode: Mode::Flat, workspace: workspace.clone(), tmp: folder.path().to_owned() };
        type Make = fn(&Path);
        let stands: [(&str, Make, Ending); 6] = [
            ("nothing", |_| (), DONE),
            ("a longer file", |at| fs::write(at, "what was there before").unwrap(), DONE),
            ("a link", |at| symlink("../other", at).unwrap(), DONE),
            ("a link to nothing", |at| symlink("../nothing", at).unwrap(), DONE),
            ("a FIFO", |at| nix::unistd::mkfifo(at, stat::Mode::S_IRWXU).unwrap(), DONE),
            ("a folder", |at| fs::create_dir(at).unwrap(), FAILED),
        ];
        for (what, make, ending) in stands {
            fs::create_dir(&workspace).unwrap();
            fs::write(&other, "kept").unwrap();
            make(&workspace.join("file"));
            assert_eq!(put("file", b"new", &places), ending, "{what}");
            let came = fs::read(workspace.join("file")).ok();
            assert_eq!(came, (ending == DONE).then(|| b"new".to_vec()), "{what}");
            assert_eq!(
                (fs::read(&other).unwrap(), fs::read_dir(folder.path()).unwrap().count()),
                (b"kept".to_vec(), 2)
            );
            fs::remove_dir_all(&workspace).unwrap();
        }
    }
}
