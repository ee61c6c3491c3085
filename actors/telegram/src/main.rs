//! `channel@telegram`: speaks with Telegram's Bot API for the accounts of the configuration. It opens no file, makes no socket
//! and holds no token; what the server says is parsed here and nowhere else.

mod api;
mod bot;
mod findings;
mod reply;
mod request;
mod update;

use std::process::ExitCode;

fn main() -> ExitCode {
    kit::run::<channel::Process<bot::Bot>>()
}
