//! The standard error of processes: bounded, rate limited, control characters escaped, to agentd's own standard error and to a rotated
//! file that `agentctl logs` shows. The text is copied and not interpreted.

use crate::exit;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Bytes of one line; a longer one is cut and marked.
const LINE: usize = 4096;
/// Lines a second that are logged; further ones are counted.
const RATE: u32 = 200;
const SECOND: Duration = Duration::from_secs(1);

/// The reading end of one process's standard error.
#[derive(Debug)]
pub(crate) struct LogPipe {
    pipe: File,
    line: Vec<u8>,
    second: Instant,
    lines: u32,
    dropped: u64,
}

impl LogPipe {
    pub(crate) fn new(pipe: OwnedFd) -> Self {
        Self { pipe: pipe.into(), line: Vec::new(), second: Instant::now(), lines: 0, dropped: 0 }
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Reads a bounded piece of the available output, and logs whole lines.
    pub(crate) fn pump(&mut self, name: &str, logs: &mut Logs) {
        let mut buffer = [0; 8192];
        let length = self.pipe.read(&mut buffer).unwrap_or(0);
        for byte in buffer.iter().take(length) {
            match byte {
                b'\n' => self.end_line(name, logs),
                _ if self.line.len() < LINE => self.line.push(*byte),
                _ => {}
            }
        }
    }

    fn end_line(&mut self, name: &str, logs: &mut Logs) {
        let line = text_of(&self.line);
        self.line.clear();
        if self.second.elapsed() > SECOND {
            if self.dropped > 0 {
                logs.write(name, &format!("{} lines dropped: more than {RATE} a second", self.dropped));
            }
            (self.second, self.lines, self.dropped) = (Instant::now(), 0, 0);
        }
        if self.lines < RATE {
            self.lines += 1;
            logs.write(name, &line);
        } else {
            self.dropped += 1;
        }
    }
}

/// The text of a line, with a mark if it was cut.
fn text_of(line: &[u8]) -> String {
    let mut text = escape(&String::from_utf8_lossy(line));
    if line.len() >= LINE {
        text.push_str(" [cut]");
    }
    text
}

/// Escapes control characters, which could forge a line or steer a terminal.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

/// The log files.
#[derive(Clone, Debug)]
pub(crate) struct Logs {
    folder: PathBuf,
    rotate_bytes: u64,
    /// The owner of the files: the process that shows them.
    owner: Option<confine::Ids>,
}

impl Logs {
    pub(crate) const fn new(folder: PathBuf, rotate_bytes: u64, owner: Option<confine::Ids>) -> Self {
        Self { folder, rotate_bytes, owner }
    }

    /// Logs one line of a process, to standard error and to its file. A full disk costs the line, not the host.
    pub(crate) fn write(&mut self, name: &str, line: &str) {
        exit::say(&format!("{name}: {line}"));
        self.store(name, line);
    }

    /// Adds one line to the file of this name alone. A full disk costs the line, not the host.
    pub(crate) fn store(&self, name: &str, line: &str) {
        drop(self.append(name, line));
    }

    fn append(&self, name: &str, line: &str) -> std::io::Result<()> {
        let path = self.folder.join(format!("{name}.log"));
        // The folder belongs to the process that shows the files: a link in it must not lead agentd elsewhere.
        let (mode, flags) = (0o600, nix::libc::O_NOFOLLOW);
        let mut file =
            OpenOptions::new().create(true).append(true).mode(mode).custom_flags(flags).open(&path)?;
        if let Some(owner) = self.owner {
            std::os::unix::fs::fchown(&file, Some(owner.uid), Some(owner.gid))?;
        }
        file.write_all(format!("{line}\n").as_bytes())?;
        if file.metadata()?.len() > self.rotate_bytes {
            fs::rename(&path, self.folder.join(format!("{name}.log.1")))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_not_written_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        fs::write(&other, "").unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join("router.log")).unwrap();
        let logs = Logs::new(folder.path().to_owned(), 1 << 20, None);
        logs.store("router", "a line");
        assert_eq!(fs::read(&other).unwrap(), b"");
        logs.store("gate", "a line");
        assert_eq!(fs::read(folder.path().join("gate.log")).unwrap(), b"a line\n");
    }

    // Holds B-09.
    #[test]
    fn what_could_steer_a_terminal_is_spelt_out() {
        assert_eq!(text_of(b"a\x1b[31mb\rc\x07"), "a\\u{1b}[31mb\\rc\\u{7}");
        assert_eq!(text_of("caf\u{e9}".as_bytes()), "caf\u{e9}");
        assert!(text_of(&[b'x'; LINE]).ends_with("[cut]"));
    }
}
