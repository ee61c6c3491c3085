//! Whether a model could answer now: each process that an answer needs is asked for a word, of which nothing is used but
//! that audit has a record which holds. It reads and changes nothing, and never waits for longer than a moment.

use crate::host::Shared;
use futures::join;
use ipc_proto::credproxy::{self, Reply};
use ipc_proto::gate::DISK;
use ipc_proto::scanner::{self, Crossing, Subject};
use ipc_proto::{List, Name, Text, audit};
use std::time::Duration;
use tokio::time::timeout;

/// How long a process may take to say that it serves.
const PATIENCE: Duration = Duration::from_secs(2);
/// A reply that credproxy does not have: it is the gate's own, and there are never so many.
const NO_REPLY: Reply = Reply(u64::MAX);

/// What does not serve, by name.
pub(crate) async fn away(shared: &Shared) -> List<Name, 8> {
    let audit =
        shared.audit.call(&audit::method::stats, |audit, context| async move { audit.stats(context).await });
    let scanner = shared.scanner.call(&scanner::method::scan, |scanner, context| async move {
        scanner.scan(context, Subject::at(Crossing::Answer), Text::clip("ready")).await
    });
    let model = shared.models();
    let credproxy = shared.credproxy.call(&credproxy::method::close, |credproxy, context| async move {
        credproxy.close(context, NO_REPLY).await
    });
    let (audit, scanner, model, credproxy) = join!(said(audit), said(scanner), said(model), said(credproxy));
    let all = [
        // One whose record does not hold is there and takes nothing.
        ("audit", matches!(audit, Some(Ok(_)))),
        ("scanner", scanner.is_some()),
        ("model", model.is_some()),
        ("credproxy", credproxy.is_some()),
        (DISK, !shared.disk().low),
    ];
    List::clip(all.into_iter().filter(|(_, serves)| !serves).map(|(name, _)| Name::clip(name)))
}

/// What a process says in time.
async fn said<R, E>(word: impl Future<Output = Result<R, E>>) -> Option<R> {
    timeout(PATIENCE, word).await.ok()?.ok()
}
