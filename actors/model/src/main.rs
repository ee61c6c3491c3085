//! `model`: turns a conversation into an answer that comes in pieces. Its own models run here; a provider's answer
//! is fetched by credproxy and parsed here, where there is neither a key nor a network.
//!
//! It may touch its own folder (scripts of `scripted/FILE`, and the ledger of what is spent). It must never run a tool,
//! nor let text that a provider sent reach a log line.

mod answer;
mod breaker;
mod exchange;
mod failure_class;
mod ledger;
mod models;
mod offline;
mod routing;
mod scripted;
mod server;
mod streams;

fn main() -> std::process::ExitCode {
    kit::run::<server::Models>()
}
