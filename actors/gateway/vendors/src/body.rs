//! The body of a request: bounded in bytes and time, and decoded with the place of whatever is wrong in it.

use crate::fault::{Fault, Kind};
use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, SeqAccess, Visitor};
use serde_json::error::Category;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// How long a body may take to come.
const PATIENCE: Duration = Duration::from_secs(30);
/// Values in a body. In memory one takes up to sixteen times what it takes on the wire, so that a body of nothing but
/// numbers would be more than the process may have.
const VALUES: usize = 100_000;
/// Bytes of a decoder's words that are passed on.
const WORDS: usize = 300;

/// Reads it whole, `bound` bytes at most.
///
/// # Errors
/// It is over the bound, too slow, or broke off.
pub async fn read(bound: usize, headers: &HeaderMap, body: Body) -> Result<Bytes, Fault> {
    let large = || Fault::new(Kind::Large, format!("The request's body is over the bound of {bound} bytes."));
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if announced.and_then(|length| length.parse::<usize>().ok()).is_some_and(|length| length > bound) {
        return Err(large());
    }
    match tokio::time::timeout(PATIENCE, Limited::new(body, bound).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(cause)) if cause.is::<LengthLimitError>() => Err(large()),
        Ok(Err(_)) => Err(Fault::new(Kind::Bad, "The request's body broke off.")),
        Err(_) => Err(Fault::new(Kind::Slow, "The request's body did not come in 30 s.")),
    }
}

/// Decodes it; fields that are not known are passed over.
///
/// # Errors
/// No JSON, or not of this form: the field is named; or of too many values.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Fault> {
    if commas(bytes) > VALUES {
        let message = format!("The request's body has more than {VALUES} values.");
        return Err(Fault::new(Kind::Large, message));
    }
    // A struct could be read from a list of its fields in order, which no vendor's API takes.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(Fault::new(Kind::Bad, "The request's body must be a JSON object.").coded("invalid_type"));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|fault| {
        let path = fault.path().to_string();
        wrong(&path, fault.inner())
    })?;
    json.end().map_err(|fault| wrong(".", &fault))?;
    Ok(value)
}

/// Commas between values, counted up to one more than there may be; those of texts are none.
fn commas(bytes: &[u8]) -> usize {
    let (mut in_text, mut escaped) = (false, false);
    let between = |byte: &&u8| {
        match **byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            byte => return byte == b',' && !in_text,
        }
        false
    };
    bytes.iter().filter(between).take(VALUES + 1).count()
}

fn wrong(path: &str, fault: &serde_json::Error) -> Fault {
    if fault.classify() != Category::Data {
        let place = format!("line {} column {}", fault.line(), fault.column());
        return Fault::new(Kind::Bad, format!("The request's body is no JSON document ({place})."));
    }
    let said = fault.to_string();
    let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
    // What a type is called here helps no client.
    let named = said.split_once("expected struct ").map(|(before, _)| format!("{before}expected an object"));
    let said = named.as_deref().unwrap_or(said);
    let path = if path == "." { "" } else { path };
    if let Some(field) = said.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        let path = if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") };
        let message = format!("Missing required parameter: '{path}'.");
        return Fault::bad(path, message).coded("missing_required_parameter");
    }
    let said = said.get(..said.floor_char_boundary(WORDS)).unwrap_or_default();
    let message = format!("Invalid type or value for '{path}': {said}.");
    let fault = Fault::new(Kind::Bad, message).coded("invalid_type");
    if path.is_empty() { fault } else { fault.about(path) }
}

/// Text, or a list of parts: most contents may be either.
#[derive(Clone, Debug, PartialEq)]
pub enum Mixed<P> {
    /// Text.
    Text(String),
    /// Parts.
    Parts(Vec<P>),
}

impl<P> Default for Mixed<P> {
    fn default() -> Self {
        Self::Parts(Vec::new())
    }
}

