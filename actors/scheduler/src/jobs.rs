//! The jobs, and the links to the processes that are called for them.

use crate::rule::Rule;
use crate::store::{Job, Store, StoreFault};
use ipc_proto::Text;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::config;
use ipc_proto::ids::JobId;
use ipc_proto::router::{Fire, RouterClient, Unattended};
use ipc_proto::scheduler::{PROMPT, Person, SchedulerError};
use kit::{Host, Link, Recorder};
use std::cell::RefCell;
use std::collections::HashMap;
use tokio::sync::Notify;

/// The jobs of the host.
pub(crate) struct Jobs {
    pub(crate) config: config::Scheduler,
    pub(crate) store: Store,
    pub(crate) router: Link<RouterClient>,
    pub(crate) recorder: Recorder,
    /// Told when something changed that may let a message be submitted.
    pub(crate) wake: Notify,
    /// The rules of jobs, which follow from their terms.
    rules: RefCell<HashMap<JobId, Rule>>,
}

impl From<StoreFault> for SchedulerError {
    fn from(fault: StoreFault) -> Self {
        tracing::error!(%fault, "not stored");
        Self::NotDurable
    }
}

impl Jobs {
    pub(crate) fn new(config: config::Scheduler, store: Store, host: &Host) -> Self {
        Self {
            config,
            store,
            router: host.link(),
            recorder: host.recorder(),
            wake: Notify::new(),
            rules: RefCell::default(),
        }
    }

    /// The rule of a job's times.
    pub(crate) fn rule(&self, job: &Job) -> Result<Rule, SchedulerError> {
        if let Some(rule) = self.rules.borrow().get(&job.id) {
            return Ok(rule.clone());
        }
        let rule = Rule::of(&job.terms.when, &job.terms.zone, job.created_ms)?;
        self.rules.borrow_mut().insert(job.id, rule.clone());
        Ok(rule)
    }

    /// Forgets the rule of a job that is gone.
    pub(crate) fn forget_rule(&self, id: JobId) {
        self.rules.borrow_mut().remove(&id);
    }

    /// A job as a person names it: any by its id, and one's own by its name. Another user's is not there.
    pub(crate) fn find(&self, by: &Person, named: &str) -> Result<Job, SchedulerError> {
        let found = match named.parse::<JobId>() {
            Ok(id) => self.store.job(id)?,
            Err(_) => self.store.job_named(by.id, named)?,
        };
        found.filter(|job| by.all || job.user == by.id).ok_or(SchedulerError::NoJob)
    }

    /// The message of a job, as it is submitted for this time.
    pub(crate) fn message(&self, job: &Job, due_ms: u64) -> Result<Fire, StoreFault> {
        Ok(fire(job, self.store.prompt(job.id)?, due_ms))
    }

    /// Puts an event about a job on the record: durable when this returns.
    pub(crate) async fn record(
        &self,
        job: &Job,
        (action, result): (Action, Result3),
        reason: &str,
    ) -> Result<(), SchedulerError> {
        let event = Event::new(action, result).about(&job.name).because(reason);
        self.recorder.record(event).await.map(drop).map_err(|fault| {
            tracing::warn!(%fault, "not on the record");
            SchedulerError::NotDurable
        })
    }
}

/// A message of a job with this text, for this time.
pub(crate) fn fire(job: &Job, text: Text<PROMPT>, due_ms: u64) -> Fire {
    let terms = &job.terms;
    Fire {
        user: job.user,
        session: terms.session.clone(),
        agent: terms.agent.clone(),
        key: key(job.id, due_ms),
        text,
        unattended: Unattended { asks: terms.asks, tokens: terms.tokens, proposed: terms.proposed },
        to: terms.to.clone(),
    }
}

/// The key by which router knows the message of a job for a time: the same twice is one message.
pub(crate) fn key(job: JobId, due_ms: u64) -> Text<256> {
    Text::clip(&format!("{job}:{due_ms}"))
}
