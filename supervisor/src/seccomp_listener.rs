//! The notification descriptor of one process's or one jail's seccomp filter: agentd hears on it of each call that the filter
//! refuses, and answers it. Nothing is let through but in a recording debug build, and only numbers from the kernel are read.

use confine::notices::{self, Notice};
use confine::passing;
use manifest::Row;
use manifest::command::{FRAME, Frame, Kind};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The filter's notifications of one process or jail.
#[derive(Debug)]
pub(crate) struct SeccompListener {
    source: Source,
    /// The row of the runner; `None` for an actor.
    row: Option<&'static Row>,
    count: u32,
}

#[derive(Debug)]
enum Source {
    /// The process is not sealed yet: a runner passes its listener over this socket, an actor over its control descriptor.
    Unsealed(Option<OwnedFd>),
    Open(OwnedFd),
    /// It has used up its share, or its listener is lost.
    Closed,
}

impl SeccompListener {
    /// For a process that passes its listener over its control descriptor.
    pub(crate) const fn of_actor() -> Self {
        Self { source: Source::Unsealed(None), row: None, count: 0 }
    }

    /// For a runner that passes its listener over the other end of this socket.
    pub(crate) const fn of_runner(socket: OwnedFd, row: &'static Row) -> Self {
        Self { source: Source::Unsealed(Some(socket)), row: Some(row), count: 0 }
    }

    /// The row of the runner; `None` for an actor.
    pub(crate) const fn row(&self) -> Option<&'static Row> {
        self.row
    }

    /// Counts one more notice, and returns how many there were.
    pub(crate) const fn count(&mut self) -> u32 {
        self.count += 1;
        self.count
    }

    /// Closes it: the kernel then refuses each such call by itself, with ENOSYS.
    pub(crate) fn close(&mut self) {
        self.source = Source::Closed;
    }

    /// The descriptor to poll.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.source {
            Source::Unsealed(socket) => socket.as_ref().map(AsFd::as_fd),
            Source::Open(listener) => Some(listener.as_fd()),
            Source::Closed => None,
        }
    }

    /// Takes the listener of a process that has none yet. Returns false for any other, or without a descriptor.
    pub(crate) fn accept(&mut self, descriptors: Vec<OwnedFd>) -> bool {
        let (Source::Unsealed(_), Some(listener)) = (&self.source, descriptors.into_iter().next()) else {
            return false;
        };
        self.source = Source::Open(listener);
        true
    }

    /// The next notice. A runner's socket that carries anything but its one frame is closed.
    pub(crate) fn next(&mut self) -> Option<Notice> {
        match &self.source {
            Source::Open(listener) => match has_notice(listener.as_fd()) {
                Some(true) => notices::receive(listener.as_fd()).unwrap_or_default(),
                Some(false) => None,
                // Every process under this filter has ended; to ask its listener for more could block for ever.
                None => {
                    self.source = Source::Closed;
                    None
                }
            },
            Source::Unsealed(Some(socket)) => {
                let descriptors = match passing::receive::<FRAME>(socket.as_fd()) {
                    Ok(Some((bytes, descriptors))) if is_listening(&bytes) => descriptors,
                    _ => Vec::new(),
                };
                if !self.accept(descriptors) {
                    self.source = Source::Closed;
                }
                None
            }
            _ => None,
        }
    }

    /// Has the call fail with this errno.
    pub(crate) fn refuse(&self, notice: &Notice, errno: u32) {
        if let Source::Open(listener) = &self.source {
            // If the caller or the listener is gone, the call is refused all the same.
            drop(notices::refuse(listener.as_fd(), notice, errno));
        }
    }

    #[cfg(debug_assertions)]
    pub(crate) fn let_through(&self, notice: &Notice) {
        if let Source::Open(listener) = &self.source {
            drop(notices::let_through(listener.as_fd(), notice));
        }
    }

    /// Kills the process of a jail that made the call; if agentd cannot see that process, the call fails.
    pub(crate) fn kill(&self, notice: &Notice) {
        if let Source::Open(listener) = &self.source
            && notices::kill(listener.as_fd(), notice).is_err()
        {
            self.refuse(notice, nix::libc::EPERM.unsigned_abs());
        }
    }
}

/// Returns true if there is a notice; `None` once there can be none any more.
fn has_notice(listener: BorrowedFd<'_>) -> Option<bool> {
    let mut polled = [PollFd::new(listener, PollFlags::POLLIN)];
    if poll(&mut polled, PollTimeout::ZERO).is_err() {
        return Some(false);
    }
    let [events] = polled.map(|polled| polled.revents().unwrap_or(PollFlags::empty()));
    if events.contains(PollFlags::POLLIN) {
        return Some(true);
    }
    (!events.intersects(PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL)).then_some(false)
}

fn is_listening(bytes: &[u8]) -> bool {
    Frame::decode(bytes).is_some_and(|frame| frame.kind == Kind::Listening)
}
