//! Owners and modes of the host's folders and of the files in them. With `--fix`, the folders become as agentd itself
//! would make them at its next start; databases and workspaces are left alone.

use super::repair::{self, Wanted};
use super::{Row, Scene, Status, contents};
use manifest::{Process, TABLE, is_actor};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files of secrets below the state directory: only their owner may read them.
const KEYS: [&str; 3] = ["audit/key", "credproxy/vault", "credproxy/vault.key"];
/// Ids and names of rows.
const FOLDERS: (&str, &str) = ("permissions.folders", "folders of the processes");
const SECRETS: (&str, &str) = ("permissions.keys", "keys");
/// Folders of agentd's own, and their modes.
const OWN: [(&str, u32); 2] = [("stage", 0o700), ("runner", 0o711)];

/// The state directory, as agentd would judge it.
enum Found {
    Missing,
    /// Writable for everybody: no host accepts it.
    Refused,
    /// No host has run there. Its right owner is not known here: agentd decides that, and sets its mode.
    Unused,
    /// A host has run there, and it has other files: its mode is left to its owner.
    Shared,
    Own,
}

fn found(state: &Path) -> Found {
    let Ok(about) = state.metadata() else { return Found::Missing };
    if about.mode() & 0o1002 != 0 {
        return Found::Refused;
    }
    let holds = |name: &str| state.join(name);
    if !holds("lock").is_file() || !(holds("audit").is_dir() || holds("record.id").is_file()) {
        return Found::Unused;
    }
    // A user who may not list the directory is not its owner, and repairs nothing there.
    let mut names = state.read_dir().into_iter().flatten().flatten().map(|entry| entry.file_name());
    let is_ours = |name: OsString| name.to_str().is_some_and(manifest::folders::is_of_state);
    if names.all(is_ours) { Found::Own } else { Found::Shared }
}

/// The rows of permissions. Below a folder of no host nothing is judged or repaired: other programs have folders of the
/// same names.
pub(super) fn rows(scene: &Scene) -> Vec<Row> {
    let found = found(&scene.state);
    let below = match found {
        Found::Own | Found::Shared => vec![folders(scene), contents::row(scene), keys(scene)],
        Found::Missing | Found::Refused | Found::Unused => passed_over(scene),
    };
    [vec![state(scene, &found)], below, vec![config(scene)]].concat()
}

fn passed_over(scene: &Scene) -> Vec<Row> {
    let message = format!("no host has run in {}: nothing of it was looked at", scene.state.display());
    [FOLDERS, contents::FILES, SECRETS].map(|(id, name)| Row::new(id, name, Status::Pass, &*message)).into()
}

fn state(scene: &Scene, found: &Found) -> Row {
    let wanted = Wanted { path: scene.state.clone(), mode: 0o711, owner: Some((scene.uid, None)) };
    let mut row = Row::new("permissions.state", "state directory", Status::Pass, String::new());
    let path = wanted.path.display();
    match found {
        Found::Missing => {
            row.message = format!("{path} is not there yet: a start makes it");
            row.mended.extend(scene.fix.then(|| wanted.repair().ok()).flatten());
        }
        Found::Refused => {
            let mode = wanted.path.metadata().map_or(0, |about| about.mode() & 0o7777);
            row.status = Status::Fail;
            row.message = format!(
                "{path} is everybody's (mode {mode:04o}) and no host's to use; name a folder of Cordon's own with --state-dir"
            );
        }
        Found::Unused => row.message = format!("no host has run in {path} yet: a start sets its mode"),
        Found::Shared => {
            row.message = format!("{path} holds something else as well: its mode is its owner's affair");
        }
        Found::Own => judge(&mut row, scene, &[wanted]),
    }
    row
}

fn folders(scene: &Scene) -> Row {
    let mut row = Row::new(FOLDERS.0, FOLDERS.1, Status::Pass, String::new());
    let own = Some((scene.uid, None)).filter(|_| scene.has_own_uids());
    // A process that the configuration may leave out has a folder once it was started.
    let there = |row: &manifest::Row| {
        is_actor(row.process)
            && (!row.optional || scene.state.join(row.process.name()).symlink_metadata().is_ok())
    };
    let of_processes = TABLE.iter().filter(|row| there(row)).map(|row| Wanted {
        path: scene.state.join(row.process.name()),
        mode: if row.shows.is_some() { 0o711 } else { 0o700 },
        owner: owner(scene, row.process),
    });
    let logs = Wanted { path: scene.state.join("logs"), mode: 0o700, owner: owner(scene, Process::Control) };
    let of_agentd =
        OWN.iter().map(|(name, mode)| Wanted { path: scene.state.join(name), mode: *mode, owner: own });
    let wanted: Vec<Wanted> = of_processes.chain([logs]).chain(of_agentd).collect();
    judge(&mut row, scene, &wanted);
    row
}

