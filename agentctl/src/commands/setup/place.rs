//! Installs a configuration: the program that parses it for agentd checks it as a whole, and only then it takes its name,
//! with the old one saved beside it. A crash leaves the old file or the new one, never a part.

use super::edit::edited;
use super::provider::Provider;
use crate::atomic_file::folder_of;
use crate::commands::config;
use crate::failure::Failure;
use crate::sibling;
use ipc_proto::model::ModelName;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The program that knows every key.
const PROGRAM: &str = "agentd-config";
/// The mode of a new configuration: it holds no secret.
const MODE: u32 = 0o644;

/// Returns true if both names are one file.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    whole(one) == whole(other)
}

/// The command that restarts the host.
pub(super) const fn restart_of(system: bool) -> &'static str {
    if system {
        "systemctl restart cordon"
    } else {
        "systemctl --user restart cordon, or end agentd and start it again"
    }
}

/// The command that restarts this user's host.
pub(crate) fn restart() -> &'static str {
    restart_of(config::is_system())
}

/// A checked configuration that is not installed yet.
pub(super) struct Draft {
    path: PathBuf,
    /// `None` if nothing changes.
    file: Option<NamedTempFile>,
}

/// Makes it, and checks it in the folder of the old one, so that relative paths in it are found.
pub(super) fn draft(path: &Path, provider: &Provider, model: &ModelName) -> Result<Draft, Failure> {
    let old = read(path)?;
    let new = |declared| {
        edited(&old, provider, model, declared)
            .map_err(|fault| Failure::Configuration(format!("{}: {fault}", path.display())))
    };
    let text = new(false)?;
    let drafted = if text == old { Ok(None) } else { checked(path, &text).map(Some) };
    let file = match drafted {
        // A model that is not built in needs a table of its own.
        Err(Failure::Configuration(_)) => Some(checked(path, &new(true)?)?),
        drafted => drafted?,
    };
    Ok(Draft { path: path.to_owned(), file })
}

/// A configuration that was changed.
pub(crate) struct Changed {
    /// The saved old one, if there was one.
    pub(crate) backup: Option<PathBuf>,
}

/// Installs a changed configuration once it is checked; `None` if nothing changes.
pub(crate) fn change(
    path: &Path,
    edit: impl FnOnce(&str) -> Result<String, String>,
) -> Result<Option<Changed>, Failure> {
    let old = read(path)?;
    let new = edit(&old).map_err(|why| Failure::Configuration(format!("{}: {why}", path.display())))?;
    if new == old {
        return Ok(None);
    }
    let file = Some(checked(path, &new)?);
    let backup = Draft { path: path.to_owned(), file }.put()?;
    Ok(Some(Changed { backup }))
}

/// The configuration as it is and as it would be, checked; nothing is changed.
pub(crate) fn proposed(
    path: &Path,
    edit: impl FnOnce(&str) -> Result<String, String>,
) -> Result<(String, String), Failure> {
    let old = read(path)?;
    let new = edit(&old).map_err(|why| Failure::Configuration(format!("{}: {why}", path.display())))?;
    drop(checked(path, &new)?);
    Ok((old, new))
}

/// The configuration; empty where there is none.
fn read(path: &Path) -> Result<String, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(cause) => Err(Failure::File { path: path.to_owned(), cause }),
    }
}

/// Writes the text to a file beside `path`, and checks it by agentd-config.
fn checked(path: &Path, text: &str) -> Result<NamedTempFile, Failure> {
    let folder = folder_of(path);
    let at = |cause| Failure::File { path: path.to_owned(), cause };
    fs::create_dir_all(folder).map_err(at)?;
    let builder = tempfile::Builder::new().prefix(".cordon-").suffix(".toml").tempfile_in(folder);
    let mut file = builder.map_err(at)?;
    // The error names the real file, since the temporary one is unknown to the person.
    file.as_file_mut().write_all(text.as_bytes()).map_err(at)?;
    let arguments = [OsStr::new("--check"), OsStr::new("--config"), file.path().as_os_str()];
    let output = sibling::run(PROGRAM, &arguments)?;
    if output.status.success() {
        return Ok(file);
    }
    let complaint = String::from_utf8_lossy(&output.stderr)
        .replace(&*file.path().to_string_lossy(), "the new configuration");
    Err(Failure::Configuration(format!("nothing was changed: {}", complaint.trim_end())))
}

impl Draft {
    /// Installs it, and returns the path of the saved old one, if there was one.
    pub(super) fn put(self) -> Result<Option<PathBuf>, Failure> {
        let Some(file) = self.file else { return Ok(None) };
        let path = &self.path;
        let backup = PathBuf::from(format!("{}.bak", path.display()));
        let at = |cause| Failure::File { path: path.clone(), cause };
        let saved = keep(path, &backup).map_err(at)?;
        like(file.as_file(), path).map_err(at)?;
        file.as_file().sync_all().map_err(at)?;
        file.persist(path).map_err(|error| at(error.error))?;
        File::open(folder_of(path)).and_then(|folder| folder.sync_all()).map_err(at)?;
        Ok(saved.then_some(backup))
    }
}

/// Saves a copy of the old file. Returns true if there is one.
fn keep(path: &Path, backup: &Path) -> io::Result<bool> {
    match fs::copy(path, backup) {
        Ok(_) => File::open(backup)?.sync_all().map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Copies mode and owner of the old file, so that its readers can still read it.
fn like(file: &File, path: &Path) -> io::Result<()> {
    let Ok(old) = fs::metadata(path) else { return file.set_permissions(Permissions::from_mode(MODE)) };
    file.set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
    let new = file.metadata()?;
    if (new.uid(), new.gid()) == (old.uid(), old.gid()) {
        Ok(())
    } else {
        fchown(file, Some(old.uid()), Some(old.gid()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P8-26.
    #[test]
    fn a_file_is_replaced_whole_with_its_mode_and_the_old_one_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cordon.toml");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let draft = |text: &str| {
            let mut file = NamedTempFile::new_in(folder.path()).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            Draft { path: path.clone(), file: Some(file) }
        };
        let backup = draft("new").put().unwrap().unwrap();
        assert_eq!(
            (fs::read_to_string(&path).unwrap(), fs::read_to_string(&backup).unwrap()),
            ("new".into(), "old".into())
        );
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        fs::remove_file(&path).unwrap();
        assert_eq!(draft("first").put().unwrap(), None);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, MODE);
        assert_eq!(Draft { path: path.clone(), file: None }.put().unwrap(), None);
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
    }
}
