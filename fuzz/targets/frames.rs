//! Any frame on an edge is a message within its bounds or refused, for the richest interfaces and for a hello.
#![no_main]

use ipc_proto::{control, router, runner_gate};
use tarpc::ClientMessage;
use wire::codec::{Side, decode};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = decode::<ClientMessage<router::RouterRequest>>(bytes, router::FRAME_BOUND, Side::Server);
    let _ = decode::<ClientMessage<control::ControlRequest>>(bytes, control::FRAME_BOUND, Side::Server);
    let _ = decode::<ClientMessage<runner_gate::RunnerGateRequest>>(bytes, runner_gate::FRAME_BOUND, Side::Server);
    if let Some(hello) = bytes.first_chunk() {
        let _ = wire::hello::Hello::decode(*hello);
    }
});
