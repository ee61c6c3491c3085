//! The processes that every answer needs and that do not serve, as found last. Anybody may ask: a finding holds for a moment, and one
//! question at a time goes out.

use std::future::Future;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How long a finding holds.
const FRESH: Duration = Duration::from_secs(1);

/// The last finding, and its time.
#[derive(Default)]
pub(crate) struct Readiness(Mutex<Option<(Instant, Vec<String>)>>);

impl Readiness {
    /// The processes that do not serve, by name: as found a moment ago, or else by this question.
    pub(crate) async fn away(&self, ask: impl Future<Output = Vec<String>>) -> Vec<String> {
        let mut last = self.0.lock().await;
        if let Some((_, away)) = last.as_ref().filter(|(when, _)| when.elapsed() < FRESH) {
            return away.clone();
        }
        let away = ask.await;
        *last = Some((Instant::now(), away.clone()));
        away
    }
}
