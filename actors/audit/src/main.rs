//! The program of the process audit. What it is stands in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    audit::main()
}
