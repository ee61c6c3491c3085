//! `curator`: the queue of background model work. It touches its own folder, memory, the gate and audit; it has no network
//! and no tool, and must never keep a text of somebody's memory.

mod commands;
mod compress;
mod embed;
mod extraction;
mod failure;
mod finish;
mod model;
mod order;
mod plain;
mod prompt;
mod queue;
mod reading;
mod rerank;
mod resolve;
mod scheduler;
mod server;
mod store;
mod summarise;
mod work;

fn main() -> std::process::ExitCode {
    kit::run::<server::Process>()
}
