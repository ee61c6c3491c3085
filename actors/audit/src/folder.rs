//! The log's folder: reads and writes whole small files in it. It touches nothing outside. A file is there whole or not
//! at all: it is written beside its name and renamed, in the same folder, as the row allows.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The log's folder.
#[derive(Clone, Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// This folder; nothing is looked at yet.
    pub(crate) fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Where a file of it is.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// A file of at most `bound` bytes; `None` if it is not there.
    pub(crate) fn read(&self, path: &str, bound: u64) -> io::Result<Option<Vec<u8>>> {
        let file = match File::open(self.at(path)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let length = usize::try_from(file.metadata()?.len().min(bound)).unwrap_or(0);
        let mut bytes = Vec::with_capacity(length + 1);
        file.take(bound + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > bound {
            return Err(io::Error::new(ErrorKind::InvalidData, "longer than it can be"));
        }
        Ok(Some(bytes))
    }

    /// The same of a file of text.
    pub(crate) fn read_text(&self, path: &str, bound: usize) -> io::Result<Option<String>> {
        let bytes = self.read(path, bound as u64)?;
        let text = bytes.map(String::from_utf8).transpose();
        text.map_err(|_| io::Error::new(ErrorKind::InvalidData, "not text"))
    }

    /// Returns whether there is such a file.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.at(path).exists()
    }

    /// Writes a file whole; durable if its loss would be one.
    pub(crate) fn write(&self, path: &str, bytes: &[u8], durable: bool) -> io::Result<()> {
        let (path, new) = (self.at(path), self.at(&format!("{path}.new")));
        let parent = path.parent().unwrap_or(&self.0);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = match options.open(&new) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir_all(parent)?;
                options.open(&new)?
            }
            file => file?,
        };
        let written = file.write_all(bytes).and_then(|()| if durable { file.sync_all() } else { Ok(()) });
        if let Err(error) = written {
            // On a full disk a half-written file must not keep its room.
            drop(fs::remove_file(&new));
            return Err(error);
        }
        fs::rename(&new, &path)?;
        if durable { File::open(parent)?.sync_all() } else { Ok(()) }
    }

    /// Makes a file durable whose name is.
    pub(crate) fn flush(&self, path: &str) -> io::Result<()> {
        File::open(self.at(path))?.sync_all()
    }

    /// Makes a file durable that was written without a flush.
    pub(crate) fn settle(&self, path: &str) -> io::Result<()> {
        let path = self.at(path);
        File::open(&path)?.sync_all()?;
        File::open(path.parent().unwrap_or(&self.0))?.sync_all()
    }

    /// Removes a file; that it is gone already is no error.
    pub(crate) fn remove(&self, path: &str) -> io::Result<()> {
        match fs::remove_file(self.at(path)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The names in a folder of it, sorted; none if it is not there.
    pub(crate) fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.at(path)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        Ok(names)
    }

    /// Leaves only these files in a folder of it, and removes it if that is none.
    pub(crate) fn keep_only(&self, path: &str, kept: &[String]) -> io::Result<()> {
        for name in self.names(path)?.iter().filter(|name| !kept.contains(name)) {
            self.remove(&format!("{path}/{name}"))?;
        }
        if kept.is_empty() && self.has(path) {
            // `rmdir` is not among the calls of the row; `unlinkat` is, and does the same.
            let flag = nix::unistd::UnlinkatFlags::RemoveDir;
            nix::unistd::unlinkat(nix::fcntl::AT_FDCWD, &self.at(path), flag)?;
        }
        Ok(())
    }
}
