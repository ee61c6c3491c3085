//! A decision that is recorded ahead of the scanner's verdict. The holder behind a caller is remembered, and the verdict on
//! nearly every text is expected to be the same, so the record is written while router names the client and the scanner reads. No
//! model is asked before all three have finished; if one of them disagrees, that is recorded as well, and it is what counts. A
//! record ahead is never a permission.

use crate::passthrough::answer::decided::{Decided, Decision};
use crate::passthrough::clean::{Cleaned, Found};
use crate::passthrough::client::{Asked, Client, ClientKind};
use crate::passthrough::deps::Dependencies;
use crate::state::context::GateContext;
use crate::state::rates::{Load, StreamPermit};
use futures::poll;
use ipc_proto::api::Caller;
use ipc_proto::audit::Result3;
use ipc_proto::gate::RelayError;
use ipc_proto::label::Label;
use ipc_proto::model::Request;
use policy::Passage;
use std::task::Poll;
use std::time::Instant;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Answers at once from which on no decision is recorded ahead: then many decisions share a flush, and a decision that hurries
/// would have one of its own.
const FEW: usize = 4;

/// A decision on its way to the record.
pub(crate) struct Ahead<'a> {
    unreported: Unreported<'a>,
    asked: Asked<'a>,
    label: Label,
    permit: StreamPermit,
    recording: JoinHandle<Result<(), RelayError>>,
}

impl<'a> Ahead<'a> {
    /// Sends the expected decision; `None` if the client is not known, or would be refused.
    pub(super) async fn send(
        gate: &'a GateContext,
        caller: Caller,
        asked: Asked<'a>,
        found: Found,
    ) -> Option<Self> {
        if gate.rates.coming() >= FEW {
            return None;
        }
        let client = Client::holding(gate.callers.of(caller)?);
        if !client.reaches(asked.model) {
            return None;
        }
        let label = client.label(found);
        policy::passes(&gate.engine(), &client.session(&label), Passage::Prompt, &label).ok()?;
        // The permit comes first: without one, no request is taken from the minute.
        let permit = gate.rates.permit(client.rate_key, Instant::now()).ok()?;
        gate.rates.take(client.rate_key, Instant::now()).ok()?;
        let (host, event) = (gate.clone(), client.permitted(asked, label.clone()));
        let mut recording = Box::pin(async move { Dependencies::record(&host, event).await });
        // One poll sends it, before any other request.
        let recording = match poll!(&mut recording) {
            Poll::Ready(recorded) => tokio::task::spawn_local(async move { recorded }),
            Poll::Pending => tokio::task::spawn_local(recording),
        };
        let unreported = Unreported { gate, client, model: asked.model, is_reported: false };
        Some(Self { unreported, asked, label, permit, recording })
    }

    /// Confirms the decision with the client's identity and the scanner's verdict, or makes another one where these are not as
    /// expected.
    pub(super) async fn confirm(
        self,
        client: Client,
        cleaned: Cleaned<Request>,
        load: Load,
    ) -> Result<(Decided, StreamPermit), RelayError> {
        let Self { mut unreported, asked, label, permit, recording } = self;
        let (gate, known) = (unreported.gate, &unreported.client);
        if !known.is_same_as(&client) {
            drop((unreported, permit));
            return client.decided_with_permit(gate, asked, cleaned, load).await;
        }
        known.alert_on_secret(gate, cleaned.1).await?;
        let decided = known.decided(gate, asked, cleaned, known.load(load)?).await;
        unreported.is_reported =
            matches!(decided, Ok(_) | Err(RelayError::Blocked(_) | RelayError::Policy(_)));
        let mut decided = decided?;
        if matches!(&decided.decision, Decision::Due(event) if event.label.as_ref() == Some(&label)) {
            decided.decision = Decision::Sent(recording);
        }
        Ok((decided, permit))
    }
}

/// Records that a decision made ahead came to nothing, unless another event says so. This also happens when the caller is gone.
struct Unreported<'a> {
    gate: &'a GateContext,
    client: Client,
    model: &'a str,
    is_reported: bool,
}

impl Drop for Unreported<'_> {
    fn drop(&mut self) {
        // At the end of the process nothing is recorded.
        if !self.is_reported && Handle::try_current().is_ok() {
            let why = format!("{}: not sent", self.client.display_name());
            self.gate.recorder.defer(self.client.event(self.model, Result3::Blocked).because(&why));
        }
    }
}

impl Client {
    /// Returns true if both are the same holder in every respect.
    fn is_same_as(&self, other: &Self) -> bool {
        matches!((&self.kind, &other.kind), (ClientKind::Holder(one), ClientKind::Holder(two)) if one == two)
    }
}
