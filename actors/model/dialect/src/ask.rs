//! The request to a provider: the HTTP request around a conversation as the provider's kind writes it. Pure data; the key
//! is not in it, only where credproxy puts it.

use crate::conversation::stops;
use crate::stops::Stops;
use crate::{Reader, anthropic, count, ollama, openai, responses};
use ipc_proto::config::{Provider, ProviderKind, ProviderModel};
use ipc_proto::credproxy::{self, CredError, Header, Placement, Verb};
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
    /// What credproxy sends.
    pub http: credproxy::Request,
    /// An estimate of its tokens.
    pub tokens: u32,
    /// What is known of the model.
    pub known: ProviderModel,
    /// How long its reply may go without anything of the answer.
    pub patience: Duration,
    kind: ProviderKind,
    model: String,
    /// Texts at which the answer ends.
    stops: Stops,
}

impl Ask {
    /// What reads the reply.
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
    if provider.kind == ProviderKind::Ollama && tokens > known.context {
        return Err(ModelError::TooLong { context: known.context });
    }
    let body = match provider.kind {
        ProviderKind::Openai => {
            openai::request::body(model, known, request, openai::request::is_renamed(provider))
        }
        ProviderKind::Responses => responses::request::body(model, known, request),
        ProviderKind::Anthropic => anthropic::request::body(model, known, request),
        ProviderKind::Ollama => ollama::request::body(model, known, request, tokens),
    };
    let body = body.map_err(|_| ModelError::Rejected { status: TOO_LARGE })?;
    let path = match provider.kind {
        ProviderKind::Openai => "/chat/completions",
        ProviderKind::Responses => "/responses",
        ProviderKind::Anthropic => "/messages",
        ProviderKind::Ollama => "/api/chat",
    };
    let stops = stops(request);
    let stops =
        if must_stop_here(provider.kind, known) { Stops::searched(stops) } else { Stops::known(stops) };
    Ok(Ask {
        http: post(provider, path, body)?,
        tokens,
        known,
        patience: PATIENCE,
        kind: provider.kind,
        model: model.to_owned(),
        stops,
    })
}

/// Returns whether the texts at which an answer ends are looked for here: OpenAI's responses know none, and its reasoning models
/// refuse them.
pub(crate) const fn must_stop_here(kind: ProviderKind, known: ProviderModel) -> bool {
    match kind {
        ProviderKind::Responses => true,
        ProviderKind::Openai => !known.sampling,
        ProviderKind::Anthropic | ProviderKind::Ollama => false,
    }
}

/// A request with this body to a method of a provider.
pub(crate) fn post(provider: &Provider, path: &str, body: Vec<u8>) -> Result<credproxy::Request, ModelError> {
    let url = format!("{}{path}", provider.base_url.trim_end_matches('/'));
    let header = |name: &str, value: &str| Header { name: Name::clip(name), value: Text::clip(value) };
    let mut headers =
        vec![header("content-type", "application/json"), header("accept", accepted(provider.kind))];
    if provider.kind == ProviderKind::Anthropic {
        headers.push(header("anthropic-version", anthropic::VERSION));
    }
    let secret = provider.secret.as_ref().map(|secret| match provider.kind {
        ProviderKind::Anthropic => Placement::header(secret, "x-api-key", ""),
        _ => Placement::header(secret, "authorization", "Bearer "),
    });
    Ok(credproxy::Request {
        verb: Verb::Post,
        url: Text::new(url).map_err(|_| ModelError::Credentials(CredError::BadUrl))?,
        headers: List::clip(headers),
        body: Blob::new(body).map_err(|_| ModelError::Rejected { status: TOO_LARGE })?,
        secret,
    })
}

const fn accepted(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::Ollama => "application/x-ndjson, application/json",
        ProviderKind::Openai | ProviderKind::Responses | ProviderKind::Anthropic => {
            "text/event-stream, application/json"
        }
    }
}
