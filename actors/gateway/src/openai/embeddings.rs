//! `/v1/embeddings`: vectors of texts, as numbers or as base64 of their bytes, which is what official clients ask for.

use crate::app_state::AppState;
use crate::body::{self, Mixed};
use crate::chat_request::nobody;
use crate::fault::Fault;
use crate::guard::Who;
use crate::listing;
use crate::relay;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ipc_proto::gate::method;
use ipc_proto::model::{Embedded, Embedding, ModelName};
use ipc_proto::{List, Text};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt;
use std::sync::Arc;
use vendors::answer::{document, warned};

/// Texts in one request of a client.
const TEXTS: usize = 512;
/// Texts in one request to the gate.
const BATCH: usize = 64;

#[derive(Debug, Deserialize)]
struct Ask {
    model: String,
    input: Mixed<InputText>,
    dimensions: Option<u16>,
    encoding_format: Option<String>,
}

/// One text. Its tokens are none: those that a client cut it into are of one vendor's models.
#[derive(Debug)]
struct InputText(String);

impl<'de> Deserialize<'de> for InputText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of;
        impl Visitor<'_> for Of {
            type Value = InputText;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a string: arrays of tokens are not taken, send the text itself \
                     (of LangChain's OpenAIEmbeddings: check_embedding_ctx_length=False)",
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<InputText, E> {
                Ok(InputText(text.to_owned()))
            }
        }
        deserializer.deserialize_str(Of)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Float,
    Base64,
}

/// One vector as it is answered.
#[derive(Serialize)]
struct One<'a> {
    object: &'static str,
    index: usize,
    embedding: Vector<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Vector<'a> {
    Numbers(&'a [f32]),
    Base64(String),
}

/// Answers it.
pub(crate) async fn embed(
    State(app): State<Arc<AppState>>,
    Extension(who): Extension<Who>,
    request: Request,
) -> Result<Response, Fault> {
    let (parts, body) = request.into_parts();
    let ask: Ask = body::decode(&body::read(app.max_body(), &parts.headers, body).await?)?;
    let (model, encoding, dimensions) = (ask.model.clone(), ask.encoding()?, ask.dimensions()?);
    let name = ModelName::new(model.as_str()).map_err(|long| Fault::bad("model", long.to_string()))?;
    // Written as it comes: there may be two million numbers, of which each is a multiple of its text as a value.
    let mut whole = br#"{"object":"list","data":["#.to_vec();
    let (mut count, mut tokens, mut over) = (0, 0_u64, None);
    for texts in ask.texts()?.chunks(BATCH) {
        let texts = List::clip(texts.iter().cloned());
        let embedding = Embedding { model: name.clone(), texts, dimensions, payer: nobody() };
        let embedded = batch(&app, &who, embedding).await?;
        tokens += u64::from(embedded.usage.input);
        over = over.or(embedded.over);
        for vector in &embedded.vectors {
            if count > 0 {
                whole.push(b',');
            }
            write(&mut whole, &one(count, vector, encoding));
            count += 1;
        }
    }
    whole.extend_from_slice(br#"],"model":"#);
    write(&mut whole, &model);
    whole.extend_from_slice(br#","usage":"#);
    write(&mut whole, &json!({"prompt_tokens": tokens, "total_tokens": tokens}));
    whole.push(b'}');
    Ok(warned(document(Body::from(whole)), over))
}

fn write(out: &mut Vec<u8>, value: &impl Serialize) {
    // Nothing that is written here can fail to be.
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.extend_from_slice(b"null");
    }
}

async fn batch(app: &AppState, who: &Who, embedding: Embedding) -> Result<Embedded, Fault> {
    let (caller, model) = (who.caller, embedding.model.clone());
    let asked = app.gate.call(&method::relay_embed, |gate, context| {
        let embedding = embedding.clone();
        async move { gate.relay_embed(context, caller, embedding).await }
    });
    match asked.await.map_err(|fault| Fault::down("gate", fault))? {
        Ok(embedded) => Ok(embedded),
        Err(error) => Err(relay::refused_of(&model, error, listing::embedders(app, &who.holder)).await),
    }
}

fn one(index: usize, vector: &[f32], encoding: Encoding) -> One<'_> {
    let embedding = match encoding {
        Encoding::Float => Vector::Numbers(vector),
        Encoding::Base64 => {
            let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
            Vector::Base64(STANDARD.encode(bytes))
        }
    };
    One { object: "embedding", index, embedding }
}

impl Ask {
    /// Checks the dimensions: a value that the vendor would refuse is not sent.
    fn dimensions(&self) -> Result<Option<u16>, Fault> {
        match self.dimensions {
            Some(0) => {
                Err(Fault::bad("dimensions", "Invalid value for 'dimensions': it must be at least 1.")
                    .coded("invalid_value"))
            }
            dimensions => Ok(dimensions),
        }
    }

