//! control serves `agentctl` on the listener that agentd hands it. It may read the log folder and nothing else,
//! and must never act for a caller whom the kernel and the router have not named.

mod caller;
mod door;
mod guard;
mod logs;
mod process;
mod server;
mod state;

use std::process::ExitCode;

fn main() -> ExitCode {
    kit::run::<process::Controller>()
}
