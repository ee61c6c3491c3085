//! Writes a log of so many entries, to measure with: `fill DIR NUMBER`. It touches that folder alone.

use audit::bench::Log;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::{CallId, SessionId, TurnId};
use ipc_proto::label::{Class, Label, Trust};
use std::io;
use std::path::Path;

/// Entries made durable together.
const TOGETHER: u64 = 4096;
/// When the first entry is of, unix ms.
const BEGIN: u64 = 1_790_000_000_000;

/// An entry of the usual length, about 400 bytes.
fn event(number: u64) -> Event {
    let id = u128::from(number).to_be_bytes();
    let mut event = Event::new(Action::ToolEnded, Result3::Success)
        .about("bash")
        .because("ran to its end")
        .in_turn(SessionId::from_bytes(id), TurnId::from_bytes(id));
    event.call = Some(CallId::from_bytes(id));
    event.hash = Some([7; 32]);
    (event.bytes, event.duration_ms) = (number % 4096, 12);
    event.label = Some(Label::of(Trust::User, Class::Internal, "user"));
    event
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, number] = words.as_slice() else {
        return Err(io::Error::other("usage: fill DIR NUMBER"));
    };
    let number: u64 = number.parse().map_err(io::Error::other)?;
    std::fs::create_dir_all(folder)?;
    let mut log = Log::open(Path::new(folder))?;
    for first in (0..number).step_by(4096) {
        let last = (first + TOGETHER).min(number);
        log.append(BEGIN + first, (first..last).map(event))?;
    }
    log.sign()
}
