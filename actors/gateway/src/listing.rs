//! `/v1/models`: the agents and models that a key may name, in the form of whichever vendor's client asks.

use crate::app_state::AppState;
use crate::chat_request::AGENT;
use crate::fault::Fault;
use crate::guard::{self, Who};
use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use ipc_proto::api::{Caller, Holder};
use ipc_proto::model::ModelInfo;
use std::sync::Arc;
use vendors::answer::document;
use vendors::fault::Dialect;
use vendors::listing;

/// Most names that a client of the second vendor may ask for at once.
const PAGE: usize = 1000;

/// Lists them.
pub(crate) async fn models(
    State(app): State<Arc<AppState>>,
    Extension(who): Extension<Who>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let names = names(&app, &who.holder).await?;
    let list = match listing::asked_by(uri.path(), &headers) {
        Dialect::Anthropic => {
            let (names, has_more) = page(&names, uri.query().unwrap_or_default())?;
            listing::list(names, has_more, Dialect::Anthropic)
        }
        Dialect::OpenAi => listing::list(&names, false, Dialect::OpenAi),
    };
    Ok(document(Body::from(list.to_string())))
}

/// The names that a client of the second vendor asks for, all of them if it does not say, and whether there are more that way.
fn page<'a>(names: &'a [String], query: &str) -> Result<(&'a [String], bool), Fault> {
    let (mut rest, mut most, mut backwards) = (names, usize::MAX, false);
    for (field, value) in form_urlencoded::parse(query.as_bytes()) {
        let place = || {
            let place = names.iter().position(|name| *name == value);
            place.ok_or_else(|| Fault::bad(field.as_ref(), "No model that may be used has this id."))
        };
        match field.as_ref() {
            "limit" => {
                let limit = value.parse().ok().filter(|limit| (1..=PAGE).contains(limit));
                most = limit.ok_or_else(|| Fault::bad("limit", format!("It must be from 1 to {PAGE}.")))?;
            }
            "after_id" => rest = names.get(place()? + 1..).unwrap_or_default(),
            "before_id" => (rest, backwards) = (names.get(..place()?).unwrap_or_default(), true),
            _ => {}
        }
    }
    let most = most.min(rest.len());
    let from = if backwards { rest.len() - most } else { 0 };
    Ok((rest.get(from..from + most).unwrap_or_default(), most < rest.len()))
}

/// Shows one.
pub(crate) async fn model(
    State(app): State<Arc<AppState>>,
    Extension(who): Extension<Who>,
    uri: Uri,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    // Bytes that are no text are no name.
    let id = id.map_or_else(|_| "\u{fffd}".to_owned(), |Path(id)| id);
    let names = names(&app, &who.holder).await?;
    if !names.contains(&id) {
        let shown: String = id.chars().take(128).collect();
        return Err(Fault::no_model(&shown, &names.join(", ")));
    }
    let one = listing::one(&id, listing::asked_by(uri.path(), &headers));
    Ok(document(Body::from(one.to_string())))
}

/// Every name that a holder may use: agents first, since they are what most clients are set up for.
///
/// # Errors
/// The gate is away.
pub(crate) async fn names(app: &AppState, holder: &Holder) -> Result<Vec<String>, Fault> {
    let models = allowed(app, holder, |_| true).await?;
    Ok(agents(holder).chain(models).collect())
}

/// Every name that a holder may use for an answer: models that only embed are left out.
///
/// # Errors
/// The gate is away.
pub(crate) async fn answering(app: &AppState, holder: &Holder) -> Result<Vec<String>, Fault> {
    let speak = allowed(app, holder, |model| !model.embeds).await?;
    Ok(agents(holder).chain(speak).collect())
}

/// The models that embed texts and that a holder may use.
///
/// # Errors
/// The gate is away.
pub(crate) async fn embedders(app: &AppState, holder: &Holder) -> Result<Vec<String>, Fault> {
    allowed(app, holder, |model| model.embeds).await
}

/// The models of this kind that a holder may use.
async fn allowed(
    app: &AppState,
    holder: &Holder,
    kind: impl Fn(&ModelInfo) -> bool,
) -> Result<Vec<String>, Fault> {
    let models = app.models().await?;
    let names = models.iter().filter(|model| kind(model) && holder.may_use(&model.name));
    Ok(names.map(|model| model.name.to_string()).collect())
}

/// The agents that a holder may speak to, as they are named in place of a model.
pub(crate) fn agents(holder: &Holder) -> impl Iterator<Item = String> {
    holder.agents.iter().map(|name| format!("{AGENT}{name}"))
}

/// That no agent of a caller has this name, with those that have one; or why the caller is nobody any more.
pub(crate) async fn no_agent(app: &AppState, caller: Caller, model: &str) -> Fault {
    match guard::anew(app, caller).await {
        Ok(holder) => Fault::no_model(model, &agents(&holder).collect::<Vec<_>>().join(", ")),
        Err(fault) => fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_of_the_second_vendor_turns_pages_either_way() {
        let names = ["a/1", "a/2", "a/3"].map(str::to_owned);
        let of = |query: &str| page(&names, query).map(|(names, more)| (names.join(" "), more));
        for (query, expected, more) in [
            ("", "a/1 a/2 a/3", false),
            ("limit=2", "a/1 a/2", true),
            ("limit=2&after_id=a%2F2", "a/3", false),
            ("after_id=a/3", "", false),
            ("before_id=a%2F3&limit=1", "a/2", true),
            ("limit=1&before_id=a%2F2", "a/1", false),
            ("limit=1000&other=x", "a/1 a/2 a/3", false),
        ] {
            assert_eq!(of(query).unwrap(), (expected.to_owned(), more), "{query}");
        }
        for wrong in ["limit=0", "limit=1001", "limit=x", "after_id=b", "before_id="] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
