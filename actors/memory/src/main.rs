//! The program of the process memory. What it is stands in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    memory::main()
}
