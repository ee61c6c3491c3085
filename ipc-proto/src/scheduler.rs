//! Scheduler keeps people's jobs and submits the message of each at its times, once for each. It sees no answer.

use crate::ids::{JobId, MessageId, SessionName, UserId};
use crate::label::Class;
use crate::router::{RouterError, Target};
use crate::service::service;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// Jobs of a host.
pub const JOBS: usize = 256;
/// Jobs of one user.
pub const JOBS_PER_USER: usize = 64;
/// Bytes of a job's message.
pub const PROMPT: usize = 16 * 1024;
/// Bytes of the message of a job that an agent proposes: a person reads it whole before they approve it.
pub const PROPOSED: usize = 2 * 1024;
/// Bytes of a cron expression, and of a time.
pub const EXPRESSION: usize = 128;
/// The least time between two fires of a job, seconds.
pub const APART_S: u32 = 60;
/// The greatest interval, seconds: a year.
pub const INTERVAL_S: u32 = 366 * 86_400;
/// A fire that is later than this is missed, ms.
pub const LATE_MS: u64 = 60_000;
/// Missed fires that are made up for at most.
pub const CATCH_UP: usize = 24;
/// Failures in a row after which a job is paused.
pub const FAILURES: u32 = 8;
/// Days for which fires are kept.
pub const HISTORY_DAYS: u32 = 90;

service! {
    /// The jobs of people, each method for the person who asks.
    pub trait Scheduler {
        /// The jobs, those that fire next first.
        [idempotent, 512, 10]
        async fn jobs(by: Person) -> Result<List<JobInfo, JOBS>, SchedulerError>;
        /// One job in full.
        [idempotent, 64, 10]
        async fn job(by: Person, job: JobName) -> Result<Box<JobView>, SchedulerError>;
        /// Adds a job of `by` under this id; durable and on the record when it returns. The same id twice is one job.
        [idempotent, 64, 30]
        async fn add(by: Person, id: JobId, job: NewJob) -> Result<Box<JobView>, SchedulerError>;
        /// Changes a job; durable and on the record when it returns.
        [idempotent, 4, 30]
        async fn change(by: Person, job: JobName, change: Change) -> Result<JobInfo, SchedulerError>;
        /// Fires of one job or of all, latest first.
        [idempotent, 512, 10]
        async fn history(by: Person, job: Option<JobName>) -> Result<List<FireInfo, 256>, SchedulerError>;
        /// Checks a job that an agent proposes, before a person is asked; nothing is kept.
        [idempotent, 64, 15]
        async fn check_proposed(by: Proposer, job: NewJob) -> Result<Box<Proposal>, SchedulerError>;
        /// Adds a job that an agent proposed and a person approved, as `add` does.
        [idempotent, 64, 30]
        async fn add_proposed(by: Proposer, id: JobId, job: NewJob) -> Result<Box<JobView>, SchedulerError>;
        /// The jobs that this agent proposed and that are there, those that fire next first.
        [idempotent, 512, 10]
        async fn proposed(by: Proposer) -> Result<ProposedJobs, SchedulerError>;
        /// Removes one of them; durable and on the record when it returns.
        [once, 4, 30]
        async fn remove_proposed(by: Proposer, job: JobName) -> Result<JobInfo, SchedulerError>;
    }
}

/// The person who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The user.
    pub id: UserId,
    /// The user's name.
    pub name: Name,
    /// An owner, who sees and changes everyone's jobs rather than their own.
    pub all: bool,
}

impl Person {
    /// The user whose jobs these are; none for everyone's.
    #[must_use]
    pub fn scope(&self) -> Option<UserId> {
        (!self.all).then_some(self.id)
    }
}

/// The agent that proposes jobs, in a session of a user whose they become.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposer {
    /// The user.
    pub user: UserId,
    /// The user's name.
    pub user_name: Name,
    /// The agent.
    pub agent: Name,
    /// The class of what the agent has read: the message of a job may tell it.
    pub class: Class,
}

/// A job as a person is asked about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// When it fires, in words.
    pub words: Text<256>,
    /// The zone.
    pub zone: Text<64>,
    /// Its first times.
    pub next: List<Moment, 3>,
    /// The session that its messages go to.
    pub session: SessionName,
    /// Where its answers are sent.
    pub to: Option<Target>,
}

/// The jobs of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedJobs {
    /// Each with its message.
    pub jobs: List<(JobInfo, Text<PROPOSED>), JOBS_PER_USER>,
    /// The highest class of their messages.
    pub class: Class,
}

/// A job as a person names it: by its id, or by the name that it has among their own.
pub type JobName = Text<64>;

/// When a job fires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum When {
    /// At the times that a cron expression of five fields names.
    Cron(Text<EXPRESSION>),
    /// Once, at this time: `2026-12-01T08:00`, with an offset such as `Z` or in the job's zone.
    At(Text<EXPRESSION>),
    /// Every so many seconds, counted from when it was added.
    Every(u32),
}

/// How fires are made up for that were missed: the host was down at their times, or they are over a minute late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missed {
    /// Not at all.
    Skip,
    /// The last one is.
    #[default]
    Once,
    /// The last 24 are, one after the other.
    All,
}

/// A job as it is added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewJob {
    /// Its name; without one it gets one.
    pub name: Option<Name>,
    /// When it fires.
    pub when: When,
    /// The IANA name of the zone that its times are in; the host's without one.
    pub zone: Option<Text<64>>,
    /// The message.
    pub prompt: Text<PROMPT>,
    /// The agent.
    pub agent: Option<Name>,
    /// The session that its messages go to; one of its own without.
    pub session: Option<SessionName>,
    /// Where its answers are sent.
    pub to: Option<Target>,
    /// How missed fires are made up for.
    pub missed: Missed,
    /// A person is asked about calls that need it; otherwise those are refused.
    pub asks: bool,
    /// The most tokens of one fire; the host's bound without.
    pub tokens: Option<u32>,
}

