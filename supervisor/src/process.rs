//! One process of the table: its state, its control descriptor, its history.

use crate::logs::LogPipe;
use crate::restart::History;
use crate::seccomp_listener::SeccompListener;
use confine::{Child, Ids};
use manifest::Row;
use manifest::command::{EndCause, Frame, Kind, ProcessState, WORDS, state_words};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// Ends of one process that are remembered.
pub(crate) const ENDS: usize = 8;

/// One process.
#[derive(Debug)]
pub(crate) struct Process {
    /// Its row.
    pub(crate) row: &'static Row,
    /// The uid and gid that it runs as; `None` for agentd's own.
    pub(crate) ids: Option<Ids>,
    /// Its program.
    pub(crate) program: OwnedFd,
    /// Its own folder.
    pub(crate) folder: OwnedFd,
    /// Its state.
    pub(crate) state: ProcessState,
    /// The running process.
    pub(crate) life: Option<Life>,
    /// Its earlier lives, for the back-off.
    pub(crate) history: History,
    /// The number of its starts.
    pub(crate) generation: u64,
    /// The time of its next start.
    pub(crate) due: Option<Instant>,
    /// Counters of its last heartbeat.
    pub(crate) counters: [u64; 8],
    /// Heartbeats of all its lives.
    pub(crate) beats: u64,
    /// The reports on its last ends, oldest first; at most [`ENDS`].
    pub(crate) ends: VecDeque<Frame>,
    /// It was ready at least once: before that, its failure to start is the host's failure.
    pub(crate) proven: bool,
}

/// A running process.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) child: Child,
    /// agentd's end of the control pair.
    pub(crate) control: OwnedFd,
    /// Its standard error.
    pub(crate) log: LogPipe,
    pub(crate) began: Instant,
    pub(crate) began_ms: u64,
    /// The time of its last heartbeat.
    pub(crate) heartbeat: Instant,
    /// Reports the system calls that its filter refuses.
    pub(crate) seccomp: SeccompListener,
    /// It was asked to end.
    pub(crate) ending: bool,
    /// An operator restarts it, so that its end is no failure.
    pub(crate) renewed: bool,
    /// The reason for which agentd ended it, if it did.
    pub(crate) cause: EndCause,
}

impl Process {
    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        self.row.process.name()
    }

    /// Returns true if it has a control descriptor.
    pub(crate) const fn is_running(&self) -> bool {
        self.life.is_some()
    }

    /// Sends it a frame; returns false if that fails. A process that does not read its frames has stopped working: its
    /// heartbeats, which use the same pair, show that soon enough.
    pub(crate) fn send(&self, frame: Frame, descriptors: &[BorrowedFd<'_>]) -> bool {
        let Some(life) = &self.life else { return false };
        confine::passing::send(life.control.as_fd(), &frame.encode(), descriptors).is_ok()
    }

    /// Remembers the report on an end, in the place of the oldest if there are too many.
    pub(crate) fn remember(&mut self, end: Frame) {
        if self.ends.len() >= ENDS {
            self.ends.pop_front();
        }
        self.ends.push_back(end);
    }

    /// The uid that the kernel shows for it.
    pub(crate) fn uid(&self, own: u32) -> u32 {
        self.ids.map_or(own, |ids| ids.uid)
    }

    /// The frame that reports it to control.
    pub(crate) fn report(&self, own_uid: u32) -> Frame {
        let mut words = [0; WORDS];
        let pid = self.life.as_ref().map_or(0, |life| u64::from(life.child.pid.unsigned_abs()));
        let facts = [
            (state_words::STATE, self.state as u64),
            (state_words::PID, pid),
            (state_words::UID, self.uid(own_uid).into()),
            (state_words::GENERATION, self.generation),
            (state_words::RESTARTS, self.generation.saturating_sub(1)),
            (state_words::SINCE, self.life.as_ref().map_or(0, |life| life.began_ms)),
        ];
        let counters = (state_words::COUNTERS..).zip(self.counters);
        for (at, value) in facts.into_iter().chain(counters) {
            if let Some(slot) = words.get_mut(at) {
                *slot = value;
            }
        }
        Frame::new(Kind::ProcessState, self.row.process).with(&words)
    }
}
