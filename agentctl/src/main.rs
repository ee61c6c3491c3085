//! `agentctl`, the operators' command: asks `control` over its Unix socket and shows what it answers.
//!
//! It holds no privilege: who it is, the kernel tells control. It may read `/proc` (`attest`) and one public key
//! (`cred set`). It must never send a secret unsealed, nor show text of the host without escaping it.

mod app;
mod approvals;
mod asking;
mod attach;
mod attest;
mod audit;
mod backup;
mod chat;
mod cli;
mod commands;
mod config;
mod cred;
mod curator;
mod doctor;
mod edit;
mod events;
mod failure;
mod hook;
mod inspect;
mod interrupt;
mod kernel;
mod key;
mod link;
mod listings;
mod live;
mod logs;
mod mcp;
mod memory;
mod message;
mod model;
mod out;
mod policy;
mod project;
mod prompt;
mod queue;
mod redteam;
mod report;
mod restart;
mod rows;
mod run;
mod sandbox;
mod scan;
mod session;
mod setup;
mod sibling;
mod statistics;
mod status;
mod steer;
mod text;
mod turn;
mod user;
mod view;
mod web;
mod whole;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(exit) => return exit,
    };
    let app = app::App::new(&cli);
    let outcome = match app::runtime() {
        Ok(runtime) => runtime.block_on(commands::run(&app, cli.command)),
        Err(failure) => Err(failure),
    };
    outcome.unwrap_or_else(|failure| app.out.failure(&failure))
}
