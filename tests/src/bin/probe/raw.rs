//! Frames made by hand, so that they can be broken by hand.

use manifest::Process;
use std::time::{Duration, Instant};
use tarpc::context::Context;
use tarpc::{ClientMessage, Request};
use wire::codec::{Side, decode, encode};

/// Bytes of the length before each frame.
pub(crate) const HEAD: usize = 4;
/// Where a request's deadline stands in its frame: after the length and the variant of the message.
const DEADLINE_AT: usize = HEAD + 4;

/// The largest frame that `callee` takes from an actor; of one that serves no actor, what a runner may send the gate.
pub(crate) fn bound(callee: Process) -> usize {
    let methods = ipc_proto::interfaces(callee).first().copied().unwrap_or(ipc_proto::runner_gate::METHODS);
    methods.iter().map(|method| method.bound).max().unwrap_or(0)
}

/// A context with time enough.
pub(crate) fn context() -> Context {
    let mut context = tarpc::context::current();
    context.deadline = Instant::now() + Duration::from_secs(20);
    context
}

/// Bytes as a frame: their length before them.
pub(crate) fn framed(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    [length.to_le_bytes().as_slice(), body].concat()
}

/// A request as a frame.
pub(crate) fn request<T: serde::Serialize>(id: u64, message: T) -> Vec<u8> {
    let message = ClientMessage::Request(Request { context: context(), id, message });
    framed(&encode(&message, 1 << 24).unwrap_or_default())
}

/// Most bytes of the arguments that are tried.
const ARGUMENTS: usize = 4096;

/// The smallest value of a request for the method of this number: each field is zero, empty or the first of its kind.
fn zeros<T: for<'de> serde::Deserialize<'de>>(method: u32) -> Option<T> {
    let mut body = method.to_le_bytes().to_vec();
    while body.len() < ARGUMENTS {
        if let Ok(message) = decode(&body, ARGUMENTS, Side::Client) {
            return Some(message);
        }
        body.push(0);
    }
    None
}

macro_rules! smallest {
    ($($(#[$doc:meta])* $process:ident $id:literal $name:literal
        [$($interface:ident $client:ident $request:ident $(, $($more:ident)+)*)?];)+) => {
        /// The smallest request for a method of the interface that `callee` serves to actors, as a frame.
        pub(crate) fn smallest(callee: Process, id: u64, method: u32) -> Option<Vec<u8>> {
            match callee {
                $($(Process::$process => {
                    zeros::<ipc_proto::$interface::$request>(method).map(|message| request(id, message))
                })?)+
                _ => None,
            }
        }
    };
}
manifest::processes!(smallest);

/// A well-formed request to any callee: the smallest for its first method.
pub(crate) fn harmless(callee: Process, id: u64) -> Vec<u8> {
    smallest(callee, id, 0).unwrap_or_default()
}

/// The same with the deadline that would overflow the callee's clock.
pub(crate) fn endless(callee: Process) -> Vec<u8> {
    let mut frame = harmless(callee, 1);
    if let Some(seconds) = frame.get_mut(DEADLINE_AT..DEADLINE_AT + 8) {
        seconds.copy_from_slice(&u64::MAX.to_le_bytes());
    }
    frame
}

/// The same with one byte more than the message has.
pub(crate) fn trailing(callee: Process) -> Vec<u8> {
    let mut body = harmless(callee, 1).split_off(HEAD);
    body.push(0);
    framed(&body)
}
