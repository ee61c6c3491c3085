//! Decides if an existing folder may be the host's state or runtime directory, by its owner, its mode, and the names in it and in
//! a few of its folders. It opens no file and changes nothing. agentd sets modes there and removes what an earlier run left:
//! done to a folder of another owner or program, such as `/tmp`, that breaks a machine.

use crate::exit::{Fault, at};
use manifest::{folders, row_named};
use std::fs::{self, DirEntry, FileType, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// The folder of the state directory that holds removed workspaces until they are deleted.
pub(crate) const REMOVED: &str = "removed";
/// The folder of the state directory that holds the workspaces of runners' probes.
pub(crate) const PROBES: &str = "probes";

/// The sticky bit: everybody may write, and nobody may remove another's file.
const STICKY: u32 = 0o1000;
const BY_ALL: u32 = 0o002;
const BY_GROUP: u32 = 0o020;

/// The use of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Everything durable.
    State,
    /// Sockets and files that do not outlive the host.
    Runtime,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The folder does not exist.
    Missing,
    /// A folder with only Cordon's own files in it.
    Own,
    /// A folder that a host has used and that holds other files too: agentd leaves its mode alone.
    Shared,
}

/// Checks a folder. With `owner` it must belong to that uid.
///
/// # Errors
/// [`Fault::NotOurs`] if no host may use it; [`Fault::Place`] if it cannot be read.
pub(crate) fn look(path: &Path, place: Place, owner: Option<u32>) -> Result<Found, Fault> {
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Missing),
        Err(error) => return Err(at("cannot look at", path)(error)),
    };
    let refused = |why| Fault::NotOurs { path: path.display().to_string(), why };
    judge(&about, owner).map_err(refused)?;
    match contents(path, place).map_err(at("cannot look into", path))? {
        (None, _) => Ok(Found::Own),
        (Some(_), true) if about.mode() & BY_GROUP == 0 => Ok(Found::Shared),
        (Some(name), true) => Err(refused(format!("its group can write it, and it holds {name}"))),
        (Some(name), false) => Err(refused(format!("it holds {name}"))),
    }
}

fn judge(about: &Metadata, owner: Option<u32>) -> Result<(), String> {
    let (mode, uid) = (about.mode() & 0o7777, about.uid());
    if !about.is_dir() {
        return Err("it is no folder".to_owned());
    }
    if mode & (STICKY | BY_ALL) != 0 {
        return Err(format!("it is everybody's (mode {mode:04o})"));
    }
    match owner.filter(|owner| *owner != uid) {
        Some(owner) => Err(format!("it belongs to uid {uid}, and agentd runs as {owner}")),
        None => Ok(()),
    }
}

/// Returns the first name that is not Cordon's, and true if a host has run here.
fn contents(path: &Path, place: Place) -> io::Result<(Option<String>, bool)> {
    let entries = fs::read_dir(path)?.collect::<io::Result<Vec<DirEntry>>>()?;
    let has = |name: &str, is: fn(&FileType) -> bool| {
        entries.iter().any(|entry| entry.file_name() == name && entry.file_type().is_ok_and(|kind| is(&kind)))
    };
    let recorded = has("audit", FileType::is_dir);
    let used = match place {
        Place::State => has("lock", FileType::is_file) && (recorded || has("record.id", FileType::is_file)),
        Place::Runtime => has("control.sock", FileType::is_socket),
    };
    // A state that was restored from a backup has the record and no lock.
    let is_known = used || (place == Place::State && recorded);
    // A start makes the lock before any folder. The lock is empty; other programs' locks often hold a pid.
    let is_lock = |entry: &DirEntry| entry.metadata().is_ok_and(|lock| lock.is_file() && lock.len() == 0);
    let is_begun = place == Place::State && entries.iter().any(|it| it.file_name() == "lock" && is_lock(it));
    for entry in &entries {
        let name = entry.file_name();
        let is_ours = match name.to_str() {
            None => false,
            Some(name) if is_known => is_left(name, place),
            Some(name) if is_begun && row_named(name).is_some() => true,
            Some(name) => is_harmless(&entry.path(), name, place)?,
        };
        if !is_ours {
            return Ok((Some(format!("{name:?}, which is not Cordon's")), used));
        }
    }
    Ok((None, used))
}

/// Returns true for a name that a host leaves behind.
fn is_left(name: &str, place: Place) -> bool {
    match place {
        Place::State => folders::is_of_state(name),
        Place::Runtime => folders::RUNTIME.contains(&name),
    }
}

