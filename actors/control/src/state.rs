//! The state that every connection shares: the links, agentd's reports, the connection to agentd, and the
//! record. It makes no decision about permissions; that is the guard's.

mod agentd;
mod board;
pub(crate) mod disk;
mod figures;
mod questions;
mod refusals;
pub(crate) mod violations;

use agentd::Agentd;
use board::Board;
use figures::Figures;
use ipc_proto::audit::{Action, AuditClient, Event, Result3};
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::credproxy::CredproxyClient;
use ipc_proto::curator::CuratorClient;
use ipc_proto::embedder::EmbedderClient;
use ipc_proto::gate::GateClient;
use ipc_proto::memory::MemoryClient;
use ipc_proto::router::RouterClient;
use ipc_proto::scheduler::SchedulerClient;
use ipc_proto::{Method, Name, config};
use kit::{Host, Link, NotRecorded, Stub};
use manifest::Process;
use refusals::Refusals;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;
use tarpc::client::RpcError;
use tarpc::context::Context;
use violations::Violations;

/// The state that every connection shares.
pub(crate) struct OperatorState {
    /// The host.
    pub(crate) host: Host,
    /// Its section of the configuration.
    pub(crate) config: config::Control,
    /// The folder that agentd keeps the logs in.
    pub(crate) logs: PathBuf,
    /// agentd's reports.
    pub(crate) board: RefCell<Board>,
    /// Figures of processes that agentd passes on.
    pub(crate) figures: RefCell<Figures>,
    /// The way to agentd.
    pub(crate) agentd: Agentd,
    pub(crate) audit: Link<AuditClient>,
    pub(crate) credproxy: Link<CredproxyClient>,
    pub(crate) memory: Link<MemoryClient>,
    pub(crate) embedder: Link<EmbedderClient>,
    pub(crate) router: Link<RouterClient>,
    pub(crate) gate: Link<GateClient>,
    pub(crate) curator: Link<CuratorClient>,
    pub(crate) scheduler: Link<SchedulerClient>,
    refusals: RefCell<Refusals>,
    violations: Violations,
    /// The end of a freeze of every other process, for a copy of the state.
    frozen_until: Cell<Option<Instant>>,
}

impl OperatorState {
    pub(crate) fn new(host: Host, config: config::Control, logs: PathBuf) -> Self {
        Self {
            config,
            logs,
            board: RefCell::default(),
            figures: RefCell::default(),
            agentd: Agentd::new(host.supervisor()),
            audit: host.link(),
            credproxy: host.link(),
            memory: host.link(),
            embedder: host.link(),
            router: host.link(),
            gate: host.link(),
            curator: host.link(),
            scheduler: host.link(),
            refusals: RefCell::default(),
            violations: Violations::default(),
            frozen_until: Cell::default(),
            host,
        }
    }

    /// Notes the end of a freeze; `None` if the processes were resumed.
    pub(crate) fn set_frozen(&self, until: Option<Instant>) {
        self.frozen_until.set(until);
    }

    /// Returns true during a freeze: no process answers then, so none need be asked.
    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen_until.get().is_some_and(|until| Instant::now() < until)
    }

    /// Root, and the uid that the host belongs to.
    pub(crate) fn is_own(&self, uid: u32) -> bool {
        uid == 0 || uid == self.config.owner_uid
    }

    /// Asks another process; one that will not come by itself is not waited for.
    pub(crate) async fn ask<C: Stub, R, F, Fut>(&self, link: &Link<C>, method: &Method, ask: F) -> Answer<R>
    where
        F: Fn(C, Context) -> Fut,
        Fut: Future<Output = Result<R, RpcError>>,
    {
        if self.board.borrow().is_away(C::CALLEE) {
            return Err(down(C::CALLEE));
        }
        link.call(method, ask).await.map_err(|fault| {
            tracing::warn!(peer = C::CALLEE.name(), method = method.name, %fault, "no answer");
            down(C::CALLEE)
        })
    }

    /// Puts an event on the record: durable when this returns.
    ///
    /// # Errors
    /// Why it is not; nothing may happen on the strength of it.
    pub(crate) async fn record(&self, event: Event) -> Answer<()> {
        if self.board.borrow().is_away(Process::Audit) {
            return Err(down(Process::Audit));
        }
        match self.host.recorder().record(event).await {
            Ok(_) => Ok(()),
            Err(NotRecorded::Down(_)) => Err(down(Process::Audit)),
            Err(NotRecorded::Refused(why)) => Err(ControlError::Audit(why)),
        }
    }

    /// Counts a refusal and puts it on the record. It stands whether or not it could be recorded, so audit is
    /// not waited for while it is away.
    pub(crate) async fn refuse(self: &Rc<Self>, uid: u32, what: &str, needs: &str) {
        self.host.refused();
        tracing::warn!(uid, what, needs, "refused");
        if !self.refusals.borrow_mut().admits(uid, Instant::now()) || !self.audit.is_up() {
            return;
        }
        let reason = format!("uid {uid} does not have the role {needs}");
        let event = Event::new(Action::OperatorRefused, Result3::Blocked).about(what).because(&reason);
        let state = Rc::clone(self);
        if let Err(fault) = to_the_end(async move { state.record(event).await }).await {
            tracing::warn!(%fault, "a refusal is not on the record");
        }
    }
}

/// The answer when a process is not there.
pub(crate) fn down(process: Process) -> ControlError {
    ControlError::Down(Name::clip(process.name()))
}

/// Runs work that must not stop halfway because its caller has gone.
pub(crate) async fn to_the_end<T: 'static>(work: impl Future<Output = Answer<T>> + 'static) -> Answer<T> {
    tokio::task::spawn_local(work).await.unwrap_or_else(|_| Err(down(Process::Control)))
}
