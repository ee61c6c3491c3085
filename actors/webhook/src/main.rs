//! `channel@webhook`: reads signed hooks and sends signed answers. It opens no file, makes no socket and holds no
//! secret.

mod account;
mod message;
mod process;

use std::process::ExitCode;

fn main() -> ExitCode {
    kit::run::<process::Process>()
}
