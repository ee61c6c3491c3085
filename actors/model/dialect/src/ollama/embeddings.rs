//! The vectors of Ollama's own embeddings.

use crate::answer::object;
use crate::refusal::stream_error;
use crate::tokens::Tokens;
use crate::wire::Embeddings;
use ipc_proto::model::ModelError;
use serde::Deserialize;
use serde_json::Value;

/// The method.
pub(super) const METHOD: Embeddings = Embeddings { path: "/api/embed", read };

#[derive(Deserialize)]
struct Listed {
    #[serde(default)]
    embeddings: Option<Vec<Vec<f32>>>,
    #[serde(default)]
    prompt_eval_count: Tokens,
    #[serde(default)]
    error: Value,
}

/// The vectors stand in the order of their texts.
fn read(json: &str, _: usize, context: u32) -> Result<(Vec<Vec<f32>>, Tokens), ModelError> {
    let listed: Listed = object(json)?;
    if !listed.error.is_null() {
        return Err(stream_error(&listed.error, context));
    }
    Ok((listed.embeddings.ok_or(ModelError::InvalidJson)?, listed.prompt_eval_count))
}
