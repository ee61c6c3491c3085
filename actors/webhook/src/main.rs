//! `channel@webhook`: reads signed hooks and sends signed answers. It opens no file, makes no socket and holds no
//! secret.

mod account;
mod message;

use std::process::ExitCode;

fn main() -> ExitCode {
    kit::run::<channel::Process<account::Webhook>>()
}
