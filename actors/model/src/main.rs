//! `model`: turns a conversation into an answer that comes in pieces. Its own models run here; a provider's answer
//! is fetched by credproxy and parsed here, where there is neither a key nor a network.
//!
//! It may touch its own folder (scripts of `scripted/FILE`). It must never run a tool, nor let text that a
//! provider sent reach a log line.

mod answer;
mod models;
mod offline;
mod openai;
mod scripted;
mod server;
mod streams;

fn main() -> std::process::ExitCode {
    kit::run::<server::Models>()
}
