//! `backup restore`: restores a backup to an empty folder, with the owners that a host would give. It is read to its end
//! beside that folder first, and moved there only if all of it verifies.
//!
//! Without its signing key a record can have no further entry. Then it becomes a former record, which can still be
//! verified, and the host begins a new one.

use super::contents::{Contents, Kind, Member};
use super::keys::OpenWith;
use super::{read, record};
use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::failure::backup::Fault;
use crate::{sibling, text};
use manifest::settings::{self, Settings};
use serde_json::json;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Where former records are, below the state directory.
const FORMER: &str = "audit/former";
/// The configuration of the system's host.
const CONFIG: &str = "/etc/cordon/cordon.toml";

/// `backup restore`.
#[derive(clap::Args)]
pub(crate) struct Restore {
    /// The backup
    file: PathBuf,
    /// The new state directory; it must be absent or empty
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    #[command(flatten)]
    with: OpenWith,
    /// The configuration of the host that will run on it, which gives the files their owners if root restores; the
    /// system's by default
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Puts a backup back.
pub(super) fn restore(app: &App, restore: &Restore) -> Outcome {
    let into = std::path::absolute(&restore.into)?;
    vacant(&into)?;
    let owners = owners(&into, restore.config.as_deref())?;
    let parent = into.parent().unwrap_or(Path::new("/"));
    let failed = |cause| Failure::File { path: parent.to_owned(), cause };
    let staging = tempfile::Builder::new().prefix(".cordon-restore-").tempdir_in(parent).map_err(failed)?;
    let contents = read::read(&restore.file, &restore.with, staging.path(), &|contents, member| {
        Some(place(contents, member))
    })?;
    if let Some(newer) = contents.newer() {
        return Err(newer.into());
    }
    let own = if contents.secrets { "audit".into() } else { former(&contents) };
    let record = record::check(&staging.path().join(&own))?;
    settle(staging.path(), &contents, owners.as_ref())?;
    fs::rename(staging.path(), &into).map_err(|cause| Failure::File { path: into.clone(), cause })?;
    // There is nothing left to be removed under its old name.
    let _ = staging.keep();
    File::open(parent).and_then(|folder| folder.sync_all()).map_err(failed)?;
    shown(app, &into, &contents, &own, &record)
}

fn shown(app: &App, into: &Path, contents: &Contents, own: &str, record: &record::Record) -> Outcome {
    if let Some(fault) = &record.fault {
        app.out.remark(&format!("the record does not hold, as it did not when the copy was made: {fault}"));
    }
    if !contents.secrets {
        app.out.remark(&format!(
            "secrets were not in the backup: store them again with `agentctl cred set`; the host begins a new record, and \
             the former one is in {own}"
        ));
    }
    let document = json!({
        "into": into,
        "made_ms": contents.made_ms,
        "members": contents.members.len(),
        "secrets": contents.secrets,
        "record": { "at": own, "entries": record.entries, "holds": record.fault.is_none() },
    });
    let made = text::utc(contents.made_ms);
    let sentence =
        format!("{} holds the state of {made}; start the host with --state-dir {0}", into.display());
    Ok(app.out.done(document, &sentence)?)
}

/// Checks that the target is absent or an empty folder.
fn vacant(into: &Path) -> Result<(), Failure> {
    let occupied = || Err(Fault::Occupied(into.to_owned()).into());
    match fs::read_dir(into).map(Iterator::count) {
        Ok(0) if !into.is_symlink() => Ok(()),
        Ok(_) => occupied(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => occupied(),
        Err(cause) => Err(Failure::File { path: into.to_owned(), cause }),
    }
}

/// The owners of the processes' files, if root restores: the configuration's, read by the program that reads it for
/// agentd.
fn owners(into: &Path, config: Option<&Path>) -> Result<Option<Settings>, Failure> {
    if !nix::unistd::geteuid().is_root() {
        return Ok(None);
    }
    let usual = Some(Path::new(CONFIG)).filter(|path| path.exists());
    let mut words = vec![OsStr::new("--owner"), OsStr::new("0"), OsStr::new("--state-dir"), into.as_os_str()];
    words.extend(config.or(usual).into_iter().flat_map(|file| [OsStr::new("--config"), file.as_os_str()]));
    let name = "agentd-config";
    let output = sibling::run(name, &words)?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::Usage(format!("the configuration was refused: {}", complaint.trim_end())));
    }
    match settings::decode(&output.stdout) {
        Ok((settings, _)) => Ok(Some(settings)),
        Err(error) => Err(Failure::Program { name, why: error.to_string() }),
    }
}

