//! The queue at work: takes work from memory and starts the jobs that are due, one of a provider and of a scope at a
//! time. It holds the texts of running jobs, in memory alone and only as long as they run.

mod sweeping;

use crate::order::{self, Candidate};
use crate::store::{Job, Store, StoreFault};
use crate::work::{job_of, resource_of};
use ipc_proto::config;
use ipc_proto::curator::{Held, JobKind, JobState};
use ipc_proto::embedder::{EmbedderClient, is_local};
use ipc_proto::gate::GateClient;
use ipc_proto::ids::JobId;
use ipc_proto::memory::{MemoryClient, TaskName, Work, method};
use ipc_proto::{List, Name, Text};
use kit::{Host, Link, Recorder};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The most texts held of one kind of work; others are offered again. Work of one kind that cannot go on, since its
/// model is held, does not block other kinds.
const TEXTS: usize = 16;
/// Longest and shortest time that work is kept from being offered again, ms. No other process takes work, so work that
/// a restart loses is offered again after it.
const LEASE_MS: (u32, u32) = (5000, 60_000);
/// How long a text is held that is not offered again.
pub(crate) const STALE: Duration = Duration::from_secs(600);
/// The longest time without a look at the queue.
const REST: Duration = Duration::from_secs(30);
/// The least time between two looks for work.
const BREATH: Duration = Duration::from_secs(1);
/// The name of the daily token limit in the list of held resources.
pub(crate) const TOKENS: &str = "tokens a day";
const DAY_MS: u64 = 86_400_000;

/// A job that is under way.
pub(crate) struct Flight {
    pub(crate) resource: String,
    pub(crate) scope: String,
    /// Notified when a person interrupts it.
    pub(crate) aborted: Rc<Notify>,
}

/// A provider of which nothing is to be had for a while.
struct Quota {
    until_ms: u64,
    reason: String,
}

/// The queue, and the links to the processes that it calls.
pub(crate) struct Queue {
    pub(crate) config: config::Curator,
    pub(crate) store: Store,
    pub(crate) gate: Link<GateClient>,
    pub(crate) memory: Link<MemoryClient>,
    pub(crate) embedder: Link<EmbedderClient>,
    pub(crate) recorder: Recorder,
    /// The material that memory sent, by job, and the time at which memory sent it last.
    texts: RefCell<HashMap<JobId, (Work, Instant)>>,
    /// The time since which texts are gathered: work without one may not have been offered again yet.
    gathering: Cell<Instant>,
    pub(crate) flying: RefCell<HashMap<JobId, Flight>>,
    quotas: RefCell<BTreeMap<String, Quota>>,
    /// Told when something changed that may let a job begin.
    pub(crate) wake: Notify,
    /// When memory is asked next.
    look: Cell<Instant>,
}

impl Queue {
    pub(crate) fn new(config: config::Curator, store: Store, host: &Host) -> Self {
        Self {
            config,
            store,
            gate: host.link(),
            memory: host.link(),
            embedder: host.link(),
            recorder: host.recorder(),
            texts: RefCell::default(),
            gathering: Cell::new(Instant::now()),
            flying: RefCell::default(),
            quotas: RefCell::default(),
            wake: Notify::new(),
            look: Cell::new(Instant::now()),
        }
    }

    /// Jobs that wait.
    pub(crate) fn depth(&self) -> u64 {
        self.store.count(JobState::Waiting).map_or(0, u64::from)
    }

    /// Has memory be asked at once.
    pub(crate) fn look_now(&self) {
        self.look.set(Instant::now());
        self.wake.notify_one();
    }

    /// The work that a job is, as long as its text is here.
    pub(crate) fn work(&self, id: JobId) -> Option<Work> {
        self.texts.borrow().get(&id).map(|(work, _)| work.clone())
    }

    /// Lets go of a job's text.
    pub(crate) fn forget(&self, id: JobId) {
        self.texts.borrow_mut().remove(&id);
    }

    /// Drops every text that memory gave longer ago than `age`: it may be forgotten there, and must then go nowhere.
    /// Work that is still open is offered again.
    pub(crate) fn let_go(&self, age: Duration) {
        let mut texts = self.texts.borrow_mut();
        let held = texts.len();
        texts.retain(|_, (_, given)| given.elapsed() < age);
        if age.is_zero() || texts.len() < held {
            self.gathering.set(Instant::now());
            self.look.set(Instant::now());
        }
    }

