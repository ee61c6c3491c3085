//! Frames made by hand, so that they can be broken by hand.

use ipc_proto::audit::{Action, AuditRequest, Event, Result3, Serial};
use ipc_proto::credproxy::{CredproxyRequest, Reply};
use ipc_proto::curator::CuratorRequest;
use ipc_proto::dialer::DialerRequest;
use ipc_proto::embedder::EmbedderRequest;
use ipc_proto::gate::GateRequest;
use ipc_proto::ids::{TurnId, UserId};
use ipc_proto::memory::{Area, Ask, MemoryRequest, Scope};
use ipc_proto::model::ModelRequest;
use ipc_proto::router::RouterRequest;
use ipc_proto::scanner::{Crossing, ScannerRequest, Subject};
use ipc_proto::web::WebRequest;
use ipc_proto::{
    Text, audit, credproxy, curator, dialer, embedder, gate, memory, model, router, runner_gate, scanner, web,
};
use manifest::Process;
use std::time::{Duration, Instant};
use tarpc::context::Context;
use tarpc::{ClientMessage, Request};

/// Bytes of the length before each frame.
pub(crate) const HEAD: usize = 4;
/// Where a request's deadline stands in its frame: after the length and the variant of the message.
const DEADLINE_AT: usize = HEAD + 4;

/// The largest frame that `callee` takes from an actor.
pub(crate) const fn bound(callee: Process) -> usize {
    match callee {
        Process::Audit => audit::FRAME_BOUND,
        Process::Dialer => dialer::FRAME_BOUND,
        Process::Credproxy => credproxy::FRAME_BOUND,
        Process::Scanner => scanner::FRAME_BOUND,
        Process::Memory => memory::FRAME_BOUND,
        Process::Web => web::FRAME_BOUND,
        Process::Model => model::FRAME_BOUND,
        Process::Router => router::FRAME_BOUND,
        Process::Gate => gate::FRAME_BOUND,
        Process::Embedder => embedder::FRAME_BOUND,
        Process::Curator => curator::FRAME_BOUND,
        _ => runner_gate::FRAME_BOUND,
    }
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
    framed(&wire::codec::encode(&message, 1 << 24).unwrap_or_default())
}

/// A well-formed request that changes nothing, to any callee.
pub(crate) fn harmless(callee: Process, id: u64) -> Vec<u8> {
    match callee {
        Process::Audit => {
            let event = Event::new(Action::TurnEnded, Result3::Error);
            request(id, AuditRequest::Append { serial: Serial { life: 1, number: id }, event })
        }
        Process::Dialer => request(id, DialerRequest::Dial { host: Text::clip("none.invalid"), port: 1 }),
        Process::Credproxy => request(id, CredproxyRequest::Close { reply: Reply(0) }),
        Process::Scanner => {
            let (subject, text) = (Subject::at(Crossing::ChannelInput), Text::clip("a harmless text"));
            request(id, ScannerRequest::Scan { subject, text })
        }
        Process::Memory => {
            let scope = Scope { owner: UserId::random(), area: Area::User };
            request(id, MemoryRequest::Ask { scope, ask: Ask::Stats })
        }
        // A query of no length asks nobody.
        Process::Web => request(id, WebRequest::Search { query: Text::default(), max: 1 }),
        Process::Model => request(id, ModelRequest::Models {}),
        Process::Router => request(id, RouterRequest::Take { turn: TurnId::random(), budget: 0 }),
        Process::Embedder => {
            let (by, text) = (Text::clip("local:none"), Text::clip("a harmless text"));
            request(id, EmbedderRequest::Embed { by, text })
        }
        Process::Curator => {
            let (by, owner) = (Text::clip("probe"), UserId::random());
            request(id, CuratorRequest::Curate { by, owner, ask: curator::Ask::List { state: None } })
        }
        _ => request(id, GateRequest::Models {}),
    }
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
