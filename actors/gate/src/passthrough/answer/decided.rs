//! A request that was decided on, the record of the decision, and the wait for the answer's money.

use crate::model::budget::Patience;
use crate::passthrough::deps::Dependencies;
use crate::state::errors::relay_down;
use crate::state::rates::Load;
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
    /// The request as it goes to the model.
    pub(crate) request: Request,
    /// Joins its decision and its end on the record.
    pub(crate) id: CallId,
    /// The client's name for the record.
    pub(crate) requester: Name,
    /// Room for its bytes.
    pub(crate) load: Load,
    /// The time that it waits for money that is set aside.
    pub(crate) patience: Patience,
    /// The decision, which is recorded before a model is asked.
    pub(crate) decision: Decision,
}

/// A decision, which is recorded before a model is asked.
#[derive(Debug)]
pub(crate) enum Decision {
    /// It is to be recorded.
    Due(Event),
    /// It is being recorded.
    Sent(JoinHandle<Result<(), RelayError>>),
}

impl Decision {
    /// Waits until it is recorded.
    pub(crate) async fn recorded(self, deps: &impl Dependencies) -> Result<(), RelayError> {
        match self {
            Self::Due(event) => deps.record(event).await,
            Self::Sent(recording) => recording.await.unwrap_or_else(|_| Err(relay_down("audit"))),
        }
    }
}

/// Starts an answer; again while its money is set aside, and the client can wait.
pub(crate) async fn start_when_paid(
    deps: &impl Dependencies,
    request: &Request,
    mut patience: Patience,
) -> Result<StreamId, RelayError> {
    loop {
        let error = match deps.start(request).await {
            Err(RelayError::Model(error)) => error,
            started => return started,
        };
        let Some(unpaid) = patience.wait(error) else { return Err(RelayError::Model(error)) };
        sleep_until(unpaid.due.into()).await;
    }
}
