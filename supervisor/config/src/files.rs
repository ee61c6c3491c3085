//! Reads the few files that a configuration names: regular files, bounded, and not writable by every user.

use nix::fcntl::OFlag;
use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// The most bytes of the configuration.
pub const CONFIG_BOUND: u64 = 1 << 20;
/// The most bytes of a prompt file: with the canary line it fits the bus's bound of 64 KiB.
pub const PROMPT_BOUND: u64 = 60 << 10;

/// The reason why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// It could not be opened or read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A directory, a pipe, a device.
    #[error("is not a regular file")]
    NotRegular,
    /// Every user may write it.
    #[error("may be written by every user of this machine (mode {0:04o})")]
    Writable(u32),
    /// Root alone, or few, may read it, and root would show it to everybody who uses the agent.
    #[error(
        "is not readable by everybody (mode {0:04o}), and an agent's users would read it; permit it \
         (chmod o+r), or use another file"
    )]
    Private(u32),
    /// It is beneath a folder that not everybody may enter.
    #[error("is beneath {0}, which not everybody may enter, and an agent's users would read it; move it")]
    Hidden(String),
    /// It is too long.
    #[error("has more than {0} bytes")]
    TooLong(u64),
    /// It is not text.
    #[error("is not UTF-8 text without control characters (byte {0})")]
    NotText(usize),
}

/// The bytes of the file at `path`, at most `bound`.
///
/// # Errors
/// [`FileFault`]: the reason.
pub fn read(path: &Path, bound: u64) -> Result<Vec<u8>, FileFault> {
    Ok(read_known(path, bound)?.0)
}

/// The bytes of the file, and its facts.
fn read_known(path: &Path, bound: u64) -> Result<(Vec<u8>, Metadata), FileFault> {
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Err(FileFault::NotRegular);
    }
    if facts.mode() & 0o002 != 0 {
        return Err(FileFault::Writable(facts.mode() & 0o7777));
    }
    let mut bytes = Vec::new();
    file.take(bound + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length <= bound) {
        Ok((bytes, facts))
    } else {
        Err(FileFault::TooLong(bound))
    }
}

/// The text of the prompt file at `path`. A reader that may read everything names the owner of the configuration in `for_owner`: then
/// the file must be that owner's, who is not root, or everybody's to read.
///
/// # Errors
/// [`FileFault`]: the reason.
pub fn read_prompt(path: &Path, for_owner: Option<u32>) -> Result<String, FileFault> {
    let (bytes, facts) = read_known(path, PROMPT_BOUND)?;
    if let Some(owner) = for_owner
        && (owner == 0 || facts.uid() != owner)
    {
        readable_by_all(path, facts.mode())?;
    }
    let text =
        String::from_utf8(bytes).map_err(|fault| FileFault::NotText(fault.utf8_error().valid_up_to()))?;
    match text.char_indices().find(|(_, c)| c.is_control() && !"\n\r\t".contains(*c)) {
        Some((at, _)) => Err(FileFault::NotText(at)),
        None => Ok(text),
    }
}

/// Checks that every user of the machine may read a file of this mode at this path.
fn readable_by_all(path: &Path, mode: u32) -> Result<(), FileFault> {
    if mode & 0o004 == 0 {
        return Err(FileFault::Private(mode & 0o7777));
    }
    for folder in path.canonicalize()?.ancestors().skip(1) {
        if folder.metadata()?.mode() & 0o001 == 0 {
            return Err(FileFault::Hidden(folder.display().to_string()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt as _;

    // Holds B-06.
    #[test]
    fn only_bounded_text_that_not_everybody_may_write_is_a_prompt() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prompt.md");
        let said = |bytes: &[u8], mode| {
            write(&path, bytes).unwrap();
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            read_prompt(&path, None).map_err(|fault| fault.to_string())
        };
        assert_eq!(said("Be kind.\n\té".as_bytes(), 0o644).unwrap(), "Be kind.\n\té");
        assert_eq!(said(&[b'x'; 61_440], 0o600).unwrap().len(), 61_440);
        assert_eq!(said(&[b'x'; 61_441], 0o600).unwrap_err(), "has more than 61440 bytes");
        assert_eq!(
            said(b"ab\xff", 0o600).unwrap_err(),
            "is not UTF-8 text without control characters (byte 2)"
        );
        assert_eq!(
            said(b"a\x1b[0m", 0o600).unwrap_err(),
            "is not UTF-8 text without control characters (byte 1)"
        );
        let open = "may be written by every user of this machine (mode 0666)";
        assert_eq!(said(b"x", 0o666).unwrap_err(), open);
        assert_eq!(read_prompt(folder.path(), None).unwrap_err().to_string(), "is not a regular file");
        assert_eq!(
            read_prompt(&folder.path().join("none"), None).unwrap_err().to_string(),
            "cannot be read: No such file or directory (os error 2)"
        );
    }

    // Holds P8-39.
    #[test]
    fn root_copies_into_a_prompt_what_everybody_or_the_owner_may_read_alone() {
        let folder = tempfile::tempdir().unwrap();
        set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let path = folder.path().join("prompt.md");
        write(&path, "Be kind.").unwrap();
        let own = folder.path().metadata().unwrap().uid();
        let said = |mode, owner| {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            read_prompt(&path, Some(owner)).map_err(|fault| fault.to_string())
        };
        for owner in [0, own.wrapping_add(1)] {
            let private = said(0o640, owner).unwrap_err();
            assert!(private.contains("mode 0640") && private.contains("chmod o+r"), "{private}");
            assert_eq!(said(0o644, owner).unwrap(), "Be kind.");
        }
        assert_eq!(said(0o600, own).is_ok(), own != 0);
        set_permissions(folder.path(), Permissions::from_mode(0o750)).unwrap();
        assert!(said(0o644, 0).unwrap_err().contains("not everybody may enter"));
    }

    #[test]
    fn a_pipe_is_refused_without_waiting_for_its_writer() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        assert_eq!(read_prompt(&pipe, None).unwrap_err().to_string(), "is not a regular file");
    }
}
