//! The context that all connections share: links to other processes, agents, settings and shared state.

use crate::state::alerts::AlertLimiter;
use crate::state::blocked_on;
use crate::state::callers::Callers;
use crate::state::deferred_audit::DeferredAudit;
use crate::state::errors::down;
use crate::state::mcp::{self, Mcp};
use crate::state::policy_files::Policies;
use crate::state::quota::Quotas;
use crate::state::rates::Rates;
use crate::state::reranks::RerankQueue;
use crate::state::runners::Runners;
use ipc_proto::audit::{AuditClient, Event, Receipt};
use ipc_proto::config::{self, Agent};
use ipc_proto::credproxy::CredproxyClient;
use ipc_proto::egress::EgressClient;
use ipc_proto::embedder::EmbedderClient;
use ipc_proto::ids::SessionId;
use ipc_proto::memory::MemoryClient;
use ipc_proto::model::{self, ModelClient, ModelInfo};
use ipc_proto::router::RouterClient;
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::ScannerClient;
use ipc_proto::scheduler::SchedulerClient;
use ipc_proto::web::WebClient;
use jiff::tz::TimeZone;
use kit::Link;
use manifest::command::Room;
use policy::{Catalogue, Engine};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

/// The parts that are built before the seal: everything that decides.
pub(crate) struct Opened {
    pub(crate) config: config::Gate,
    pub(crate) catalogue: Catalogue,
    pub(crate) policies: Policies,
    pub(crate) mcp: mcp::Opened,
}

/// The sections `[web]`, `[policy]` and `[service.NAME]`, and how memory is searched.
pub(crate) struct Settings {
    pub(crate) web: config::WebReach,
    pub(crate) policy: config::Policy,
    pub(crate) services: BTreeMap<String, config::Service>,
    pub(crate) finding: config::Finding,
    /// The time zone that agents are told the time in.
    pub(crate) time_zone: TimeZone,
    /// `host:port` that jails may reach although not public.
    pub(crate) egress_private_hosts: Vec<String>,
}

/// The context that all connections share. Each request clones it several times, so it is one pointer.
#[derive(Clone)]
pub(crate) struct GateContext(Arc<GateState>);

impl Deref for GateContext {
    type Target = GateState;

    fn deref(&self) -> &GateState {
        &self.0
    }
}

/// The shared state.
pub(crate) struct GateState {
    pub(crate) router: Link<RouterClient>,
    pub(crate) model: Link<ModelClient>,
    pub(crate) scanner: Link<ScannerClient>,
    pub(crate) memory: Link<MemoryClient>,
    pub(crate) embedder: Link<EmbedderClient>,
    pub(crate) web: Link<WebClient>,
    pub(crate) egress: Link<EgressClient>,
    pub(crate) credproxy: Link<CredproxyClient>,
    pub(crate) scheduler: Link<SchedulerClient>,
    /// Used for its health only; events go by `recorder`.
    pub(crate) audit: Link<AuditClient>,
    /// The way to the record.
    pub(crate) recorder: DeferredAudit,
    pub(crate) agents: BTreeMap<String, Agent>,
    pub(crate) settings: Settings,
    /// The servers of the Model Context Protocol.
    pub(crate) mcp: Mcp,
    /// The policy files. One change is made at a time.
    pub(crate) policies: tokio::sync::Mutex<Policies>,
    /// The policy engine. A decision never waits for a change.
    engine: RwLock<Arc<Engine>>,
    quotas: Mutex<Quotas>,
    /// The rates of the pass-through's clients.
    pub(crate) rates: Rates,
    /// The holders behind callers, as router named them last.
    pub(crate) callers: Callers,
    /// The lists that wait for a model's ranking.
    pub(crate) reranks: RerankQueue,
    /// The room on the disk, as agentd reported it last.
    disk: RwLock<Room>,
    /// Recent alerts.
    alerts: Mutex<AlertLimiter>,
    /// The runner of each turn.
    pub(crate) runners: Runners,
    /// Bytes of bodies that jails send and that are held now.
    pub(crate) bodies_of_jails: AtomicU64,
}

