//! `channel@slack`: speaks with Slack's Web API and Socket Mode for the accounts of the configuration. It opens no file, makes no
//! socket and holds no token; what the server says is parsed here and nowhere else.

mod blocks;
mod cursor;
mod event;
mod failure;
mod find;
mod frame;
mod gap;
mod mrkdwn;
mod receiver;
mod request;
mod sockets;
mod upload;
mod web;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    kit::run::<channel::Process<workspace::Workspace>>()
}
