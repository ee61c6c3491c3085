//! Files of the gate's own folder that are replaced whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Replaces a file. A reader sees the old one or the new one, and so it is after a crash.
pub(crate) fn replace(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let fresh = folder.join(format!("{name}.new"));
    let mut file = File::create(&fresh)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&fresh, folder.join(name))?;
    File::open(folder)?.sync_all()
}
