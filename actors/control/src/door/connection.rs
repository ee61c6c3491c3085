//! One connection: its hello, then calls until it ends. A frame that is no message of the interface ends it.

use super::meter::{Account, Metered, Patience};
use super::{Door, attach, hello};
use crate::caller::Identity;
use crate::guard::{self, Guard};
use hello::Greeting;
use ipc_proto::control::{ControlRequest, FRAME_BOUND, METHODS};
use kit::Slot;
use manifest::Process;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tarpc::server::Serve;
use tokio::net::UnixStream;
use wire::hello::Hello;

/// Calls of one connection that are served at once; more wait in its socket.
const AT_ONCE: usize = 8;
/// How long a connection may stand still in the middle of a frame.
const PATIENCE: Patience = Patience { incoming: Duration::from_secs(10), outgoing: Duration::from_secs(30) };

/// Serves a fresh connection until it ends.
pub(crate) async fn serve(door: &Rc<Door>, uid: u32, stream: UnixStream, seat: &Slot<u32>) {
    let identity = Rc::new(Identity::new(Rc::clone(&door.state), uid));
    match hello::receive(&stream, hello::PATIENCE).await {
        Ok(Greeting::Calls(hello)) => calls(door, identity, stream, hello, seat).await,
        Ok(Greeting::Attach) => attach::serve(&identity, stream).await,
        Err(fault) => door.turn_away(Some(uid), &fault.to_string()),
    }
}

async fn calls(door: &Door, identity: Rc<Identity>, stream: UnixStream, hello: Hello, seat: &Slot<u32>) {
    let uid = identity.uid();
    let account = Account::new(Rc::clone(&door.room), uid);
    let stream = Metered::new(stream, Rc::clone(&account), PATIENCE);
    let transport = match wire::server_after_hello(stream, hello, Process::Control, FRAME_BOUND).await {
        Ok(transport) => transport,
        Err(fault) => return door.turn_away(Some(uid), &fault.to_string()),
    };
    // Before the first frame is read, since an unknown uid has no room for a large one.
    let known = identity.is_known().await;
    account.known.set(known);
    if known {
        seat.identified();
    }
    let ended = kit::serve_calls(transport, AT_ONCE, |context, request| {
        let lease = account.room(bound(&request));
        let guard = Guard { identity: Rc::clone(&identity), room: lease.is_some() };
        let account = Rc::clone(&account);
        async move {
            let answer = guard.serve(context, request).await;
            account.answered(lease);
            answer
        }
    });
    if let Some(reason) = ended.await.as_ref().err().and_then(misdeed) {
        door.turn_away(Some(uid), &reason);
    }
}

/// The peer's fault that ended its connection; `None` if it only left.
fn misdeed(cause: &io::Error) -> Option<String> {
    let left = matches!(cause.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe);
    (!left).then(|| cause.to_string())
}

/// The largest that the request or its answer can be, bytes.
fn bound(request: &ControlRequest) -> usize {
    let name = guard::method(request);
    METHODS.iter().find(|method| method.name == name).map_or(FRAME_BOUND, |method| method.bound)
}
