//! The process: its jobs, opened before the seal, and the one interface. Handlers translate; the table says who may call.

use crate::jobs::Jobs;
use crate::store::{FILE, Store};
use crate::timer;
use ipc_proto::List;
use ipc_proto::config;
use ipc_proto::ids::JobId;
use ipc_proto::scheduler::{
    Change, FRAME_BOUND, FireInfo, JOBS, JobInfo, JobName, JobView, NewJob, Person, Proposal, ProposedJobs,
    Proposer, Scheduler, SchedulerError,
};
use kit::{Edge, Host, OpenFault, Place};
use std::rc::Rc;
use tarpc::context::Context;

/// The process.
pub(crate) struct Process {
    jobs: Rc<Jobs>,
}

impl kit::Actor for Process {
    const PROCESS: manifest::Process = manifest::Process::Scheduler;
    type Config = config::Scheduler;
    type Opened = (config::Scheduler, Store);

    fn open(config: config::Scheduler, place: &Place) -> Result<Self::Opened, OpenFault> {
        let store = Store::open(&place.own().join(FILE));
        Ok((config, store.map_err(|error| OpenFault::new("the jobs", error))?))
    }

    async fn start((config, store): Self::Opened, host: Host) -> Self {
        let jobs = Rc::new(Jobs::new(config, store, &host));
        drop(tokio::task::spawn_local(timer::run(Rc::clone(&jobs))));
        Self { jobs }
    }

    async fn serve(&self, edge: Edge) {
        edge.serve(FRAME_BOUND, Serving(Rc::clone(&self.jobs)).serve()).await;
    }
}

#[derive(Clone)]
struct Serving(Rc<Jobs>);

impl Scheduler for Serving {
    async fn jobs(self, _: Context, by: Person) -> Result<List<JobInfo, JOBS>, SchedulerError> {
        self.0.list(&by)
    }

    async fn job(self, _: Context, by: Person, job: JobName) -> Result<Box<JobView>, SchedulerError> {
        self.0.show(&by, &job)
    }

    async fn add(
        self,
        _: Context,
        by: Person,
        id: JobId,
        job: NewJob,
    ) -> Result<Box<JobView>, SchedulerError> {
        self.0.add(&by, id, job, None).await
    }

    async fn change(
        self,
        _: Context,
        by: Person,
        job: JobName,
        change: Change,
    ) -> Result<JobInfo, SchedulerError> {
        self.0.change(&by, &job, change).await
    }

    async fn history(
        self,
        _: Context,
        by: Person,
        job: Option<JobName>,
    ) -> Result<List<FireInfo, 256>, SchedulerError> {
        self.0.history(&by, job.as_deref())
    }

    async fn check_proposed(
        self,
        _: Context,
        by: Proposer,
        job: NewJob,
    ) -> Result<Box<Proposal>, SchedulerError> {
        self.0.check_proposed(&by, job).await
    }

    async fn add_proposed(
        self,
        _: Context,
        by: Proposer,
        id: JobId,
        job: NewJob,
    ) -> Result<Box<JobView>, SchedulerError> {
        self.0.add_proposed(&by, id, job).await
    }

    async fn proposed(self, _: Context, by: Proposer) -> Result<ProposedJobs, SchedulerError> {
        self.0.proposed(&by)
    }

    async fn remove_proposed(
        self,
        _: Context,
        by: Proposer,
        job: JobName,
    ) -> Result<JobInfo, SchedulerError> {
        self.0.remove_proposed(&by, &job).await
    }
}
