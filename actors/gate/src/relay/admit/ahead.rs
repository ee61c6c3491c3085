//! A decision that goes to the record ahead of the scanner's word. Who a caller was when they last asked is remembered, and
//! what the scanner says of nearly every text is known: so the record is written while router says who it is and the scanner
//! reads. Nobody is asked before all three have spoken; where one of them says otherwise, that is on the record as well, and
//! it is what counts. It is never leave to send anything.

use super::super::around::Around;
use super::super::clean::{Cleaned, Found};
use super::super::rates::{Load, Seat};
use super::{Asked, Client, Who};
use crate::host::Shared;
use crate::relay::answer::{Decided, Decision};
use futures::poll;
use ipc_proto::api::{Caller, Holder};
use ipc_proto::audit::Result3;
use ipc_proto::gate::RelayError;
use ipc_proto::label::Label;
use ipc_proto::model::Request;
use policy::Passage;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Instant;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Callers that are remembered: as many as there are keys.
const CALLERS: usize = ipc_proto::api::KEYS;

/// Answers that come at once before none is decided on ahead: many decisions share a flush, and those that wait for the scanner
/// come to it together, where each that hurries has one of its own.
const FEW: usize = 4;

/// Who callers were when router was asked last.
#[derive(Default)]
pub(crate) struct Callers(Mutex<HashMap<Caller, Holder>>);

impl Callers {
    /// Who this was.
    fn of(&self, caller: Caller) -> Option<Holder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&caller).cloned()
    }

    /// Router says who this is; nobody, if none.
    pub(super) fn learn(&self, caller: Caller, holder: Option<&Holder>) {
        let mut callers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(holder) = holder else {
            callers.remove(&caller);
            return;
        };
        if callers.get(&caller) == Some(holder) {
            return;
        }
        if callers.len() >= CALLERS {
            callers.clear();
        }
        callers.insert(caller, holder.clone());
    }
}

/// A decision on its way to the record.
pub(super) struct Ahead<'a> {
    unsaid: Unsaid<'a>,
    asked: Asked<'a>,
    label: Label,
    seat: Seat,
    recording: JoinHandle<Result<(), RelayError>>,
}

impl<'a> Ahead<'a> {
    /// Sends the decision that is to be expected; `None` where it is not known who asks, or they would be refused.
    pub(super) async fn send(
        shared: &'a Shared,
        caller: Caller,
        asked: Asked<'a>,
        found: Found,
    ) -> Option<Self> {
        if shared.rates.coming() >= FEW {
            return None;
        }
        let client = Client::holding(shared.callers.of(caller)?);
        if !client.reaches(asked.model) {
            return None;
        }
        let label = client.label(found);
        policy::passes(&shared.engine(), &client.session(&label), Passage::Prompt, &label).ok()?;
        // The place first: where there is none nothing of the minute is taken, which is taken when they are asked for anew.
        let seat = shared.rates.seat(client.whose, Instant::now()).ok()?;
        shared.rates.take(client.whose, Instant::now()).ok()?;
        let (host, event) = (shared.clone(), client.permitted(asked, label.clone()));
        let mut recording = Box::pin(async move { Around::record(&host, event).await });
        // It is on its way once this was polled, before anything else is asked.
        let recording = match poll!(&mut recording) {
            Poll::Ready(recorded) => tokio::task::spawn_local(async move { recorded }),
            Poll::Pending => tokio::task::spawn_local(recording),
        };
        let unsaid = Unsaid { shared, client, model: asked.model, is_said: false };
        Some(Self { unsaid, asked, label, seat, recording })
    }

    /// The decision, now that it is known who asks and what the scanner says; another one where it is not as was expected.
    pub(super) async fn confirm(
        self,
        client: Client,
        cleaned: Cleaned<Request>,
        load: Load,
    ) -> Result<(Decided, Seat), RelayError> {
        let Self { mut unsaid, asked, label, seat, recording } = self;
        let (shared, known) = (unsaid.shared, &unsaid.client);
        if !known.is(&client) {
            drop((unsaid, seat));
            return client.seated(shared, asked, cleaned, load).await;
        }
        known.alarm(shared, cleaned.1).await?;
        let decided = known.decided(shared, asked, cleaned, known.load(load)?).await;
        unsaid.is_said = matches!(decided, Ok(_) | Err(RelayError::Blocked(_) | RelayError::Policy(_)));
        let mut decided = decided?;
        if matches!(&decided.decision, Decision::Due(event) if event.label.as_ref() == Some(&label)) {
            decided.decision = Decision::Sent(recording);
        }
        Ok((decided, seat))
    }
}

/// Says on the record that what was decided ahead came to nothing, unless something else says what came of it: also where
/// nobody waits for it any more.
struct Unsaid<'a> {
    shared: &'a Shared,
    client: Client,
    model: &'a str,
    is_said: bool,
}

impl Drop for Unsaid<'_> {
    fn drop(&mut self) {
        // At the end of the process nothing is recorded any more.
        if !self.is_said && Handle::try_current().is_ok() {
            let why = format!("{}: not sent", self.client.phrase());
            self.shared.notes.add(self.client.event(self.model, Result3::Blocked).because(&why));
        }
    }
}

impl Client {
    /// Returns whether it is the same as another in everything that is known of it.
    fn is(&self, other: &Self) -> bool {
        matches!((&self.who, &other.who), (Who::Holder(one), Who::Holder(two)) if one == two)
    }
}
