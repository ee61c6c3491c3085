//! The work on times that have come. A time is durable as due before its message is submitted, and it is submitted under a
//! key that makes it one message; so a death of anybody between the two repeats a submission and never a message.

use crate::dues::{Fate, dues};
use crate::jobs::{Jobs, key};
use crate::store::{Job, StoreFault};
use futures::StreamExt;
use futures::stream;
use ipc_proto::Text;
use ipc_proto::audit::{Action, Result3};
use ipc_proto::router::{FireEnd, RouterError, method};
use ipc_proto::scheduler::{FAILURES, FireInfo, FireState, JobState, SchedulerError};

/// Messages that are submitted at once.
const AT_ONCE: usize = 64;
/// How long a job is held back after its first failures in a row, minutes; the last after any further one.
const HELD_MINUTES: [u64; 4] = [1, 5, 15, 60];
/// For how long a message is submitted again that router does not take for now, ms.
const PATIENCE_MS: u64 = 86_400_000;

/// The outcome of a time of a job.
struct Outcome {
    due_ms: u64,
    state: FireState,
    reason: &'static str,
}

impl Outcome {
    const fn event(&self) -> (Action, Result3) {
        match self.state {
            FireState::Due => (Action::JobFired, Result3::Success),
            _ => (Action::JobFired, Result3::Blocked),
        }
    }
}

impl Jobs {
    /// Sets the next time of each job anew: the rules of zones may have changed with the program.
    pub(crate) fn set_times(&self) -> Result<(), SchedulerError> {
        for mut job in self.store.jobs(None)?.into_iter().filter(|job| job.state != JobState::Done) {
            job.next_ms = self.rule(&job)?.next(job.last_ms);
            self.store.change(&job)?;
        }
        Ok(())
    }

    /// Does what is to be done now.
    pub(crate) async fn work(&self) -> Result<(), SchedulerError> {
        self.look().await?;
        let due = self.store.due(kit::now_ms())?;
        let done = stream::iter(due.iter().map(|job| self.come(job))).buffer_unordered(AT_ONCE);
        done.collect::<Vec<_>>().await.into_iter().collect::<Result<(), _>>()?;
        self.submit_due().await
    }

    /// Stores what the times of a job come to that have come, once that is on the record.
    async fn come(&self, job: &Job) -> Result<(), SchedulerError> {
        let rule = self.rule(job)?;
        let now_ms = kit::now_ms();
        let outcomes = self.outcomes(job, dues(&rule, job.last_ms, now_ms, job.terms.missed), now_ms)?;
        for outcome in &outcomes {
            self.record(job, outcome.event(), outcome.reason).await?;
        }
        kit::fault_point!("scheduler.due.recorded");
        // A person may have changed it meanwhile.
        let Some(mut job) = self.store.job(job.id)?.filter(|now| now == job) else { return Ok(()) };
        job.last_ms = outcomes.iter().map(|outcome| outcome.due_ms).max().unwrap_or(job.last_ms);
        job.next_ms = rule.next(job.last_ms);
        if job.next_ms.is_none() {
            job.state = JobState::Done;
        }
        self.store.commit(|| {
            for Outcome { due_ms, state, reason } in &outcomes {
                self.store.add_fire(job.id, *due_ms, now_ms, (*state, reason))?;
            }
            self.store.change(&job)
        })?;
        kit::fault_point!("scheduler.due.committed");
        Ok(())
    }

    /// The outcome of each time, with the messages of the job that are not over and its failures in mind.
    fn outcomes(&self, job: &Job, dues: Vec<(u64, Fate)>, now_ms: u64) -> Result<Vec<Outcome>, StoreFault> {
        let hindered = if self.store.is_busy(job.id)? {
            Some("the message before is not over")
        } else if now_ms < job.held_ms {
            Some("failures hold the job back")
        } else {
            None
        };
        let outcome = |(due_ms, fate)| {
            let (state, reason) = match (fate, hindered) {
                (Fate::Fires, None) => (FireState::Due, ""),
                (Fate::Fires, Some(why)) => (FireState::Skipped, why),
                (Fate::Missed, _) => (FireState::Missed, "over a minute late"),
                (Fate::Missing, _) => (FireState::Missed, "this time and later ones were missed"),
            };
            Outcome { due_ms, state, reason }
        };
        Ok(dues.into_iter().map(outcome).collect())
    }

    /// Submits every message that is due.
    async fn submit_due(&self) -> Result<(), SchedulerError> {
        let due = self.store.fires_in(FireState::Due)?;
        // Several of one job go in their order.
        let mut by_job: Vec<Vec<FireInfo>> = Vec::new();
        for fire in due {
            match by_job.iter_mut().find(|of| of.first().is_some_and(|first| first.job == fire.job)) {
                Some(of) => of.push(fire),
                None => by_job.push(vec![fire]),
            }
        }
        let submit = |fires: Vec<FireInfo>| async move {
            for fire in fires {
                self.submit(fire).await?;
            }
            Ok(())
        };
        let done = stream::iter(by_job.into_iter().map(submit)).buffer_unordered(AT_ONCE);
        done.collect::<Vec<_>>().await.into_iter().collect()
    }

