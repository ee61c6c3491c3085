//! Requests to Slack through credproxy, which puts the token into a header.

use crate::failure::{Failure, accepted, read};
use channel::{Api, NoFile, Source, origin, percent_encoded};
use ipc_proto::config::ChannelAccount;
use ipc_proto::credproxy::{Opening, Placement, Request, SocketAddress, Stream, Verb};
use ipc_proto::{List, Text};
use serde_json::Value;

/// Slack's own server, and the one that gives out files.
const SERVER: &str = "https://slack.com/api";
const FILES: &str = "https://files.slack.com";
const JSON: &str = "application/json; charset=utf-8";
const FORM: &str = "application/x-www-form-urlencoded";

/// The Web API of one account.
pub(crate) struct Web {
    api: Api,
    /// The secret with the bot's token.
    bot: String,
    /// The secret with the app's token.
    app: String,
    server: String,
    /// The server that gives out files.
    files: String,
}

impl Web {
    pub(crate) fn new(api: Api, account: &ChannelAccount) -> Self {
        let server = account.base_url.as_deref().unwrap_or(SERVER).trim_end_matches('/').to_owned();
        let files = account.base_url.as_deref().map_or(FILES, origin).to_owned();
        let app = account.app_secret.clone().unwrap_or_default();
        Self { api, bot: account.secret.clone(), app, server, files }
    }

    /// The way to the servers.
    pub(crate) const fn api(&self) -> &Api {
        &self.api
    }

    /// Calls a method that changes something, with these arguments as JSON.
    ///
    /// # Errors
    /// [`Failure`] says if the call may have had its effect.
    pub(crate) async fn json(&self, method: &str, arguments: &Value) -> Result<Value, Failure> {
        let secret = Some(bearer(&self.bot));
        let request = request(&self.method(method), JSON, arguments.to_string().into_bytes(), secret)?;
        read(&self.api.request(request).await?)
    }

    /// Calls a method that reads, with these arguments as a form: not all of those take JSON.
    ///
    /// # Errors
    /// As [`Self::json`].
    pub(crate) async fn form(&self, method: &str, arguments: &[(&str, &str)]) -> Result<Value, Failure> {
        let secret = Some(bearer(&self.bot));
        let request = request(&self.method(method), FORM, form(arguments).into_bytes(), secret)?;
        read(&self.api.request(request).await?)
    }

    /// Sends bytes to an address that Slack gave, without a token.
    ///
    /// # Errors
    /// As [`Self::json`].
    pub(crate) async fn bytes(&self, url: &str, kind: &str, body: Vec<u8>) -> Result<(), Failure> {
        accepted(&self.api.request(request(url, kind, body, None)?).await?)
    }

    /// Opens a file at its address. Whoever may not read it is sent to a page for signing in, which is not fetched.
    ///
    /// # Errors
    /// [`NoFile`]
    pub(crate) async fn file(&self, url: &str) -> Result<Source, NoFile> {
        self.api.file(url, &[&self.files], &[], Some(bearer(&self.bot))).await
    }

    /// Sends a document to an address that Slack gave, without a token.
    ///
    /// # Errors
    /// As [`Self::bytes`].
    pub(crate) async fn respond(&self, url: &str, document: &Value) -> Result<(), Failure> {
        self.bytes(url, JSON, document.to_string().into_bytes()).await
    }

    /// Opens a socket. Credproxy reads its address from the reply of Slack: it holds a ticket, which never comes here.
    ///
    /// # Errors
    /// [`Failure::NoSocket`] if Slack gives no address.
    pub(crate) async fn open_socket(&self) -> Result<Stream, Failure> {
        let ask = request(&self.method("apps.connections.open"), FORM, Vec::new(), Some(bearer(&self.app)))?;
        let address = SocketAddress::Reply(Box::new(ask), Text::clip("/url"));
        let opening = Opening::Socket { address, headers: List::default(), secret: None };
        Ok(self.api.open(opening).await?)
    }

    fn method(&self, name: &str) -> String {
        format!("{}/{name}", self.server)
    }
}

fn bearer(secret: &str) -> Placement {
    Placement::header(secret, "authorization", "Bearer ")
}

fn request(url: &str, kind: &str, body: Vec<u8>, secret: Option<Placement>) -> Result<Request, Failure> {
    Ok(channel::request(Verb::Post, url, &[("content-type", kind)], body, secret)?)
}

/// Arguments as a form; an empty one is left out.
fn form(arguments: &[(&str, &str)]) -> String {
    let given = arguments.iter().filter(|(_, value)| !value.is_empty());
    let pairs = given.map(|(name, value)| format!("{name}={}", percent_encoded(value)));
    pairs.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_a_form_are_escaped() {
        let form = form(&[("channel", "C1"), ("cursor", ""), ("filename", "a b&c=\u{e9}.md")]);
        assert_eq!(form, "channel=C1&filename=a%20b%26c%3D%C3%A9.md");
    }
}
