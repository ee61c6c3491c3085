//! The serving end of an edge. The caller is known from the descriptor, and the table says before the handler
//! runs if the caller may make the call. A malformed request costs the caller its connection, never the server
//! its life.

use crate::counters::Counters;
use crate::descriptors::DescriptorChannel;
use crate::outcome;
use crate::serving::serve_calls;
use ipc_proto::Fault;
use manifest::Process;
use serde::{Serialize, de::DeserializeOwned};
use std::io::ErrorKind;
use std::rc::Rc;
use tarpc::server::Serve;
use tarpc::{RequestName, ServerError, context::Context};
use tokio::net::UnixStream;

/// Calls of one connection that are served at once; more wait in its socket, which is the back-pressure.
const AT_ONCE: usize = 256;

/// The serving end of one edge.
pub struct Edge {
    pub(crate) me: Process,
    pub(crate) caller: Process,
    pub(crate) turn: Option<[u8; 16]>,
    pub(crate) stream: UnixStream,
    pub(crate) channel: Option<DescriptorChannel>,
    pub(crate) counters: Rc<Counters>,
}

impl Edge {
    /// The calling process.
    #[must_use]
    pub const fn caller(&self) -> Process {
        self.caller
    }

    /// For a runner's edge: the turn that agentd launched it for.
    #[must_use]
    pub const fn turn(&self) -> Option<[u8; 16]> {
        self.turn
    }

    /// The channel to pass descriptors to this caller, where the edge has one.
    #[must_use]
    pub fn descriptors(&self) -> Option<DescriptorChannel> {
        self.channel.clone()
    }

    /// Serves calls until the edge ends. `bound` is the interface's `FRAME_BOUND`.
    pub async fn serve<S>(self, bound: usize, handler: S)
    where
        S: Serve + Clone,
        S::Req: DeserializeOwned,
        S::Resp: Serialize,
    {
        let caller = self.caller;
        let transport = match wire::server(self.stream, self.me, bound).await {
            Ok(transport) => transport,
            // A caller that went away before its first call has done no wrong.
            Err(Fault::Unreachable) => return,
            Err(_) => {
                self.counters.refuse();
                tracing::warn!(caller = caller.name(), "connection ended: no hello of our version");
                return;
            }
        };
        let checked = Checked { handler, me: self.me, caller, counters: Rc::clone(&self.counters) };
        let serve = |context, request| checked.clone().serve(context, request);
        let ended = serve_calls(transport, AT_ONCE, serve).await;
        match ended.err().map(|error| error.kind()) {
            Some(ErrorKind::InvalidData | ErrorKind::TimedOut) => {
                self.counters.refuse();
                tracing::warn!(caller = caller.name(), "connection ended: not a message of the interface");
            }
            Some(ErrorKind::InvalidInput) => {
                tracing::error!(
                    caller = caller.name(),
                    "connection ended: an answer over the interface's bound"
                );
            }
            // The caller went away.
            _ => {}
        }
    }
}

/// Looks each call up in the table before it is served, and times it.
#[derive(Clone)]
struct Checked<S> {
    handler: S,
    me: Process,
    caller: Process,
    counters: Rc<Counters>,
}

impl<S> Serve for Checked<S>
where
    S: Serve,
    S::Resp: Serialize,
{
    type Req = S::Req;
    type Resp = S::Resp;

    async fn serve(self, context: Context, request: S::Req) -> Result<S::Resp, ServerError> {
        // tarpc names a request `Service.method`.
        let method = request.name().rsplit('.').next().unwrap_or_default();
        let key = self.counters.key(self.caller, method);
        if !manifest::allowed(self.caller, self.me, method) {
            self.counters.refuse_call(key);
            tracing::warn!(caller = self.caller.name(), method, reason = "not-allowed", "refused");
            return Err(ServerError::new(ErrorKind::PermissionDenied, String::new()));
        }
        self.counters.time_call(key, self.handler.serve(context, request), outcome::of).await
    }
}