    /// Kinds of work that are done here.
    fn tasks(&self) -> List<TaskName, 4> {
        let config = &self.config;
        let kinds = [
            (config.compression_enabled, TaskName::Compress),
            (config.summaries, TaskName::Summarise),
            (config.resolve_conflicts, TaskName::Resolve),
            (config.embedder.is_some(), TaskName::Embed),
        ];
        List::clip(kinds.into_iter().filter(|(done, _)| *done).map(|(_, task)| task))
    }

    /// Takes work from memory, where it is time to.
    pub(crate) async fn take(&self) {
        let tasks = self.tasks();
        if Instant::now() < self.look.get() {
            return;
        }
        if self.is_paused() {
            self.look.set(Instant::now() + REST);
            // Texts were dropped, so waiting jobs have none: a missing offer means nothing now.
            return self.sweep_old(kit::now_ms()).await;
        }
        if tasks.is_empty() {
            self.look.set(Instant::now() + REST);
            return self.sweep().await;
        }
        let interval = self.config.batch_interval_ms;
        self.look.set(Instant::now() + Duration::from_millis(interval.into()));
        let lease_ms = interval.saturating_mul(2).clamp(LEASE_MS.0, LEASE_MS.1);
        let limit = self.config.batch_size;
        let offered = self.memory.call(&method::waiting, |memory, context| {
            let tasks = tasks.clone();
            async move { memory.waiting(context, tasks, limit, lease_ms).await }
        });
        match offered.await {
            Ok(Ok(offered)) => {
                self.keep(offered.into_vec());
                self.sweep().await;
            }
            Ok(Err(error)) => tracing::warn!(%error, "memory gives no work"),
            Err(fault) => tracing::debug!(%fault, "memory is not there"),
        }
    }

    fn keep(&self, offered: Vec<Work>) {
        let full = offered.len() >= usize::from(self.config.batch_size);
        let now_ms = kit::now_ms();
        let mut moved = false;
        for work in offered {
            match self.keep_one(work, now_ms) {
                Ok(passed) => moved |= passed,
                Err(error) => tracing::error!(%error, "work could not be put into the queue"),
            }
        }
        if full && moved {
            self.look.set(Instant::now() + BREATH);
        }
    }

    /// Returns true if it does not block the work behind it: its text is held, or it was given up or is under way.
    fn keep_one(&self, work: Work, now_ms: u64) -> Result<bool, StoreFault> {
        let job = job_of(&work, now_ms);
        let id = job.info.id;
        let store = &self.store;
        store.add(&job)?;
        let waits = store.get(id)?.is_some_and(|job| job.view.info.state == JobState::Waiting);
        let mut texts = self.texts.borrow_mut();
        let keeps =
            waits && (texts.contains_key(&id) || has_room(texts.values().map(|(held, _)| held), &work));
        if keeps {
            texts.insert(id, (work, Instant::now()));
        }
        Ok(keeps || !waits)
    }

    pub(crate) fn is_paused(&self) -> bool {
        // A queue that cannot be read begins nothing.
        self.store.paused().unwrap_or(true)
    }

    /// The next job to start.
    pub(crate) fn next(&self, now_ms: u64) -> Result<Option<(Job, Candidate)>, StoreFault> {
        let mut waiting = self.store.list(JobState::Waiting)?;
        // Only the chosen job is read whole; the others are only compared.
        let texts = self.texts.borrow();
        waiting.retain(|job| job.view.info.kind == JobKind::Ask || texts.contains_key(&job.view.info.id));
        let candidates: Vec<Candidate> = waiting.iter().map(|job| job.candidate(self.model(job))).collect();
        let spent = self.tokens_are_spent(now_ms)?;
        let flying = self.flying.borrow();
        let quotas = self.quotas.borrow();
        let is_free = |job: &Candidate| {
            let asks = !job.resource.is_empty();
            let held = quotas.get(&job.resource).is_some_and(|quota| now_ms < quota.until_ms);
            let busy =
                |flight: &Flight| (asks && flight.resource == job.resource) || flight.scope == job.scope;
            // Nobody pays for the calls of this machine's own model.
            let paid = asks && !is_local(&job.resource);
            !(flying.values().any(busy) || (asks && held) || (paid && spent))
        };
        let Some(chosen) = order::next(&candidates, now_ms, is_free).cloned() else { return Ok(None) };
        let id = waiting.iter().find(|job| job.seq == chosen.seq).map(|job| job.view.info.id);
        let job = id.map(|id| self.store.get(id)).transpose()?.flatten();
        Ok(job.map(|job| (job, chosen)))
    }

