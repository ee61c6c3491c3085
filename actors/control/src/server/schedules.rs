//! The jobs of people: the scheduler decides and records; the caller sees their own, and the owner all.

use crate::caller::Caller;
use ipc_proto::config::UserRole;
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::ids::JobId;
use ipc_proto::scheduler::{
    Change, FireInfo, JOBS, JobInfo, JobName, JobView, NewJob, Person, SchedulerClient, SchedulerError,
    method,
};
use ipc_proto::{List, Method};
use manifest::Process;
use tarpc::client::RpcError;
use tarpc::context::Context;

impl Caller {
    /// The caller's jobs.
    pub(crate) async fn list_scheduled(&self) -> Answer<List<JobInfo, JOBS>> {
        self.scheduler(&method::jobs, |scheduler, cx, by| async move { scheduler.jobs(cx, by).await }).await
    }

    /// One of them in full.
    pub(crate) async fn show_scheduled(&self, job: JobName) -> Answer<Box<JobView>> {
        self.scheduler(&method::job, |scheduler, cx, by| {
            let job = job.clone();
            async move { scheduler.job(cx, by, job).await }
        })
        .await
    }

    /// Adds a job, as the caller.
    pub(crate) async fn schedule_job(&self, id: JobId, job: NewJob) -> Answer<Box<JobView>> {
        self.state.disk_has_room()?;
        self.scheduler(&method::add, |scheduler, cx, by| {
            let job = job.clone();
            async move { scheduler.add(cx, by, id, job).await }
        })
        .await
    }

    /// Changes one, as the caller.
    pub(crate) async fn change_scheduled(&self, job: JobName, change: Change) -> Answer<JobInfo> {
        self.scheduler(&method::change, |scheduler, cx, by| {
            let job = job.clone();
            async move { scheduler.change(cx, by, job, change).await }
        })
        .await
    }

    /// The times of one job or of all, and what became of each.
    pub(crate) async fn scheduled_times(&self, job: Option<JobName>) -> Answer<List<FireInfo, 256>> {
        self.scheduler(&method::history, |scheduler, cx, by| {
            let job = job.clone();
            async move { scheduler.history(cx, by, job).await }
        })
        .await
    }

    async fn scheduler<R, F, Fut>(&self, method: &Method, ask: F) -> Answer<R>
    where
        F: Fn(SchedulerClient, Context, Person) -> Fut,
        Fut: Future<Output = Result<Result<R, SchedulerError>, RpcError>>,
    {
        if !self.state.board.borrow().processes().any(|process| process == Process::Scheduler) {
            return Err(ControlError::NoScheduler);
        }
        let user = self.user().await?;
        let by = Person { id: user.id, name: user.name, all: user.role == UserRole::Owner };
        let ask = |scheduler, cx| ask(scheduler, cx, by.clone());
        self.state.ask(&self.state.scheduler, method, ask).await?.map_err(ControlError::Schedule)
    }
}