/// By hand, so that the place of what is wrong in a part is still known, which it is not once a value was set aside to be
/// tried as one form after the other.
impl<'de, P: Deserialize<'de>> Deserialize<'de> for Mixed<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<P>(PhantomData<P>);
        impl<'de, P: Deserialize<'de>> Visitor<'de> for Either<P> {
            type Value = Mixed<P>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Mixed<P>, E> {
                Ok(Mixed::Text(text.to_owned()))
            }
            fn visit_string<E: Error>(self, text: String) -> Result<Mixed<P>, E> {
                Ok(Mixed::Text(text))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Mixed<P>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Mixed::Parts)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Dialect;
    use serde_json::{Value, json};

    #[derive(Debug, serde::Deserialize, PartialEq)]
    struct Part {
        text: String,
    }

    #[derive(Debug, serde::Deserialize, PartialEq)]
    struct Ask {
        model: String,
        content: Option<Mixed<Part>>,
    }

    fn error(body: &str) -> Value {
        decode::<Ask>(body.as_bytes()).unwrap_err().json(Dialect::OpenAi, "")["error"].clone()
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let missing = error(r#"{"content":"x"}"#);
        assert_eq!(
            (&missing["param"], &missing["code"]),
            (&json!("model"), &json!("missing_required_parameter"))
        );
        for (body, param) in [
            (r#"{"model":3}"#, json!("model")),
            (r#"{"model":"m","content":[{"text":"a"},{"text":1}]}"#, json!("content[1].text")),
            (r#"{"model":"m","content":[{}]}"#, json!("content[0].text")),
            (r#"{"model":"m","content":3}"#, json!("content")),
            (r#"{"model""#, Value::Null),
            (r#"{"model":"m"} x"#, Value::Null),
            ("", Value::Null),
            ("3", Value::Null),
            (r#"["m", null]"#, Value::Null),
            (r#"{"model":"m","content":[3]}"#, json!("content[0]")),
        ] {
            let error = error(body);
            let message = error["message"].as_str().unwrap();
            assert!(!message.contains("struct") && !message.contains("Ask"), "{body}: {message}");
            assert_eq!(error["param"], param, "{body}: {error}");
            assert_eq!(error["type"], "invalid_request_error");
        }
    }

    #[test]
    fn a_body_of_too_many_values_is_refused_unread_and_the_commas_of_a_text_are_no_values() {
        let list = |count: usize| format!(r#"{{"model":"m","x":[{}0]}}"#, "0,".repeat(count));
        assert!(decode::<Ask>(list(VALUES - 2).as_bytes()).is_ok());
        assert_eq!(decode::<Ask>(list(VALUES).as_bytes()).unwrap_err().kind(), Kind::Large);
        let text = format!(r#"{{"model":"m","content":"\",{}"}}"#, ",".repeat(VALUES));
        assert!(decode::<Ask>(text.as_bytes()).is_ok());
    }

    #[test]
    fn content_is_text_or_parts_or_nothing_and_unknown_fields_are_passed_over() {
        let of = |body: &str| decode::<Ask>(body.as_bytes()).unwrap().content;
        assert_eq!(of(r#"{"model":"m","content":null,"x":1}"#), None);
        assert_eq!(of(r#"{"model":"m","content":"a\n"}"#), Some(Mixed::Text("a\n".into())));
        let part = Part { text: "a".into() };
        assert_eq!(of(r#"{"model":"m","content":[{"text":"a","y":{}}]}"#), Some(Mixed::Parts(vec![part])));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_decoded_or_refused_in_the_form_of_the_api(bytes: Vec<u8>) {
            if let Err(fault) = decode::<Ask>(&bytes) {
                let body = fault.json(Dialect::OpenAi, "");
                proptest::prop_assert!(body["error"]["message"].is_string());
                proptest::prop_assert_eq!(fault.kind(), Kind::Bad);
            }
        }
    }
}