/// The owner of a process's folder: the user it runs as, by the running host or by the installed users. If neither is
/// known, owners are left as they are.
pub(super) fn owner(scene: &Scene, process: Process) -> Option<(u32, Option<u32>)> {
    if !scene.has_own_uids() {
        return Some((scene.uid, None));
    }
    let running = scene.host.as_ref().and_then(|host| {
        host.processes.iter().find(|it| it.name.as_str() == process.name() && it.pid != 0).map(|it| it.uid)
    });
    if let Some(uid) = running {
        return Some((uid, None));
    }
    let (uid, gid) = *scene.installed.get(&process)?;
    Some((uid, Some(gid)))
}

/// Compares each folder with its right state, repairs it with `--fix`, and reports the remaining faults.
fn judge(row: &mut Row, scene: &Scene, wanted: &[Wanted]) {
    let mut wrong = Vec::new();
    let mut unseen = 0_usize;
    for folder in wanted {
        let fault = match folder.fault() {
            Ok(None) => continue,
            Ok(Some(fault)) => fault,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                unseen += 1;
                continue;
            }
            Err(error) => error.to_string(),
        };
        match scene.fix.then(|| folder.repair()) {
            Some(Ok(what)) => row.mended.push(what),
            Some(Err(error)) => wrong.push(format!("{}: {fault}; mending: {error}", folder.path.display())),
            None => wrong.push(format!("{}: {fault}", folder.path.display())),
        }
    }
    (row.status, row.message) = if !wrong.is_empty() {
        (Status::Fail, format!("{}; --fix mends it", wrong.join("; ")))
    } else if unseen > 0 {
        (
            Status::Warn,
            format!("{unseen} of {} may not be looked at; ask as their owner or as root", wanted.len()),
        )
    } else {
        (Status::Pass, format!("{} with their owners and modes", wanted.len()))
    };
}

/// Keys that others can read count as known to them: the mode is repaired, and the row still fails once.
fn keys(scene: &Scene) -> Row {
    let mut row = Row::new(SECRETS.0, SECRETS.1, Status::Pass, "nobody else can read them");
    let mut wrong = Vec::new();
    for path in KEYS.map(|name| scene.state.join(name)) {
        let Ok(about) = path.symlink_metadata() else { continue };
        if about.mode() & 0o077 == 0 && about.is_file() {
            continue;
        }
        wrong.push(format!("{} has mode {:04o}", path.display(), about.mode() & 0o7777));
        if scene.fix && about.is_file() {
            match repair::only_owner(&path) {
                Ok(what) => row.mended.push(what),
                Err(error) => wrong.push(format!("mending: {error}")),
            }
        }
    }
    if !wrong.is_empty() {
        row.status = Status::Fail;
        row.message = format!(
            "{}: others could read it; --fix takes that away, and then give new keys",
            wrong.join("; ")
        );
    }
    row
}

fn config(scene: &Scene) -> Row {
    let mut row = Row::new("permissions.config", "configuration file", Status::Pass, String::new());
    let Some(path) = &scene.config else {
        row.message = "no file at the usual place; the defaults apply".to_owned();
        return row;
    };
    let faults: Vec<String> = above(path).into_iter().filter_map(|it| writable(&it, scene.uid)).collect();
    if faults.is_empty() {
        row.message = format!("{}: only its owner can change it", path.display());
        return row;
    }
    row.message = faults.join("; ");
    if scene.fix
        && let Ok(what) = repair::not_writable_by_others(path)
        && writable(path, scene.uid).is_none()
    {
        row.mended.push(what);
    }
    let left: Vec<String> = above(path).into_iter().filter_map(|it| writable(&it, scene.uid)).collect();
    if !left.is_empty() {
        row.status = Status::Fail;
        row.message = left.join("; ");
    }
    row
}

/// The file and its folder: a user who can write a folder can put another file there.
fn above(path: &Path) -> Vec<PathBuf> {
    std::iter::once(path).chain(path.parent()).map(Path::to_owned).collect()
}

/// Why others than root and `uid` can write it; the sticky bit keeps a folder's files their owners'.
pub(super) fn writable(path: &Path, uid: u32) -> Option<String> {
    let about = path.metadata().ok()?;
    if about.uid() != 0 && about.uid() != uid {
        return Some(format!("{} belongs to uid {}", path.display(), about.uid()));
    }
    let sticky = about.is_dir() && about.mode() & 0o1000 != 0;
    let by_others = about.mode() & 0o022 != 0 && !sticky;
    by_others
        .then(|| format!("{} can be written by others (mode {:04o})", path.display(), about.mode() & 0o7777))
}
