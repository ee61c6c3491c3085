//! What every connection of the gate shares: the links, the agents, the quotas.

use crate::alerted::Alerted;
use crate::notes::Notes;
use crate::policies::Policies;
use crate::quota::Quotas;
use crate::relay::{Callers, Orders, Rates};
use crate::waits;
use ipc_proto::Name;
use ipc_proto::audit::{AuditClient, Event, Receipt};
use ipc_proto::config::{self, Agent};
use ipc_proto::credproxy::CredproxyClient;
use ipc_proto::embedder::EmbedderClient;
use ipc_proto::ids::TurnId;
use ipc_proto::memory::MemoryClient;
use ipc_proto::model::{self, ModelClient, ModelInfo};
use ipc_proto::router::{RouterClient, RouterError};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::ScannerClient;
use ipc_proto::web::WebClient;
use kit::Link;
use manifest::command::Room;
use policy::{Catalogue, Engine};
use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;
use tokio::sync::watch;

/// `[web]`, `[policy]`, `[service.NAME]`, and how memory is searched.
pub(crate) struct Settings {
    pub(crate) web: config::WebReach,
    pub(crate) policy: config::Policy,
    pub(crate) services: BTreeMap<String, config::Service>,
    pub(crate) finding: config::Finding,
}

/// Turns true once another runner has taken the turn up, or the turn is over. A dead runner's socket does not say so
/// by itself: its last request is served to the end.
pub(crate) type Replaced = watch::Receiver<bool>;

/// Waits until that is so.
pub(crate) async fn is_replaced(replaced: &mut Replaced) {
    drop(replaced.wait_for(|replaced| *replaced).await);
}

/// Shared by all connections: each request has it several times, so it is one pointer.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Common>);

impl Deref for Shared {
    type Target = Common;

    fn deref(&self) -> &Common {
        &self.0
    }
}

/// What is shared.
pub(crate) struct Common {
    pub(crate) router: Link<RouterClient>,
    pub(crate) model: Link<ModelClient>,
    pub(crate) scanner: Link<ScannerClient>,
    pub(crate) memory: Link<MemoryClient>,
    pub(crate) embedder: Link<EmbedderClient>,
    pub(crate) web: Link<WebClient>,
    pub(crate) credproxy: Link<CredproxyClient>,
    /// Asked whether it serves; events go by `notes`.
    pub(crate) audit: Link<AuditClient>,
    /// The way to the record.
    pub(crate) notes: Notes,
    pub(crate) agents: BTreeMap<String, Agent>,
    pub(crate) settings: Settings,
    /// What every tool declares.
    pub(crate) catalogue: Catalogue,
    /// The policy files; one change at a time.
    pub(crate) policies: tokio::sync::Mutex<Policies>,
    /// What decides: a decision never waits for a change.
    engine: RwLock<Arc<Engine>>,
    pub(crate) quotas: Mutex<Quotas>,
    /// What clients of the API have asked for.
    pub(crate) rates: Rates,
    /// Who they were when they last asked.
    pub(crate) callers: Callers,
    /// Rows that wait for a model to put them into order.
    pub(crate) orders: Orders,
    /// The room on the disk, as agentd told it last.
    disk: RwLock<Room>,
    /// Alerts that are on the record lately.
    alerted: Mutex<Alerted>,
    /// The runner of each turn: who takes a turn up replaces the one before.
    runners: Mutex<HashMap<TurnId, watch::Sender<bool>>>,
}

impl Shared {
    pub(crate) fn new(host: &kit::Host, opened: crate::server::Opened) -> Self {
        Self(Arc::new(Common {
            router: host.link(),
            model: host.link(),
            scanner: host.link(),
            memory: host.link(),
            embedder: host.link(),
            web: host.link(),
            credproxy: host.link(),
            audit: host.link(),
            notes: Notes::new(host.recorder()),
            agents: opened.config.agents,
            settings: Settings {
                web: opened.config.web,
                policy: opened.config.policy,
                services: opened.config.services,
                finding: opened.config.finding,
            },
            catalogue: opened.catalogue,
            engine: RwLock::new(opened.policies.engine()),
            policies: tokio::sync::Mutex::new(opened.policies),
            quotas: Mutex::default(),
            rates: Rates::new(opened.config.relay),
            callers: Callers::default(),
            orders: Orders::default(),
            disk: RwLock::default(),
            alerted: Mutex::default(),
            runners: Mutex::default(),
        }))
    }

    /// A runner takes a turn up: an earlier one of the same turn is told that it is replaced.
    pub(crate) fn take_up(&self, turn: TurnId) -> Replaced {
        let (replace, replaced) = watch::channel(false);
        let mut runners = self.runners.lock().unwrap_or_else(PoisonError::into_inner);
        runners.retain(|_, runner| !runner.is_closed());
        if let Some(before) = runners.insert(turn, replace) {
            before.send_replace(true);
        }
        replaced
    }

    /// A turn is over: its runner is told as if another had taken it up.
    pub(crate) fn give_up(&self, turn: TurnId) {
        let runners = self.runners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runner) = runners.get(&turn) {
            runner.send_replace(true);
        }
    }

    /// What decides now.
    pub(crate) fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets another engine decide from now on.
    pub(crate) fn swap(&self, engine: Arc<Engine>) {
        *self.engine.write().unwrap_or_else(PoisonError::into_inner) = engine;
    }

    /// agentd says how much room the disk has.
    pub(crate) fn hear_of_disk(&self, room: Room) {
        *self.disk.write().unwrap_or_else(PoisonError::into_inner) = room;
    }

    /// The room on the disk.
    pub(crate) fn disk(&self) -> Room {
        *self.disk.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an event on the record; without it, nothing may happen.
    pub(crate) async fn record(&self, event: Event) -> Result<Receipt, GateError> {
        waits::on("audit", self.notes.record(event)).await.map_err(|_| down("audit"))
    }

    /// Puts an alert on the record, unless one like it was put there lately.
    pub(crate) async fn alert(&self, event: Event) -> Result<(), GateError> {
        let now = Instant::now();
        let due = self.alerted.lock().unwrap_or_else(PoisonError::into_inner).due(event.clone(), now);
        let Some(due) = due else { return Ok(()) };
        let mut raising = Raising { alerted: &self.alerted, event: Some(event) };
        self.record(due).await?;
        raising.event = None;
        Ok(())
    }

    /// The models, as model says.
    pub(crate) async fn models(&self) -> Result<Vec<ModelInfo>, GateError> {
        let models = self
            .model
            .call(&model::method::models, |model, context| async move { model.models(context).await });
        waits::on("model", models).await.map(ipc_proto::List::into_vec).map_err(|_| down("model"))
    }
}

/// An alert on its way to the record. If it does not come there, also because nobody waits for it any more, the next like it is
/// raised.
struct Raising<'a> {
    alerted: &'a Mutex<Alerted>,
    /// `None` once it is on the record.
    event: Option<Event>,
}

impl Drop for Raising<'_> {
    fn drop(&mut self) {
        if let Some(event) = &self.event {
            self.alerted.lock().unwrap_or_else(PoisonError::into_inner).forget(event);
        }
    }
}

/// A process that every effect needs is not there.
pub(crate) fn down(name: &str) -> GateError {
    GateError::Down(Name::clip(name))
}

/// What a refusal of router means for a turn: a disk or an audit that is briefly away ends the attempt, anything else
/// the turn.
pub(crate) fn refused(error: &RouterError) -> GateError {
    match error {
        RouterError::NotDurable => down("router"),
        _ => GateError::Over,
    }
}
