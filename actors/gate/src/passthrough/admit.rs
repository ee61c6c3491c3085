//! The admission of requests: the client's identity, its key's scope, its rate, the scanner, policy, in that order, whichever is
//! known first. Each decision is on the record before its request goes on, and so is each refusal.

mod ahead;

use crate::passthrough::admit::ahead::Ahead;
use crate::passthrough::answer::decided::Decided;
use crate::passthrough::clean::{self, Cleaned, Found};
use crate::passthrough::client::{Asked, Background, Client};
use crate::state::context::GateContext;
use crate::state::rates::{Load, StreamPermit};
use crate::turn::requester::Requester;
use ipc_proto::api::Caller;
use ipc_proto::gate::RelayError;
use ipc_proto::model::{Embedding, Request};
use std::time::Instant;

/// The permit and the room that one request holds.
pub(crate) type Room = (StreamPermit, Load);

/// Decides on a request for an answer. Router names the client while the scanner reads; if router knows no such client, the scan
/// is cancelled. If the client has asked before, the expected decision is sent to the record meanwhile.
pub(crate) async fn answer(
    gate: &GateContext,
    caller: Caller,
    request: Request,
) -> Result<(Decided, StreamPermit), RelayError> {
    let (model, bytes) = (request.model.clone(), clean::bytes(&request));
    let asked = Asked { model: &model, bytes };
    let load = gate.rates.hold(clean::size(&request))?;
    let ahead = Ahead::send(gate, caller, asked, Found::expected(&request)).await;
    let reading = async { Ok(clean::request(gate, request).await) };
    let (client, cleaned) = tokio::try_join!(Client::of(gate, caller), reading)?;
    match ahead {
        Some(ahead) => ahead.confirm(client, cleaned, load).await,
        None => client.decided_with_permit(gate, asked, cleaned, load).await,
    }
}

/// The same of what a program asks that a person runs.
pub(crate) async fn run(
    gate: &GateContext,
    requester: &Requester,
    request: Request,
) -> Result<(Decided, StreamPermit), RelayError> {
    decide_known(gate, Client::run(requester), request).await
}

/// The same of background work.
pub(crate) async fn background(
    gate: &GateContext,
    work: Background,
    request: Request,
) -> Result<(Decided, StreamPermit), RelayError> {
    decide_known(gate, Client::background(work), request).await
}

/// Decides on a request of a known client. The rate comes first: otherwise a client could keep the scanner busy.
async fn decide_known(
    gate: &GateContext,
    client: Client,
    request: Request,
) -> Result<(Decided, StreamPermit), RelayError> {
    let (model, bytes) = (request.model.clone(), clean::bytes(&request));
    let permit = client.permit(gate, &model).await?;
    let load = gate.rates.hold(clean::size(&request))?.of(client.rate_key, Instant::now())?;
    let cleaned = clean::request(gate, request).await;
    client.alert_on_secret(gate, cleaned.1).await?;
    Ok((client.decided(gate, Asked { model: &model, bytes }, cleaned, load).await?, permit))
}

/// Decides on a client's texts to embed.
pub(crate) async fn embedding(
    gate: &GateContext,
    caller: Caller,
    request: Embedding,
) -> Result<(Embedding, Room), RelayError> {
    let (model, bytes) = (request.model.clone(), text_bytes(&request));
    let load = gate.rates.hold(bytes)?;
    let reading = async { Ok(clean::embedding(gate, request).await) };
    let (client, cleaned) = tokio::try_join!(Client::of(gate, caller), reading)?;
    embed_known(gate, &client, Asked { model: &model, bytes }, cleaned, load).await
}

/// The same of background work.
pub(crate) async fn background_embedding(
    gate: &GateContext,
    work: Background,
    request: Embedding,
) -> Result<(Embedding, Room), RelayError> {
    let (model, bytes) = (request.model.clone(), text_bytes(&request));
    let load = gate.rates.hold(bytes)?;
    let cleaned = clean::embedding(gate, request).await;
    embed_known(gate, &Client::background(work), Asked { model: &model, bytes }, cleaned, load).await
}

/// Decides on a known client's texts that the scanner has read. Their room is counted as the client's.
async fn embed_known(
    gate: &GateContext,
    client: &Client,
    asked: Asked<'_>,
    cleaned: Cleaned<Embedding>,
    load: Load,
) -> Result<(Embedding, Room), RelayError> {
    client.alert_on_secret(gate, cleaned.1).await?;
    let load = client.load(load)?;
    let permit = client.permit(gate, asked.model).await?;
    let mut request = client.decide(gate, asked.model, asked.bytes, cleaned).await?;
    request.payer = client.payer(gate)?;
    Ok((request, (permit, load)))
}

fn text_bytes(request: &Embedding) -> usize {
    request.texts.iter().map(|text| text.len()).sum()
}

/// Decides on a query to memory that is to be embedded. The host chose the embedder, so no key's scope applies, and the query
/// itself was counted; the client pays.
pub(crate) async fn memory_query(
    gate: &GateContext,
    client: &Client,
    request: Embedding,
) -> Result<(Embedding, Room), RelayError> {
    let (model, bytes) = (request.model.clone(), text_bytes(&request));
    let load = gate.rates.hold(bytes)?.of(client.rate_key, Instant::now())?;
    let permit = gate.rates.permit(client.rate_key, Instant::now())?;
    let cleaned = clean::embedding(gate, request).await;
    client.alert_on_secret(gate, cleaned.1).await?;
    let mut request = client.decide(gate, &model, bytes, cleaned).await?;
    request.payer = client.payer(gate)?;
    Ok((request, (permit, load)))
}

/// Checks that a client may have tokens counted. Nothing leaves the host by that, so no scan is made.
pub(crate) async fn count(gate: &GateContext, caller: Caller, request: &Request) -> Result<Load, RelayError> {
    let load = gate.rates.hold(clean::size(request))?;
    Client::of(gate, caller).await?.may_ask(gate, &request.model).await?;
    Ok(load)
}

/// The same of what a program asks that a person runs.
pub(crate) fn count_run(
    gate: &GateContext,
    requester: &Requester,
    request: &Request,
) -> Result<Load, RelayError> {
    gate.rates.take(Client::run(requester).rate_key, Instant::now())?;
    gate.rates.hold(clean::size(request))
}
