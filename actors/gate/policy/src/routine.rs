//! The values of an HTTP request that carry no information and only permit a read, so that nobody has to have named them.

use serde_json::{Map, Value};
use std::borrow::Cow;

/// HTTP methods that only read.
const READS: [&str; 2] = ["GET", "HEAD"];
/// Headers with those of their values that can carry no information.
const HEADERS: &[(&str, &[&str])] = &[
    ("accept", &["*/*", "text/html", "text/plain", "text/markdown", "application/json", "application/xml"]),
    ("cache-control", &["no-cache", "no-store"]),
    ("content-type", &["application/json", "text/plain", "application/x-www-form-urlencoded"]),
];

/// Returns whether a method only reads.
pub(crate) fn reads(method: &str) -> bool {
    READS.iter().any(|one| one.eq_ignore_ascii_case(method))
}

/// The arguments without a method that only reads and without such headers.
pub(crate) fn without(args: &Map<String, Value>) -> Cow<'_, Map<String, Value>> {
    if !args.contains_key("method") && !args.contains_key("headers") {
        return Cow::Borrowed(args);
    }
    let mut rest = args.clone();
    if rest.get("method").and_then(Value::as_str).is_some_and(reads) {
        rest.remove("method");
    }
    if let Some(Value::Object(headers)) = rest.get_mut("headers") {
        headers.retain(|name, value| !is_routine(name, value));
        if headers.is_empty() {
            rest.remove("headers");
        }
    }
    Cow::Owned(rest)
}

fn is_routine(name: &str, value: &Value) -> bool {
    let values =
        HEADERS.iter().find(|(header, _)| header.eq_ignore_ascii_case(name)).map(|(_, values)| *values);
    value.as_str().is_some_and(|value| values.is_some_and(|values| values.contains(&value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_tells_nothing_is_left_out() {
        let left = |args: Value| without(args.as_object().unwrap()).into_owned();
        let routine =
            json!({"url": "u", "method": "get", "headers": {"Accept": "application/json"}, "timeout": 5});
        assert_eq!(Value::Object(left(routine)), json!({"url": "u", "timeout": 5}));
        for live in [
            json!({"url": "u", "method": "POST"}),
            json!({"url": "u", "headers": {"Accept": "text/the-data"}}),
            json!({"url": "u", "headers": {"Prefer": "application/json"}}),
            json!({"url": "u", "headers": {"Accept": 7}}),
            json!({"url": "u", "headers": "Accept"}),
            json!({"url": "u", "body": ""}),
        ] {
            assert_eq!(Value::Object(left(live.clone())), live);
        }
    }
}
