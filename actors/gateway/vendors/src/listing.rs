//! How `/v1/models` names what may be asked, in the form of whichever vendor's client asks. Pure.

use crate::chat_request::AGENT;
use crate::fault::Dialect;
use axum::http::HeaderMap;
use serde_json::{Value, json};

/// Nobody knows when a model was made; clients want a time, and this is always the same one: the first of January 2025.
const MADE: u64 = 1_735_689_600;
const MADE_SAID: &str = "2025-01-01T00:00:00Z";

/// The API of a request. For a path that both vendors have, a client of the second sends the version of its API.
#[must_use]
pub fn asked_by(path: &str, headers: &HeaderMap) -> Dialect {
    let is_second = path.starts_with("/v1/messages")
        || (path.starts_with("/v1/models") && headers.contains_key("anthropic-version"));
    if is_second { Dialect::Anthropic } else { Dialect::OpenAi }
}

/// These names; `has_more` says to the second vendor's client that there are others that way.
#[must_use]
pub fn list<N: AsRef<str>>(names: &[N], has_more: bool, dialect: Dialect) -> Value {
    let data: Vec<Value> = names.iter().map(|name| one(name.as_ref(), dialect)).collect();
    let id = |name: Option<&N>| name.map(|name| name.as_ref().to_owned());
    match dialect {
        Dialect::OpenAi => json!({"object": "list", "data": data}),
        Dialect::Anthropic => json!({
            "data": data, "has_more": has_more, "first_id": id(names.first()), "last_id": id(names.last()),
        }),
    }
}

/// One of them. An agent's and a task's owner is this host.
#[must_use]
pub fn one(name: &str, dialect: Dialect) -> Value {
    match dialect {
        Dialect::OpenAi => {
            let provider = name.split_once('/').filter(|_| !name.starts_with(AGENT));
            let owner = provider.map_or("cordon", |(provider, _)| provider);
            json!({"id": name, "object": "model", "created": MADE, "owned_by": owner})
        }
        Dialect::Anthropic => {
            json!({"type": "model", "id": name, "display_name": name, "created_at": MADE_SAID})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_model_is_shown_in_the_form_of_the_client_that_asks() {
        let mut headers = HeaderMap::new();
        let expected = json!({"id": "agent/a", "object": "model", "created": MADE, "owned_by": "cordon"});
        assert_eq!(one("agent/a", asked_by("/v1/models", &headers)), expected);
        assert_eq!(one("acme/m", Dialect::OpenAi)["owned_by"], "acme");
        assert_eq!(one("fast", Dialect::OpenAi)["owned_by"], "cordon");
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        let expected = json!({"type": "model", "id": "agent/a", "display_name": "agent/a",
            "created_at": "2025-01-01T00:00:00Z"});
        assert_eq!(one("agent/a", asked_by("/v1/models", &headers)), expected);
    }

    #[test]
    fn a_list_says_its_ends_to_the_second_vendor_s_client_alone() {
        let names = ["a/1", "a/2"];
        let second = list(&names, true, Dialect::Anthropic);
        let expected = json!(["a/1", "a/2", true]);
        assert_eq!(json!([second["first_id"], second["last_id"], second["has_more"]]), expected);
        assert_eq!(list::<&str>(&[], false, Dialect::Anthropic)["first_id"], Value::Null);
        assert_eq!(list(&names, true, Dialect::OpenAi).as_object().map(|list| list.len()), Some(2));
    }
}
