//! `channel@signal`: speaks with the owner's signal-cli. It opens no file, makes no socket and holds no secret.

mod account;
mod attachment;
mod daemon;
mod envelope;
mod events;

use std::process::ExitCode;

fn main() -> ExitCode {
    kit::run::<channel::Process<account::Number>>()
}
