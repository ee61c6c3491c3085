//! `channel@whatsapp`: speaks with WhatsApp's Cloud API. It opens no file, makes no socket and holds no
//! secret.

mod account;
mod cloud;
mod hook;
mod reply;
mod request;

use std::process::ExitCode;

fn main() -> ExitCode {
    kit::run::<channel::Process<account::Number>>()
}
