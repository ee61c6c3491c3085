//! Failures of a hook, for the person to see: on standard error, which clients seldom show, and in `cordon/hook.log` of
//! their state folder. The file stays small and holds nothing of the event's contents.

use crate::{places, text};
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Bytes after which the file is truncated.
const MOST: u64 = 64 * 1024;

/// Reports a failure. An error while reporting is ignored.
pub(super) fn failed(client: &str, event: &str, why: &str) {
    let event: String = event.chars().take(64).collect();
    let line = text::line(&format!("{client} {event}: {why}"));
    let _ = writeln!(std::io::stderr().lock(), "agentctl hook: {line}");
    if let Some(folder) = places::user_state() {
        let _ = append(&folder, &format!("{} {line}\n", text::utc(text::now_ms())));
    }
}

fn append(folder: &Path, line: &str) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join("hook.log");
    let full = std::fs::symlink_metadata(&path).is_ok_and(|file| file.len() > MOST);
    if full {
        std::fs::remove_file(&path)?;
    }
    // A hook never waits: a pipe in the place of the file is opened without blocking.
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    file.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds B-142.
    #[test]
    fn the_log_stays_small_and_is_its_owner_s_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cordon/hook.log");
        let line = "x".repeat(1000) + "\n";
        for _ in 0..200 {
            append(&folder.path().join("cordon"), &line).unwrap();
            assert!(std::fs::metadata(&file).unwrap().len() <= MOST + 1001);
        }
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
