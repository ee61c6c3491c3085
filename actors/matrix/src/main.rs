//! `channel@matrix`: speaks with homeservers of Matrix for the accounts of the configuration, by the client-server API. It opens no
//! file, makes no socket and holds no token; events are parsed here and nowhere else.

mod api;
mod content;
mod cursor;
mod event;
mod fallback;
mod homeserver;
mod reply;
mod rooms;
mod sync;
mod timeline;

use std::process::ExitCode;

fn main() -> ExitCode {
    kit::run::<channel::Process<homeserver::Homeserver>>()
}
