//! The copy that is made while every process stands still: the state directory's files and folders, in a folder beside
//! it, so that the file system may share the bytes instead of copying them. It follows no link and opens only regular
//! files.

use super::contents::{Kind, LeftOut, Member, PATH};
use super::data::{self, Error, GoOn, Largest};
use crate::failure::Failure;
use nix::fcntl::{Flock, FlockArg};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// The prefix of a copy's folder.
const PREFIX: &str = ".cordon-backup-";
/// Folders that each start makes anew, those of agentd, which does not stand still, and the folder of removed files.
const NOT_STATE: &[&str] = &["stage", "run", "logs", "removed"];
/// The folder of workspaces: an agent's files may be of any kind and mode, and must not stop a backup.
const WORKSPACES: &str = "runner";
/// The reason why a file of an agent is not copied.
const UNREADABLE: &str = "it may not be read";

/// A folder beside the state directory, removed with this value. The next one removes folders of killed programs.
pub(super) struct Staging {
    folder: TempDir,
    /// Held while this program works in it.
    _lock: Flock<File>,
}

/// The result of a copy.
#[derive(Default)]
pub(super) struct Copied {
    /// The copied files and folders. The sums and sizes of files are filled in later.
    pub(super) members: Vec<Member>,
    /// Files that were not copied, with the reasons.
    pub(super) left_out: Vec<LeftOut>,
}

impl Staging {
    /// Makes one in the folder that `state` is in.
    ///
    /// # Errors
    /// The kernel's error.
    pub(super) fn beside(state: &Path) -> Result<Self, Failure> {
        let parent = state.parent().unwrap_or(Path::new("/"));
        let failed = |cause| Failure::File { path: parent.to_owned(), cause };
        sweep(parent);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent).map_err(failed)?;
        let lock = locked(folder.path()).map_err(failed)?;
        Ok(Self { folder, _lock: lock })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn locked(folder: &Path) -> io::Result<Flock<File>> {
    let file = File::open(folder)?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno.into())
}

/// Removes copies of killed programs: they hold the state in the clear.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if ours && entry.file_type().is_ok_and(|kind| kind.is_dir()) && locked(&entry.path()).is_ok() {
            // A folder that cannot be removed is another user's.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Copies the contents of `state` into `staging` while `go_on` permits; without secrets unless they are asked for.
///
/// # Errors
/// A file cannot be read or written, or the copy was stopped.
pub(super) fn copy(state: &Path, staging: &Path, secrets: bool, go_on: GoOn<'_>) -> Result<Copied, Failure> {
    let (mut copied, mut largest) = (Copied::default(), Largest::default());
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        for name in names(&state.join(&folder))? {
            let path = folder.join(&name);
            let here = state.join(&path);
            go_on().map_err(|stop| largest.failure(&here, Error::Stop(stop)))?;
            let meta = match fs::symlink_metadata(&here) {
                Ok(meta) => meta,
                Err(error) if is_closed(&path, &error) => {
                    copied.leave(&path, UNREADABLE);
                    continue;
                }
                Err(cause) => return Err(failure(&here, cause)),
            };
            if !is_state(&path, &meta, secrets) {
                continue;
            }
            largest.see(&path, &meta);
            let done = one(&here, &staging.join(&path), &path, &meta, go_on)
                .map_err(|error| largest.failure(&here, error))?;
            if copied.take(&path, &meta, done).map_err(|cause| failure(&here, cause))? {
                open.push(path);
            }
        }
    }
    Ok(copied)
}

fn failure(path: &Path, cause: io::Error) -> Failure {
    Failure::File { path: path.to_owned(), cause }
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<std::ffi::OsString>, Failure> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(|cause| failure(folder, cause))? {
        names.push(entry.map_err(|cause| failure(folder, cause))?.file_name());
    }
    names.sort();
    Ok(names)
}

/// Returns true if a backup includes the path: at the top only the folders of processes, and secrets only if asked for.
fn is_state(path: &Path, meta: &fs::Metadata, secrets: bool) -> bool {
    let mut parts = path.iter().filter_map(OsStr::to_str);
    let (top, name) = (parts.next().unwrap_or_default(), path.file_name().and_then(OsStr::to_str));
    if path.iter().count() == 1 && (!meta.is_dir() || NOT_STATE.contains(&top)) {
        return false;
    }
    secrets || !is_secret(top, name.unwrap_or_default())
}

