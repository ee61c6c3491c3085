//! gate, the reference monitor: the only process a runner can reach, and the only one that model serves. Every
//! request meets bounds, schema, quota, label, record, effect, label of the result and record of the outcome, in
//! that order. It opens nothing and must never let an effect go before its record.

mod answer;
mod assemble;
mod connection;
mod context;
mod decide;
mod effects;
mod host;
mod quota;
mod replay;
mod server;
mod tell;
mod thinking;

use std::process::ExitCode;

fn main() -> ExitCode {
    kit::run::<server::Gate>()
}
