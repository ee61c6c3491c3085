//! The copy that is made while every process stands still: the state directory's files and folders, in a folder beside
//! it, where the file system can share the bytes instead of copying them. It follows no link and opens nothing but
//! regular files.

use super::contents::{Kind, LeftOut, Member, PATH};
use super::fault::Fault;
use crate::failure::Failure;
use nix::fcntl::{Flock, FlockArg};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// How the folder of a copy begins.
const PREFIX: &str = ".cordon-backup-";
/// What is made anew at each start, or is agentd's, which does not stand still; and what is on its way out.
const NOT_STATE: &[&str] = &["stage", "run", "logs", "removed"];
/// Where workspaces are: what an agent made may be of any kind and mode, and must not stop a backup.
const WORKSPACES: &str = "runner";
/// Why something of an agent's is not copied.
const UNREADABLE: &str = "it may not be read";

/// A folder beside the state directory, gone with this value. One that a killed program left is removed by the next.
pub(super) struct Staging {
    folder: TempDir,
    /// Says that somebody still works in it.
    _lock: Flock<File>,
}

/// What a copy came to.
#[derive(Default)]
pub(super) struct Copied {
    /// What was copied, sums and bytes of files still to be filled in.
    pub(super) members: Vec<Member>,
    /// What was not, and why.
    pub(super) left_out: Vec<LeftOut>,
}

impl Staging {
    /// Makes one in the folder that `state` is in.
    ///
    /// # Errors
    /// What the kernel says.
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

/// Removes copies that nobody works in any more: they hold the state in the clear.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if ours && entry.file_type().is_ok_and(|kind| kind.is_dir()) && locked(&entry.path()).is_ok() {
            // One that cannot be removed is somebody else's.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Copies what is in `state` into `staging`, for as long as `go_on` says; without secrets unless they are asked for.
///
/// # Errors
/// A file that cannot be read or written, or that it was to stop.
pub(super) fn copy(
    state: &Path,
    staging: &Path,
    secrets: bool,
    go_on: &dyn Fn() -> Result<(), Fault>,
) -> Result<Copied, Failure> {
    let mut copied = Copied::default();
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        for name in names(&state.join(&folder))? {
            go_on()?;
            let path = folder.join(&name);
            let here = state.join(&path);
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
            let done =
                one(&here, &staging.join(&path), &path, &meta).map_err(|cause| failure(&here, cause))?;
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

/// Returns whether a backup has it: at the top the folders of processes alone; what is a secret only if asked for.
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

/// What became of something; that it was left out is no failure.
enum Done {
    Copied,
    LeftOut(&'static str),
}

/// Copies one file, or makes one folder.
fn one(from: &Path, to: &Path, path: &Path, meta: &fs::Metadata) -> io::Result<Done> {
    let bytes = path.as_os_str().len();
    if path.to_str().is_none() || bytes > PATH {
        return Ok(Done::LeftOut("its name is no text, or too long"));
    }
    let kind = meta.file_type();
    if !kind.is_dir() && !kind.is_file() {
        return Ok(Done::LeftOut("neither a file nor a folder"));
    }
    // Looked at before anything is made of it: a workspace's owner is its agent, who may have closed it to everybody.
    let opened = if kind.is_dir() { fs::read_dir(from).map(drop) } else { file(from, to, meta) };
    match opened {
        Ok(()) if kind.is_dir() => fs::create_dir(to).map(|()| Done::Copied),
        Ok(()) => Ok(Done::Copied),
        Err(error) if is_closed(path, &error) => Ok(Done::LeftOut(UNREADABLE)),
        Err(error) => Err(error),
    }
}

/// Returns whether an agent closed it to everybody.
fn is_closed(path: &Path, error: &io::Error) -> bool {
    error.kind() == ErrorKind::PermissionDenied && path.starts_with(WORKSPACES)
}

/// The kernel shares the bytes where the file system can, and copies them otherwise.
fn file(from: &Path, to: &Path, meta: &fs::Metadata) -> io::Result<()> {
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
    let mut source = OpenOptions::new().read(true).custom_flags(flags).open(from)?;
    let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut source, &mut copy)?;
    copy.set_modified(meta.modified()?)
}

impl Copied {
    /// Notes what became of it; whether it is a folder to go on in.
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
    use super::*;
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
    fn links_sockets_and_pipes_are_not_followed_and_are_told() {
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
    fn what_an_agent_closed_to_everybody_is_told_and_stops_no_backup() {
        let (_folder, state) = state();
        let closed = state.join("runner/00/closed");
        fs::write(&closed, "x").unwrap();
        fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
        let staging = Staging::beside(&state).unwrap();
        let copied = copy(&state, staging.path(), false, &|| Ok(())).unwrap();
        // Root may read it all the same.
        let told = copied.left_out.iter().any(|left| left.path == "runner/00/closed");
        assert_eq!(told, !nix::unistd::geteuid().is_root());
    }

    #[test]
    fn a_copy_that_nobody_works_in_any_more_is_removed_by_the_next_and_one_under_way_is_not() {
        let (folder, state) = state();
        let left = folder.path().join(format!("{PREFIX}left"));
        fs::create_dir(&left).unwrap();
        let first = Staging::beside(&state).unwrap();
        let second = Staging::beside(&state).unwrap();
        assert!(!left.exists() && first.path().exists() && second.path().exists());
    }

    #[test]
    fn it_stops_when_it_is_told_to() {
        let (_folder, state) = state();
        let staging = Staging::beside(&state).unwrap();
        let stopped = copy(&state, staging.path(), false, &|| Err(Fault::Interrupted));
        assert!(
            matches!(stopped, Err(Failure::Backup(broken)) if matches!(broken.fault, Fault::Interrupted))
        );
    }
}
