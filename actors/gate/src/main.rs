//! gate, the reference monitor: the only process a runner can reach, and the only one that model serves. Every
//! request meets bounds, schema, quota, label and policy, a person where policy says so, record, effect, label of the
//! result and record of the outcome, in that order. It opens the owner's policies and nothing else, and must never
//! let an effect go before its record.
//!
//! The modules form layers. From the bottom: `state`, `model`, `services`, `turn`, `inspection`, `decision` and `memory`, `passthrough`,
//! `completion` and `effects`, `runner` and `operators`, `server`. A module uses those below it and none above it.

mod completion;
mod decision;
mod effects;
mod inspection;
mod jobs;
mod memory;
mod model;
mod network;
mod offline;
mod operators;
mod passthrough;
mod runner;
mod server;
mod services;
mod state;
mod turn;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("--offline") => offline::run(args),
        _ => kit::run::<server::Gate>(),
    }
}
