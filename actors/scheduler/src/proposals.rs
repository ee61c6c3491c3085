//! Jobs that agents propose. The gate has a person approve each before it is added here; this process cannot tell, and makes of each
//! message one whose words vouch for nothing. An agent sees and removes those that it proposed itself, for the same user.

use crate::jobs::Jobs;
use crate::listing::shown;
use crate::rule::{self, Rule};
use crate::store::{Job, StoreFault};
use ipc_proto::ids::JobId;
use ipc_proto::router::RouterError;
use ipc_proto::scheduler::{
    Change, JobInfo, JobView, NewJob, Person, Proposal, ProposedJobs, Proposer, SchedulerError,
};
use ipc_proto::{List, Text};

/// Times that a person is shown.
const FIRST: usize = 3;

impl Jobs {
    /// Checks a job that an agent proposes, and tells what a person is to read. Where its answers cannot be sent to the conversation,
    /// they stay in its session.
    pub(crate) async fn check_proposed(
        &self,
        by: &Proposer,
        new: NewJob,
    ) -> Result<Box<Proposal>, SchedulerError> {
        let mut new = of_agent(by, new);
        let mut job = self.new_job(&person(by), JobId::from_bytes([0; 16]), &new, Some(by.class))?;
        match self.check_with_router(&job, &new).await {
            Err(SchedulerError::Router(RouterError::NoTarget(_))) => {
                (new.to, job.terms.to) = (None, None);
                self.check_with_router(&job, &new).await?;
            }
            checked => checked?,
        }
        let rule = Rule::of(&job.terms.when, &job.terms.zone, job.created_ms)?;
        let next = std::iter::successors(job.next_ms, |time| rule.next(*time)).take(FIRST);
        let next = next.map(|time| shown(time, &job.terms.zone)).collect::<Vec<_>>();
        Ok(Box::new(Proposal {
            words: Text::clip(&rule::words(&new.when)),
            zone: job.terms.zone,
            next: List::clip(next),
            session: job.terms.session,
            to: job.terms.to,
        }))
    }

    /// Adds a job that an agent proposed and a person approved.
    pub(crate) async fn add_proposed(
        &self,
        by: &Proposer,
        id: JobId,
        new: NewJob,
    ) -> Result<Box<JobView>, SchedulerError> {
        self.add(&person(by), id, of_agent(by, new), Some(by.class)).await
    }

    /// The jobs that an agent proposed.
    pub(crate) fn proposed(&self, by: &Proposer) -> Result<ProposedJobs, SchedulerError> {
        let (mut jobs, mut class) = (Vec::new(), by.class);
        for job in self.own_jobs(by)? {
            class = class.max(job.terms.proposed.unwrap_or_default());
            jobs.push((self.listed(&job)?, Text::clip(&self.store.prompt(job.id)?)));
        }
        Ok(ProposedJobs { jobs: List::clip(jobs), class })
    }

    /// Removes one of them.
    pub(crate) async fn remove_proposed(
        &self,
        by: &Proposer,
        named: &str,
    ) -> Result<JobInfo, SchedulerError> {
        let own = self.own_jobs(by)?.into_iter().find(|job| job.name.as_str() == named);
        let job = own.ok_or(SchedulerError::NotProposed)?;
        self.change(&person(by), &job.id.to_string(), Change::Remove).await
    }

    fn own_jobs(&self, by: &Proposer) -> Result<Vec<Job>, StoreFault> {
        let own = |job: &Job| job.terms.proposed.is_some() && job.terms.agent.as_ref() == Some(&by.agent);
        Ok(self.store.jobs(Some(by.user))?.into_iter().filter(own).collect())
    }
}

/// The user for whom an agent proposes.
fn person(by: &Proposer) -> Person {
    Person { id: by.user, name: by.user_name.clone(), all: false }
}

/// A job of this agent, with no more authority than a job has by itself.
fn of_agent(by: &Proposer, new: NewJob) -> NewJob {
    NewJob { agent: Some(by.agent.clone()), session: None, asks: false, tokens: None, ..new }
}
