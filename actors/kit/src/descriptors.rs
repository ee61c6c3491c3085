//! Descriptors that one process passes to another beside an edge: a dialled connection with its ticket.

use crate::supervisor::watched;
use confine::passing;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;

/// How long a ticket is waited for. The dialer sends the descriptor before it answers, so it is there already.
const PATIENCE: Duration = Duration::from_secs(5);
/// Descriptors that nobody has taken; the oldest tickets beyond that are closed.
const UNTAKEN: usize = 64;

/// The sending end.
#[derive(Clone)]
pub struct DescriptorChannel(Rc<OwnedFd>);

impl DescriptorChannel {
    pub(crate) fn new(end: OwnedFd) -> Self {
        Self(Rc::new(end))
    }

    /// Passes a descriptor with its ticket.
    ///
    /// # Errors
    /// The kernel's error; `WouldBlock` when the receiver does not take them.
    pub fn send(&self, ticket: u64, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        passing::send(self.0.as_fd(), &ticket.to_le_bytes(), &[descriptor])
    }
}

/// The receiving end. It outlives the edge: a restarted callee gets a fresh channel.
#[derive(Clone, Default)]
pub struct Descriptors(Rc<Received>);

#[derive(Default)]
struct Received {
    waiting: RefCell<HashMap<u64, OwnedFd>>,
    arrived: Notify,
}

impl Descriptors {
    /// The descriptor of this ticket.
    ///
    /// # Errors
    /// `TimedOut` if it does not come within 5 s.
    pub async fn take(&self, ticket: u64) -> io::Result<OwnedFd> {
        let arrival = async {
            loop {
                let arrived = self.0.arrived.notified();
                if let Some(descriptor) = self.0.waiting.borrow_mut().remove(&ticket) {
                    return descriptor;
                }
                arrived.await;
            }
        };
        tokio::time::timeout(PATIENCE, arrival).await.map_err(|_| io::ErrorKind::TimedOut.into())
    }

    /// Receives over this channel from now on.
    pub(crate) fn replace(&self, channel: OwnedFd) {
        self.0.waiting.borrow_mut().clear();
        tokio::task::spawn_local(receive(Rc::clone(&self.0), channel));
    }
}

async fn receive(received: Rc<Received>, channel: OwnedFd) {
    let Ok(channel) = watched(channel) else { return };
    while let Ok(mut ready) = channel.readable().await {
        let message = ready.try_io(|channel| passing::receive::<8>(channel.as_fd()));
        match message {
            Ok(Ok(Some((bytes, descriptors)))) => keep(&received, u64::from_le_bytes(bytes), descriptors),
            Ok(_) => return,
            Err(_would_block) => {}
        }
    }
}

fn keep(received: &Received, ticket: u64, descriptors: Vec<OwnedFd>) {
    let mut waiting = received.waiting.borrow_mut();
    if let Some(descriptor) = descriptors.into_iter().next() {
        waiting.insert(ticket, descriptor);
    }
    while waiting.len() > UNTAKEN {
        let Some(oldest) = waiting.keys().min().copied() else { break };
        waiting.remove(&oldest);
    }
    received.arrived.notify_waiters();
}
