//! The queue of background work: curator decides and records; the caller is the owner, as the role of each method says.

use crate::caller::Caller;
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::curator::{CuratorClient, CuratorError, Edit, JobState, JobView, Listing, PromptJob, method};
use ipc_proto::ids::JobId;
use ipc_proto::{Method, Name};
use std::future::Future;
use tarpc::client::RpcError;
use tarpc::context::Context;

impl Caller {
    async fn ask_curator<T, F, Fut>(&self, method: &Method, ask: F) -> Answer<T>
    where
        F: Fn(CuratorClient, Context) -> Fut,
        Fut: Future<Output = Result<Result<T, CuratorError>, RpcError>>,
    {
        self.state.ask(&self.state.curator, method, ask).await?.map_err(ControlError::Curator)
    }

    /// A change of the queue, by the caller.
    async fn change_curator<T, F, Fut>(&self, method: &Method, change: F) -> Answer<T>
    where
        F: Fn(CuratorClient, Context, Name) -> Fut,
        Fut: Future<Output = Result<Result<T, CuratorError>, RpcError>>,
    {
        let by = self.user().await?.name;
        self.ask_curator(method, |curator, context| change(curator, context, by.clone())).await
    }

    /// The queue; with a state, only jobs in it.
    pub(crate) async fn list_jobs(&self, state: Option<JobState>) -> Answer<Listing> {
        self.ask_curator(&method::jobs, |curator, cx| async move { curator.jobs(cx, state).await }).await
    }

    /// One job.
    pub(crate) async fn show_job(&self, id: JobId) -> Answer<JobView> {
        self.ask_curator(&method::job, |curator, cx| async move { curator.job(cx, id).await }).await
    }

    /// Puts a prompt into the queue, as the caller.
    pub(crate) async fn ask_in_background(&self, id: JobId, job: PromptJob) -> Answer<JobView> {
        self.state.disk_has_room()?;
        let user = self.user().await?;
        let ask = |curator: CuratorClient, cx| {
            let (by, job) = (user.name.clone(), job.clone());
            async move { curator.ask(cx, by, user.id, id, job).await }
        };
        self.ask_curator(&method::ask, ask).await
    }

    /// Changes a job.
    pub(crate) async fn edit_job(&self, id: JobId, edit: Edit) -> Answer<JobView> {
        let change = |curator: CuratorClient, cx, by| {
            let edit = edit.clone();
            async move { curator.edit(cx, by, id, edit).await }
        };
        self.change_curator(&method::edit, change).await
    }

    /// Puts a job that was given up into the queue again.
    pub(crate) async fn requeue_job(&self, id: JobId) -> Answer<JobView> {
        let change = |curator: CuratorClient, cx, by| async move { curator.requeue(cx, by, id).await };
        self.change_curator(&method::requeue, change).await
    }

    /// Takes a job out.
    pub(crate) async fn remove_job(&self, id: JobId) -> Answer<()> {
        let change = |curator: CuratorClient, cx, by| async move { curator.remove(cx, by, id).await };
        self.change_curator(&method::remove, change).await
    }

    /// Pauses the queue, or resumes it.
    pub(crate) async fn pause_jobs(&self, paused: bool) -> Answer<()> {
        let change = |curator: CuratorClient, cx, by| async move { curator.pause(cx, by, paused).await };
        self.change_curator(&method::pause, change).await
    }

    /// Interrupts a running job, or all.
    pub(crate) async fn abort_jobs(&self, id: Option<JobId>) -> Answer<u32> {
        let change = |curator: CuratorClient, cx, by| async move { curator.abort(cx, by, id).await };
        self.change_curator(&method::abort, change).await
    }

    /// Looks for work now.
    pub(crate) async fn run_jobs(&self) -> Answer<u32> {
        self.ask_curator(&method::run, |curator, cx| async move { curator.run(cx).await }).await
    }
}