/// The vault with its key, and the key that the record is signed with, half written ones too.
fn is_secret(top: &str, name: &str) -> bool {
    match top {
        "credproxy" => true,
        "audit" => name.starts_with("key") && !name.starts_with("key.pub"),
        _ => false,
    }
}

/// The outcome for one file; a file that is left out is not a failure.
enum Done {
    Copied,
    LeftOut(&'static str),
}

/// Copies one file, or makes one folder.
fn one(from: &Path, to: &Path, path: &Path, meta: &fs::Metadata, go_on: GoOn<'_>) -> Result<Done, Error> {
    let bytes = path.as_os_str().len();
    if path.to_str().is_none() || bytes > PATH {
        return Ok(Done::LeftOut("its name is no text, or too long"));
    }
    let kind = meta.file_type();
    if !kind.is_dir() && !kind.is_file() {
        return Ok(Done::LeftOut("neither a file nor a folder"));
    }
    // Opened first: a workspace's owner is its agent, who may have made a folder unreadable.
    let opened = if kind.is_dir() {
        fs::read_dir(from).map(drop).map_err(Error::Io)
    } else {
        data::copy(from, to, meta, go_on)
    };
    match opened {
        Ok(()) if kind.is_dir() => Ok(fs::create_dir(to).map(|()| Done::Copied)?),
        Ok(()) => Ok(Done::Copied),
        Err(Error::Io(error)) if is_closed(path, &error) => Ok(Done::LeftOut(UNREADABLE)),
        Err(Error::Io(error)) if is_fragmented(path, &error) => {
            fs::remove_file(to)?;
            Ok(Done::LeftOut("it has more than 2^20 holes"))
        }
        Err(error) => Err(error),
    }
}

/// Returns true if an agent made a file of more holes than a backup lists.
fn is_fragmented(path: &Path, error: &io::Error) -> bool {
    error.kind() == ErrorKind::FileTooLarge && path.starts_with(WORKSPACES)
}

/// Returns true if an agent made the file unreadable.
fn is_closed(path: &Path, error: &io::Error) -> bool {
    error.kind() == ErrorKind::PermissionDenied && path.starts_with(WORKSPACES)
}

impl Copied {
    /// Notes the outcome for one path. Returns true for a folder whose contents are to be copied.
    fn take(&mut self, path: &Path, meta: &fs::Metadata, done: Done) -> io::Result<bool> {
        if let Done::LeftOut(why) = done {
            self.leave(path, why);
            return Ok(false);
        }
        let kind = if meta.is_dir() { Kind::Folder } else { Kind::File };
        self.members.push(Member {
            path: path.to_string_lossy().into_owned(),
            kind,
            mode: meta.mode() & 0o777,
            modified: seconds(meta.modified()?),
            size: 0,
            stored: 0,
            sha256: String::new(),
        });
        Ok(kind == Kind::Folder)
    }

    fn leave(&mut self, path: &Path, why: &str) {
        self.left_out.push(LeftOut { path: path.to_string_lossy().into_owned(), why: why.to_owned() });
    }
}

/// Seconds since 1970; what was changed before then counts as then.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

#[cfg(test)]
mod tests {
    use super::super::data::Stop;
    use super::*;
    use crate::failure::backup::Fault;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn state() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let files = [
            "lock",
            "logs/audit.log",
            "run/cordon/x",
            "stage/x",
            "credproxy/vault",
            "credproxy/vault.key",
            "audit/key",
            "audit/key.next",
            "audit/key.new",
            "audit/key.pub",
            "audit/checkpoint",
            "router/queue.db",
            "runner/00/deep/er/notes.md",
        ];
        for file in files {
            let path = state.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        (folder, state)
    }

    fn paths(copied: &Copied) -> Vec<&str> {
        let files = copied.members.iter().filter(|member| member.kind == Kind::File);
        let mut paths: Vec<&str> = files.map(|member| member.path.as_str()).collect();
        paths.sort_unstable();
        paths
    }

