//! A file that is there whole or not at all: it is made beside the path that was asked for, for its owner's eyes alone, and
//! takes that path once it is written. It touches that folder, and must never name in an error what nobody asked for.

use crate::failure::Failure;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The folder that a file is in; of a bare name, the one that this process is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file that is to take this path.
///
/// # Errors
/// What the kernel says, which names no path: the library's own way of making one would name the file beside.
pub(crate) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().make_in(folder_of(path), |beside| {
        File::options().read(true).write(true).create_new(true).mode(0o600).open(beside)
    })
}

/// A file that a command writes because it was named.
pub(crate) struct Output {
    path: PathBuf,
    to: To,
}

enum To {
    /// A new file, which takes the path at the end; in the place of another only by force.
    Beside { file: NamedTempFile, force: bool },
    /// A device, a FIFO or a socket: written, never replaced.
    There(File),
}

impl Output {
    /// Begins to write the file at `path`. A regular file that is there is replaced by force alone; a link to one never is.
    ///
    /// # Errors
    /// It is there, is a link, or cannot be made.
    pub(crate) fn create(path: &Path, force: bool) -> Result<Self, Failure> {
        let failed = |cause| Failure::File { path: path.to_owned(), cause };
        let own = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            own => Some(own.map_err(failed)?),
        };
        let is_regular = |about: &Metadata| about.is_file();
        let to = match own {
            Some(own) if own.is_symlink() && path.metadata().is_ok_and(|about| !is_regular(&about)) => {
                To::There(File::options().write(true).open(path).map_err(failed)?)
            }
            Some(own) if own.is_symlink() => return Err(Failure::IsLink(path.to_owned())),
            Some(own) if !is_regular(&own) => {
                To::There(File::options().write(true).open(path).map_err(failed)?)
            }
            Some(_) if !force => return Err(Failure::Exists(path.to_owned())),
            _ => To::Beside { file: beside(path).map_err(failed)?, force },
        };
        Ok(Self { path: path.to_owned(), to })
    }

    /// What to write to.
    pub(crate) fn file(&mut self) -> &mut File {
        match &mut self.to {
            To::Beside { file, .. } => file.as_file_mut(),
            To::There(file) => file,
        }
    }

    /// Everything is written: the file takes its path.
    ///
    /// # Errors
    /// It cannot be made durable, or another came in its place meanwhile.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let failed = |cause| Failure::File { path: self.path.clone(), cause };
        let To::Beside { file, force } = self.to else { return Ok(()) };
        file.as_file().sync_all().map_err(failed)?;
        let put = if force { file.persist(&self.path) } else { file.persist_noclobber(&self.path) };
        match put {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Failure::Exists(self.path.clone()))
            }
            Err(error) => Err(failed(error.error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_is_its_owner_s_alone_and_what_cannot_be_made_names_no_file_that_nobody_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let made = beside(&folder.path().join("export")).unwrap();
        assert_eq!(made.path().parent(), Some(folder.path()));
        assert_eq!(made.as_file().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let said = beside(&folder.path().join("nope/export")).unwrap_err().to_string();
        assert!(said.contains("No such file") && !said.contains("nope"), "{said}");
    }

    #[test]
    fn a_bare_name_is_a_file_of_the_folder_that_this_process_is_in() {
        for (path, folder) in [("cordon.toml", "."), ("a/cordon.toml", "a"), ("/cordon.toml", "/")] {
            assert_eq!(folder_of(Path::new(path)), Path::new(folder), "{path}");
        }
    }

    #[test]
    fn a_file_that_is_there_is_replaced_by_force_alone_and_a_link_never() {
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("export"), folder.path().join("link"));
        let write = |path: &Path, force| -> Result<(), Failure> {
            let mut output = Output::create(path, force)?;
            output.file().write_all(b"new").unwrap();
            output.finish()
        };
        write(&path, false).unwrap();
        assert!(matches!(write(&path, false), Err(Failure::Exists(_))));
        std::fs::write(&path, "old").unwrap();
        write(&path, true).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for force in [false, true] {
            assert!(matches!(write(&link, force), Err(Failure::IsLink(_))));
        }
        let dangling = folder.path().join("dangling");
        std::os::unix::fs::symlink(folder.path().join("nowhere"), &dangling).unwrap();
        assert!(matches!(write(&dangling, true), Err(Failure::IsLink(_))));
    }

    #[test]
    fn a_device_or_fifo_is_written_and_stays_what_it_is() {
        use std::io::Write;
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let reader = std::thread::spawn({
            let fifo = fifo.clone();
            move || std::fs::read(fifo).unwrap()
        });
        let link = folder.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        for path in [fifo.as_path(), Path::new("/dev/null"), &link] {
            let mut output = Output::create(path, false).unwrap();
            output.file().write_all(b"new").unwrap();
            output.finish().unwrap();
        }
        assert_eq!(reader.join().unwrap(), b"new");
        assert!(fifo.symlink_metadata().unwrap().file_type().is_fifo());
        assert!(Path::new("/dev/null").symlink_metadata().unwrap().file_type().is_char_device());
    }
}