impl GateContext {
    pub(crate) fn new(host: &kit::Host, opened: Opened) -> Self {
        Self(Arc::new(GateState {
            router: host.link(),
            model: host.link(),
            scanner: host.link(),
            memory: host.link(),
            embedder: host.link(),
            web: host.link(),
            egress: host.link(),
            credproxy: host.link(),
            scheduler: host.link(),
            audit: host.link(),
            recorder: DeferredAudit::new(host.recorder()),
            agents: opened.config.agents,
            settings: Settings {
                web: opened.config.web,
                policy: opened.config.policy,
                services: opened.config.services,
                finding: opened.config.finding,
                egress_private_hosts: opened.config.egress_private_hosts,
                time_zone: TimeZone::get(&opened.config.time_zone).unwrap_or(TimeZone::UTC),
            },
            mcp: Mcp::new(opened.mcp, opened.catalogue, host.supervisor()),
            engine: RwLock::new(opened.policies.engine()),
            policies: tokio::sync::Mutex::new(opened.policies),
            quotas: Mutex::default(),
            rates: Rates::new(opened.config.relay),
            callers: Callers::default(),
            reranks: RerankQueue::default(),
            disk: RwLock::default(),
            alerts: Mutex::default(),
            runners: Runners::default(),
            bodies_of_jails: AtomicU64::default(),
        }))
    }

    /// The capabilities of all tools now.
    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        self.mcp.catalogue()
    }

    /// The policy engine now.
    pub(crate) fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the policy engine.
    pub(crate) fn swap(&self, engine: Arc<Engine>) {
        *self.engine.write().unwrap_or_else(PoisonError::into_inner) = engine;
    }

    /// Takes one model call from a session's quota; returns false if it is used up.
    pub(crate) fn take_quota(&self, session: SessionId, limit: u32) -> bool {
        self.quotas.lock().is_ok_and(|mut quotas| quotas.take(session, limit, Instant::now()))
    }

    /// Stores the room on the disk that agentd reports.
    pub(crate) fn hear_of_disk(&self, room: Room) {
        *self.disk.write().unwrap_or_else(PoisonError::into_inner) = room;
    }

    /// The room on the disk.
    pub(crate) fn disk(&self) -> Room {
        *self.disk.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an event. If this fails, nothing may happen.
    pub(crate) async fn record(&self, event: Event) -> Result<Receipt, GateError> {
        blocked_on::during("audit", self.recorder.record(event)).await.map_err(|_| down("audit"))
    }

    /// Records an alert, unless a like one was recorded recently.
    pub(crate) async fn alert(&self, event: Event) -> Result<(), GateError> {
        let due =
            self.alerts.lock().unwrap_or_else(PoisonError::into_inner).due(event.clone(), Instant::now());
        self.record_alert(event, due).await
    }

    /// Records an alert about an ordinary refusal, if it is repeated and was not recorded recently.
    pub(crate) async fn alert_repeated(&self, event: Event) -> Result<(), GateError> {
        let now = Instant::now();
        let due = self.alerts.lock().unwrap_or_else(PoisonError::into_inner).due_repeated(event.clone(), now);
        self.record_alert(event, due).await
    }

    async fn record_alert(&self, event: Event, due: Option<Event>) -> Result<(), GateError> {
        let Some(due) = due else { return Ok(()) };
        let mut pending = PendingAlert { alerts: &self.alerts, event: Some(event) };
        self.record(due).await?;
        pending.event = None;
        Ok(())
    }

    /// The models, as model lists them.
    pub(crate) async fn models(&self) -> Result<Vec<ModelInfo>, GateError> {
        let models = self
            .model
            .call(&model::method::models, |model, context| async move { model.models(context).await });
        blocked_on::during("model", models).await.map(ipc_proto::List::into_vec).map_err(|_| down("model"))
    }
}

/// An alert on its way to the record. If it does not arrive, also because its caller is gone, the next like it is recorded.
struct PendingAlert<'a> {
    alerts: &'a Mutex<AlertLimiter>,
    /// `None` once it is recorded.
    event: Option<Event>,
}

impl Drop for PendingAlert<'_> {
    fn drop(&mut self) {
        if let Some(event) = &self.event {
            self.alerts.lock().unwrap_or_else(PoisonError::into_inner).forget(event);
        }
    }
}
