//! `memory`: the one memory store. It touches its own folder and four peers, never a network or a secret.

mod find;
mod intake;
mod migrate;
mod private;
mod query;
mod row;
mod scope;
mod screen;
mod server;
mod store;
#[cfg(test)]
mod tests;
mod writer;

fn main() -> std::process::ExitCode {
    kit::run::<server::Memory>()
}
