//! `PROVIDER/MODEL`, or a task such as `fast`: the conversation goes to a model through the gate, and its answer comes
//! back as it was scanned. An answer that nobody takes any more is ended.

use crate::app_state::AppState;
use crate::chat_request::ChatRequest;
use crate::fault::{Fault, Kind};
use crate::guard::{self, Who};
use crate::listing;
use ipc_proto::api::{Caller, Holder};
use ipc_proto::gate::{Begun, RelayError, method};
use ipc_proto::model::{ModelError, Piece, Request, StreamId};
use std::sync::Arc;
use tokio::runtime::Handle;
use vendors::answer::ReplyEvent;
use vendors::pieces::Calls;

/// Pieces in one answer.
const CREDIT: u16 = 64;
/// Models named to a client that asks for one that there is not.
const NAMED: usize = 40;

/// A model's answer on its way.
pub(crate) struct Relay {
    app: Arc<AppState>,
    caller: Caller,
    stream: StreamId,
    /// The pieces that came with its beginning.
    first: Vec<Piece>,
    calls: Calls,
    over: bool,
}

/// Begins it.
///
/// # Errors
/// The gate refuses, or there is no such model.
pub(crate) async fn begin(app: &Arc<AppState>, who: &Who, chat: &ChatRequest) -> Result<Relay, Fault> {
    // In a task of its own: where the client goes away meanwhile, what was begun is ended rather than left with the gate.
    let asked = tokio::spawn(ask(Arc::clone(app), who.caller, chat.request.clone()));
    let begun = asked.await.map_err(|_| Fault::new(Kind::Failed, "The request was given up."))?;
    match begun.map_err(|fault| Fault::down("gate", fault))? {
        Ok(relay) => Ok(relay),
        Err(error) => Err(refused(app, &who.holder, chat.request.model.as_str(), error).await),
    }
}

/// Asks the gate for it.
async fn ask(
    app: Arc<AppState>,
    caller: Caller,
    request: Request,
) -> Result<Result<Relay, RelayError>, ipc_proto::Fault> {
    let asked = app.gate.call(&method::relay, |gate, context| {
        let request = request.clone();
        async move { gate.relay(context, caller, request).await }
    });
    let begun = asked.await?;
    Ok(begun.map(|Begun { stream, pieces }| {
        let (first, over) = (pieces.into_vec(), false);
        Relay { app, caller, stream, first, calls: Calls::default(), over }
    }))
}

/// A refusal in the form of the API. For an unknown model it lists the known ones.
pub(crate) async fn refused(app: &AppState, holder: &Holder, model: &str, error: RelayError) -> Fault {
    refused_of(model, error, listing::answering(app, holder)).await
}

/// The same, where these names are what could be asked for.
pub(crate) async fn refused_of(
    model: &str,
    error: RelayError,
    names: impl Future<Output = Result<Vec<String>, Fault>>,
) -> Fault {
    match error {
        RelayError::Model(ModelError::UnknownModel) => {}
        RelayError::Model(ModelError::NoVision) => return Fault::no_vision(model),
        error => return error.into(),
    }
    match names.await {
        Ok(mut names) => {
            names.truncate(NAMED);
            Fault::no_model(model, &names.join(", "))
        }
        Err(fault) => fault,
    }
}

impl Relay {
    /// The next events of the reply.
    pub(crate) async fn next(&mut self) -> Vec<ReplyEvent> {
        if !self.first.is_empty() {
            let first = std::mem::take(&mut self.first);
            return self.take(first);
        }
        let stream = self.stream;
        let asked = self.app.gate.call(&method::relayed, |gate, context| async move {
            gate.relayed(context, stream, CREDIT).await
        });
        let asked = asked.await;
        if let Err(fault) = guard::still(&self.app, self.caller).await {
            return vec![ReplyEvent::Failed(fault)];
        }
        match asked {
            Ok(Ok(pieces)) => self.take(pieces.into_vec()),
            Ok(Err(error)) => {
                self.over = true;
                vec![ReplyEvent::Failed(error.into())]
            }
            Err(fault) => vec![ReplyEvent::Failed(Fault::down("gate", fault))],
        }
    }

    fn take(&mut self, pieces: Vec<Piece>) -> Vec<ReplyEvent> {
        self.over = pieces.iter().any(|piece| matches!(piece, Piece::Done(_) | Piece::Failed(_)));
        let mut said = Vec::with_capacity(pieces.len());
        pieces.into_iter().for_each(|piece| self.calls.take(piece, &mut said));
        said
    }
}

impl Drop for Relay {
    /// Ends an answer that its client does not take any more at the provider, through the gate. The rest is not paid for.
    fn drop(&mut self) {
        // At the end of the process there is nobody who would do it, and the gate hears of that by itself.
        let Some(runtime) = Handle::try_current().ok().filter(|_| !self.over) else { return };
        let (gate, stream) = (self.app.gate.clone(), self.stream);
        drop(runtime.spawn(async move {
            let end = gate.call(&method::relay_end, |gate, context| async move {
                gate.relay_end(context, stream).await
            });
            if let Err(fault) = end.await {
                tracing::debug!(%fault, "an answer is left to the gate to end");
            }
        }));
    }
}
