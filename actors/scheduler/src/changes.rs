//! Changes of jobs by people: each is checked whole, then on the record, then durable.

use crate::jobs::{Jobs, fire};
use crate::rule::Rule;
use crate::store::{Job, Terms};
use ipc_proto::audit::{Action, Result3};
use ipc_proto::ids::JobId;
use ipc_proto::label::Class;
use ipc_proto::router::method;
use ipc_proto::scheduler::{
    Change, FireState, JOBS, JOBS_PER_USER, JobInfo, JobState, JobView, NewJob, Person, SchedulerError, When,
};
use ipc_proto::{Name, Text};

/// The longest name of a job.
const NAME: usize = 48;
const CHANGED: (Action, Result3) = (Action::JobChanged, Result3::Success);

impl Jobs {
    /// Adds a job that a person wrote, or one of an agent's, which has read things of this class.
    pub(crate) async fn add(
        &self,
        by: &Person,
        id: JobId,
        new: NewJob,
        proposed: Option<Class>,
    ) -> Result<Box<JobView>, SchedulerError> {
        if self.store.job(id)?.is_some() {
            return self.show(by, &id.to_string());
        }
        let job = self.new_job(by, id, &new, proposed)?;
        self.check_with_router(&job, &new).await?;
        let added = match (proposed, &new.agent) {
            (Some(_), Some(agent)) => format!("proposed by the agent {agent} of {}, and approved", by.name),
            _ => format!("added by {}", by.name),
        };
        self.record(&job, CHANGED, &added).await?;
        kit::fault_point!("scheduler.add.recorded");
        // Another person's job may have come meanwhile.
        self.room(by)?;
        self.store.add(&job, &new.prompt)?;
        kit::fault_point!("scheduler.add.committed");
        self.wake.notify_one();
        self.show(by, &id.to_string())
    }

    /// A job as it would be added now.
    pub(crate) fn new_job(
        &self,
        by: &Person,
        id: JobId,
        new: &NewJob,
        proposed: Option<Class>,
    ) -> Result<Job, SchedulerError> {
        self.room(by)?;
        if new.prompt.trim().is_empty() {
            return Err(SchedulerError::NoPrompt);
        }
        let name = match &new.name {
            Some(name) => self.free_name(by, name)?,
            None => self.next_name(by)?,
        };
        let now_ms = kit::now_ms();
        let zone = new.zone.clone().unwrap_or_else(|| Text::clip(&self.config.time_zone));
        let next_ms = Rule::of(&new.when, &zone, now_ms)?.next(now_ms);
        if let (When::At(text), None) = (&new.when, next_ms) {
            return Err(SchedulerError::Past(text.clone()));
        }
        let session = new.session.clone().unwrap_or_else(|| Text::clip(&format!("job:{name}")));
        let tokens = new.tokens.unwrap_or(self.config.tokens_per_fire);
        let (when, agent, to, missed) = (new.when.clone(), new.agent.clone(), new.to.clone(), new.missed);
        Ok(Job {
            id,
            user: by.id,
            user_name: by.name.clone(),
            name,
            terms: Terms { when, zone, agent, session, to, missed, asks: new.asks, tokens, proposed },
            created_ms: now_ms,
            state: JobState::Active,
            why: Text::default(),
            last_ms: now_ms,
            next_ms,
            failures: 0,
            held_ms: 0,
        })
    }

    /// Fails if no more jobs may be.
    fn room(&self, by: &Person) -> Result<(), SchedulerError> {
        let count = |user| self.store.jobs(user).map(|jobs| jobs.len());
        let full = |most: usize| SchedulerError::TooMany(u32::try_from(most).unwrap_or(u32::MAX));
        if count(Some(by.id))? >= JOBS_PER_USER {
            return Err(full(JOBS_PER_USER));
        }
        if count(None)? >= JOBS { Err(full(JOBS)) } else { Ok(()) }
    }

    /// A name that a person gives.
    fn free_name(&self, by: &Person, name: &Name) -> Result<Name, SchedulerError> {
        let valid = |c: u8| c.is_ascii_alphanumeric() || b"-_.".contains(&c);
        let good = !name.is_empty() && name.len() <= NAME && name.bytes().all(valid);
        if !good || name.parse::<JobId>().is_ok() {
            return Err(SchedulerError::BadName);
        }
        match self.store.job_named(by.id, name)? {
            Some(_) => Err(SchedulerError::NameTaken(name.clone())),
            None => Ok(name.clone()),
        }
    }

    /// The first name of the form `job-1` that is free.
    fn next_name(&self, by: &Person) -> Result<Name, SchedulerError> {
        for number in 1..=JOBS_PER_USER + 1 {
            let name = Name::clip(&format!("job-{number}"));
            if self.store.job_named(by.id, &name)?.is_none() {
                return Ok(name);
            }
        }
        Err(SchedulerError::BadName)
    }

    /// Asks router whether it would take the messages of a job: the agent, the session and the conversation of the answers.
    pub(crate) async fn check_with_router(&self, job: &Job, new: &NewJob) -> Result<(), SchedulerError> {
        let fire = fire(job, new.prompt.clone(), job.created_ms);
        let checked = self.router.call(&method::check_fire, |router, context| {
            let fire = fire.clone();
            async move { router.check_fire(context, fire).await }
        });
        checked.await.map_err(|_| SchedulerError::NoRouter)?.map_err(SchedulerError::Router)
    }

    /// Changes a job.
    pub(crate) async fn change(
        &self,
        by: &Person,
        named: &str,
        change: Change,
    ) -> Result<JobInfo, SchedulerError> {
        let job = self.find(by, named)?;
        self.changed(&job, change)?;
        let word = match change {
            Change::Pause => "paused",
            Change::Resume => "resumed",
            Change::Remove => "removed",
            Change::Run(_) => "run",
        };
        self.record(&job, CHANGED, &format!("{word} by {}", by.name)).await?;
        kit::fault_point!("scheduler.change.recorded");
        // Its times may have gone on meanwhile.
        let job = self.find(by, named)?;
        let changed = self.changed(&job, change)?;
        match change {
            Change::Pause | Change::Resume => self.store.change(&changed)?,
            Change::Remove => {
                self.store.commit(|| self.store.remove(job.id))?;
                self.forget_rule(job.id);
                return Ok(self.info(&job, None));
            }
            Change::Run(due_ms) => {
                self.store.add_fire(job.id, due_ms, kit::now_ms(), (FireState::Due, "by hand"))?;
            }
        }
        self.wake.notify_one();
        self.listed(&changed)
    }

    /// A job as a change leaves it.
    fn changed(&self, job: &Job, change: Change) -> Result<Job, SchedulerError> {
        let mut job = job.clone();
        let now_ms = kit::now_ms();
        match change {
            Change::Pause => (job.state, job.why) = (JobState::Paused, Text::clip("by hand")),
            Change::Resume => {
                // Times of the pause are over. A clock that was far ahead once does not hold the job back any more.
                let next_ms = self.rule(&job)?.next(now_ms).ok_or(SchedulerError::Over)?;
                (job.state, job.why, job.next_ms) = (JobState::Active, Text::default(), Some(next_ms));
                (job.last_ms, job.failures, job.held_ms) = (now_ms, 0, 0);
            }
            Change::Run(due_ms) => {
                let same = self.store.last_fires(job.id, 1)?.iter().any(|fire| fire.due_ms == due_ms);
                if !same && self.store.is_busy(job.id)? {
                    return Err(SchedulerError::StillRuns(job.terms.session));
                }
            }
            Change::Remove => {}
        }
        Ok(job)
    }
}
