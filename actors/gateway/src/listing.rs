//! `/v1/models`: the agents and models that a key may name, in the form of whichever vendor's client asks.

use crate::answer::{AGENT, document};
use crate::desk::Desk;
use crate::fault::Fault;
use crate::guard::{self, Who};
use crate::pace::utc;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use ipc_proto::api::{Caller, Holder};
use ipc_proto::model::ModelInfo;
use serde_json::{Value, json};
use std::sync::Arc;

/// Nobody knows when a model was made; clients want a time, and this is always the same one: the first of January 2025.
const MADE: u64 = 1_735_689_600;

/// Lists them.
pub(crate) async fn models(
    State(desk): State<Arc<Desk>>,
    Extension(who): Extension<Who>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let names = names(&desk, &who.holder).await?;
    let of = |name: &String| one(&headers, name);
    let data: Vec<Value> = names.iter().map(of).collect();
    let list = match is_second(&headers) {
        true => json!({
            "data": data, "has_more": false, "first_id": names.first(), "last_id": names.last(),
        }),
        false => json!({"object": "list", "data": data}),
    };
    Ok(document(Body::from(list.to_string())))
}

/// Shows one.
pub(crate) async fn model(
    State(desk): State<Arc<Desk>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let names = names(&desk, &who.holder).await?;
    if !names.contains(&id) {
        let shown: String = id.chars().take(128).collect();
        return Err(Fault::no_model(&shown, &names.join(", ")));
    }
    Ok(document(Body::from(one(&headers, &id).to_string())))
}

/// Every name that a holder may use: agents first, since they are what most clients are set up for.
///
/// # Errors
/// The gate is away.
pub(crate) async fn names(desk: &Desk, holder: &Holder) -> Result<Vec<String>, Fault> {
    let models = allowed(desk, holder, |_| true).await?;
    Ok(agents(holder).chain(models).collect())
}

/// Every name that a holder may use for an answer in words: what only makes vectors is none.
///
/// # Errors
/// The gate is away.
pub(crate) async fn answering(desk: &Desk, holder: &Holder) -> Result<Vec<String>, Fault> {
    let speak = allowed(desk, holder, |model| !model.embeds).await?;
    Ok(agents(holder).chain(speak).collect())
}

/// The models that embed texts and that a holder may use.
///
/// # Errors
/// The gate is away.
pub(crate) async fn embedders(desk: &Desk, holder: &Holder) -> Result<Vec<String>, Fault> {
    allowed(desk, holder, |model| model.embeds).await
}

/// The models of this kind that a holder may use.
async fn allowed(
    desk: &Desk,
    holder: &Holder,
    kind: impl Fn(&ModelInfo) -> bool,
) -> Result<Vec<String>, Fault> {
    let models = desk.models().await?;
    let names = models.iter().filter(|model| kind(model) && holder.may_use(&model.name));
    Ok(names.map(|model| model.name.to_string()).collect())
}

/// The agents that a holder may speak to, as they are named in place of a model.
pub(crate) fn agents(holder: &Holder) -> impl Iterator<Item = String> {
    holder.agents.iter().map(|name| format!("{AGENT}{name}"))
}

/// That no agent of a caller has this name, with those that have one; or why the caller is nobody any more.
pub(crate) async fn no_agent(desk: &Desk, caller: Caller, model: &str) -> Fault {
    match guard::anew(desk, caller).await {
        Ok(holder) => Fault::no_model(model, &agents(&holder).collect::<Vec<_>>().join(", ")),
        Err(fault) => fault,
    }
}

/// Clients of the second vendor say which version of its API they speak.
fn is_second(headers: &HeaderMap) -> bool {
    headers.contains_key("anthropic-version")
}

fn one(headers: &HeaderMap, name: &str) -> Value {
    if is_second(headers) {
        return json!({"type": "model", "id": name, "display_name": name, "created_at": utc(MADE)});
    }
    let owner =
        name.split_once('/').filter(|_| !name.starts_with(AGENT)).map_or("cordon", |(owner, _)| owner);
    json!({"id": name, "object": "model", "created": MADE, "owned_by": owner})
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_model_is_shown_in_the_form_of_the_client_that_asks() {
        let mut headers = HeaderMap::new();
        let expected = json!({"id": "agent/a", "object": "model", "created": MADE, "owned_by": "cordon"});
        assert_eq!(one(&headers, "agent/a"), expected);
        assert_eq!(one(&headers, "acme/m")["owned_by"], "acme");
        assert_eq!(one(&headers, "fast")["owned_by"], "cordon");
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        let expected = json!({"type": "model", "id": "agent/a", "display_name": "agent/a",
            "created_at": "2025-01-01T00:00:00Z"});
        assert_eq!(one(&headers, "agent/a"), expected);
    }
}
