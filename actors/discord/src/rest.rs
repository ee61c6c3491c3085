//! Requests to the REST API through credproxy, which puts the token into a header. A request that a limit forbids is not sent.

use crate::limits::{Limits, Route, Stated};
use crate::reply::{Failure, read, too_many};
use channel::{Api, NoFile, Source, form, origin};
use ipc_proto::Name;
use ipc_proto::channel::{Body, Claim};
use ipc_proto::credproxy::{Placement, Request, Verb};
use serde_json::Value;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Discord's own server, and the one that gives out files.
const SERVER: &str = "https://discord.com";
const FILES: &str = "https://cdn.discordapp.com";
/// The version of the API.
const VERSION: &str = "/api/v10";
/// The name by which the host calls itself, in the form that Discord asks for.
const AGENT: &str = concat!("DiscordBot (https://cordon.invalid, ", env!("CARGO_PKG_VERSION"), ")");

/// The REST API of one account.
pub(crate) struct Rest {
    api: Rc<Api>,
    secret: Name,
    server: String,
    /// The server that gives out files.
    files: String,
    limits: RefCell<Limits>,
}

/// A request.
pub(crate) struct Ask<'a> {
    verb: Verb,
    route: Route<'a>,
    path: String,
    kind: Option<String>,
    body: Vec<u8>,
    signed: bool,
}

impl<'a> Ask<'a> {
    /// A request for what is there.
    pub(crate) const fn get(route: Route<'a>, path: String) -> Self {
        Self { verb: Verb::Get, route, path, kind: None, body: Vec::new(), signed: true }
    }

    /// A request with a document.
    pub(crate) fn json(verb: Verb, route: Route<'a>, path: String, body: &Value) -> Self {
        let kind = Some("application/json".to_owned());
        Self { verb, route, path, kind, body: body.to_string().into_bytes(), signed: true }
    }

    /// A message of a piece.
    pub(crate) fn send(claim: &Claim, channel: &'a str, body: &Value) -> Self {
        let (route, path) = (("send", channel), format!("/channels/{channel}/messages"));
        match &claim.content.body {
            Body::Text(_) => Self::json(Verb::Post, route, path, body),
            Body::File { name, bytes } => {
                let fields = [("payload_json", body.to_string())];
                let (kind, body) = form(&fields, ("files[0]", name.as_str(), &**bytes));
                Self { verb: Verb::Post, route, path, kind: Some(kind), body, signed: true }
            }
        }
    }

    /// The same without the token: the path itself allows it.
    pub(crate) fn unsigned(self) -> Self {
        Self { signed: false, ..self }
    }
}

impl Rest {
    /// The API of Discord, or of this other server.
    pub(crate) fn new(api: Rc<Api>, secret: Name, server: Option<&str>) -> Self {
        let files = server.map_or(FILES, origin).to_owned();
        let server = server.unwrap_or(SERVER).trim_end_matches('/').to_owned();
        Self { api, secret, server, files, limits: RefCell::default() }
    }

    /// Opens a file at its address, without the token.
    ///
    /// # Errors
    /// [`NoFile`]
    pub(crate) async fn file(&self, url: &str) -> Result<Source, NoFile> {
        self.api.file(url, &[&self.files], &[("user-agent", AGENT)], None).await
    }

    /// Makes a request, once its limits allow it; it waits for that so long at most.
    ///
    /// # Errors
    /// [`Failure`] says if it may have had its effect.
    pub(crate) async fn ask(&self, ask: Ask<'_>, patience: Duration) -> Result<Value, Failure> {
        let until = Instant::now() + patience;
        loop {
            let now = Instant::now();
            let reserved = self.limits.borrow_mut().reserve(ask.route, now);
            match reserved {
                Ok(()) => break,
                Err(wait) if now + wait > until => return Err(Failure::Wait(wait)),
                Err(wait) => tokio::time::sleep(wait).await,
            }
        }
        let route = ask.route;
        let reply = self.api.request(self.request(ask)?).await?;
        let now = Instant::now();
        let told =
            Stated::read(reply.headers.iter().map(|header| (header.name.as_str(), header.value.as_str())));
        self.limits.borrow_mut().learn(route, &told, now);
        if reply.status == 429 {
            let (after, everything) = too_many(&reply.body, reply.retry_after);
            self.limits.borrow_mut().refused(route, everything, after, now);
            return Err(Failure::Wait(after));
        }
        read(reply.status, &reply.body)
    }

    fn request(&self, ask: Ask<'_>) -> Result<Request, Failure> {
        let headers = [Some(("user-agent", AGENT)), ask.kind.as_deref().map(|kind| ("content-type", kind))];
        let headers: Vec<_> = headers.into_iter().flatten().collect();
        let secret = ask.signed.then(|| Placement::header(&self.secret, "Authorization", "Bot "));
        let url = format!("{}{VERSION}{}", self.server, ask.path);
        Ok(channel::request(ask.verb, &url, &headers, ask.body, secret)?)
    }
}