    /// Submits one; one that router does not take for now stays due.
    async fn submit(&self, mut fire: FireInfo) -> Result<(), SchedulerError> {
        let Some(job) = self.store.job(fire.job)? else { return Ok(()) };
        let message = self.message(&job, fire.due_ms)?;
        let accepted = self.router.call(&method::fire, |router, context| {
            let message = message.clone();
            async move { router.fire(context, message).await }
        });
        let accepted = accepted.await;
        kit::fault_point!("scheduler.submitted");
        let now_ms = kit::now_ms();
        match accepted {
            Ok(Ok(accepted)) => {
                fire.message = Some(accepted.message);
                Ok(self.store.set_fire(&fire, now_ms, (FireState::Running, &fire.reason))?)
            }
            Ok(Err(refusal)) if !passes(&refusal) => self.fail(&fire, &refusal.to_string()).await,
            _ if now_ms.saturating_sub(fire.at_ms) > PATIENCE_MS => {
                self.fail(&fire, "router took no message for a day").await
            }
            _ => Ok(()),
        }
    }

    /// Looks at the messages that are not over.
    async fn look(&self) -> Result<(), SchedulerError> {
        let running = self.store.fires_in(FireState::Running)?;
        let done = stream::iter(running.into_iter().map(|fire| self.look_at(fire))).buffer_unordered(AT_ONCE);
        done.collect::<Vec<_>>().await.into_iter().collect()
    }

    async fn look_at(&self, fire: FireInfo) -> Result<(), SchedulerError> {
        let Some(job) = self.store.job(fire.job)? else { return Ok(()) };
        let (user, key) = (job.user, key(job.id, fire.due_ms));
        let state = self.router.call(&method::fired, |router, context| {
            let key = key.clone();
            async move { router.fired(context, user, key).await }
        });
        match state.await {
            Ok(Ok(fired)) => match fired.end {
                Some(FireEnd::Answered) => self.end(&fire, FireState::Answered),
                Some(FireEnd::Stopped) => self.end(&fire, FireState::Stopped),
                Some(FireEnd::Failed(why)) => self.fail(&fire, &why).await,
                None => Ok(()),
            },
            Ok(Err(RouterError::NoMessage)) => self.fail(&fire, "router has no such message").await,
            _ => Ok(()),
        }
    }

    /// Stores the good end of a message.
    fn end(&self, fire: &FireInfo, state: FireState) -> Result<(), SchedulerError> {
        let Some(mut job) = self.store.job(fire.job)? else { return Ok(()) };
        if state == FireState::Answered {
            (job.failures, job.held_ms) = (0, 0);
            if job.state == JobState::Active {
                job.why = Text::default();
            }
        }
        Ok(self.store.commit(|| {
            self.store.set_fire(fire, kit::now_ms(), (state, &fire.reason))?;
            self.store.change(&job)
        })?)
    }

    /// Stores a failure, once it is on the record, where it raises an alert. Failures in a row hold the job back, and pause it.
    async fn fail(&self, fire: &FireInfo, why: &str) -> Result<(), SchedulerError> {
        let Some(job) = self.store.job(fire.job)? else { return Ok(()) };
        self.record(&job, (Action::JobFailed, Result3::Error), why).await?;
        let Some(mut job) = self.store.job(fire.job)? else { return Ok(()) };
        let now_ms = kit::now_ms();
        job.failures = job.failures.saturating_add(1);
        if job.failures >= FAILURES && job.state == JobState::Active {
            job.state = JobState::Paused;
            job.why = Text::clip(&format!("{FAILURES} failures in a row, the last: {why}"));
        } else if job.state == JobState::Active {
            let minutes = held_minutes(job.failures);
            job.held_ms = now_ms.saturating_add(minutes * 60_000);
            job.why = Text::clip(&format!("held back for {minutes} min: {why}"));
        }
        Ok(self.store.commit(|| {
            self.store.set_fire(fire, now_ms, (FireState::Failed, why))?;
            self.store.change(&job)
        })?)
    }
}

/// How long a job is held back after so many failures in a row, minutes.
fn held_minutes(failures: u32) -> u64 {
    let place = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
    HELD_MINUTES.get(place).or(HELD_MINUTES.last()).copied().unwrap_or_default()
}

/// Returns true if router may take the same message later.
const fn passes(refusal: &RouterError) -> bool {
    matches!(refusal, RouterError::Busy { .. } | RouterError::NoRoom { .. } | RouterError::NotDurable)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds B-243.
    #[test]
    fn failures_in_a_row_hold_a_job_back_for_longer_each_time() {
        assert_eq!([1, 2, 3, 4, 5, 7].map(held_minutes), [1, 5, 15, 60, 60, 60]);
    }
}
