//! Jobs and their history as people see them.

use crate::jobs::Jobs;
use crate::store::Job;
use crate::zone;
use ipc_proto::scheduler::{
    FireInfo, FireState, JOBS, JobInfo, JobState, JobView, Moment, Person, SchedulerError,
};
use ipc_proto::{List, Text};

/// Times that are shown ahead.
const AHEAD: usize = 5;
/// Fires of a listing.
const SHOWN: u32 = 256;

impl Jobs {
    /// The jobs of a person.
    pub(crate) fn list(&self, by: &Person) -> Result<List<JobInfo, JOBS>, SchedulerError> {
        let jobs = self.store.jobs(by.scope())?;
        let listed: Result<Vec<JobInfo>, SchedulerError> = jobs.iter().map(|job| self.listed(job)).collect();
        Ok(List::clip(listed?))
    }

    /// One job in full.
    pub(crate) fn show(&self, by: &Person, named: &str) -> Result<Box<JobView>, SchedulerError> {
        let job = self.find(by, named)?;
        let rule = self.rule(&job)?;
        let first = job.next_ms.filter(|_| job.state == JobState::Active);
        let ahead = std::iter::successors(first, |time| rule.next(*time)).take(AHEAD);
        let ahead = ahead.map(|time| shown(time, &job.terms.zone)).collect::<Vec<_>>();
        Ok(Box::new(JobView {
            info: self.listed(&job)?,
            prompt: self.store.prompt(job.id)?,
            agent: job.terms.agent,
            session: job.terms.session,
            to: job.terms.to,
            missed: job.terms.missed,
            asks: job.terms.asks,
            proposed: job.terms.proposed.is_some(),
            tokens: job.terms.tokens,
            created_ms: job.created_ms,
            next: List::clip(ahead),
        }))
    }

    /// The times of one job or of all of a person's, and what became of each.
    pub(crate) fn history(
        &self,
        by: &Person,
        named: Option<&str>,
    ) -> Result<List<FireInfo, 256>, SchedulerError> {
        let fires = match named {
            Some(named) => self.store.last_fires(self.find(by, named)?.id, SHOWN)?,
            None => self.store.history(by.scope(), SHOWN)?,
        };
        Ok(List::clip(fires))
    }

    /// A job with its last time.
    pub(crate) fn listed(&self, job: &Job) -> Result<JobInfo, SchedulerError> {
        let last = self.store.last_fires(job.id, 1)?;
        Ok(self.info(job, last.first().map(|fire| (fire.due_ms, fire.state))))
    }

    /// A job as it is listed.
    pub(crate) fn info(&self, job: &Job, last: Option<(u64, FireState)>) -> JobInfo {
        let next = job.next_ms.filter(|_| job.state == JobState::Active);
        JobInfo {
            id: job.id,
            name: job.name.clone(),
            user: job.user_name.clone(),
            when: job.terms.when.clone(),
            zone: job.terms.zone.clone(),
            state: job.state,
            why: job.why.clone(),
            next: next.map(|time| shown(time, &job.terms.zone)),
            last,
            failures: job.failures,
        }
    }
}

/// A moment as a clock of the zone shows it.
pub(crate) fn shown(ms: u64, zone: &str) -> Moment {
    let there = zone::at(ms).and_then(|moment| Some(moment.to_zoned(zone::named(zone).ok()?)));
    let shown = there.map(|there| there.strftime("%a %Y-%m-%d %H:%M:%S %Z").to_string()).unwrap_or_default();
    Moment { ms, shown: Text::clip(&shown) }
}