/// Returns true for a name that may be in a folder that no host has used: put there for the first start, kept there by `agentctl`,
/// or left by a start that failed early. Many folders hold a `tmp`, `model` or `web`: it refuses one whose content agentd would
/// remove, or would give to a process.
fn is_harmless(path: &Path, name: &str, place: Place) -> io::Result<bool> {
    let holds_only = |names: &[&str]| -> io::Result<bool> {
        for entry in fs::read_dir(path)? {
            let name = entry?.file_name();
            if !names.iter().any(|known| name == *known) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    match (name, place) {
        (folders::ROOT_OF_DISK, _) => Ok(true),
        ("lock" | "history" | "hook.log", Place::State) => Ok(path.symlink_metadata()?.is_file()),
        (REMOVED | PROBES, Place::State) | ("tmp", Place::Runtime) => {
            Ok(path.symlink_metadata()?.is_dir() && holds_only(&[])?)
        }
        // The default runtime directory, if the environment names none.
        ("run", Place::State) => Ok(path.symlink_metadata()?.is_dir() && holds_only(&["cordon"])?),
        // Replies of the scripted provider may be put there before the first start.
        ("model", Place::State) => Ok(path.symlink_metadata()?.is_dir() && holds_only(&["scripts"])?),
        (_, Place::State) => {
            let is_folder = row_named(name).is_some() && path.symlink_metadata()?.is_dir();
            Ok(is_folder && holds_only(&[])?)
        }
        (_, Place::Runtime) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    /// Checks a folder of this mode with these names in it. A name that ends in `/` is a folder; one that ends in `.sock` is a
    /// socket.
    fn found(place: Place, mode: u32, names: &[&str]) -> Result<Found, String> {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if name.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else if name.ends_with(".sock") {
                drop(UnixListener::bind(path).unwrap());
            } else {
                fs::write(path, "").unwrap();
            }
        }
        fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        look(folder.path(), place, Some(nix::unistd::geteuid().as_raw())).map_err(|fault| fault.to_string())
    }

    // Holds P7-89.
    #[test]
    fn a_shared_folder_or_a_home_is_refused_and_one_of_cordon_is_not() {
        use Place::{Runtime, State};
        let names =
            ["lock", "audit/", "router/", "logs/x", "stage/", "run/cordon/", "removed/1/", "probes/x"];
        for (place, mode, names, expected) in [
            (State, 0o755, &[][..], Found::Own),
            (State, 0o775, &names, Found::Own),
            (State, 0o700, &["audit/key", "router/queue.db", "probes/x"], Found::Own),
            (State, 0o700, &["lock", "record.id", "logs/", "lost+found/"], Found::Own),
            (State, 0o755, &["lock", "audit/", "notes.txt"], Found::Shared),
            (Runtime, 0o755, &[], Found::Own),
            (Runtime, 0o755, &["control.sock", "gateway.sock", "tmp/x"], Found::Own),
            (Runtime, 0o755, &["control.sock", "notes.txt"], Found::Shared),
        ] {
            assert_eq!(found(place, mode, names), Ok(expected), "{mode:o} {names:?}");
        }
        for (place, mode, names, why) in [
            (State, 0o1777, &[][..], "it is everybody's (mode 1777)"),
            (State, 0o1755, &["lock", "audit/"], "it is everybody's (mode 1755)"),
            (Runtime, 0o777, &["control.sock"], "it is everybody's (mode 0777)"),
            (State, 0o755, &["notes.txt"], "it holds \"notes.txt\", which is not Cordon's"),
            (State, 0o700, &["audit/", ".bashrc"], "it holds \".bashrc\", which is not Cordon's"),
            (State, 0o775, &["lock", "audit/", "notes.txt"], "its group can write it, and it holds \"notes"),
        ] {
            let said = found(place, mode, names).unwrap_err();
            assert!(
                said.contains(why) && said.contains("a folder of Cordon's own"),
                "{mode:o} {names:?}: {said}"
            );
        }
    }

    // Holds P7-89.
    #[test]
    fn common_names_make_no_host_and_files_for_the_first_start_are_accepted() {
        use Place::{Runtime, State};
        for (place, names) in [
            (State, &["model/scripts/slow"][..]),
            (State, &["lock", "router/queue.db", "lost+found/", "removed/", "probes/"]),
            (State, &["memory/", "web/"]),
            (State, &["history", "hook.log", "run/cordon/"]),
            (Runtime, &["tmp/", "lost+found/"]),
        ] {
            assert_eq!(found(place, 0o755, names), Ok(Found::Own), "{names:?}");
        }
        for (place, names, why) in [
            (State, &["tmp/"][..], "\"tmp\""),
            (State, &["logs/"], "\"logs\""),
            (State, &["lock", "logs/"], "\"logs\""),
            (State, &["lock/"], "\"lock\""),
            (State, &["run/other/"], "\"run\""),
            (State, &["removed/mine"], "\"removed\""),
            (State, &["model/", "probes/mine"], "\"probes\""),
            (State, &["model/weights"], "\"model\""),
            (State, &["web/index.html", "memory/"], "\"web\""),
            (State, &["web"], "\"web\""),
            (Runtime, &["tmp/mine"], "\"tmp\""),
            (Runtime, &["lock"], "\"lock\""),
            (Runtime, &["memory/"], "\"memory\""),
        ] {
            let said = found(place, 0o755, names).unwrap_err();
            assert!(said.contains(&format!("it holds {why}, which is not Cordon's")), "{names:?}: {said}");
        }
        let theirs = tempfile::tempdir().unwrap();
        fs::create_dir(theirs.path().join("web")).unwrap();
        fs::write(theirs.path().join("web/index.html"), "").unwrap();
        fs::write(theirs.path().join("lock"), "4711\n").unwrap();
        assert!(
            contents(theirs.path(), State).unwrap().0.is_some(),
            "another program's lock vouches for nothing"
        );
        let kept = [REMOVED, PROBES];
        assert!(kept.iter().all(|name| folders::is_of_state(name)), "{kept:?}");
    }

    // Holds P7-89.
    #[test]
    fn a_missing_folder_is_made_and_another_users_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let look = |path: &Path, owner| look(path, Place::State, owner);
        assert!(matches!(look(&folder.path().join("new"), Some(0)), Ok(Found::Missing)));
        let other = folder.path().metadata().unwrap().uid() + 1;
        let said = look(folder.path(), Some(other)).unwrap_err().to_string();
        assert!(said.contains("it belongs to uid"), "{said}");
        fs::write(folder.path().join("file"), "").unwrap();
        let said = look(&folder.path().join("file"), None).unwrap_err().to_string();
        assert!(said.contains("it is no folder"), "{said}");
    }
}
