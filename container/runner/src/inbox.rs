//! The files of the person's message: put into the workspace before the turn begins, each in a folder of its digest. They are data; nothing
//! opens or unpacks one here.

use crate::RunnerFault;
use crate::gate::Gate;
use crate::places::Places;
use ipc_proto::channel::{InboxFile, inbox_path};
use sha2::{Digest, Sha256};
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The mode of a file: to change it by mistake fails.
const FILE: u32 = 0o444;

/// Puts each file where the message says it is. One that cannot be put is not there, which tools say when they look for it.
pub(crate) async fn put(gate: &Gate, files: &[InboxFile], places: &Places) -> Result<(), RunnerFault> {
    for (number, file) in (0_u8..).zip(files) {
        let path = places.workspace.join(inbox_path(&file.digest, &file.name));
        if is_there(&path, file) {
            continue;
        }
        let mut made = anew(&path);
        let mut from = 0;
        loop {
            let piece = gate.inbox(number, from).await?;
            if piece.is_empty() {
                break;
            }
            from += u64::try_from(piece.len()).unwrap_or(u64::MAX);
            if let Ok(to) = &mut made
                && let Err(error) = to.write_all(&piece)
            {
                made = Err(error);
            }
        }
        if made.and_then(|to| to.set_permissions(Permissions::from_mode(FILE))).is_err() {
            drop(fs::remove_file(&path));
        }
    }
    Ok(())
}

/// Returns true if a regular file of these very bytes stands there: an earlier attempt or message has put it.
fn is_there(path: &Path, file: &InboxFile) -> bool {
    let regular = fs::symlink_metadata(path).is_ok_and(|about| about.is_file() && about.len() == file.size);
    let digest = |path: &Path| {
        let (mut from, mut hash) = (File::open(path)?, Hash(Sha256::new()));
        io::copy(&mut from, &mut hash)?;
        io::Result::Ok(<[u8; 32]>::from(hash.0.finalize()))
    };
    regular && digest(path).is_ok_and(|digest| digest == file.digest)
}

struct Hash(Sha256);

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A new file in a folder of its own. What stands in its place is removed and never written through.
fn anew(path: &Path) -> io::Result<File> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let inbox = folder.parent().ok_or(io::ErrorKind::NotFound)?;
    for place in [inbox, folder] {
        let about = fs::symlink_metadata(place);
        if about.as_ref().is_ok_and(|about| !about.is_dir()) {
            fs::remove_file(place)?;
        }
        if !about.is_ok_and(|about| about.is_dir()) {
            fs::create_dir(place)?;
        }
    }
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path)?,
        Ok(_) => fs::remove_file(path)?,
        Err(_) => {}
    }
    File::create_new(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;
    use std::os::unix::fs::symlink;

    fn file(bytes: &[u8]) -> InboxFile {
        let size = u64::try_from(bytes.len()).unwrap();
        InboxFile { digest: Sha256::digest(bytes).into(), name: Text::clip("a.txt"), size }
    }

    // Holds P11-51.
    #[test]
    fn a_file_stands_in_the_place_of_whatever_was_there_and_follows_no_link() {
        let whole = tempfile::tempdir().unwrap();
        let (workspace, other) = (whole.path().join("workspace"), whole.path().join("other"));
        let path = workspace.join(inbox_path(&file(b"new").digest, "a.txt"));
        let folder = path.parent().unwrap().to_owned();
        let put = || {
            let mut to = anew(&path)?;
            to.write_all(b"new")?;
            to.set_permissions(Permissions::from_mode(FILE))
        };
        let stands: [(&str, &dyn Fn()); 5] = [
            ("nothing", &|| ()),
            ("a link in the place of the inbox", &|| symlink(&other, workspace.join("inbox")).unwrap()),
            ("a link in the place of the folder", &|| {
                fs::create_dir(workspace.join("inbox")).unwrap();
                symlink(&other, &folder).unwrap();
            }),
            ("a link in the place of the file", &|| {
                fs::create_dir_all(&folder).unwrap();
                symlink(other.join("b"), &path).unwrap();
            }),
            ("a folder in the place of the file", &|| fs::create_dir_all(path.join("x")).unwrap()),
        ];
        for (what, make) in stands {
            fs::create_dir_all(&other).unwrap();
            fs::create_dir(&workspace).unwrap();
            make();
            put().unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(is_there(&path, &file(b"new")) && !is_there(&path, &file(b"old")), "{what}");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, FILE, "{what}");
            assert_eq!(fs::read_dir(&other).unwrap().count(), 0, "{what}");
            put().unwrap();
            fs::remove_dir_all(&workspace).unwrap();
        }
    }
}
