//! `/v1/embeddings`: vectors of texts, as numbers or as base64 of their bytes, which is what official clients ask for.

use crate::answer::document;
use crate::body::{self, Mixed};
use crate::desk::Desk;
use crate::fault::{Dialect, Fault};
use crate::guard::Who;
use crate::relay;
use crate::routes::paced;
use crate::wish::nobody;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ipc_proto::gate::method;
use ipc_proto::model::{Embedded, Embedding, ModelName};
use ipc_proto::{List, Text};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Texts in one request of a client.
const TEXTS: usize = 512;
/// Texts in one request to the gate.
const BATCH: usize = 64;

#[derive(Debug, Deserialize)]
struct Ask {
    model: String,
    input: Mixed<String>,
    dimensions: Option<u16>,
    #[serde(default)]
    encoding_format: Encoding,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    #[default]
    Float,
    Base64,
}

/// Answers it.
pub(crate) async fn embed(
    State(desk): State<Arc<Desk>>,
    Extension(who): Extension<Who>,
    request: Request,
) -> Response {
    let answer = answer(&desk, &who, request).await;
    paced(&desk, &who, Dialect::OpenAi, answer)
}

async fn answer(desk: &Desk, who: &Who, request: Request) -> Result<Response, Fault> {
    let (parts, body) = request.into_parts();
    let ask: Ask = body::decode(&body::read(desk, &parts.headers, body).await?)?;
    let (model, encoding, dimensions) = (ask.model.clone(), ask.encoding_format, ask.dimensions);
    let name = ModelName::new(model.as_str()).map_err(|long| Fault::bad("model", long.to_string()))?;
    let (mut data, mut tokens) = (Vec::new(), 0_u64);
    for texts in ask.texts()?.chunks(BATCH) {
        let texts = List::clip(texts.iter().cloned());
        let embedding = Embedding { model: name.clone(), texts, dimensions, payer: nobody() };
        let embedded = batch(desk, who, embedding).await?;
        tokens += u64::from(embedded.input);
        for vector in &embedded.vectors {
            data.push(one(data.len(), vector, encoding));
        }
    }
    let usage = json!({"prompt_tokens": tokens, "total_tokens": tokens});
    let whole = json!({"object": "list", "data": data, "model": model, "usage": usage});
    Ok(document(Body::from(whole.to_string())))
}

async fn batch(desk: &Desk, who: &Who, embedding: Embedding) -> Result<Embedded, Fault> {
    let (caller, model) = (who.caller, embedding.model.clone());
    let asked = desk.gate.call(&method::relay_embed, |gate, context| {
        let embedding = embedding.clone();
        async move { gate.relay_embed(context, caller, embedding).await }
    });
    match asked.await.map_err(|fault| Fault::down("gate", fault))? {
        Ok(embedded) => Ok(embedded),
        Err(error) => Err(relay::refused(desk, &who.holder, &model, error).await),
    }
}

fn one(index: usize, vector: &[f32], encoding: Encoding) -> Value {
    let embedding = match encoding {
        Encoding::Float => json!(vector),
        Encoding::Base64 => {
            let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
            json!(STANDARD.encode(bytes))
        }
    };
    json!({"object": "embedding", "index": index, "embedding": embedding})
}

impl Ask {
    fn texts(self) -> Result<Vec<Text<32768>>, Fault> {
        let texts = match self.input {
            Mixed::Text(text) => vec![text],
            Mixed::Parts(texts) => texts,
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

    fn texts(input: Value) -> Result<usize, Fault> {
        let body = json!({"model": "offline/hash-384", "input": input});
        body::decode::<Ask>(body.to_string().as_bytes())?.texts().map(|texts| texts.len())
    }

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
    }

    #[test]
    fn a_vector_is_numbers_or_the_bytes_of_the_same_numbers() {
        assert_eq!(one(3, &[1.0, -0.5], Encoding::Float)["embedding"], json!([1.0, -0.5]));
        let coded = one(0, &[1.0, -0.5], Encoding::Base64);
        let bytes = STANDARD.decode(coded["embedding"].as_str().unwrap()).unwrap();
        assert_eq!(bytes, [1.0_f32.to_le_bytes(), (-0.5_f32).to_le_bytes()].concat());
    }
}
