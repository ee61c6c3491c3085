//! Typed links to callees. A link outlives its edges: when a peer restarts, agentd sends a fresh edge and the
//! link takes it up; idempotent calls are repeated once, the others fail with `PeerRestarted`.

use crate::descriptors::Descriptors;
use crate::stubs::Stub;
use ipc_proto::{Fault, Method};
use manifest::Process;
use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::future::Future;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tarpc::client::RpcError;
use tokio::net::UnixStream;
use tokio::sync::watch;

/// The longest time that a call waits for an absent peer. A restart takes tens of milliseconds; a held peer
/// is reported soon enough.
const PATIENCE: Duration = Duration::from_secs(10);

/// An edge that is up: the peer's number of starts, and the client.
type Up<C> = Option<(u64, C)>;
type Raise = Box<dyn Fn(UnixStream, u64)>;

/// A typed link to one callee.
pub struct Link<C> {
    up: watch::Receiver<Up<C>>,
    /// The context of a call but for its deadline; there are no spans that it could carry.
    context: tarpc::context::Context,
}

impl<C> Clone for Link<C> {
    fn clone(&self) -> Self {
        Self { up: self.up.clone(), context: self.context }
    }
}

impl<C: Stub> Link<C> {
    fn over(up: watch::Receiver<Up<C>>) -> Self {
        Self { up, context: tarpc::context::current() }
    }

    /// Makes a call. `ask` may run twice, so it clones its arguments.
    ///
    /// # Errors
    /// [`Fault`]: each variant says if the call may have taken effect.
    pub async fn call<R, F, Fut>(&self, method: &Method, ask: F) -> Result<R, Fault>
    where
        F: Fn(C, tarpc::context::Context) -> Fut,
        Fut: Future<Output = Result<R, RpcError>>,
    {
        let deadline = Instant::now() + method.deadline;
        let mut lost = None;
        loop {
            let (generation, client) = self.up(lost, deadline).await?;
            let mut context = self.context;
            context.deadline = deadline;
            match ask(client, context).await {
                Ok(reply) => return Ok(reply),
                Err(RpcError::DeadlineExceeded) => return Err(Fault::Deadline),
                Err(RpcError::Server(error)) if error.kind == ErrorKind::PermissionDenied => {
                    return Err(Fault::NotAllowed);
                }
                Err(RpcError::Server(_)) => return Err(Fault::Deadline),
                Err(_) if method.idempotent && lost.is_none() => lost = Some(generation),
                Err(_) => return Err(Fault::PeerRestarted),
            }
        }
    }

    /// Waits for an edge that is not the lost one.
    async fn up(&self, lost: Option<u64>, deadline: Instant) -> Result<(u64, C), Fault> {
        if let (None, Some(up)) = (lost, self.up.borrow().clone()) {
            return Ok(up);
        }
        let mut up = self.up.clone();
        let patience = PATIENCE.min(deadline.saturating_duration_since(Instant::now()));
        let fresh = up.wait_for(|up| up.as_ref().is_some_and(|(generation, _)| Some(*generation) != lost));
        let found = match tokio::time::timeout(patience, fresh).await {
            Ok(Ok(up)) => up.clone(),
            _ => None,
        };
        found.ok_or(if lost.is_some() { Fault::PeerRestarted } else { Fault::Unreachable })
    }

    /// Waits for the peer, as long as a call would; returns true if it is up.
    pub async fn ready(&self) -> bool {
        self.up(None, Instant::now() + PATIENCE).await.is_ok()
    }

    /// Returns true if the peer is up.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.up.borrow().is_some()
    }
}

/// Every link of one process, by callee.
pub(crate) struct Links {
    me: Process,
    slots: RefCell<HashMap<Process, Slot>>,
    descriptors: RefCell<HashMap<Process, Descriptors>>,
}

#[derive(Default)]
struct Slot {
    /// A `watch::Receiver` of the client type in use.
    receiver: Option<Box<dyn Any>>,
    raise: Option<Raise>,
    /// An edge that came before a link was asked for.
    early: Option<(UnixStream, u64)>,
}

impl Links {
    pub(crate) fn new(me: Process) -> Rc<Self> {
        Rc::new(Self { me, slots: RefCell::default(), descriptors: RefCell::default() })
    }

    /// The process that calls over these.
    pub(crate) const fn me(&self) -> Process {
        self.me
    }

    pub(crate) fn link<C: Stub>(&self) -> Link<C> {
        let mut slots = self.slots.borrow_mut();
        let slot = slots.entry(C::CALLEE).or_default();
        if let Some(up) = slot.receiver.as_ref().and_then(|any| any.downcast_ref::<watch::Receiver<Up<C>>>())
        {
            return Link::over(up.clone());
        }
        let (sender, up) = watch::channel(None);
        let (sender, me) = (Rc::new(sender), self.me);
        let raise: Raise = Box::new(move |stream, generation| {
            tokio::task::spawn_local(drive::<C>(stream, generation, me, Rc::clone(&sender)));
        });
        if let Some((stream, generation)) = slot.early.take() {
            raise(stream, generation);
        }
        slot.receiver = Some(Box::new(up.clone()));
        slot.raise = Some(raise);
        Link::over(up)
    }

    /// Takes up a fresh edge to `callee`.
    pub(crate) fn plumb(
        &self,
        callee: Process,
        generation: u64,
        stream: UnixStream,
        channel: Option<OwnedFd>,
    ) {
        if let Some(channel) = channel {
            self.descriptors(callee).replace(channel);
        }
        let mut slots = self.slots.borrow_mut();
        let slot = slots.entry(callee).or_default();
        match &slot.raise {
            Some(raise) => raise(stream, generation),
            None => slot.early = Some((stream, generation)),
        }
    }

    pub(crate) fn descriptors(&self, callee: Process) -> Descriptors {
        self.descriptors.borrow_mut().entry(callee).or_default().clone()
    }
}

/// Raises a client over an edge and lowers it when the edge ends, unless a newer one is up.
async fn drive<C: Stub>(stream: UnixStream, generation: u64, me: Process, sender: Rc<watch::Sender<Up<C>>>) {
    match C::connect(stream, me).await {
        Ok((client, dispatch)) => {
            sender.send_replace(Some((generation, client)));
            dispatch.await;
        }
        Err(fault) => tracing::warn!(peer = C::CALLEE.name(), %fault, "no hello"),
    }
    sender.send_if_modified(|up| {
        let mine = up.as_ref().is_some_and(|(current, _)| *current == generation);
        if mine {
            *up = None;
        }
        mine
    });
}
