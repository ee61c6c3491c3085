//! A file that is there whole or not at all: it is made beside the path that was asked for, for its owner's eyes alone, and
//! takes that path once it is written. It touches that folder, and must never name in an error what nobody asked for.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
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
}
