//! The health of the processes that an answer needs. Each is sent a small request; of the replies only audit's is looked at,
//! since its record must hold. Nothing is changed, and the wait is bounded.

use crate::state::context::GateContext;
use futures::join;
use ipc_proto::credproxy::{self, Reply};
use ipc_proto::gate::DISK;
use ipc_proto::scanner::{self, Crossing, Subject};
use ipc_proto::{List, Name, Text, audit};
use std::time::Duration;
use tokio::time::timeout;

/// The time in which a process must answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A reply that credproxy does not have: ids are the gate's own, and there are never this many.
const NO_REPLY: Reply = Reply(u64::MAX);

/// The names of the processes that do not serve.
pub(crate) async fn away(gate: &GateContext) -> List<Name, 8> {
    let audit =
        gate.audit.call(&audit::method::stats, |audit, context| async move { audit.stats(context).await });
    let scanner = gate.scanner.call(&scanner::method::scan, |scanner, context| async move {
        scanner.scan(context, Subject::at(Crossing::Answer), Text::clip("ready")).await
    });
    let model = gate.models();
    let credproxy = gate.credproxy.call(&credproxy::method::close, |credproxy, context| async move {
        credproxy.close(context, NO_REPLY).await
    });
    let (audit, scanner, model, credproxy) =
        join!(in_time(audit), in_time(scanner), in_time(model), in_time(credproxy));
    let all = [
        // An audit whose record does not hold takes nothing.
        ("audit", matches!(audit, Some(Ok(_)))),
        ("scanner", scanner.is_some()),
        ("model", model.is_some()),
        ("credproxy", credproxy.is_some()),
        (DISK, !gate.disk().low),
    ];
    List::clip(all.into_iter().filter(|(_, serves)| !serves).map(|(name, _)| Name::clip(name)))
}

/// The reply of a process, if it comes in time.
async fn in_time<R, E>(reply: impl Future<Output = Result<R, E>>) -> Option<R> {
    timeout(PATIENCE, reply).await.ok()?.ok()
}
