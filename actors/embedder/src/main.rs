//! `embedder`: makes vectors of texts by a model of this machine. It opens the files of that model and nothing else, calls
//! nobody, and must never keep a text.

mod machine;
mod model;
mod offline;
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some("--offline") => offline::run(words),
        _ => kit::run::<server::Process>(),
    }
}
