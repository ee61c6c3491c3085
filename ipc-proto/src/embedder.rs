//! Embedder makes vectors of texts by a model of this machine. It has no network and calls nobody, so a text that is given
//! to it leaves the host by no way, whatever its label.

use crate::memory::{RAW_BOUND, Vector};
use crate::service::service;
use crate::{Name, Text};
use serde::{Deserialize, Serialize};

/// The prefix of the names of its models. The rest of a name identifies the model, so that vectors of two models are
/// never compared.
pub const LOCAL: &str = "local:";

/// Returns whether vectors of this name are made by embedder rather than by a provider's model.
#[must_use]
pub fn is_local(embedder: &str) -> bool {
    embedder.starts_with(LOCAL)
}

/// Why there is no vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum EmbedderError {
    /// Vectors of another model are wanted than that which is configured.
    #[error("embedder has another model than the one whose vectors are wanted; restart the host")]
    OtherModel,
    /// The files of the model are not what they were when the configuration was read.
    #[error("the files of the model in [embedder] folder have changed; put them back, or restart the host")]
    Changed,
    /// The model cannot be loaded, and why.
    #[error(
        "the model in [embedder] folder cannot be used: {0}; put its files there again, or name another folder"
    )]
    Unusable(Text<256>),
    /// Nothing is left of the text that the model could read.
    #[error("the model made nothing of this text; use other words")]
    Nothing,
}

service! {
    /// A model of this machine.
    pub trait Embedder {
        /// The vector that the model of this name computes for a text; it reads the first 256 word pieces.
        [idempotent, 256, 60]
        async fn embed(by: Name, text: Text<RAW_BOUND>) -> Result<Vector, EmbedderError>;
        /// That the model could be loaded when that was tried last; why not, if it could not.
        [idempotent, 4, 2]
        async fn sound() -> Result<(), EmbedderError>;
    }
}
