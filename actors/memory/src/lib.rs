//! `memory`: the one memory store. It touches its own folder and four peers, never a network or a secret.

#[doc(hidden)]
pub mod bench;
mod block;
mod capture;
mod change;
mod embed;
mod error;
mod expiry;
mod filter;
mod find;
mod forget;
mod history;
mod intake;
mod library;
mod limits;
mod migrate;
mod offline;
mod opening;
mod patterns;
mod private;
mod proposing;
mod query;
mod ranked;
mod restore;
mod row;
mod rows;
mod salvage;
mod scope;
mod screen;
mod server;
mod sessions;
mod stats;
mod store;
#[cfg(test)]
mod tests;
mod texts;
mod unread;
mod uses;
mod weigh;
mod work;
mod write;
mod writer;

use std::process::ExitCode;

/// Serves, or runs an offline command.
#[must_use]
pub fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some("--offline") => offline::run(words),
        _ => kit::run::<server::Memory>(),
    }
}
