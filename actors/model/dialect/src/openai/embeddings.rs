//! The vectors of OpenAI's embeddings, which most servers speak.

use crate::answer::object;
use crate::refusal::stream_error;
use crate::tokens::Tokens;
use crate::wire::Embeddings;
use ipc_proto::model::ModelError;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The method.
pub(crate) const METHOD: Embeddings = Embeddings { path: "/embeddings", read };

#[derive(Deserialize)]
struct Listed {
    #[serde(default)]
    data: Option<Vec<Vector>>,
    #[serde(default)]
    usage: Option<Counted>,
    #[serde(default)]
    error: Value,
}

#[derive(Deserialize)]
struct Vector {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct Counted {
    #[serde(default)]
    prompt_tokens: Tokens,
}

fn read(json: &str, texts: usize, context: u32) -> Result<(Vec<Vec<f32>>, Tokens), ModelError> {
    let listed: Listed = object(json)?;
    if !listed.error.is_null() {
        return Err(stream_error(&listed.error, context));
    }
    let counted = listed.usage.map_or_else(Tokens::default, |counted| counted.prompt_tokens);
    Ok((in_order(listed.data.ok_or(ModelError::InvalidJson)?, texts)?, counted))
}

/// The vectors in the order of their texts; where they are not numbered, they stand in it.
fn in_order(vectors: Vec<Vector>, texts: usize) -> Result<Vec<Vec<f32>>, ModelError> {
    let mut places = BTreeMap::new();
    for (at, vector) in vectors.into_iter().enumerate() {
        let place = vector.index.unwrap_or(at);
        if place >= texts || places.insert(place, vector.embedding).is_some() {
            return Err(ModelError::InvalidJson);
        }
    }
    Ok(places.into_values().collect())
}
