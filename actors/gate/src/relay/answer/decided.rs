//! A request for an answer that was decided on, the decision's way to the record, and the wait for the answer's money. It
//! holds what the answer begins with, and hears nothing of one.

use crate::host::down;
use crate::money::Patience;
use crate::relay::around::{Around, relayed};
use crate::relay::rates::Load;
use ipc_proto::Name;
use ipc_proto::audit::Event;
use ipc_proto::gate::RelayError;
use ipc_proto::ids::CallId;
use ipc_proto::model::{Request, StreamId};
use tokio::task::JoinHandle;
use tokio::time::sleep_until;

/// A request that was decided on.
#[derive(Debug)]
pub(crate) struct Decided {
    /// What goes to the model.
    pub(crate) request: Request,
    /// Joins its decision and its end on the record.
    pub(crate) id: CallId,
    /// Who asked for it, for the record.
    pub(crate) whose: Name,
    /// Room for its bytes.
    pub(crate) load: Load,
    /// How long it waits for money that is only set aside.
    pub(crate) patience: Patience,
    /// What goes on the record before anybody is asked.
    pub(crate) decision: Decision,
}

/// A decision, which nobody is asked before it is on the record.
#[derive(Debug)]
pub(crate) enum Decision {
    /// It is to be put there.
    Due(Event),
    /// It is on its way there.
    Sent(JoinHandle<Result<(), RelayError>>),
}

impl Decision {
    /// Waits until it is there.
    pub(super) async fn recorded(self, around: &impl Around) -> Result<(), RelayError> {
        match self {
            Self::Due(event) => around.record(event).await,
            Self::Sent(recording) => recording.await.unwrap_or_else(|_| Err(relayed(down("audit")))),
        }
    }
}

/// Asks for an answer; again while there is no money only because it is set aside, and whoever asks can wait.
pub(super) async fn paid(
    around: &impl Around,
    request: &Request,
    mut patience: Patience,
) -> Result<StreamId, RelayError> {
    loop {
        let error = match around.start(request).await {
            Err(RelayError::Model(error)) => error,
            started => return started,
        };
        let Some(unpaid) = patience.wait(error) else { return Err(RelayError::Model(error)) };
        sleep_until(unpaid.due.into()).await;
    }
}
