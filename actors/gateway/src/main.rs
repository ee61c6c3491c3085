//! gateway serves the API that official clients of two vendors speak, on the listeners that agentd hands it. It opens no
//! file, has no network and holds no key: what a client may do is router's and the gate's to say, from what the client
//! presented. It must never log what is said, nor a key, nor say of a client more than the client has proved.

mod agents;
mod answer;
mod anthropic;
mod app_state;
mod connection;
mod door;
mod events;
mod figures;
mod guard;
mod health;
mod held_reply;
mod idempotency;
mod known_callers;
mod listing;
mod lock;
mod mcp;
mod metrics;
mod openai;
mod pace;
mod permits;
mod process;
mod readiness;
mod relay;
mod routes;
mod scope;
mod shares;
mod steer;

use std::process::ExitCode;
use vendors::{body, chat_request, fault, ids};

fn main() -> ExitCode {
    kit::run::<process::Gateway>()
}
