//! The state of one file, to compare before and after a call. Reads at most 1 MiB of it; must never fail a call.

use super::context::Context;
use super::output;
use super::path::Place;
use nix::fcntl::OFlag;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes that are hashed and whose lines are counted.
const LOOKED_AT: u64 = 1024 * 1024;
/// Bytes of the path that are kept, so that two snapshots fit where they are carried.
const PATH_KEPT: usize = 400;

/// A file's state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// The file, relative to the workspace; at most 400 bytes of it.
    pub path: String,
    /// True if there is something of that name within reach.
    pub exists: bool,
    /// Bytes, of a regular file.
    pub size: Option<u64>,
    /// Last change, unix ms.
    pub mtime_ms: Option<i64>,
    /// Lines, of a file of at most 1 MiB.
    pub lines: Option<u64>,
    /// The first 16 hex digits of SHA-256 over the first 1 MiB.
    pub sha256: Option<String>,
}

/// The present state of a path's file.
pub(super) fn of(context: &Context, path: &str) -> Snapshot {
    let Ok(place) = context.locate(path) else {
        return Snapshot { path: clip(&output::shown(Path::new(path))), ..Snapshot::default() };
    };
    let path = clip(&place.shown);
    let exists = place.open(OFlag::O_PATH | OFlag::O_NOFOLLOW, "look at it").is_ok();
    read(&place).map_or(Snapshot { path: path.clone(), exists, ..Snapshot::default() }, |read| Snapshot {
        path,
        exists,
        ..read
    })
}

fn read(place: &Place<'_>) -> Option<Snapshot> {
    let (file, about) = place.open_file(OFlag::empty()).ok()?;
    let mut bytes = Vec::new();
    file.take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
    let digest: String = Sha256::digest(&bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Some(Snapshot {
        size: Some(about.len()),
        mtime_ms: Some(about.mtime().saturating_mul(1000).saturating_add(about.mtime_nsec() / 1_000_000)),
        lines: (about.len() <= LOOKED_AT).then(|| lines(&bytes)),
        sha256: Some(digest),
        ..Snapshot::default()
    })
}

/// Lines, a last one without a line break included.
pub(super) fn lines(bytes: &[u8]) -> u64 {
    let breaks = bytes.iter().filter(|byte| **byte == b'\n').count();
    let unended = usize::from(bytes.last().is_some_and(|byte| *byte != b'\n'));
    u64::try_from(breaks + unended).unwrap_or(u64::MAX)
}

fn clip(path: &str) -> String {
    path.get(..path.floor_char_boundary(PATH_KEPT)).unwrap_or_default().to_owned()
}
