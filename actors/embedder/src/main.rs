//! `embedder`: makes vectors of texts by a model of this machine. It opens the files of that model and nothing else, calls
//! nobody, and must never keep a text.

mod machine;
mod model;
mod offline;
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("--offline") => offline::run(args),
        _ => kit::run::<server::Process>(),
    }
}
