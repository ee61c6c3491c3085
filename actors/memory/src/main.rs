//! The program of the process memory. The library beside it does the work.

use std::process::ExitCode;

fn main() -> ExitCode {
    memory::main()
}
