//! The answer of a child that makes calls on a directory, which may never return: it is waited for by poll alone, and not for long.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// The time in which a directory must answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// An answer to come.
#[derive(Debug)]
pub(crate) struct PendingAnswer {
    /// The pid of the child.
    pub(crate) child: i32,
    socket: OwnedFd,
    deadline: Instant,
}

/// The state of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerState {
    /// There is none yet.
    Waiting,
    /// The socket can be read without waiting.
    Ready,
    /// There is none, and the time is over.
    Late,
}

impl PendingAnswer {
    /// The answer of this child, which comes over this socket.
    pub(crate) fn new(child: i32, socket: OwnedFd) -> Self {
        Self { child, socket, deadline: Instant::now() + PATIENCE }
    }

    /// The socket; readable when there is an answer.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The time at which it is late.
    pub(crate) const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The state now. If the kernel does not say, there is no answer: to read could wait for ever.
    pub(crate) fn state(&self) -> AnswerState {
        let mut socket = [PollFd::new(self.socket(), PollFlags::POLLIN)];
        if poll(&mut socket, PollTimeout::ZERO).is_ok_and(|ready| ready > 0) {
            AnswerState::Ready
        } else if self.deadline <= Instant::now() {
            AnswerState::Late
        } else {
            AnswerState::Waiting
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use confine::passing;

    #[test]
    fn an_answer_is_ready_once_it_came_or_its_child_ended_and_late_else() {
        let (ours, theirs) = passing::frame_pair().unwrap();
        let mut pending = PendingAnswer::new(1, ours);
        assert_eq!(pending.state(), AnswerState::Waiting);
        pending.deadline = Instant::now();
        assert_eq!(pending.state(), AnswerState::Late);
        passing::send_plain(theirs.as_fd(), b"x").unwrap();
        assert_eq!(pending.state(), AnswerState::Ready, "it came in the last moment");
        assert!(passing::receive::<1>(pending.socket()).unwrap().is_some());
        assert_eq!(pending.state(), AnswerState::Late);
        drop(theirs);
        assert_eq!(pending.state(), AnswerState::Ready, "the end can be read");
    }
}
