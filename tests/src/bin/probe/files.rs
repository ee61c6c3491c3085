//! Files: what its task names is tried, and how each came out is said by its errno's name.

use crate::say;
use manifest::{Place, Row};
use nix::errno::Errno;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

/// The paths of the row can be opened by this uid in this jail while nothing is sealed yet: the obstacle
/// later is the seal alone.
pub(crate) fn before_the_seal(row: &Row) {
    for open in row.opens {
        if let Place::System(path) = open.place {
            said("before the seal", path, File::open(path).map(drop));
        }
    }
}

/// Other processes of the same parent: looked into before the seal, when only what they did themselves protects them
/// from a process of the same uid.
pub(crate) fn peers() {
    let status = |pid: &str| fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let parent = |status: &str| status.lines().find(|line| line.starts_with("PPid:")).map(str::to_owned);
    let own = parent(&status("self"));
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().into_string().ok());
    for pid in pids.filter(|pid| *pid != std::process::id().to_string() && parent(&status(pid)) == own) {
        for file in ["mem", "environ", "maps", "fd/3"] {
            let path = format!("/proc/{pid}/{file}");
            let came =
                if file == "fd/3" { fs::read_link(&path).map(drop) } else { File::open(&path).map(drop) };
            said(&format!("peer {file}"), &pid, came);
        }
    }
}

/// Tries one: a verb and a path.
pub(crate) fn attempt(item: &str) {
    let Some((verb, path)) = item.split_once(' ') else { return };
    let came = match verb {
        "read" => File::open(path).and_then(|file| file.read_at(&mut [0], 0).map(drop)),
        "list" => fs::read_dir(path).and_then(|mut entries| entries.try_for_each(|entry| entry.map(drop))),
        "write" => OpenOptions::new().write(true).open(path).map(drop),
        "append" => OpenOptions::new().append(true).open(path).map(drop),
        "create" => OpenOptions::new().write(true).create_new(true).open(path).map(drop),
        "folder" => fs::create_dir(path),
        "remove" => fs::remove_file(path),
        "rename" => fs::rename(path, "probe-moved"),
        "keep" => keep(path),
        _ => Err(io::ErrorKind::Unsupported.into()),
    };
    said(verb, path, came);
}

fn said(verb: &str, path: &str, came: io::Result<()>) {
    match came {
        Ok(()) => say(&format_args!("{verb} {path}: ok")),
        Err(error) => {
            say(&format_args!("{verb} {path}: {:?}", Errno::from_raw(error.raw_os_error().unwrap_or(0))))
        }
    }
}

/// The steps by which a process replaces a file of its own: make, write, make durable, rename, remove.
fn keep(path: &str) -> io::Result<()> {
    let (first, second) = (format!("{path}/probe-new"), format!("{path}/probe-renamed"));
    let mut file = File::create(&first)?;
    file.write_all(b"kept")?;
    file.sync_all()?;
    fs::rename(&first, &second)?;
    let mut same = [0; 4];
    File::open(&second)?.read_exact_at(&mut same, 0)?;
    fs::remove_file(&second)?;
    if same == *b"kept" { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}
