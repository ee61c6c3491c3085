//! What every request shares: the links, the counters, and what is remembered for a short while. Whatever is shared can
//! be sent between threads, as the routes ask, although there is only one.

use crate::fault::Fault;
use crate::guard::Known;
use crate::kept::Kept;
use crate::metrics::Metrics;
use crate::pace::Pace;
use crate::readiness::Readiness;
use crate::seats::Seats;
use ipc_proto::config;
use ipc_proto::gate::{GateClient, method};
use ipc_proto::model::ModelInfo;
use ipc_proto::router::RouterClient;
use kit::Link;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the list of models holds.
const FRESH: Duration = Duration::from_secs(5);

/// The list of models, and when it was asked for.
type Models = Option<(Instant, Arc<Vec<ModelInfo>>)>;

/// What every request shares.
pub(crate) struct Desk {
    /// Its section of the configuration.
    pub(crate) config: config::Gateway,
    /// Its counters.
    pub(crate) metrics: Metrics,
    pub(crate) router: Link<RouterClient>,
    pub(crate) gate: Link<GateClient>,
    /// Who presented what, as router said a moment ago.
    pub(crate) known: Known,
    /// Answers that an idempotency key stands for.
    pub(crate) kept: Kept,
    /// Who has asked how often.
    pub(crate) pace: Pace,
    /// Whether what every answer needs serves.
    pub(crate) readiness: Readiness,
    /// Places for what waits for long or takes much.
    pub(crate) seats: Seats,
    models: Mutex<Models>,
}

impl Desk {
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
            router,
            gate,
            known: Known::default(),
            kept: Kept::default(),
            pace,
            readiness: Readiness::default(),
            seats: Seats::default(),
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

/// Nothing that holds a lock here can panic; if it did, what is remembered would still be whole.
pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