    fn encoding(&self) -> Result<Encoding, Fault> {
        match self.encoding_format.as_deref() {
            None | Some("float") => Ok(Encoding::Float),
            Some("base64") => Ok(Encoding::Base64),
            Some(_) => {
                let message = "Invalid value: supported values are 'float' and 'base64'.";
                Err(Fault::bad("encoding_format", message).coded("invalid_value"))
            }
        }
    }

    fn texts(self) -> Result<Vec<Text<32768>>, Fault> {
        let texts = match self.input {
            Mixed::Text(text) => vec![text],
            Mixed::Parts(texts) => texts.into_iter().map(|InputText(text)| text).collect(),
        };
        if texts.is_empty() || texts.len() > TEXTS {
            return Err(Fault::bad("input", format!("There must be from 1 to {TEXTS} texts.")));
        }
        let bounded = texts.into_iter().enumerate().map(|(index, text)| {
            if text.is_empty() {
                return Err(Fault::bad(format!("input[{index}]"), "It must not be an empty string."));
            }
            Text::new(text)
                .map_err(|long| Fault::bad(format!("input[{index}]"), format!("Too long: {long}.")))
        });
        bounded.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Dialect;
    use serde_json::Value;

    fn texts(input: Value) -> Result<usize, Fault> {
        let body = json!({"model": "offline/hash-384", "input": input});
        body::decode::<Ask>(body.to_string().as_bytes())?.texts().map(|texts| texts.len())
    }

    // Holds B-163.
    #[test]
    fn texts_come_alone_or_in_a_list_and_tokens_are_refused() {
        assert_eq!(texts(json!("a")).unwrap(), 1);
        assert_eq!(texts(json!(["a", "b"])).unwrap(), 2);
        for wrong in [
            json!([]),
            json!([""]),
            json!([1, 2]),
            json!([[1]]),
            json!(vec!["a"; TEXTS + 1]),
            json!("a".repeat(40_000)),
        ] {
            assert!(texts(wrong).is_err());
        }
        for (tokens, param) in
            [(json!([1, 2]), "input[0]"), (json!(["a", 3]), "input[1]"), (json!([[1]]), "input[0]")]
        {
            let error = texts(tokens).unwrap_err().json(Dialect::OpenAi, "")["error"].clone();
            assert_eq!((&error["type"], &error["param"]), (&json!("invalid_request_error"), &json!(param)));
            assert!(error["message"].as_str().unwrap().contains("send the text itself"), "{error}");
        }
    }

    #[test]
    fn a_vector_of_no_dimensions_is_refused_before_anybody_is_asked() {
        let of = |dimensions: Value| {
            let body = json!({"model": "m", "input": "a", "dimensions": dimensions}).to_string();
            body::decode::<Ask>(body.as_bytes()).and_then(|ask| ask.dimensions())
        };
        assert_eq!((of(json!(1)).unwrap(), of(Value::Null).unwrap()), (Some(1), None));
        for wrong in [json!(0), json!(-1), json!(65_536)] {
            let error = of(wrong).unwrap_err().json(Dialect::OpenAi, "")["error"].clone();
            assert_eq!(
                (&error["type"], &error["param"]),
                (&json!("invalid_request_error"), &json!("dimensions"))
            );
        }
    }

    #[test]
    fn how_vectors_are_written_is_one_of_two_words_or_left_open() {
        let of = |encoding: Value| {
            let body = json!({"model": "m", "input": "a", "encoding_format": encoding}).to_string();
            body::decode::<Ask>(body.as_bytes()).and_then(|ask| ask.encoding())
        };
        assert_eq!(of(json!("base64")).unwrap(), Encoding::Base64);
        assert_eq!(
            (of(json!("float")).unwrap(), of(Value::Null).unwrap()),
            (Encoding::Float, Encoding::Float)
        );
        for wrong in [json!("int8"), json!(3), json!([])] {
            let error = of(wrong).unwrap_err().json(Dialect::OpenAi, "")["error"].clone();
            assert_eq!(error["param"], "encoding_format", "{error}");
        }
    }

    #[test]
    fn a_vector_is_numbers_or_the_bytes_of_the_same_numbers() {
        let written = |index, encoding| -> Value {
            let mut out = Vec::new();
            write(&mut out, &one(index, &[1.0, -0.5], encoding));
            serde_json::from_slice(&out).unwrap()
        };
        let expected = json!({"object": "embedding", "index": 3, "embedding": [1.0, -0.5]});
        assert_eq!(written(3, Encoding::Float), expected);
        let coded = written(0, Encoding::Base64);
        let bytes = STANDARD.decode(coded["embedding"].as_str().unwrap()).unwrap();
        assert_eq!(bytes, [1.0_f32.to_le_bytes(), (-0.5_f32).to_le_bytes()].concat());
    }
}
