//! The files of a server: where they lie in its jail, and the hash that they are known by.

use ipc_proto::mcp::{FOLDER, Trouble};
use ipc_proto::{Text, mcp};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where Python's packages are installed.
pub(super) const PYTHON: &str = "/server/site";
/// Where Node's are.
pub(super) const NODE: &str = "/server/node_modules";
/// Folders of the programs of packages.
pub(super) const PROGRAMS: [&str; 2] = ["/server/site/bin", "/server/node_modules/.bin"];

/// Files of a server.
const FILES: u32 = 100_000;
/// Bytes of a server's files together.
const BYTES: u64 = 2 << 30;
/// Folders within each other.
const DEPTH: usize = 64;

/// The files of a server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Files {
    pub(super) tree: [u8; 32],
    pub(super) count: u32,
}

/// Hashes the server's files: names, contents, links and which can be run, in the order of their names.
pub(super) fn hash() -> Result<Files, Trouble> {
    hash_of(Path::new(FOLDER))
        .map_err(|cause| Trouble::NoProgram(Text::clip(&format!("{} cannot be read: {cause}", mcp::FOLDER))))
}

fn hash_of(folder: &Path) -> io::Result<Files> {
    let mut walk = Walk { hasher: Sha256::new(), count: 0, bytes: 0 };
    walk.folder(folder, Path::new(""), 0)?;
    Ok(Files { tree: walk.hasher.finalize().into(), count: walk.count })
}

struct Walk {
    hasher: Sha256,
    count: u32,
    bytes: u64,
}

impl Walk {
    fn folder(&mut self, folder: &Path, within: &Path, depth: usize) -> io::Result<()> {
        if depth > DEPTH {
            return Err(io::Error::other("folders within each other are too many"));
        }
        let entries: io::Result<Vec<PathBuf>> =
            fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect();
        let mut entries = entries?;
        entries.sort();
        for path in entries {
            let name = path.file_name().map(|name| within.join(name)).unwrap_or_default();
            self.entry(&path, &name, depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, name: &Path, depth: usize) -> io::Result<()> {
        let meta = fs::symlink_metadata(path)?;
        self.count += 1;
        if self.count > FILES {
            return Err(io::Error::other(format!("more than {FILES} files")));
        }
        if meta.is_dir() {
            self.head(b'd', name, 0);
            return self.folder(path, name, depth + 1);
        }
        if meta.is_symlink() {
            let target = fs::read_link(path)?;
            self.head(b'l', name, target.as_os_str().len() as u64);
            self.hasher.update(target.as_os_str().as_bytes());
            return Ok(());
        }
        if !meta.is_file() {
            return Err(io::Error::other("a file that is none"));
        }
        self.bytes = self.bytes.saturating_add(meta.len());
        if self.bytes > BYTES {
            return Err(io::Error::other("more than 2 GiB"));
        }
        let runs = meta.permissions().mode() & 0o111 != 0;
        self.head(if runs { b'x' } else { b'f' }, name, meta.len());
        // A file that grows meanwhile is cut here, and its hash is another.
        self.content(File::open(path)?.take(meta.len()))
    }

    /// Kind, name and length, so that no two trees read as one.
    fn head(&mut self, kind: u8, name: &Path, length: u64) {
        let name = name.as_os_str().as_bytes();
        self.hasher.update([kind]);
        self.hasher.update((name.len() as u64).to_le_bytes());
        self.hasher.update(name);
        self.hasher.update(length.to_le_bytes());
    }

    fn content(&mut self, mut file: impl Read) -> io::Result<()> {
        let mut piece = vec![0; 64 * 1024];
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                return Ok(());
            }
            self.hasher.update(piece.get(..read).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_change_of_a_file_changes_the_hash_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("a")).unwrap();
        fs::write(at("a/one"), "1").unwrap();
        symlink("one", at("a/two")).unwrap();
        let hash = || hash_of(folder.path()).unwrap();
        let before = hash();
        assert_eq!(before.count, 3);
        assert_eq!(hash(), before);
        let changes: [&dyn Fn(); 5] = [
            &|| fs::write(at("a/one"), "2").unwrap(),
            &|| fs::set_permissions(at("a/one"), fs::Permissions::from_mode(0o755)).unwrap(),
            &|| fs::rename(at("a/one"), at("a/three")).unwrap(),
            &|| {
                fs::remove_file(at("a/two")).unwrap();
                symlink("three", at("a/two")).unwrap();
            },
            &|| fs::create_dir(at("b")).unwrap(),
        ];
        let mut seen = vec![before.tree];
        for change in changes {
            change();
            let now = hash().tree;
            assert!(!seen.contains(&now));
            seen.push(now);
        }
    }
}