/// A change of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// It does not fire until it is resumed.
    Pause,
    /// It fires again; failures are forgotten.
    Resume,
    /// It is removed, its history with it.
    Remove,
    /// It fires now, at this time (unix ms), besides its own times.
    Run(u64),
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// It fires.
    Active,
    /// A person or eight failures paused it.
    Paused,
    /// It has no further time.
    Done,
}

/// A moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Unix ms.
    pub ms: u64,
    /// As a clock of the job's zone shows it.
    pub shown: Text<48>,
}

/// A job, listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobInfo {
    /// Its id.
    pub id: JobId,
    /// Its name, unique among its user's jobs.
    pub name: Name,
    /// The owner.
    pub user: Name,
    /// When it fires.
    pub when: When,
    /// The zone.
    pub zone: Text<64>,
    /// The state.
    pub state: JobState,
    /// Why it is paused, or fires later than its times say.
    pub why: Text<256>,
    /// When it fires next.
    pub next: Option<Moment>,
    /// Its last fire: when it was due, and what became of it.
    pub last: Option<(u64, FireState)>,
    /// Failures in a row.
    pub failures: u32,
}

/// A job in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobView {
    /// As it is listed.
    pub info: JobInfo,
    /// The message.
    pub prompt: Text<PROMPT>,
    /// The agent.
    pub agent: Option<Name>,
    /// The session.
    pub session: SessionName,
    /// Where its answers are sent.
    pub to: Option<Target>,
    /// How missed fires are made up for.
    pub missed: Missed,
    /// A person is asked about calls that need it.
    pub asks: bool,
    /// Its agent proposed it, and a person approved it.
    pub proposed: bool,
    /// The most tokens of one fire.
    pub tokens: u32,
    /// When it was added, unix ms.
    pub created_ms: u64,
    /// Its next times.
    pub next: List<Moment, 5>,
}

/// The state of a time of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FireState {
    /// Its message is being submitted.
    Due,
    /// Its message is accepted, and not over.
    Running,
    /// It was answered.
    Answered,
    /// A person stopped it.
    Stopped,
    /// Its message was not accepted, or not answered.
    Failed,
    /// Nothing was sent: the host was down, or it was too late.
    Missed,
    /// Nothing was sent: the fire before still ran, or failures hold the job back.
    Skipped,
}

impl FireState {
    /// Its name, as it is on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Running => "running",
            Self::Answered => "answered",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Missed => "missed",
            Self::Skipped => "skipped",
        }
    }
}

/// One time of a job and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FireInfo {
    /// The job.
    pub job: JobId,
    /// Its name.
    pub name: Name,
    /// When it was due, unix ms.
    pub due_ms: u64,
    /// When this was written last, unix ms.
    pub at_ms: u64,
    /// Its state.
    pub state: FireState,
    /// The message.
    pub message: Option<MessageId>,
    /// Why, in the host's words.
    pub reason: Text<256>,
}

/// Why the scheduler refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum SchedulerError {
    /// No such job of this user.
    #[error("no such job of yours; `agentctl schedule list` shows them")]
    NoJob,
    /// The agent proposed no such job.
    #[error("you have added no job of this name for this person; scheduler_list shows those that you have")]
    NotProposed,
    /// The expression cannot be read, or names no time.
    #[error(
        "the cron expression is wrong: {0}; it has five fields, such as `30 8 * * 1-5`: minute, hour, day, month, weekday"
    )]
    BadExpression(Text<256>),
    /// The time cannot be read.
    #[error(
        "the time is wrong: {0}; give it as 2026-12-01T08:00, or with an offset as 2026-12-01T08:00+01:00"
    )]
    BadTime(Text<256>),
    /// The time is over.
    #[error("{0} is over already; give a later time")]
    Past(Text<128>),
    /// No such zone; the nearest is named.
    #[error("no such time zone: {0}; the nearest name is {1}")]
    NoZone(Text<64>, Text<64>),
    /// The times are too close, or too far apart.
    #[error("an interval of {0} s is none of {APART_S} to {INTERVAL_S} s; give another, such as 30m")]
    BadInterval(u32),
    /// The name is taken.
    #[error(
        "you have a job of this name; give another by --name, or remove it: agentctl schedule remove {0}"
    )]
    NameTaken(Name),
    /// The name is not one.
    #[error(
        "a job's name has 1 to 48 letters, digits, `-`, `_` and `.`, and is no id; give another by --name"
    )]
    BadName,
    /// The message is empty.
    #[error("the message is empty; say after the times what the agent is to do")]
    NoPrompt,
    /// There are as many jobs as there may be.
    #[error("{0} jobs there are, as many as there may be; remove one: agentctl schedule remove NAME")]
    TooMany(u32),
    /// Its last fire is not over.
    #[error("its last message is not over yet; wait for it, or end it: `agentctl stop --session {0}`")]
    StillRuns(SessionName),
    /// A job without a further time cannot be resumed.
    #[error("its time is over; add it again with another")]
    Over,
    /// Router would not take its messages.
    #[error("{0}")]
    Router(RouterError),
    /// Router is away.
    #[error("router is held or away, so a job cannot be checked; try again")]
    NoRouter,
    /// It could not be made durable, or put on the record.
    #[error(
        "the jobs or the record cannot be written (disk full or failing, or audit away); nothing was changed; `agentctl status` says why"
    )]
    NotDurable,
}