/// Where a member goes. Paths were judged when the manifest was read.
fn place(contents: &Contents, member: &Member) -> PathBuf {
    let path = Path::new(&member.path);
    match path.strip_prefix("audit") {
        Ok(below) if !contents.secrets && !below.starts_with("former") => {
            Path::new(&former(contents)).join(below)
        }
        _ => path.to_owned(),
    }
}

/// The first number that no former record has.
fn former(contents: &Contents) -> String {
    let number = |member: &Member| {
        let rest = member.path.strip_prefix(FORMER)?.strip_prefix('/')?;
        rest.split('/').next()?.parse::<u32>().ok()
    };
    let last = contents.members.iter().filter_map(number).max().unwrap_or(0);
    format!("{FORMER}/{}", last.saturating_add(1))
}

/// Sets owners, permissions and times: the contents of a folder first, since its permissions may then exclude this user.
fn settle(staging: &Path, contents: &Contents, owners: Option<&Settings>) -> Result<(), Failure> {
    for member in contents.members.iter().rev() {
        let below = place(contents, member);
        let time = UNIX_EPOCH + Duration::from_secs(member.modified);
        let time = (member.kind != Kind::Folder).then_some(time);
        let path = staging.join(&below);
        one(&path, owner(owners, &below), member.mode, time)
            .map_err(|cause| Failure::File { path, cause })?;
    }
    let made = if contents.secrets { &[][..] } else { &[FORMER, "audit"] };
    for below in made.iter().map(Path::new) {
        let path = staging.join(below);
        one(&path, owner(owners, below), 0o700, None).map_err(|cause| Failure::File { path, cause })?;
    }
    // As agentd has it; a start sets this, and the modes of the processes' folders, again.
    let path = staging.to_owned();
    one(&path, None, 0o711, None).map_err(|cause| Failure::File { path, cause })
}

/// The owner of a path: the process whose folder it is in. The files of all workspaces belong to the runners' one owner.
fn owner(owners: Option<&Settings>, below: &Path) -> Option<(u32, u32)> {
    let top = below.iter().next()?.to_str()?;
    let process = manifest::row_named(top)?.process;
    owners?.ids(process)
}

fn one(
    path: &Path,
    owner: Option<(u32, u32)>,
    mode: u32,
    time: Option<std::time::SystemTime>,
) -> io::Result<()> {
    if let Some(time) = time {
        File::options().write(true).open(path)?.set_modified(time)?;
    }
    if let Some((uid, gid)) = owner {
        chown(path, Some(uid), Some(gid))?;
    }
    fs::set_permissions(path, Permissions::from_mode(mode & 0o777))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn contents(secrets: bool, paths: &[&str]) -> Contents {
        let member = |path: &&str| Member {
            path: (*path).to_owned(),
            kind: Kind::File,
            mode: 0o600,
            modified: 0,
            size: 0,
            stored: 0,
            sha256: String::new(),
        };
        Contents {
            format: 1,
            cordon: String::new(),
            made_ms: 0,
            secrets,
            schemas: BTreeMap::new(),
            checkpoint: None,
            members: paths.iter().map(member).collect(),
            left_out: Vec::new(),
        }
    }

    #[test]
    fn a_record_without_its_key_becomes_a_former_record() {
        let paths =
            ["audit", "audit/checkpoint", "audit/former", "audit/former/3/checkpoint", "router/queue.db"];
        let without = contents(false, &paths);
        let places: Vec<PathBuf> = without.members.iter().map(|member| place(&without, member)).collect();
        let expected = [
            "audit/former/4",
            "audit/former/4/checkpoint",
            "audit/former",
            "audit/former/3/checkpoint",
            "router/queue.db",
        ];
        assert_eq!(places, expected.map(PathBuf::from));
        let with = contents(true, &paths);
        let places: Vec<PathBuf> = with.members.iter().map(|member| place(&with, member)).collect();
        assert_eq!(places, paths.map(PathBuf::from));
    }

    #[test]
    fn only_a_folder_that_is_empty_or_not_there_is_vacant() {
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().join("empty");
        fs::create_dir(&empty).unwrap();
        fs::write(folder.path().join("file"), "x").unwrap();
        std::os::unix::fs::symlink(&empty, folder.path().join("link")).unwrap();
        assert!(vacant(&empty).is_ok() && vacant(&folder.path().join("none")).is_ok());
        for occupied in [folder.path().to_owned(), folder.path().join("file"), folder.path().join("link")] {
            assert!(vacant(&occupied).is_err(), "{}", occupied.display());
        }
    }
}
