//! agentd, the supervisor: starts, confines, plumbs, watches and restarts every process, and launches runners.
//!
//! It holds root (or the user's uid) and therefore reads nothing richer than a frame of fixed size. It links no
//! parser, no runtime and no library of the bus, and has one thread: what runs between fork and exec is ordinary
//! code. It must never read what the processes exchange.

mod args;
mod asides;
mod binding;
mod cgroups;
mod check;
mod clock;
mod configure;
mod disk;
mod edges;
mod exit;
mod flat;
mod frames;
mod freeze;
mod handed;
mod host;
mod inodes;
mod journal;
mod known;
mod limits;
mod listeners;
mod logs;
mod look;
mod notify;
mod orphans;
mod ours;
mod places;
mod process;
mod proof;
#[cfg(debug_assertions)]
mod recording;
mod removed;
mod restart;
mod runners;
mod sockets;
mod spill;
mod start;
mod stop;
mod tasks;
mod tell;
mod twins;
mod usage;
mod vault;
mod violations;
mod wait;
mod warm;
mod watch;
mod workspaces;

use args::Command;
use std::process::ExitCode;

fn main() -> ExitCode {
    match args::parse(std::env::args_os().skip(1)) {
        Ok(Command::Help) => exit::print(args::HELP),
        Ok(Command::Version) => exit::print(concat!("agentd ", env!("CARGO_PKG_VERSION"), "\n")),
        Ok(Command::Check(options)) => exit::of(check::check(&options)),
        Ok(Command::Run(options)) => exit::of(host::run(&options)),
        Err(usage) => exit::usage(&usage),
    }
}
