//! The wire form of a provider's API. A form is a folder of its own that implements [`Dialect`], and a row of
//! [`crate::table`]; the rest of this crate knows no provider. A method with a default is overridden by the forms that
//! differ. Pure.

use crate::answer::Decoder;
use crate::tokens::Tokens;
use ipc_proto::config::{Provider, ProviderModel};
use ipc_proto::credproxy::Placement;
use ipc_proto::model::{ModelError, Request};

/// A conversation with a model of a provider.
pub(crate) struct Conversation<'a> {
    pub(crate) provider: &'a Provider,
    /// The provider's name of the model.
    pub(crate) model: &'a str,
    /// The model's properties.
    pub(crate) known: ProviderModel,
    pub(crate) request: &'a Request,
    /// An estimate of its tokens.
    pub(crate) tokens: u32,
}

/// The framing of a reply's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// An event stream, or one JSON document of a server that does not stream: the first byte says which.
    EventsOrWhole,
    /// A JSON document on each line.
    Lines,
}

/// The method of a provider that embeds texts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Embeddings {
    /// Its path below the provider's base URL.
    pub(crate) path: &'static str,
    /// Reads the body of an answer.
    pub(crate) read: ReadVectors,
}

/// Reads vectors, in the order of their texts, and the provider's count of tokens from a JSON document. It gets the
/// number of texts, and the tokens that the model takes in.
pub(crate) type ReadVectors = fn(&str, usize, u32) -> Result<(Vec<Vec<f32>>, Tokens), ModelError>;

/// A wire form.
pub(crate) trait Dialect: Sync {
    /// The path of the chat method below the provider's base URL.
    fn path(&self) -> &'static str;

    /// The body of a request.
    fn body(&self, conversation: &Conversation<'_>) -> serde_json::Result<Vec<u8>>;

    /// A new decoder for one reply.
    fn decoder(&self) -> Box<dyn Decoder>;

    /// The framing of replies.
    fn framing(&self) -> Framing {
        Framing::EventsOrWhole
    }

    /// The value of the header `accept`.
    fn accept(&self) -> &'static str {
        "text/event-stream, application/json"
    }

    /// Further headers of each request.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The place of the key.
    fn placement(&self, secret: &str) -> Placement {
        Placement::header(secret, "authorization", "Bearer ")
    }

    /// Returns true if the provider cuts a conversation that is too long without an error.
    fn truncates_silently(&self) -> bool {
        false
    }

    /// Returns true if the provider does not end an answer of this model at the texts of the request, so that the host
    /// has to look for them.
    fn needs_stop_search(&self, _: ProviderModel) -> bool {
        false
    }

    /// The method that embeds texts, if there is one.
    fn embeddings(&self) -> Option<Embeddings> {
        None
    }
}
