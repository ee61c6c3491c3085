//! gate, the reference monitor: the only process a runner can reach, and the only one that model serves. Every
//! request meets bounds, schema, quota, label and policy, a person where policy says so, record, effect, label of the
//! result and record of the outcome, in that order. It opens the owner's policies and nothing else, and must never
//! let an effect go before its record.

mod alerted;
mod answer;
mod asking;
mod assemble;
mod boundary;
mod calling;
mod connection;
mod context;
mod decide;
mod effects;
mod engine;
mod fetching;
mod heart;
mod host;
mod money;
mod notes;
mod offline;
mod operators;
mod pictures;
mod plan;
mod policies;
mod quota;
mod ready;
mod recalling;
mod relay;
mod replay;
mod running;
mod scan;
mod server;
mod showing;
mod source;
mod speech;
mod stages;
mod taking;
mod tell;
mod thinking;
mod waits;
mod words;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some("--offline") => offline::run(words),
        _ => kit::run::<server::Gate>(),
    }
}
