//! The start of the router over its store, and its work over time: it resumes what is due and lets messages go on that can.

use crate::delegating::OVER;
use crate::state::RouterState;
use crate::state::keys::Keys;
use crate::state::lease::Lease;
use crate::state::live::{Acceptance, Live, Phase};
use crate::state::moment::Moment;
use crate::state::pauses::Pauses;
use crate::state::people::{People, PeopleFault};
use crate::store::{Head, Store, StoreFault};
use ipc_proto::config;
use ipc_proto::router::MessageState;
use manifest::command::Room;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The pause between two readings of numbers for operators.
const GAUGES: Duration = Duration::from_secs(5);
/// How often a message that waits behind another looks if that one has gone on.
const BEHIND: Duration = Duration::from_secs(1);

/// Why the router cannot start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error(transparent)]
    Store(#[from] StoreFault),
    #[error(transparent)]
    People(#[from] PeopleFault),
}

impl RouterState {
    /// Opens the queue in `file` and restores its messages where they were left.
    pub(crate) fn open(file: &Path, config: config::Router, now: Moment) -> Result<Self, OpenError> {
        let mut store = Store::open(file)?;
        for file in store.broken_files()? {
            store.commit(|tx| tx.drop_file(file))?;
        }
        let people = People::settle(&mut store, &config, now.ms)?;
        let heads = store.live()?;
        let keys = Keys::new(store.keys()?);
        let pauses = Pauses::new(store.pauses()?);
        let mut router = Self::new(store, people, keys, pauses, config, now);
        for head in heads {
            router.restore(head);
        }
        router.resume_ends()?;
        router.cancel_orphans()?;
        router.schedule_expiry();
        Ok(router)
    }

    /// Restores a message in the state that the store has.
    fn restore(&mut self, head: Head) {
        let (session, seq, user) = (head.session, head.seq, self.lane_user(&head));
        let phase = match head.state {
            MessageState::Accepted => {
                self.lanes.join(session, user, seq);
                self.admission.join(seq);
                Phase::Accepted
            }
            MessageState::Running => {
                self.lanes.add_running(session, user, seq);
                Phase::Running(Lease::from(self.now.at))
            }
            _ => {
                self.lanes.join(session, user, seq);
                self.lanes.clear(session, seq);
                Phase::Queued
            }
        };
        let due = matches!(phase, Phase::Running(_)).then(|| self.overdue_at(&head));
        // Every later state comes after the record of the acceptance.
        let recorded = !matches!(phase, Phase::Accepted);
        let acceptance = if recorded { Acceptance::Recorded } else { Acceptance::Unrecorded };
        self.live.insert(Live { due, claimed: true, ..Live::new(head, phase, acceptance) });
        self.clock(seq);
    }

    /// Cancels messages of a session that has ended, of a user who was removed or of a turn that is over: the process may have ended in
    /// between.
    fn cancel_orphans(&mut self) -> Result<(), StoreFault> {
        let heads: Vec<Head> = self.heads_where(|_| true).cloned().collect();
        for head in heads {
            if self.store.session(head.session)?.ended {
                self.cancel_live(head.seq, "its session was ended");
            } else if self.people.by_id(head.user).is_none() {
                self.cancel_live(head.seq, "its user is gone");
            } else if self.is_orphan(&head)? {
                self.cancel_live(head.seq, OVER);
            }
        }
        Ok(())
    }

    /// Sets the time, and ends approvals that are over by it before any request sees them.
    pub(crate) fn at(&mut self, now: Moment) {
        self.now = now;
        self.expire_approvals();
    }

    /// Resumes what is due, and starts what can start.
    pub(crate) fn tick(&mut self) {
        for seq in self.live.take_due(self.now.at) {
            self.resume(seq);
        }
        self.repeat_kills();
        self.close_unused_directories();
        self.repeat_removals();
        self.check_leases();
        self.subscribers_tick();
        self.approvals.drop_closed();
        self.keys_tick();
        self.channels_tick();
        self.files_tick();
        self.drive();
        self.gauges_tick();
    }

    /// Reads the numbers for operators that the store holds. Those that cannot be read stay as they were.
    fn gauges_tick(&mut self) {
        if self.now.at < self.gauges_due {
            return;
        }
        self.gauges_due = self.now.at + GAUGES;
        if let Ok(queue) = self.queue(None) {
            self.gauges.running.store(queue.running.into(), Ordering::Relaxed);
            self.gauges.dead_letters.store(queue.dead.into(), Ordering::Relaxed);
        }
        if let Ok(pending) = self.store.all_pending_approvals(self.now.ms) {
            self.gauges.approvals.store(pending, Ordering::Relaxed);
        }
    }

    /// Resumes a message that is due.
    fn resume(&mut self, seq: i64) {
        let Some(live) = self.live.get(seq) else { return };
        match live.phase {
            Phase::Accepted | Phase::Starting => {}
            Phase::Queued if self.waits_behind(seq) => self.delay(seq, Phase::Queued, BEHIND),
            Phase::Queued => self.lanes.clear(live.head.session, seq),
            Phase::Running(_) => self.overdue(seq),
            Phase::RunnerExited(_) => self.record_runner_exit(seq),
            Phase::Ending(_) => self.advance_end(seq),
        }
    }

    /// agentd reports the room on the disk; messages that waited for it start.
    pub(crate) fn set_disk_room(&mut self, room: Room) {
        self.disk = room;
        self.drive_now = true;
    }

    /// Starts what can start.
    pub(crate) fn drive(&mut self) {
        (self.drive_now, self.drive_after_reply) = (false, false);
        self.admit_next();
        self.start_next();
        let waiting = u64::try_from(self.lanes.waiting()).unwrap_or(u64::MAX);
        self.gauges.waiting.store(waiting, Ordering::Relaxed);
    }
}
