//! Reads the few files that a configuration names: regular files, bounded, and not writable by every user.

use nix::fcntl::OFlag;
use std::fs::OpenOptions;
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
        Ok(bytes)
    } else {
        Err(FileFault::TooLong(bound))
    }
}

/// The text of the prompt file at `path`.
///
/// # Errors
/// [`FileFault`]: the reason.
pub fn read_prompt(path: &Path) -> Result<String, FileFault> {
    let text = String::from_utf8(read(path, PROMPT_BOUND)?)
        .map_err(|fault| FileFault::NotText(fault.utf8_error().valid_up_to()))?;
    match text.char_indices().find(|(_, c)| c.is_control() && !"\n\r\t".contains(*c)) {
        Some((at, _)) => Err(FileFault::NotText(at)),
        None => Ok(text),
    }
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
            read_prompt(&path).map_err(|fault| fault.to_string())
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
        assert_eq!(read_prompt(folder.path()).unwrap_err().to_string(), "is not a regular file");
        assert_eq!(
            read_prompt(&folder.path().join("none")).unwrap_err().to_string(),
            "cannot be read: No such file or directory (os error 2)"
        );
    }

    #[test]
    fn a_pipe_is_refused_without_waiting_for_its_writer() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        assert_eq!(read_prompt(&pipe).unwrap_err().to_string(), "is not a regular file");
    }
}
