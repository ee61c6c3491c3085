//! `channel@email`: reads and sends mail for the accounts of the configuration. It opens no file, makes no socket and holds no
//! password; the mail and the words of the servers are parsed here and nowhere else.

mod answers;
mod compose;
mod cursor;
mod imap;
mod inbox;
mod line;
mod mail;
mod mailbox;
mod sent;
mod smtp;

use std::process::ExitCode;

fn main() -> ExitCode {
    kit::run::<channel::Process<mailbox::MailAccount>>()
}
