//! `channel@discord`: speaks with Discord's gateway and REST API for the accounts of the configuration. It opens no file, makes no socket
//! and holds no token; what Discord says is parsed here and nowhere else.

mod backfill;
mod bot;
mod cursor;
mod find;
mod gateway;
mod inbox;
mod limits;
mod message;
mod payload;
mod reply;
mod request;
mod rest;
mod scenes;
mod socket;
mod watch;
mod wire;

use std::process::ExitCode;

fn main() -> ExitCode {
    kit::run::<channel::Process<bot::Bot>>()
}