    #[test]
    fn the_folders_of_processes_are_copied_and_secrets_only_if_asked_for() {
        let (_folder, state) = state();
        let staging = Staging::beside(&state).unwrap();
        let copied = copy(&state, staging.path(), false, &|| Ok(())).unwrap();
        let expected = ["audit/checkpoint", "audit/key.pub", "router/queue.db", "runner/00/deep/er/notes.md"];
        assert_eq!(paths(&copied), expected);
        for path in expected {
            assert_eq!(fs::read_to_string(staging.path().join(path)).unwrap(), path);
        }
        let with = Staging::beside(&state).unwrap();
        let copied = copy(&state, with.path(), true, &|| Ok(())).unwrap();
        assert_eq!(copied.members.iter().filter(|m| m.kind == Kind::File).count(), expected.len() + 5);
        assert!(copied.left_out.is_empty());
    }

    #[test]
    fn links_sockets_and_pipes_are_not_followed_and_are_listed() {
        let (folder, state) = state();
        let secret = folder.path().join("elsewhere");
        fs::write(&secret, "elsewhere").unwrap();
        let workspace = state.join("runner/00");
        symlink(&secret, workspace.join("link")).unwrap();
        symlink(folder.path(), workspace.join("linked folder")).unwrap();
        nix::unistd::mkfifo(&workspace.join("pipe"), nix::sys::stat::Mode::S_IRUSR).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(workspace.join("socket")).unwrap();
        let staging = Staging::beside(&state).unwrap();
        let copied = copy(&state, staging.path(), true, &|| Ok(())).unwrap();
        let left: Vec<&str> = copied.left_out.iter().map(|left| left.path.as_str()).collect();
        assert_eq!(left, ["link", "linked folder", "pipe", "socket"].map(|name| format!("runner/00/{name}")));
        assert!(!staging.path().join("runner/00/link").exists());
    }

    #[test]
    fn an_unreadable_file_of_an_agent_is_listed_and_stops_no_backup() {
        let (_folder, state) = state();
        let closed = state.join("runner/00/closed");
        fs::write(&closed, "x").unwrap();
        fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
        let staging = Staging::beside(&state).unwrap();
        let copied = copy(&state, staging.path(), false, &|| Ok(())).unwrap();
        // Root may read it all the same.
        let listed = copied.left_out.iter().any(|left| left.path == "runner/00/closed");
        assert_eq!(listed, !nix::unistd::geteuid().is_root());
    }

    #[test]
    fn an_abandoned_copy_is_removed_by_the_next_and_a_live_one_is_not() {
        let (folder, state) = state();
        let left = folder.path().join(format!("{PREFIX}left"));
        fs::create_dir(&left).unwrap();
        let first = Staging::beside(&state).unwrap();
        let second = Staging::beside(&state).unwrap();
        assert!(!left.exists() && first.path().exists() && second.path().exists());
    }

    #[test]
    fn a_copy_stops_on_request() {
        let (_folder, state) = state();
        let staging = Staging::beside(&state).unwrap();
        let stopped = copy(&state, staging.path(), false, &|| Err(Stop::Interrupted));
        assert!(
            matches!(stopped, Err(Failure::Backup(broken)) if matches!(broken.fault, Fault::Interrupted))
        );
    }

    #[test]
    fn holes_are_skipped_and_stay_holes() {
        let (_folder, state) = state();
        let path = state.join("runner/00/holes");
        let file = File::create(&path).unwrap();
        file.set_len(12 << 30).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"data", 7 << 30).unwrap();
        let staging = Staging::beside(&state).unwrap();
        copy(&state, staging.path(), false, &|| Ok(())).unwrap();
        let meta = fs::metadata(staging.path().join("runner/00/holes")).unwrap();
        assert!(meta.len() == 12 << 30 && meta.blocks() < 64, "{}", meta.blocks());
    }

    #[test]
    fn a_copy_that_takes_too_long_names_the_largest_file() {
        let (_folder, state) = state();
        fs::write(state.join("router/large"), vec![1; 1 << 20]).unwrap();
        let holes = File::create(state.join("router/holes")).unwrap();
        holes.set_len(1 << 40).unwrap();
        let staging = Staging::beside(&state).unwrap();
        let late = || {
            let copied = staging.path().join("router/large").exists();
            if copied { Err(Stop::Late) } else { Ok(()) }
        };
        let Err(Failure::Backup(broken)) = copy(&state, staging.path(), false, &late) else {
            panic!("it was copied");
        };
        let message = broken.fault.to_string();
        assert!(message.contains("the largest file is router/large, 1048576 bytes"), "{message}");
    }
}
