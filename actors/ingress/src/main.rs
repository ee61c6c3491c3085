//! `ingress`: takes hooks from outside, and keeps each until its channel has read it. It opens no file, makes no socket, holds no
//! secret and calls nobody.

mod door;
mod hooks;
mod process;

use std::process::ExitCode;

fn main() -> ExitCode {
    kit::run::<process::Process>()
}
