//! Asks router, the gate, and through it the processes behind it if they serve.

use crate::app_state::AppState;
use crate::guard;
use ipc_proto::api::Caller;
use ipc_proto::gate::method;
use std::future::Future;
use std::time::Duration;
use tokio::time::timeout;

/// How long router and the gate may take: the gate gives those behind it two seconds.
const PATIENCE: Duration = Duration::from_secs(3);
/// A caller without a user: the kernel gives no process this uid, and router puts no refusal of it on the record.
const NOBODY: Caller = Caller::Peer(u32::MAX);

/// The processes that do not serve, by name.
pub(crate) async fn away(app: &AppState) -> Vec<String> {
    app.readiness.away(ask(app)).await
}

async fn ask(app: &AppState) -> Vec<String> {
    let behind = app.gate.call(&method::away, |gate, context| async move { gate.away(context).await });
    let router = within(app.router.is_up(), guard::asked(app, NOBODY));
    let (router, behind) = futures::join!(router, within(app.gate.is_up(), behind));
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

/// The answer of a process, if it is there and answers in time.
async fn within<T, E>(is_up: bool, answer: impl Future<Output = Result<T, E>>) -> Option<T> {
    if !is_up {
        return None;
    }
    timeout(PATIENCE, answer).await.ok()?.ok()
}
