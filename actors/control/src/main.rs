//! control serves `agentctl` on the listener that agentd hands it. It may read the log folder and nothing else,
//! and must never act for somebody whom the kernel and the router have not named.

mod caller;
mod desk;
mod door;
mod guard;
mod logs;
mod process;
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    kit::run::<process::Controller>()
}
