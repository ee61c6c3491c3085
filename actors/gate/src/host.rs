//! What every connection of the gate shares: the links, the agents, the quotas.

use crate::quota::Quotas;
use ipc_proto::Name;
use ipc_proto::audit::{Event, Receipt};
use ipc_proto::config::Agent;
use ipc_proto::memory::MemoryClient;
use ipc_proto::model::{self, ModelClient, ModelInfo};
use ipc_proto::router::{RouterClient, RouterError};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::ScannerClient;
use kit::{Link, Recorder};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Shared by all connections.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) router: Link<RouterClient>,
    pub(crate) model: Link<ModelClient>,
    pub(crate) scanner: Link<ScannerClient>,
    pub(crate) memory: Link<MemoryClient>,
    pub(crate) recorder: Recorder,
    pub(crate) agents: Arc<BTreeMap<String, Agent>>,
    pub(crate) quotas: Arc<Mutex<Quotas>>,
}

impl Shared {
    pub(crate) fn new(host: &kit::Host, agents: BTreeMap<String, Agent>) -> Self {
        Self {
            router: host.link(),
            model: host.link(),
            scanner: host.link(),
            memory: host.link(),
            recorder: host.recorder(),
            agents: Arc::new(agents),
            quotas: Arc::default(),
        }
    }

    /// Puts an event on the record; without it, nothing may happen.
    pub(crate) async fn record(&self, event: Event) -> Result<Receipt, GateError> {
        self.recorder.record(event).await.map_err(|_| down("audit"))
    }

    /// The models, as model says.
    pub(crate) async fn models(&self) -> Result<Vec<ModelInfo>, GateError> {
        let models = self
            .model
            .call(&model::method::models, |model, context| async move { model.models(context).await });
        models.await.map(ipc_proto::List::into_vec).map_err(|_| down("model"))
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
