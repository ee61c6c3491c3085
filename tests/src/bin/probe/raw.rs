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

/// Most bytes of the arguments that are tried, and the bytes and their values among which one is looked for that is not zero.
const ARGUMENTS: usize = 384;
const PLACES: std::ops::Range<usize> = 4..160;
const VALUES: std::ops::Range<u8> = 1..8;

/// A small value of a request for the method of this number: each field is zero, empty or the first of its kind. Where a type
/// has no such value, one byte is another, such as the number of the variant.
fn small<T: for<'de> serde::Deserialize<'de>>(method: u32) -> Option<T> {
    let mut body = [0; ARGUMENTS];
    let (head, _) = body.split_first_chunk_mut::<4>()?;
    *head = method.to_le_bytes();
    let shortest = |body: &[u8], from: usize| {
        (from..body.len()).find_map(|length| decode(body.get(..length)?, ARGUMENTS, Side::Client).ok())
    };
    // A value changes nothing of what is shorter than its place, and is most often 1: a heartbeat is due after a second.
    let mut others = VALUES.flat_map(|value| PLACES.map(move |at| (at, value)));
    shortest(&body, 4).or_else(|| {
        others.find_map(|(at, value)| {
            let mut body = body;
            *body.get_mut(at)? = value;
            shortest(&body, at + 1)
        })
    })
}

macro_rules! smallest {
    ($($(#[$doc:meta])* $process:ident $id:literal $name:literal
        [$($interface:ident $client:ident $request:ident $(, $($more:ident)+)*)?];)+) => {
        /// Small requests for a method of the interface that `callee` serves to actors, each as a frame with its id.
        fn requests(callee: Process, method: u32, ids: std::ops::Range<u64>) -> Option<Vec<Vec<u8>>> {
            match callee {
                $($(Process::$process => {
                    small::<ipc_proto::$interface::$request>(method)
                        .map(|message| ids.map(|id| request(id, &message)).collect())
                })?)+
                _ => None,
            }
        }
    };
}
manifest::processes!(smallest);

/// A small request for a method of the interface that `callee` serves to actors, as a frame.
pub(crate) fn smallest(callee: Process, id: u64, method: u32) -> Option<Vec<u8>> {
    requests(callee, method, id..id + 1)?.pop()
}

/// Well-formed requests to any callee, each as a frame: small ones for its first method.
pub(crate) fn harmless(callee: Process, ids: std::ops::Range<u64>) -> Vec<Vec<u8>> {
    requests(callee, 0, ids).unwrap_or_default()
}

/// The same with the deadline that would overflow the callee's clock.
pub(crate) fn endless(callee: Process) -> Vec<u8> {
    let mut frame = harmless(callee, 1..2).concat();
    if let Some(seconds) = frame.get_mut(DEADLINE_AT..DEADLINE_AT + 8) {
        seconds.copy_from_slice(&u64::MAX.to_le_bytes());
    }
    frame
}

/// The same with one byte more than the message has.
pub(crate) fn trailing(callee: Process) -> Vec<u8> {
    let mut body = harmless(callee, 1..2).concat().split_off(HEAD);
    body.push(0);
    framed(&body)
}