    /// The model that a job of this kind asks, unless it has one of its own.
    pub(crate) fn model(&self, job: &Job) -> Option<&str> {
        match job.view.info.kind {
            JobKind::Embed => self.config.embedder.as_deref(),
            _ => self.config.model.as_deref(),
        }
    }

    /// Why nothing is to be had of a model now, as far as is known here; none if nothing is known against it.
    pub(crate) fn withheld(&self, model: &str, now_ms: u64) -> Option<String> {
        if self.tokens_are_spent(now_ms).unwrap_or(true) {
            return Some("as many tokens were used today as [curator] tokens_per_day allows".to_owned());
        }
        let quotas = self.quotas.borrow();
        let held = quotas.get(&resource_of(Some(model))).filter(|quota| now_ms < quota.until_ms);
        held.map(|quota| quota.reason.clone())
    }

    fn tokens_are_spent(&self, now_ms: u64) -> Result<bool, StoreFault> {
        let most = u64::from(self.config.tokens_per_day);
        Ok(most > 0 && self.store.spent(now_ms)? >= most)
    }

    /// Holds a provider until then.
    pub(crate) fn hold(&self, model: Option<&str>, until_ms: u64, reason: &str) {
        let quota = Quota { until_ms, reason: reason.to_owned() };
        self.quotas.borrow_mut().insert(resource_of(model), quota);
    }

    /// The resources on hold now, for people.
    pub(crate) fn held(&self, now_ms: u64) -> Result<List<Held, 16>, StoreFault> {
        let mut quotas = self.quotas.borrow_mut();
        quotas.retain(|_, quota| now_ms < quota.until_ms);
        let of = |(resource, quota): (&String, &Quota)| Held {
            resource: Name::clip(resource),
            until_ms: quota.until_ms,
            reason: Text::clip(&quota.reason),
        };
        let mut held: Vec<Held> = quotas.iter().map(of).collect();
        if self.tokens_are_spent(now_ms)? {
            held.push(Held {
                resource: Name::clip(TOKENS),
                until_ms: (now_ms / DAY_MS + 1).saturating_mul(DAY_MS),
                reason: Text::clip("as many tokens were used today as [curator] tokens_per_day allows"),
            });
        }
        Ok(List::clip(held))
    }

    /// The time until the next event of the queue's own.
    pub(crate) fn rest(&self) -> Duration {
        let now_ms = kit::now_ms();
        let until_look = self.look.get().saturating_duration_since(Instant::now());
        let waiting = self.store.list(JobState::Waiting).unwrap_or_default();
        let due = waiting.iter().map(|job| job.view.info.due_ms).filter(|due| *due > now_ms).min();
        let until_due = due.map(|due| Duration::from_millis(due - now_ms));
        // Resources on hold are looked at again from time to time.
        until_due.unwrap_or(REST).min(until_look).min(REST)
    }
}

/// Returns whether a text may be held beside these.
fn has_room<'a>(held: impl Iterator<Item = &'a Work>, work: &Work) -> bool {
    let kind = std::mem::discriminant(&work.task);
    held.filter(|held| std::mem::discriminant(&held.task) == kind).count() < TEXTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::ids::{MemoryId, SessionId, UserId};
    use ipc_proto::label::Label;
    use ipc_proto::memory::{Area, Scope, Task};

    // Holds B-121, P7-20.
    #[test]
    fn work_of_one_kind_that_waits_leaves_room_for_every_other() {
        let work =
            |task| Work { scope: Scope { owner: UserId::from_bytes([1; 16]), area: Area::User }, task };
        let embed = || Task::Embed {
            id: MemoryId::from_bytes([1; 16]),
            text: Text::default(),
            label: Label::bottom(),
        };
        let held: Vec<Work> = (0..TEXTS).map(|_| work(embed())).collect();
        assert!(has_room(held.iter().skip(1), &work(embed())) && !has_room(held.iter(), &work(embed())));
        let session = SessionId::from_bytes([1; 16]);
        assert!(has_room(held.iter(), &work(Task::Summarise { session, rows: List::default() })));
    }
}
