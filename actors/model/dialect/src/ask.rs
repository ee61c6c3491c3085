//! The request to a provider: the HTTP request around a conversation as the provider's wire form has it. Pure data; the key
//! is not in it, only where credproxy puts it.

use crate::conversation::stops;
use crate::stops::Stops;
use crate::table::dialect;
use crate::wire::Conversation;
use crate::{Reader, count};
use ipc_proto::config::{Provider, ProviderKind, ProviderModel};
use ipc_proto::credproxy::{self, CredError, Header, Verb};
use ipc_proto::model::{ModelError, Request};
use ipc_proto::{Blob, List, Name, Text};
use std::time::Duration;

/// How long a reply may go without anything of the answer; comments that keep a connection open do not count.
const PATIENCE: Duration = Duration::from_secs(120);
/// HTTP's word for a body that is too large.
const TOO_LARGE: u16 = 413;

/// A request to a provider.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The request for credproxy.
    pub http: credproxy::Request,
    /// An estimate of its tokens.
    pub tokens: u32,
    /// The model's properties.
    pub known: ProviderModel,
    /// How long its reply may go without anything of the answer.
    pub patience: Duration,
    kind: ProviderKind,
    model: String,
    /// Texts at which the answer ends.
    stops: Stops,
}

impl Ask {
    /// A reader of the reply.
    #[must_use]
    pub fn reader(&self) -> Reader {
        let reader = Reader::new(self.kind, self.tokens, self.known.context);
        reader.by(&self.model).ending_at(self.stops.clone())
    }
}

/// The request to this provider's model.
///
/// # Errors
/// [`ModelError::UnknownModel`] for a model that embeds; [`ModelError::Rejected`] if the request is larger than credproxy
/// takes; [`ModelError::NoVision`] if it shows images to a model that sees none; [`ModelError::TooLong`] where the provider
/// would cut the conversation rather than refuse it; [`ModelError::Credentials`] if the configured address cannot be one.
pub fn ask(
    provider: &Provider,
    model: &str,
    known: ProviderModel,
    request: &Request,
) -> Result<Ask, ModelError> {
    if known.embeds {
        return Err(ModelError::UnknownModel);
    }
    if !request.images.is_empty() && !known.vision {
        return Err(ModelError::NoVision);
    }
    let tokens = count::request(request);
    let dialect = dialect(provider.kind);
    if dialect.truncates_silently() && tokens > known.context {
        return Err(ModelError::TooLong { context: known.context });
    }
    let body = dialect.body(&Conversation { provider, model, known, request, tokens });
    let body = body.map_err(|_| ModelError::Rejected { status: TOO_LARGE })?;
    let stops = stops(request);
    let stops = if dialect.needs_stop_search(known) { Stops::searched(stops) } else { Stops::known(stops) };
    Ok(Ask {
        http: post(provider, dialect.path(), body)?,
        tokens,
        known,
        patience: PATIENCE,
        kind: provider.kind,
        model: model.to_owned(),
        stops,
    })
}

/// A request with this body to a method of a provider.
pub(crate) fn post(provider: &Provider, path: &str, body: Vec<u8>) -> Result<credproxy::Request, ModelError> {
    let url = format!("{}{path}", provider.base_url.trim_end_matches('/'));
    let header = |name: &str, value: &str| Header { name: Name::clip(name), value: Text::clip(value) };
    let dialect = dialect(provider.kind);
    let mut headers = vec![header("content-type", "application/json"), header("accept", dialect.accept())];
    headers.extend(dialect.headers().iter().map(|(name, value)| header(name, value)));
    let secret = provider.secret.as_ref().map(|secret| dialect.placement(secret));
    Ok(credproxy::Request {
        verb: Verb::Post,
        url: Text::new(url).map_err(|_| ModelError::Credentials(CredError::BadUrl))?,
        headers: List::clip(headers),
        body: Blob::new(body).map_err(|_| ModelError::Rejected { status: TOO_LARGE })?,
        secret,
        cookies: false,
    })
}
