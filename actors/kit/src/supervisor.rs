//! The control descriptor: fixed-size frames to and from agentd.

use confine::passing;
use manifest::command::{FRAME, Frame};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;

/// The time after which a frame is sent to agentd again, where agentd did not read.
const AGAIN: Duration = Duration::from_millis(200);

/// The connection to agentd.
#[derive(Clone)]
pub struct Supervisor(Rc<AsyncFd<OwnedFd>>);

impl Supervisor {
    /// Must be called inside the runtime.
    pub(crate) fn new(descriptor: OwnedFd) -> io::Result<Self> {
        Ok(Self(Rc::new(watched(descriptor)?)))
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// `WouldBlock` when agentd does not read: it is overloaded, or stopped.
    pub fn send(&self, frame: Frame, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        if descriptors.is_empty() {
            // A plain send, since most rows have no sendmsg.
            return passing::send_plain(self.0.as_fd(), &frame.encode());
        }
        passing::send(self.0.as_fd(), &frame.encode(), descriptors)
    }

    /// Reports a value to agentd by the frame made of it: now, and at each change, until the last sender is gone.
    pub async fn keep_reported<T>(self, mut value: watch::Receiver<T>, frame: impl Fn(&T) -> Frame) {
        loop {
            let now = frame(&value.borrow_and_update());
            if self.send(now, &[]).is_err() {
                tokio::time::sleep(AGAIN).await;
                value.mark_changed();
            }
            if value.changed().await.is_err() {
                return;
            }
        }
    }

    /// The next frame; `None` when agentd is gone, which is this process's end.
    pub(crate) async fn next(&self) -> Option<(Frame, Vec<OwnedFd>)> {
        loop {
            let mut ready = self.0.readable().await.ok()?;
            match ready.try_io(|descriptor| passing::receive::<FRAME>(descriptor.as_fd())) {
                Ok(Ok(Some((bytes, descriptors)))) => return Some((Frame::decode(&bytes)?, descriptors)),
                Ok(_) => return None,
                Err(_would_block) => {}
            }
        }
    }
}

/// A descriptor that the event loop watches; it must not block.
#[expect(deprecated, reason = "the successor is unsafe; an OwnedFd upholds what that asks for")]
pub(crate) fn watched(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(descriptor)
}
