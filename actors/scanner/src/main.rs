//! scanner judges text. It keeps nothing, opens nothing and calls nobody, because it reads everything hostile.

mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    kit::run::<server::Scanning>()
}
