//! The parts of the host that an answer depends on: a model, the scanner, the record. The live gate has links to them.

use crate::inspection::scan;
use crate::model::stream::{self, Pulled};
use crate::state::context::GateContext;
use crate::state::errors::to_relay_error;
use ipc_proto::audit::Event;
use ipc_proto::gate::RelayError;
use ipc_proto::model::{Request, StreamId};
use ipc_proto::scanner::{Crossing, Profile, Release, Subject, Verdict};

/// The scanner's profile for texts of the API. A client brings pages of its own instructions, and no tool of the host obeys its
/// texts, so only certain findings are refused.
pub(crate) const SCAN_PROFILE: Profile = Profile::PowerUser;

/// The rest of the host, as an answer sees it.
pub(crate) trait Dependencies {
    /// Starts an answer.
    async fn start(&self, request: &Request) -> Result<StreamId, RelayError>;
    /// Returns the next pieces of an answer of this model.
    async fn next(&self, model: &str, stream: StreamId) -> Result<Pulled, RelayError>;
    /// Cancels an answer.
    async fn cancel(&self, stream: StreamId);
    /// Returns the part of a streamed text that may be released.
    async fn hold_back(&self, pending: &str, last: bool) -> Result<Release, RelayError>;
    /// Returns the scanner's verdict on a text.
    async fn judge(&self, crossing: Crossing, text: &str) -> Result<Verdict, RelayError>;
    /// Records an event before anything else happens.
    async fn record(&self, event: Event) -> Result<(), RelayError>;
    /// Records an event beside the next one.
    fn record_later(&self, event: Event);
}

impl Dependencies for GateContext {
    async fn start(&self, request: &Request) -> Result<StreamId, RelayError> {
        stream::start(self, request).await.map_err(to_relay_error)
    }

    async fn next(&self, model: &str, stream: StreamId) -> Result<Pulled, RelayError> {
        stream::pull(self, model, stream).await.map_err(to_relay_error)
    }

    async fn cancel(&self, stream: StreamId) {
        stream::cancel(self, stream).await;
    }

    async fn hold_back(&self, pending: &str, last: bool) -> Result<Release, RelayError> {
        scan::ready(self, pending, last, None).await.map_err(to_relay_error)
    }

    async fn judge(&self, crossing: Crossing, text: &str) -> Result<Verdict, RelayError> {
        let verdict =
            scan::judge(self, &Subject::at(crossing).by(SCAN_PROFILE), text).await.map_err(to_relay_error)?;
        tracing::debug!(?crossing, judgement = ?verdict.judgement, "scanned");
        Ok(verdict)
    }

    async fn record(&self, event: Event) -> Result<(), RelayError> {
        self.record(event).await.map(drop).map_err(to_relay_error)
    }

    fn record_later(&self, event: Event) {
        self.recorder.defer(event);
    }
}
