//! The program of the process audit. The library beside it does the work.

use std::process::ExitCode;

fn main() -> ExitCode {
    audit::main()
}
