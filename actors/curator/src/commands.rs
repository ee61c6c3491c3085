//! The owner's commands to the queue. A change is on the record before it is made; a read is not recorded.

use crate::queue::Queue;
use crate::store::{Job, StoreFault, listed};
use crate::work::{new_job, nothing, scope_of};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::curator::{CuratorError, Edit, JobKind, JobState, JobView, LISTED, Listing, PromptJob};
use ipc_proto::ids::{JobId, UserId};
use ipc_proto::memory::Area;
use kit::now_ms;
use std::time::Duration;

impl From<StoreFault> for CuratorError {
    fn from(fault: StoreFault) -> Self {
        if matches!(fault, StoreFault::Full) {
            return Self::Busy;
        }
        tracing::error!(%fault, "the queue");
        Self::Storage
    }
}

impl Queue {
    /// How many jobs wait.
    pub(crate) fn waiting(&self) -> Result<u32, CuratorError> {
        Ok(self.store.count(JobState::Waiting)?)
    }

    async fn record(&self, by: &str, what: &str) -> Result<(), CuratorError> {
        let event = Event::new(Action::OperatorCommand, Result3::Success).about("curator");
        let event = event.because(&format!("{what} by {by}"));
        self.recorder.record(event).await.map(drop).map_err(|_| CuratorError::NotRecorded)
    }

    /// The queue; with a state, only jobs in it.
    pub(crate) fn listing(&self, state: Option<JobState>) -> Result<Listing, CuratorError> {
        let now_ms = now_ms();
        let store = &self.store;
        let mut waiting = store.list(JobState::Waiting)?;
        waiting.sort_by_key(|job| job.candidate(self.model(job)).rank());
        let waits = u32::try_from(waiting.len()).unwrap_or(u32::MAX);
        let mut jobs = Vec::new();
        for of in [JobState::Running, JobState::Waiting, JobState::Dead, JobState::Done] {
            if state.is_none_or(|state| state == of) {
                jobs.extend(match of {
                    JobState::Waiting => std::mem::take(&mut waiting),
                    _ => store.list(of)?,
                });
            }
        }
        Ok(Listing {
            paused: store.paused()?,
            waiting: waits,
            running: store.count(JobState::Running)?,
            dead: store.count(JobState::Dead)?,
            held: self.held(now_ms)?,
            tokens_today: store.spent(now_ms)?,
            tokens_a_day: self.config.tokens_per_day.into(),
            jobs: listed::<LISTED>(jobs.into_iter().map(|job| self.shown(job))),
        })
    }

    /// A job with the model that it will ask, its own or the configured one.
    fn shown(&self, mut job: Job) -> Job {
        if job.view.info.model.is_none() {
            job.view.info.model = self.model(&job).map(ipc_proto::Text::clip);
        }
        job
    }

    fn find(&self, id: JobId) -> Result<Job, CuratorError> {
        self.store.get(id)?.ok_or(CuratorError::NoJob)
    }

    /// One that is not under way.
    fn idle(&self, id: JobId) -> Result<Job, CuratorError> {
        let job = self.find(id)?;
        if job.view.info.state == JobState::Running { Err(CuratorError::Busy) } else { Ok(job) }
    }

    /// One job.
    pub(crate) fn view(&self, id: JobId) -> Result<JobView, CuratorError> {
        Ok(self.shown(self.find(id)?).view)
    }

    /// Puts a prompt into the queue.
    pub(crate) async fn put(
        &self,
        by: &str,
        owner: UserId,
        id: JobId,
        prompt: PromptJob,
    ) -> Result<JobView, CuratorError> {
        if prompt.model.is_none() && self.config.model.is_none() {
            return Err(CuratorError::NoModel);
        }
        self.record(by, &format!("prompt {id} put in")).await?;
        let mut job = new_job(id, JobKind::Ask, prompt.priority, (owner, Area::User), "", now_ms());
        job.info.model = prompt.model;
        job.wants = prompt.wants;
        job.prompt = prompt.prompt;
        self.store.add(&job)?;
        self.wake.notify_one();
        self.view(id)
    }

    /// Changes a job that waits or was given up.
    pub(crate) async fn edit(&self, by: &str, id: JobId, edit: Edit) -> Result<JobView, CuratorError> {
        let job = self.idle(id)?.view;
        let is_prompt = job.info.kind == JobKind::Ask;
        if job.info.state == JobState::Done || (edit.prompt.is_some() && !is_prompt) {
            return Err(CuratorError::NotSo);
        }
        self.record(by, &format!("job {id} edited")).await?;
        // It may have been begun meanwhile.
        let mut job = self.idle(id)?.view;
        if let Some(prompt) = edit.prompt {
            job.prompt = prompt;
        }
        if let Some(priority) = edit.priority {
            job.info.priority = priority;
        }
        job.info.model = edit.model.or(job.info.model);
        self.store.change(&job)?;
        self.wake.notify_one();
        self.view(id)
    }

    /// Puts a job that was given up into the queue again.
    pub(crate) async fn requeue(&self, by: &str, id: JobId) -> Result<JobView, CuratorError> {
        let state = self.idle(id)?.view.info.state;
        if state == JobState::Waiting {
            // Asked twice, or another caller was quicker: it is in the wanted state.
            return self.view(id);
        }
        if state != JobState::Dead {
            return Err(CuratorError::NotSo);
        }
        self.record(by, &format!("job {id} requeued")).await?;
        self.store.requeue(id, now_ms())?;
        self.look_now();
        self.view(id)
    }

    /// Takes a job out.
    pub(crate) async fn remove(&self, by: &str, id: JobId) -> Result<(), CuratorError> {
        self.idle(id)?;
        self.record(by, &format!("job {id} dropped")).await?;
        let job = self.idle(id)?;
        let info = &job.view.info;
        if let Some(nothing) = nothing(info)
            && let Err(failure) = self.settle(&scope_of(info), nothing).await
        {
            tracing::warn!(job = %id, %failure, "memory will offer it again");
        }
        self.forget(job.view.info.id);
        self.store.remove(id)?;
        Ok(())
    }

    /// Pauses the queue, or resumes it.
    pub(crate) async fn pause(&self, by: &str, paused: bool) -> Result<(), CuratorError> {
        self.record(by, if paused { "paused" } else { "resumed" }).await?;
        self.store.pause(paused, now_ms())?;
        // A pause may be long: texts that are forgotten meanwhile must not be found here after it.
        self.let_go(Duration::ZERO);
        self.look_now();
        Ok(())
    }

    /// Interrupts a running job, or all; returns how many.
    pub(crate) async fn abort(&self, by: &str, id: Option<JobId>) -> Result<u32, CuratorError> {
        if let Some(id) = id {
            self.find(id)?;
        }
        self.record(by, &id.map_or_else(|| "all aborted".to_owned(), |id| format!("job {id} aborted")))
            .await?;
        let flying = self.flying.borrow();
        let chosen = flying.iter().filter(|(flies, _)| id.is_none_or(|id| id == **flies));
        let mut count = 0;
        for (_, flight) in chosen {
            flight.aborted.notify_one();
            count += 1;
        }
        Ok(count)
    }
}
