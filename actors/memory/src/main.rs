//! `memory`: the one memory store. It touches its own folder and four peers, never a network or a secret.

mod find;
mod intake;
mod library;
mod migrate;
mod offline;
mod private;
mod query;
mod ranked;
mod row;
mod scope;
mod screen;
mod server;
mod store;
#[cfg(test)]
mod tests;
mod writer;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some("--offline") => offline::run(words),
        _ => kit::run::<server::Memory>(),
    }
}
