//! Messages whose turns are not over, and the phase that each is in.

use super::lease::Lease;
use super::pending_end::PendingEnd;
use super::postponed::Postponed;
use super::runner_exit::RunnerExit;
use crate::store::Head;
use ipc_proto::ids::TurnId;
use ipc_proto::{List, Name};
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// A message whose turn is not over.
pub(crate) struct Live {
    pub(crate) head: Head,
    pub(crate) phase: Phase,
    pub(crate) acceptance: Acceptance,
    /// When work on it goes on, if that depends on the time.
    pub(crate) due: Option<Instant>,
    /// The time that its runner had left when its turn began to wait for a person. The wait does not count.
    pub(crate) clock_left: Option<Duration>,
    /// True if its runner may have begun its work: the gate has claimed the turn, or nobody knows.
    pub(crate) claimed: bool,
    /// The peers that its turn waits for, as the gate reported last of this runner; `None` before its first report.
    pub(crate) blocked_on: Option<List<Name, 4>>,
    /// How often in a row the host could not start its runner.
    pub(crate) refused: u32,
    /// The obstacle that its turn met last, if one held it up.
    pub(crate) postponed: Option<Postponed>,
}

/// How far the record of a message's acceptance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acceptance {
    Unrecorded,
    Recording,
    Recorded,
}

/// The phase of a live message.
pub(crate) enum Phase {
    /// It waits for the scanner, or the scanner has it.
    Accepted,
    /// It waits in its lane.
    Queued,
    /// The record of its start is under way.
    Starting,
    /// A runner has it, for as long as something is heard of it.
    Running(Lease),
    /// Its runner ended first; the record of that is under way.
    RunnerExited(RunnerExit),
    /// Its end is under way.
    Ending(Box<PendingEnd>),
}

impl Live {
    /// A message in this phase, with nothing known of a runner.
    pub(crate) const fn new(head: Head, phase: Phase, acceptance: Acceptance) -> Self {
        Self {
            head,
            phase,
            acceptance,
            due: None,
            clock_left: None,
            claimed: false,
            blocked_on: None,
            refused: 0,
            postponed: None,
        }
    }

    /// Returns true if its turn has begun and is not ending.
    pub(crate) const fn is_under_way(&self) -> bool {
        self.head.attempts > 0 && !matches!(self.phase, Phase::Ending(_))
    }
}

/// All live messages, by the order of acceptance and by turn.
#[derive(Default)]
pub(crate) struct LiveMessages {
    by_seq: BTreeMap<i64, Live>,
    seqs: HashMap<TurnId, i64>,
}

impl LiveMessages {
    /// Adds a message whose turn is not over.
    pub(crate) fn insert(&mut self, live: Live) {
        self.seqs.insert(live.head.turn, live.head.seq);
        self.by_seq.insert(live.head.seq, live);
    }

    /// Removes a message whose turn is over.
    pub(crate) fn remove(&mut self, seq: i64) -> Option<Live> {
        let live = self.by_seq.remove(&seq)?;
        self.seqs.remove(&live.head.turn);
        Some(live)
    }

    pub(crate) fn get(&self, seq: i64) -> Option<&Live> {
        self.by_seq.get(&seq)
    }

    pub(crate) fn get_mut(&mut self, seq: i64) -> Option<&mut Live> {
        self.by_seq.get_mut(&seq)
    }

    /// The message of a turn that is not over.
    pub(crate) fn of_turn(&mut self, turn: TurnId) -> Option<&mut Live> {
        let seq = self.seqs.get(&turn)?;
        self.by_seq.get_mut(seq)
    }

    /// The message of a turn that has begun and has not ended.
    pub(crate) fn under_way(&mut self, turn: TurnId) -> Option<&Head> {
        self.of_turn(turn).filter(|live| live.is_under_way()).map(|live| &live.head)
    }

    /// All live messages, in the order of acceptance.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Live> {
        self.by_seq.values()
    }

    /// Messages that are due by `now`; each is due no longer.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<i64> {
        let due = self.by_seq.iter_mut().filter(|(_, live)| live.due.is_some_and(|due| due <= now));
        due.map(|(seq, live)| {
            live.due = None;
            *seq
        })
        .collect()
    }

    /// Renews the lease of a turn of which something was heard.
    pub(crate) fn renew_lease(&mut self, turn: TurnId, now: Instant) {
        if let Some(Live { phase: Phase::Running(lease), .. }) = self.of_turn(turn) {
            lease.renew(now);
        }
    }
}
