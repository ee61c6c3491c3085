//! Files that appear whole or not at all: written beside the requested path with mode 0600, and renamed to it at the end.
//! Only that folder is touched, and an error never names the temporary file.

use crate::failure::Failure;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The folder of a file; for a bare name, the current one.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a temporary file that can be renamed to this path.
///
/// # Errors
/// The kernel's error without a path: tempfile's own error would name the temporary file.
pub(crate) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().make_in(folder_of(path), |beside| {
        File::options().read(true).write(true).create_new(true).mode(0o600).open(beside)
    })
}

/// An output file that the user named.
pub(crate) struct Output {
    path: PathBuf,
    to: To,
}

enum To {
    /// A temporary file that is renamed at the end; it replaces another file only by force.
    Beside { file: NamedTempFile, force: bool },
    /// A device, a FIFO or a socket: written, never replaced.
    There(File),
}

impl Output {
    /// Begins to write the file at `path`. An existing regular file is replaced only by force, a link never.
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

    /// The file to write to.
    pub(crate) fn file(&mut self) -> &mut File {
        match &mut self.to {
            To::Beside { file, .. } => file.as_file_mut(),
            To::There(file) => file,
        }
    }

    /// Ends the writing: the file takes its path.
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
    fn a_file_is_its_owners_alone_and_errors_name_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let made = beside(&folder.path().join("export")).unwrap();
        assert_eq!(made.path().parent(), Some(folder.path()));
        assert_eq!(made.as_file().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let message = beside(&folder.path().join("nope/export")).unwrap_err().to_string();
        assert!(message.contains("No such file") && !message.contains("nope"), "{message}");
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
