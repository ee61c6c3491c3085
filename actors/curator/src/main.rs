//! `curator`: the queue of background model work. It touches its own folder, memory, the gate and audit; it has no network
//! and no tool, and must never keep a text of somebody's memory.

mod compress;
mod desk;
mod driving;
mod embed;
mod failure;
mod finish;
mod model;
mod order;
mod plain;
mod prompt;
mod reading;
mod rerank;
mod resolve;
mod server;
mod steering;
mod store;
mod summarise;
mod taken;
mod work;

fn main() -> std::process::ExitCode {
    kit::run::<server::Process>()
}
