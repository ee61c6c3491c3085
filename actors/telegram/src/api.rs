//! Calls of the Bot API through credproxy, which puts the token into the path.

use crate::reply::{Failure, read};
use channel::Lost;
use ipc_proto::Name;
use ipc_proto::credproxy::{At, Head, PLACEHOLDER, Placement, Request, Verb};
use kit::Pull;
use serde_json::Value;

/// The API of one account.
pub(crate) struct Api {
    way: channel::Api,
    secret: Name,
    server: String,
}

impl Api {
    pub(crate) fn new(way: channel::Api, secret: Name, server: &str) -> Self {
        Self { way, secret, server: server.trim_end_matches('/').to_owned() }
    }

    /// The name of the account.
    pub(crate) const fn account(&self) -> &Name {
        self.way.account()
    }

    /// Calls a method with these parameters.
    ///
    /// # Errors
    /// [`Failure`] says if the call may have had its effect.
    pub(crate) async fn call(&self, name: &str, parameters: &Value) -> Result<Value, Failure> {
        self.send(name, "application/json", parameters.to_string().into_bytes()).await
    }

    /// Calls a method with a body of this type.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub(crate) async fn send(&self, name: &str, kind: &str, body: Vec<u8>) -> Result<Value, Failure> {
        let reply = self.way.request(self.request(name, kind, body)?).await?;
        read(reply.status, &reply.body)
    }

    /// Begins to read the file at this path of the server's.
    ///
    /// # Errors
    /// [`Lost`]; nothing has an effect.
    pub(crate) async fn file(&self, path: &str) -> Result<(Head, Pull), Lost> {
        let url = format!("{}/file/bot{PLACEHOLDER}/{path}", self.server);
        let request = channel::request(Verb::Get, &url, &[], Vec::new(), Some(self.placement()))?;
        self.way.begin(request).await
    }

    fn placement(&self) -> Placement {
        Placement { secret: self.secret.clone(), at: At::Segment }
    }

    fn request(&self, name: &str, kind: &str, body: Vec<u8>) -> Result<Request, Failure> {
        let url = format!("{}/bot{PLACEHOLDER}/{name}", self.server);
        Ok(channel::request(Verb::Post, &url, &[("content-type", kind)], body, Some(self.placement()))?)
    }
}
