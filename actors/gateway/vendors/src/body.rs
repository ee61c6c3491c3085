//! The body of a request: bounded in bytes and time, and decoded with the place of whatever is wrong in it.

use crate::fault::{Fault, Kind};
use crate::strict::Strict;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
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
/// Bytes of a decoder's message that are passed on.
const DECODER_MESSAGE: usize = 300;

/// The decoder's names of types, and those of JSON.
const PLAIN: [(&str, &str); 8] = [
    ("expected u32", "expected a whole number"),
    ("expected u16", "expected a whole number"),
    ("expected f64", "expected a number"),
    ("expected a sequence", "expected a list"),
    ("expected a map", "expected an object"),
    ("invalid type: sequence", "invalid type: list"),
    ("invalid type: map", "invalid type: object"),
    ("floating point", "number"),
];

/// The beginning of a decoder's message that ends with a field, the message for the client, and its code.
const FIELDS: [(&str, &str, &str); 2] = [
    ("missing field `", "Missing required parameter", "missing_required_parameter"),
    ("duplicate field `", "Duplicate parameter", "duplicate_parameter"),
];

/// Reads it whole, `bound` bytes at most.
///
/// # Errors
/// It is over the bound, compressed, too slow, or broke off.
pub async fn read(bound: usize, headers: &HeaderMap, body: Body) -> Result<Bytes, Fault> {
    let large = || Fault::new(Kind::Large, format!("The request's body is over the bound of {bound} bytes."));
    let coding = headers.get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes);
    if coding.is_some_and(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity")) {
        let message =
            "The request's body is compressed, which is not taken: send it without a Content-Encoding.";
        return Err(Fault::new(Kind::Coded, message));
    }
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
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(Strict(&mut json)).map_err(|fault| {
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
    // The name of a type of this program helps no client.
    let named = said.split_once("expected struct ").map(|(before, _)| format!("{before}expected an object"));
    let said = named.as_deref().unwrap_or(said);
    let path = if path == "." { "" } else { path };
    if path.is_empty() && said.starts_with("invalid type") {
        return Fault::new(Kind::Bad, "The request's body must be a JSON object.").coded("invalid_type");
    }
    for (begin, what, code) in FIELDS {
        let named = said.strip_prefix(begin).and_then(|rest| rest.strip_suffix('`'));
        let Some(field) = named else { continue };
        let path = if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") };
        let message = format!("{what}: '{path}'.");
        return Fault::bad(path, message).coded(code);
    }
    let said = PLAIN.iter().fold(said.to_owned(), |said, (word, plain)| said.replace(word, plain));
    let said = said.get(..said.floor_char_boundary(DECODER_MESSAGE)).unwrap_or_default();
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
        of: Option<Box<Part>>,
        #[serde(default)]
        more: Value,
    }

    #[derive(Debug, serde::Deserialize, PartialEq)]
    struct Ask {
        model: String,
        content: Option<Mixed<Part>>,
    }

    fn error(body: &str) -> Value {
        decode::<Ask>(body.as_bytes()).unwrap_err().json(Dialect::OpenAi, "")["error"].clone()
    }

    // Holds P3-19.
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
            // A list of an object's fields in order is no object.
            (r#"{"model":"m","content":[["a",null,1]]}"#, json!("content[0]")),
            (r#"{"model":"m","content":[{"text":"a","of":["b",null,1]}]}"#, json!("content[0].of")),
            (
                r#"{"model":"m","content":[{"text":"a","of":{"text":"b","of":[["c"]]}}]}"#,
                json!("content[0].of.of"),
            ),
            (r#"{"model":"m","content":[{"text":"a","of":{"text":["b"]}}]}"#, json!("content[0].of.text")),
            (r#"{"model":"m","content":[{"text":"a"},["b"]]}"#, json!("content[1]")),
        ] {
            let error = error(body);
            let message = error["message"].as_str().unwrap();
            for word in ["struct", "Ask", "sequence", "map"] {
                assert!(!message.contains(word), "{body}: {message}");
            }
            assert_eq!(error["param"], param, "{body}: {error}");
            assert_eq!(error["type"], "invalid_request_error");
        }
    }

    #[tokio::test]
    async fn a_compressed_body_is_called_what_it_is() {
        for (coding, status) in [("gzip", 415), ("zstd", 415), ("identity", 0), ("", 0)] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
            let refused = read(9, &headers, Body::from("{}")).await.err();
            let refused = refused.map_or(0, |fault| fault.render(Dialect::OpenAi, "").status().as_u16());
            assert_eq!(refused, status, "{coding}");
        }
    }

    #[test]
    fn a_field_that_stands_twice_is_named_with_its_place() {
        for (body, param) in [
            (r#"{"model":"m","model":"n"}"#, "model"),
            (r#"{"model":"m","content":[{"text":"a"},{"text":"b","text":"c"}]}"#, "content[1].text"),
        ] {
            let error = error(body);
            assert_eq!((&error["param"], &error["code"]), (&json!(param), &json!("duplicate_parameter")));
            assert_eq!(error["message"], format!("Duplicate parameter: '{param}'."));
        }
    }

    // Holds B-151.
    #[test]
    fn a_body_of_too_many_values_is_refused_unread() {
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
        let more = json!({"x": [1, -2, 0.5, "b", null, true, {"z": []}]});
        let inner = Part { text: "b".into(), of: None, more: Value::Null };
        let part = Part { text: "a".into(), of: Some(inner.into()), more };
        let body = r#"{"model":"m","content":[{"text":"a","y":{},"of":{"text":"b","of":null},
            "more":{"x":[1,-2,0.5,"b",null,true,{"z":[]}]}}]}"#;
        assert_eq!(of(body), Some(Mixed::Parts(vec![part])));
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
