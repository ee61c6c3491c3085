//! audit appends to the record and proves it. It may touch its own folder alone, and must never see content.

mod ahead;
mod alerts;
mod batch;
#[doc(hidden)]
pub mod bench;
mod check;
mod counts;
mod digest;
mod entry;
mod folder;
mod hash;
mod intake;
mod keys;
mod log;
mod note;
mod offline;
mod open;
mod read;
mod retention;
mod serials;
mod server;
mod standing;
mod tail;
mod tile;
mod tiles;
mod writer;

use std::process::ExitCode;

/// Serves, or runs an offline command on a log's folder.
#[must_use]
pub fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some("--offline") => offline::run(words),
        _ => kit::run::<server::Auditor>(),
    }
}
