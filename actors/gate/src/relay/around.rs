//! What an answer that is passed through needs of the rest of the host: a model, the scanner, the record. The live gate
//! has links to them.

use crate::host::Shared;
use crate::scan;
use crate::source::{self, Pulled};
use ipc_proto::Name;
use ipc_proto::audit::Event;
use ipc_proto::gate::RelayError;
use ipc_proto::model::{Request, StreamId};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::{Crossing, Profile, Release, Subject, Verdict};

/// How strictly texts of the API are judged. A key's client brings instructions of its own, whole pages of them, and no
/// tool of the host obeys what it says: only what is certain is refused.
pub(crate) const STRICTNESS: Profile = Profile::PowerUser;

/// The rest of the host, as one answer sees it.
pub(crate) trait Around {
    /// Begins an answer.
    async fn start(&self, request: &Request) -> Result<StreamId, RelayError>;
    /// The next pieces of an answer, which this model gives.
    async fn next(&self, model: &str, stream: StreamId) -> Result<Pulled, RelayError>;
    /// Lets an answer go.
    async fn cancel(&self, stream: StreamId);
    /// How much of a text that streams may go on.
    async fn hold_back(&self, pending: &str, last: bool) -> Result<Release, RelayError>;
    /// What the scanner says of a text that crosses here.
    async fn judge(&self, crossing: Crossing, text: &str) -> Result<Verdict, RelayError>;
    /// Puts an event on the record before anything else happens.
    async fn record(&self, event: Event) -> Result<(), RelayError>;
    /// Puts on the record how something ended, beside what happens next.
    fn note(&self, event: Event);
}

impl Around for Shared {
    async fn start(&self, request: &Request) -> Result<StreamId, RelayError> {
        source::start(self, request).await.map_err(relayed)
    }

    async fn next(&self, model: &str, stream: StreamId) -> Result<Pulled, RelayError> {
        source::pull(self, model, stream).await.map_err(relayed)
    }

    async fn cancel(&self, stream: StreamId) {
        source::cancel(self, stream).await;
    }

    async fn hold_back(&self, pending: &str, last: bool) -> Result<Release, RelayError> {
        scan::ready(self, pending, last, None).await.map_err(relayed)
    }

    async fn judge(&self, crossing: Crossing, text: &str) -> Result<Verdict, RelayError> {
        let verdict =
            scan::judge(self, &Subject::at(crossing).by(STRICTNESS), text).await.map_err(relayed)?;
        tracing::debug!(?crossing, judgement = ?verdict.judgement, "scanned");
        Ok(verdict)
    }

    async fn record(&self, event: Event) -> Result<(), RelayError> {
        self.record(event).await.map(drop).map_err(relayed)
    }

    fn note(&self, event: Event) {
        self.notes.add(event);
    }
}

/// A refusal in the words of the API's interface.
pub(crate) fn relayed(error: GateError) -> RelayError {
    match error {
        GateError::Policy(policies) => RelayError::Policy(policies),
        GateError::Model(error) => RelayError::Model(error),
        GateError::Down(name) => RelayError::Down(name),
        // Turns alone come to these.
        GateError::OutOfTurn | GateError::Over | GateError::Quota { .. } | GateError::Looping { .. } => {
            RelayError::Down(Name::clip("gate"))
        }
    }
}
