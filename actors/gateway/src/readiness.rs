//! Whether what every answer needs serves: router, the gate, and what the gate says of those behind it. Anybody may ask, so
//! what was found holds for a moment, and one question at a time goes out.

use crate::desk::Desk;
use crate::guard;
use ipc_proto::api::Caller;
use ipc_proto::gate::method;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio::time::timeout;

/// How long what was found holds.
const FRESH: Duration = Duration::from_secs(1);
/// How long router and the gate may take: the gate gives those behind it two seconds.
const PATIENCE: Duration = Duration::from_secs(3);
/// A caller that is nobody: the kernel gives no process this uid, and router puts no refusal of it on the record.
const NOBODY: Caller = Caller::Peer(u32::MAX);

/// What was found last, and when.
#[derive(Default)]
pub(crate) struct Readiness(Mutex<Option<(Instant, Vec<String>)>>);

impl Readiness {
    /// What does not serve, by name.
    pub(crate) async fn away(&self, desk: &Desk) -> Vec<String> {
        let mut last = self.0.lock().await;
        if let Some((_, away)) = last.as_ref().filter(|(when, _)| when.elapsed() < FRESH) {
            return away.clone();
        }
        let away = ask(desk).await;
        *last = Some((Instant::now(), away.clone()));
        away
    }
}

async fn ask(desk: &Desk) -> Vec<String> {
    let behind = desk.gate.call(&method::away, |gate, context| async move { gate.away(context).await });
    let router = within(desk.router.is_up(), guard::asked(desk, NOBODY));
    let (router, behind) = futures::join!(router, within(desk.gate.is_up(), behind));
    let mut away = Vec::new();
    if router.is_none() {
        away.push("router".to_owned());
    }
    match behind {
        Some(behind) => away.extend(behind.iter().map(ToString::to_string)),
        None => away.push("gate".to_owned()),
    }
    away
}

/// What a process says in time, if it is there at all.
async fn within<T, E>(is_up: bool, word: impl Future<Output = Result<T, E>>) -> Option<T> {
    if !is_up {
        return None;
    }
    timeout(PATIENCE, word).await.ok()?.ok()
}
