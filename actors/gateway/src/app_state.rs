//! The state that every request shares: the links, the counters, and caches for a short while. It can be sent between threads, as the
//! routes require, although there is only one.

use crate::fault::Fault;
use crate::figures::Figures;
use crate::idempotency::IdempotencyCache;
use crate::known_callers::KnownCallers;
use crate::lock::lock;
use crate::metrics::Metrics;
use crate::pace::Pace;
use crate::permits::Permits;
use crate::readiness::Readiness;
use ipc_proto::config;
use ipc_proto::gate::{GateClient, method};
use ipc_proto::model::ModelInfo;
use ipc_proto::router::RouterClient;
use kit::Link;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long the list of models holds.
const FRESH: Duration = Duration::from_secs(5);

/// The list of models, and when it was asked for.
type Models = Option<(Instant, Arc<Vec<ModelInfo>>)>;

/// The state that every request shares.
pub(crate) struct AppState {
    /// Its section of the configuration.
    pub(crate) config: config::Gateway,
    /// Its counters.
    pub(crate) metrics: Metrics,
    /// The figures of every process, as agentd reports them.
    pub(crate) figures: Mutex<Figures>,
    pub(crate) router: Link<RouterClient>,
    pub(crate) gate: Link<GateClient>,
    /// The callers and their rights, as router reported them a moment ago.
    pub(crate) known: KnownCallers,
    /// Answers that an idempotency key stands for.
    pub(crate) idempotency: IdempotencyCache,
    /// Requests per client and minute.
    pub(crate) pace: Pace,
    /// The processes that every answer needs and that do not serve.
    pub(crate) readiness: Readiness,
    /// Permits for requests that wait for long or take much memory.
    pub(crate) permits: Permits,
    models: Mutex<Models>,
}

impl AppState {
    pub(crate) fn new(
        config: config::Gateway,
        metrics: Metrics,
        router: Link<RouterClient>,
        gate: Link<GateClient>,
    ) -> Self {
        let pace = Pace::new(config.requests_per_minute);
        Self {
            config,
            metrics,
            figures: Mutex::default(),
            router,
            gate,
            known: KnownCallers::default(),
            idempotency: IdempotencyCache::default(),
            pace,
            readiness: Readiness::default(),
            permits: Permits::default(),
            models: Mutex::default(),
        }
    }

    /// Most bytes of a request's body.
    pub(crate) fn max_body(&self) -> usize {
        usize::try_from(self.config.max_body).unwrap_or(usize::MAX)
    }

    /// The models that there are.
    ///
    /// # Errors
    /// The gate is away.
    pub(crate) async fn models(&self) -> Result<Arc<Vec<ModelInfo>>, Fault> {
        let fresh = lock(&self.models).clone().filter(|(when, _)| when.elapsed() < FRESH);
        if let Some((_, models)) = fresh {
            return Ok(models);
        }
        let asked =
            self.gate.call(&method::models, |gate, context| async move { gate.models(context).await });
        let models = Arc::new(asked.await.map_err(|fault| Fault::down("gate", fault))?.into_vec());
        *lock(&self.models) = Some((Instant::now(), Arc::clone(&models)));
        Ok(models)
    }
}
