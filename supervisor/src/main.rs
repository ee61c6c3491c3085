//! agentd, the supervisor: starts, confines, connects, watches and restarts every process, and launches runners.
//!
//! It holds root (or the user's uid) and therefore reads nothing richer than a frame of fixed size. It links no parser, no runtime
//! and no library of the bus, and has one thread, so that ordinary code can run between fork and exec. It must never read the
//! messages between processes.
//!
//! Modules depend one way. At the bottom are plain helpers; above them the parts of the host, each with its own data; then
//! [`host`], which holds them all; above it [`setup`], which makes it, and the flows: [`reports`], [`start`], [`stop`], [`launch`],
//! [`probing`], [`denied_calls`], [`commands`]; and on top the [`event_loop`] and [`run`].

mod args;
mod asides;
mod attachments;
mod cgroups;
mod check;
mod clock;
mod commands;
mod configure;
mod denied_calls;
mod directory_check;
mod disk;
mod edges;
mod event_loop;
mod exit;
mod flat;
mod freeze;
mod host;
mod inodes;
mod jails;
mod journal;
mod launch;
mod launched;
mod limits;
mod listeners;
mod logs;
mod notify;
mod orphans;
mod own_log;
mod ownership;
mod pending_answer;
mod pending_mount;
mod places;
mod pool;
mod probes;
mod probing;
mod process;
mod processes;
mod record_id;
#[cfg(debug_assertions)]
mod recording;
mod removed;
mod reports;
mod rest;
mod restart;
mod run;
mod runner_fault;
mod runners;
mod seccomp_listener;
mod self_test;
mod setup;
mod sockets;
mod spill;
mod start;
mod stop;
mod tasks;
mod usage;
mod vault;
mod violations;
mod watch;
mod workspaces;

use args::Command;
use std::process::ExitCode;

fn main() -> ExitCode {
    match args::parse(std::env::args_os().skip(1)) {
        Ok(Command::Help) => exit::print(args::HELP),
        Ok(Command::Version) => exit::print(concat!("agentd ", env!("CARGO_PKG_VERSION"), "\n")),
        Ok(Command::Check(options)) => exit::of(check::check(&options)),
        Ok(Command::Run(options)) => exit::of(run::run(&options)),
        Err(usage) => exit::usage(&usage),
    }
}
