//! audit appends to the record and proves it. It may touch its own folder alone, and must never see content.

mod line;
mod log;
mod offline;
mod server;
mod writer;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some("--offline") => offline::run(words),
        _ => kit::run::<server::Auditor>(),
    }
}
