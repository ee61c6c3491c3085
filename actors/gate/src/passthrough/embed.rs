//! Vectors of texts, and counts of tokens.

use crate::model::stream;
use crate::passthrough::client::Background;
use crate::passthrough::{admit, deps};
use crate::state::context::GateContext;
use crate::state::elapsed::ms;
use crate::state::errors::relay_down;
use crate::turn::requester::Requester;
use ipc_proto::Fault;
use ipc_proto::api::Caller;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::gate::RelayError;
use ipc_proto::model::{self, Embedded, Embedding, ModelError, Request, Usage};
use std::time::{Duration, Instant};

/// Embeds a client's texts.
pub(crate) async fn embed(
    gate: &GateContext,
    caller: Caller,
    request: Embedding,
) -> Result<Embedded, RelayError> {
    let (request, _room) = admit::embedding(gate, caller, request).await?;
    embedded(gate, request, None).await
}

/// Embeds a text for background work.
pub(crate) async fn embed_background(
    gate: &GateContext,
    work: Background,
    request: Embedding,
) -> Result<Embedded, RelayError> {
    let (request, _room) = admit::background_embedding(gate, work, request).await?;
    embedded(gate, request, None).await
}

/// Embeds texts by a model. `patience`, if the caller has less than the host, lets a failure within it be reported as what it
/// was.
pub(crate) async fn embedded(
    gate: &GateContext,
    request: Embedding,
    patience: Option<Duration>,
) -> Result<Embedded, RelayError> {
    let begun = Instant::now();
    let patience_ms = patience.map(ms);
    let embedded = gate.model.call(&model::method::embed, |model, rpc| {
        let request = request.clone();
        async move { model.embed(rpc, request, patience_ms).await }
    });
    let embedded = match embedded.await {
        Ok(embedded) => embedded.map_err(RelayError::Model),
        // The outcome is unknown, and it may have cost something: the client decides about asking again.
        Err(Fault::PeerRestarted) => Err(RelayError::Model(ModelError::Truncated)),
        Err(_) => Err(relay_down("model")),
    };
    let result = if embedded.is_ok() { Result3::Success } else { Result3::Error };
    let mut event = Event::new(Action::ModelEnded, result).about(&request.model).because("embedding");
    let usage = embedded.as_ref().map_or_else(|_| Usage::default(), |embedded| embedded.usage);
    event.tokens = (usage.input, 0);
    event.duration_ms = ms(begun.elapsed());
    if let Some(disbelieved) = stream::disbelieved(&event, usage) {
        deps::Dependencies::record_later(gate, disbelieved);
    }
    deps::Dependencies::record_later(gate, event);
    embedded
}

/// Estimates the tokens of a client's request.
pub(crate) async fn count(gate: &GateContext, caller: Caller, request: Request) -> Result<u32, RelayError> {
    let _load = admit::count(gate, caller, &request).await?;
    counted(gate, request).await
}

/// Estimates the tokens of a program's request.
pub(crate) async fn count_run(
    gate: &GateContext,
    requester: &Requester,
    request: Request,
) -> Result<u32, RelayError> {
    let _load = admit::count_run(gate, requester, &request)?;
    counted(gate, request).await
}

async fn counted(gate: &GateContext, request: Request) -> Result<u32, RelayError> {
    let counted = gate.model.call(&model::method::count, |model, rpc| {
        let request = request.clone();
        async move { model.count(rpc, request).await }
    });
    counted.await.map_err(|_| relay_down("model"))?.map_err(RelayError::Model)
}
