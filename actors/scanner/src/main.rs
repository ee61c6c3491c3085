//! scanner judges text. It keeps nothing and opens nothing, because it reads everything hostile; it asks credproxy
//! alone, for keyed hashes of the secrets that must not be in any text.

mod fingerprints;
mod offline;
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some("--offline") => offline::run(words),
        _ => kit::run::<server::Scanning>(),
    }
}
